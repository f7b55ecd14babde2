// What of small planes is used, and where in memory that is.
#include "cpu/resize/resample_planes_plan.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace portacl::cpu {
namespace {

// Elements of a plane that is transposed in registers, before, between and behind the axes, at
// most.
constexpr double kMostPlane = 2048;

// The sources [first, end) that destinations need, and the destinations that have any.
template <class F>
std::array<std::array<int64_t, 2>, 2> UsedRanges(const ResampleTaps<F>& taps, bool backward) {
  std::array<int64_t, 2> to = {0, taps.to};
  while (backward && !taps.identity && to[0] < to[1] && taps.Count(to[0]) == 0) ++to[0];
  while (backward && !taps.identity && to[0] < to[1] && taps.Count(to[1] - 1) == 0) --to[1];
  return {ResampleKernelPlan<F>::Sources(taps, to[0], to[1]), to};
}

// Makes `taps` a table without the sources that no destination needs (`from`), and without the
// destinations that have none (`to`). Of columns it keeps what is between these too, as a run.
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
    part->from = std::move(ring.used);
    part->source = std::move(ring.place);
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

// Where in a plane the columns from `column` on of such slices and rows are: one run where they
// follow each other.
ResampleRuns RunsOf(const std::vector<int64_t>& slices, int64_t by_slice,
                    const std::vector<int64_t>& rows, int64_t by_row, int64_t column,
                    int64_t columns) {
  ResampleRuns runs = {.at = {}, .length = columns};
  bool one = true;
  for (const int64_t slice : slices) {
    for (const int64_t row : rows) {
      const int64_t at = slice * by_slice + row * by_row + column;
      one = one && (runs.at.empty() || at == runs.at.back() + columns);
      runs.at.push_back(at);
    }
  }
  if (one && !runs.at.empty()) {
    runs.length *= static_cast<int64_t>(runs.at.size());
    runs.at.resize(1);
  }
  return runs;
}

// The tables and runs of a plane as far as it is used on both sides, or on one.
template <class F>
struct UsedPlane {
  UsedPlane(const ResampleKernelPlan<F>& plan, bool from, bool to) : taps{plan.d, plan.h, plan.w} {
    for (size_t axis = 0; axis < 3; ++axis) {
      LeaveOutUnused(axis == 2, from, to, &taps[axis], &parts[axis]);
    }
    const auto& [d, h, w] = parts;
    if (d.from.empty() || h.from.empty() || w.from.empty()) return;
    from_runs = RunsOf(d.from, plan.input_d, h.from, plan.input_h, w.from[0],
                       static_cast<int64_t>(w.from.size()));
    to_runs = RunsOf(d.to, plan.output_d, h.to, plan.output_h, w.to[0],
                     static_cast<int64_t>(w.to.size()));
  }
  std::array<ResampleTaps<F>, 3> taps;
  std::array<ResamplePart, 3> parts;
  ResampleRuns from_runs, to_runs;
};

}  // namespace

template <class F>
bool MakePlanes(const ResampleTarget& target, ResampleKernelPlan<F>* plan) {
  if (!target.fixed || plan->inner > 1 || plan->pack_input || plan->pack_output) return false;
  // What is left out must be worth runs that are short, and zeros.
  const auto blocks = [&](const ResampleRuns& runs) {
    return static_cast<int64_t>(runs.at.size()) * DivideUp(runs.length, target.block);
  };
  const auto cost = [&](const ResampleRuns& runs) {
    return static_cast<int64_t>(runs.at.size()) * runs.length + blocks(runs) * target.block;
  };
  const UsedPlane<F> whole(*plan, false, false), least(*plan, true, plan->backward);
  const bool from = 2 * blocks(least.from_runs) <= blocks(whole.from_runs);
  const bool to = plan->backward && 9 * cost(least.to_runs) <= 4 * cost(whole.to_runs);
  UsedPlane<F> used(*plan, from, to);
  const auto elements = [&](bool d_from, bool h_from, bool w_from) {
    const auto extent = [&](size_t axis, bool sources) {
      const ResamplePart& part = used.parts[axis];
      return static_cast<double>((sources ? part.from : part.to).size());
    };
    return extent(0, d_from) * extent(1, h_from) * extent(2, w_from);
  };
  const bool back = plan->backward;
  const double most = std::max({elements(true, true, true), elements(false, false, false),
                                elements(!back, true, back), elements(!back, false, back)});
  if (most > kMostPlane || used.from_runs.at.empty()) return false;
  plan->d = used.taps[0], plan->h = used.taps[1], plan->w = used.taps[2];
  plan->parts = std::move(used.parts);
  plan->from_runs = std::move(used.from_runs);
  plan->to_runs = std::move(used.to_runs);
  if (to) plan->clear_runs = whole.to_runs;
  const bool one = plan->outer.size() == 1;
  plan->from_vectors = plan->from_runs.length == 1 && one && plan->outer[0].input == 1;
  plan->to_vectors = plan->to_runs.length == 1 && one && plan->outer[0].output == 1;
  plan->path = ResamplePath::kPlanes;
  plan->batch = target.block;
  plan->half = RowStride<F>((static_cast<int64_t>(most) + target.block) * target.block);
  return true;
}

template <class F>
bool AreRowsTiny(const ResampleTarget& target, const ResampleKernelPlan<F>& plan) {
  const int64_t N = target.block;
  if (2 * plan.planes < DivideUp(plan.planes, N) * N) return false;
  const auto [from, to] = UsedRanges(plan.w, plan.backward);
  const auto [least, most] = std::minmax({from[1] - from[0], to[1] - to[0]});
  if (most > 2 * N) return false;
  if (plan.w.identity) return !plan.d.identity || !plan.h.identity;
  return most <= N || (2 * least <= N && (plan.backward || least == to[1] - to[0]));
}

template bool MakePlanes<float>(const ResampleTarget&, ResampleKernelPlan<float>*);
template bool MakePlanes<double>(const ResampleTarget&, ResampleKernelPlan<double>*);
template bool AreRowsTiny<float>(const ResampleTarget&, const ResampleKernelPlan<float>&);
template bool AreRowsTiny<double>(const ResampleTarget&, const ResampleKernelPlan<double>&);

}  // namespace portacl::cpu
