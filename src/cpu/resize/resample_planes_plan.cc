// Plans the path "planes": which parts of small planes are used, and where they are in memory.
#include "base/round_up.h"
#include "cpu/resize/resample_plan.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace portacl::cpu {
namespace {

// Most elements of a plane that is transposed in registers, before, between and behind the
// axes.
constexpr double kMostPlane = 2048;
constexpr int64_t kMostColumns = 2048;
// Most elements of a plane that is mostly left out: only its used elements are transposed.
constexpr double kMostSources = static_cast<double>(int64_t{1} << 40);

double Product(int64_t a, int64_t b, int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

// Returns the sources [first, end) that destinations need, and the destinations with sources.
template <class F>
std::array<std::array<int64_t, 2>, 2> UsedRanges(const ResampleTaps<F>& taps, bool backward) {
  std::array<int64_t, 2> to = {0, taps.to};
  while (backward && !taps.identity && to[0] < to[1] && taps.Count(to[0]) == 0) ++to[0];
  while (backward && !taps.identity && to[0] < to[1] && taps.Count(to[1] - 1) == 0) --to[1];
  return {ResampleKernelPlan<F>::Sources(taps, to[0], to[1]), to};
}

// Removes from `taps` sources without destinations (`from`) and destinations without sources
// (`to`). In columns, everything between the used ones stays, as a run.
template <class F>
void LeaveOutUnused(bool columns, bool from, bool to, ResampleTaps<F>* taps, ResamplePart* part) {
  const auto [sources, destinations] = UsedRanges(*taps, to);
  for (int64_t o = destinations[0]; o < destinations[1]; ++o) {
    if (to && !columns && !taps->identity && taps->Count(o) == 0) continue;
    part->to.push_back(o);
    if (!taps->identity) part->start.push_back(taps->start[o]);
  }
  if (taps->identity) {
    part->from = part->to;
    return;
  }
  part->start.push_back(taps->start[destinations[1]]);
  if (from && !columns) {
    ResampleRing ring = RingOf(*taps);
    part->from.assign(ring.used.begin(), ring.used.end());
    part->source.assign(ring.place.begin(), ring.place.end());
  } else {
    const int64_t first = from ? sources[0] : 0;
    for (int64_t i = first; i < (from ? sources[1] : taps->from); ++i) part->from.push_back(i);
    for (int64_t k = 0; k < taps->start[taps->to]; ++k) {
      part->source.push_back(taps->source[k] - first);
    }
  }
  taps->from = static_cast<int64_t>(part->from.size());
  taps->to = static_cast<int64_t>(part->to.size());
  taps->start = part->start.data();
  taps->source = part->source.data();
}

// Some slices or rows of a plane, and whether they are adjacent (`run`).
struct Places {
  Places(int64_t all) : count(all), run(true) {}
  Places(const std::vector<int64_t>& list)
      : count(static_cast<int64_t>(list.size())), run(list.back() - list.front() + 1 == count) {}
  int64_t count;
  bool run;
};

// Number and length of the runs of columns in such slices and rows. It is one run if these are
// adjacent.
struct RunCount {
  int64_t runs, length;
};
RunCount CountRuns(const Places& slices, int64_t by_slice, const Places& rows, int64_t by_row,
                   int64_t columns) {
  const auto is_run = [](const Places& places, int64_t by, int64_t length) {
    return places.count == 1 || (places.run && by == length);
  };
  const int64_t all = slices.count * rows.count;
  const bool one = is_run(rows, by_row, columns) && is_run(slices, by_slice, rows.count * columns);
  return one ? RunCount{1, all * columns} : RunCount{all, columns};
}

ResampleRuns RunsOf(const RunCount& count, const std::vector<int64_t>& slices, int64_t by_slice,
                    const std::vector<int64_t>& rows, int64_t by_row, int64_t column) {
  ResampleRuns runs = {.at = {}, .length = count.length};
  for (const int64_t slice : slices) {
    for (const int64_t row : rows) {
      runs.at.push_back(slice * by_slice + row * by_row + column);
      if (count.runs == 1) return runs;
    }
  }
  return runs;
}

// The used part of a plane (of its sources, destinations or both): its tables and its places.
template <class F>
struct UsedPlane {
  UsedPlane(const ResampleKernelPlan<F>& plan, bool from, bool to) : taps{plan.d, plan.h, plan.w} {
    for (size_t axis = 0; axis < 3; ++axis) {
      LeaveOutUnused(axis == 2, from, to, &taps[axis], &parts[axis]);
    }
    const auto& [d, h, w] = parts;
    if (IsEmpty()) return;
    from_count =
        CountRuns(d.from, plan.input_d, h.from, plan.input_h, static_cast<int64_t>(w.from.size()));
    to_count =
        CountRuns(d.to, plan.output_d, h.to, plan.output_h, static_cast<int64_t>(w.to.size()));
  }
  bool IsEmpty() const {
    return parts[0].from.empty() || parts[1].from.empty() || parts[2].from.empty();
  }
  ResampleRuns FromRuns(const ResampleKernelPlan<F>& plan) const {
    const auto& [d, h, w] = parts;
    return RunsOf(from_count, d.from, plan.input_d, h.from, plan.input_h, w.from[0]);
  }
  ResampleRuns ToRuns(const ResampleKernelPlan<F>& plan) const {
    const auto& [d, h, w] = parts;
    return RunsOf(to_count, d.to, plan.output_d, h.to, plan.output_h, w.to[0]);
  }
  std::array<ResampleTaps<F>, 3> taps;
  std::array<ResamplePart, 3> parts;
  RunCount from_count = {0, 0}, to_count = {0, 0};
};

}  // namespace

template <class F>
std::optional<ResamplePlanes> MakePlanes(const ResampleTarget& target,
                                         ResampleKernelPlan<F>* plan) {
  if (!target.fixed || plan->inner > 1 || plan->pack_input || plan->pack_output)
    return std::nullopt;
  const auto needed = [](const ResampleTaps<F>& taps, const ResampleRing& ring) {
    return taps.identity ? static_cast<double>(taps.from) : static_cast<double>(ring.used.size());
  };
  if (needed(plan->d, plan->d_ring) * needed(plan->h, plan->h_ring) > kMostPlane)
    return std::nullopt;
  const auto columns = UsedRanges(plan->w, plan->backward)[0];
  const double sources = Product(plan->d.from, plan->h.from, plan->w.from);
  if (columns[1] - columns[0] > kMostColumns || sources > kMostSources) return std::nullopt;
  // Leaving parts out must pay for short runs and for zeros. There must be few runs of zeros.
  constexpr int64_t kMostCleared = 4096;
  const auto blocks = [&](const RunCount& count) {
    return count.runs * base::DivideUp(count.length, target.block);
  };
  const auto cost = [&](const RunCount& count) {
    return count.runs * count.length + blocks(count) * target.block;
  };
  const UsedPlane<F> least(*plan, true, plan->backward);
  const RunCount whole_from =
      CountRuns(plan->d.from, plan->input_d, plan->h.from, plan->input_h, plan->w.from);
  const RunCount whole_to =
      CountRuns(plan->d.to, plan->output_d, plan->h.to, plan->output_h, plan->w.to);
  const bool from = 2 * blocks(least.from_count) <= blocks(whole_from);
  const bool to = plan->backward && whole_to.runs <= kMostCleared &&
                  9 * cost(least.to_count) <= 4 * cost(whole_to);
  if (!from && sources > kMostPlane) return std::nullopt;
  UsedPlane<F> used(*plan, from, to);
  const auto elements = [&](bool d_from, bool h_from, bool w_from) {
    const auto extent = [&](size_t axis, bool of_sources) {
      const ResamplePart& part = used.parts[axis];
      return static_cast<int64_t>((of_sources ? part.from : part.to).size());
    };
    return Product(extent(0, d_from), extent(1, h_from), extent(2, w_from));
  };
  const bool back = plan->backward;
  const double most = std::max({elements(true, true, true), elements(false, false, false),
                                elements(!back, true, back), elements(!back, false, back)});
  if (most > kMostPlane || used.IsEmpty()) return std::nullopt;
  ResamplePlanes planes;
  planes.from = used.FromRuns(*plan);
  planes.to = used.ToRuns(*plan);
  if (to) planes.clear = UsedPlane<F>(*plan, true, false).ToRuns(*plan);
  plan->d = used.taps[0], plan->h = used.taps[1], plan->w = used.taps[2];
  planes.parts = std::make_unique<std::array<ResamplePart, 3>>(std::move(used.parts));
  const bool one = plan->outer.size() == 1;
  planes.from_step = one ? plan->outer[0].input : 0;
  planes.from_vectors = planes.from.length == 1 && one && plan->outer[0].input == 1;
  planes.to_vectors = planes.to.length == 1 && one && plan->outer[0].output == 1;
  planes.half = RowStride<F>((static_cast<int64_t>(most) + target.block) * target.block);
  return planes;
}

template <class F>
bool AreRowsTiny(const ResampleTarget& target, const ResampleKernelPlan<F>& plan) {
  const int64_t N = target.block;
  if (2 * plan.planes < base::DivideUp(plan.planes, N) * N) return false;
  const auto [from, to] = UsedRanges(plan.w, plan.backward);
  const auto [least, most] = std::minmax({from[1] - from[0], to[1] - to[0]});
  if (most > 2 * N) return false;
  if (plan.w.identity) return !plan.d.identity || !plan.h.identity;
  return most <= N || (2 * least <= N && (plan.backward || least == to[1] - to[0]));
}

template std::optional<ResamplePlanes> MakePlanes<float>(const ResampleTarget&,
                                                         ResampleKernelPlan<float>*);
template std::optional<ResamplePlanes> MakePlanes<double>(const ResampleTarget&,
                                                          ResampleKernelPlan<double>*);
template bool AreRowsTiny<float>(const ResampleTarget&, const ResampleKernelPlan<float>&);
template bool AreRowsTiny<double>(const ResampleTarget&, const ResampleKernelPlan<double>&);

}  // namespace portacl::cpu
