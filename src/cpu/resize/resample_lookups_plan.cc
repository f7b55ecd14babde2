// Plans the path "lookup": a vector of destinations reads one window of sources. Tables have the
// place of each tap in its window, and the weight.
#include "base/four.h"
#include "base/round_up.h"
#include "cpu/resize/resample_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>

namespace portacl::cpu {
namespace {

// Makes the group of destinations from `o0` on, but not its offsets in the tables. Returns false if
// its sources do not fit a window of `window` elements.
template <class F>
bool DescribeGroup(const ResampleTaps<F>& w, int64_t o0, int64_t lanes, int64_t need,
                   int64_t window, ResampleGroup* group) {
  group->to = std::max<int64_t>(0, std::min(o0, w.to - lanes));
  const int64_t o1 = std::min(group->to + lanes, w.to), count = o1 - group->to;
  const int64_t* const source = w.source + w.start[group->to];
  const int64_t* const behind = w.source + w.start[o1];
  int64_t all = w.most, most = w.most;
  if (behind - source != count * most) {
    all = std::numeric_limits<int64_t>::max(), most = 0;
    for (const int64_t* at = w.start + group->to; at < w.start + o1; ++at) {
      const int64_t taps = at[1] - at[0];
      all = taps < all ? taps : all;
      most = taps > most ? taps : most;
    }
  }
  group->all = all;
  group->most = most;
  group->run = all == most;
  if (group->run && most > 1) {
    // Steps between sources are 0 or 1, or as long as a pixel.
    int64_t steps = 0;
    for (const int64_t* at = source; at < behind; at += most) steps += at[most - 1] - at[0];
    group->run = w.flat == 1 && steps == count * (most - 1);
  }
  const auto [first, end] = ResampleKernelPlan<F>::Sources(w, group->to, o1);
  group->from = std::min(first, need - window);
  return end - group->from <= window;
}

// Returns how many vectors of places a group has.
int64_t IndicesOf(const ResampleGroup& group) {
  return group.run ? std::min<int64_t>(group.most, 1) : group.most;
}

// Copies the weights of `lanes` destinations with `taps` taps each, tap by tap.
template <class F>
void CopyWeights(const F* from, int64_t lanes, int64_t taps, F* to) {
  if (taps != 4 || lanes % 4 != 0) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t k = tap; k < taps * lanes; k += taps) *to++ = from[k];
    }
    return;
  }
  for (int64_t lane = 0; lane < lanes; lane += 4, from += 16, to += 4) {
    base::Four<F> taps_of[4], lanes_of[4];
#pragma GCC unroll 4
    for (int64_t k = 0; k < 4; ++k) std::memcpy(&taps_of[k], from + 4 * k, sizeof taps_of[k]);
    base::Transpose(taps_of, lanes_of);
    for (int64_t tap = 0; tap < 4; ++tap) {
      std::memcpy(to + tap * lanes, &lanes_of[tap], sizeof lanes_of[tap]);
    }
  }
}

template <class F>
void FillWithMinusZeros(int64_t count, F* to) {
  const base::Four<F> zeros = -base::Four<F>{};
  for (; count >= 4; count -= 4, to += 4) std::memcpy(to, &zeros, sizeof zeros);
  std::fill_n(to, count, -F{0});
}

// Fills a group's part of the tables, except places and weights of lanes that have no tap.
template <class F, class Index>
void FillGroup(const ResampleTaps<F>& w, int64_t lanes, const ResampleGroup& group, Index* counts,
               Index* index, F* weight) {
  const int64_t indices = IndicesOf(group), taps = group.most, from = group.from;
  if (group.all == taps && group.to + lanes <= w.to) {
    std::fill_n(counts, lanes, static_cast<Index>(taps));
    const int64_t* const source = w.source + w.start[group.to];
    for (int64_t tap = 0; tap < indices; ++tap) {
      for (int64_t k = tap; k < taps * lanes; k += taps) {
        *index++ = static_cast<Index>(source[k] - from);
      }
    }
    CopyWeights(w.weight + w.start[group.to], lanes, taps, weight);
    return;
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t o = std::min(group.to + lane, w.to - 1);
    const int64_t start = w.start[o], end = w.start[o + 1];
    counts[lane] = static_cast<Index>(end - start);
    F* to = weight + lane;
    if (group.run) {
      for (int64_t k = start; k < end; ++k, to += lanes) *to = w.weight[k];
      if (start < end) index[lane] = static_cast<Index>(w.source[start] - from);
      continue;
    }
    Index* place = index + lane;
    for (int64_t k = start; k < end; ++k, to += lanes, place += lanes) {
      *to = w.weight[k];
      *place = static_cast<Index>(w.source[k] - from);
    }
  }
}

// Returns the cycles of a row, about. `taps`: the sum of the groups' most taps.
double RowCost(double taps, double groups, int64_t vectors) {
  return taps * (vectors == 1 ? 1.3 : 2.2) + 4 * groups;
}

// Makes all groups, with windows of `vectors` vectors. Returns false if windows are too short, or
// if a row costs `most` or more.
template <class F>
bool DescribeGroups(const ResampleTaps<F>& w, int64_t lanes, int64_t vectors, double most,
                    ResampleLookups<F>* lookups) {
  const int64_t window = vectors * lanes;
  lookups->vectors = vectors;
  lookups->need = std::max(w.from, window);
  lookups->groups.resize(static_cast<size_t>(base::DivideUp(w.to, lanes)));
  int64_t indices = 0, weights = 0, empty = 0, o0 = 0;
  for (ResampleGroup& group : lookups->groups) {
    if (!DescribeGroup(w, o0, lanes, lookups->need, window, &group)) return false;
    o0 += lanes;
    group.index = indices;
    group.weight = weights;
    indices += IndicesOf(group) * lanes;
    weights += group.most * lanes;
    empty += group.most == 0 ? 1 : 0;
  }
  lookups->sparse = 2 * empty > std::ssize(lookups->groups);
  const int64_t taps = weights / lanes;
  const auto groups = static_cast<double>(lookups->groups.size());
  return RowCost(static_cast<double>(taps), groups, vectors) < most;
}

}  // namespace

template <class F>
std::optional<ResampleLookups<F>> MakeLookups(const ResampleTaps<F>& w, int64_t lanes,
                                              int64_t longest, double most) {
  // Groups have at least all taps, so costs of many taps are known at once.
  const auto groups = static_cast<double>(base::DivideUp(w.to, lanes));
  const double least = static_cast<double>(w.start[w.to]) / static_cast<double>(lanes);
  if (RowCost(least, groups, 1) >= most) return std::nullopt;
  std::optional<ResampleLookups<F>> lookups(std::in_place);
  const auto fits = [&](int64_t vectors) {
    return vectors * lanes <= longest && DescribeGroups(w, lanes, vectors, most, &*lookups);
  };
  if (!fits(1) && !fits(2)) {
    lookups.reset();
    return lookups;
  }
  using Index = typename ResampleLookups<F>::Index;
  static_assert(sizeof(Index) == sizeof(F));
  const ResampleGroup& last = lookups->groups.back();
  const int64_t counts = std::ssize(lookups->groups) * lanes;
  const int64_t indices = last.index + IndicesOf(last) * lanes;
  const int64_t weights = last.weight + last.most * lanes;
  // Lookups read one vector of indices behind the last ones, but do not use it.
  lookups->memory = std::make_unique_for_overwrite<std::byte[]>(
      static_cast<size_t>(counts + indices + lanes + weights) * sizeof(F));
  auto* const count = reinterpret_cast<Index*>(lookups->memory.get());
  Index* const index = count + counts;
  F* const weight = reinterpret_cast<F*>(index + indices + lanes);
  std::fill_n(index + indices, lanes, Index{0});
  if (w.start[w.to] != w.most * w.to) {
    std::memset(index, 0, static_cast<size_t>(indices) * sizeof(Index));
    FillWithMinusZeros(weights, weight);
  }
  Index* counts_of_group = count;
  for (const ResampleGroup& group : lookups->groups) {
    FillGroup(w, lanes, group, counts_of_group, index + group.index, weight + group.weight);
    counts_of_group += lanes;
  }
  lookups->count = count;
  lookups->index = index;
  lookups->weight = weight;
  return lookups;
}

template std::optional<ResampleLookups<float>> MakeLookups(const ResampleTaps<float>&, int64_t,
                                                           int64_t, double);
template std::optional<ResampleLookups<double>> MakeLookups(const ResampleTaps<double>&, int64_t,
                                                            int64_t, double);
template std::optional<ResampleLookups<int32_t>> MakeLookups(const ResampleTaps<int32_t>&, int64_t,
                                                             int64_t, double);

}  // namespace portacl::cpu
