// Plans the path "lookup": a vector of destinations reads one window of sources. Tables have the
// place of each tap in its window, and the weight.
#include "base/round_up.h"
#include "cpu/resize/resample_plan.h"

#include <algorithm>
#include <cstddef>
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
  int64_t all = std::numeric_limits<int64_t>::max(), most = 0;
  bool run = true;
  int64_t first = w.from, last = -1;
  const auto add = [&](const int64_t* source, int64_t count) {
    first = std::min(first, source[0]);
    last = std::max(last, source[count - 1]);
    // Sources have a gap between any two of them (flattened pixels), or no gaps.
    run = run && source[count - 1] - source[0] == count - 1 &&
          (count <= 2 || source[1] == source[0] + 1);
  };
  const int64_t o1 = std::min(group->to + lanes, w.to);
  const int64_t* source = w.source + w.start[group->to];
  const int64_t* const behind = w.source + w.start[o1];
  const bool even = w.most > 0 && behind - source == w.most * (o1 - group->to);
  if (even) all = most = w.most;
  for (; even && source < behind; source += most) add(source, most);
  for (int64_t o = group->to; !even && o < o1; ++o) {
    const int64_t count = w.Count(o);
    all = std::min(all, count);
    most = std::max(most, count);
    if (count > 0) add(source, count);
    source += count;
  }
  group->all = all;
  group->most = most;
  group->run = run && all == most;
  group->from = std::min({first, last + 1, need - window});
  return last + 1 - group->from <= window;
}

// Returns how many vectors of places a group has.
int64_t IndicesOf(const ResampleGroup& group) {
  return group.run ? std::min<int64_t>(group.most, 1) : group.most;
}

// Fills a group's part of the tables.
template <class F, class Index>
void FillGroup(const ResampleTaps<F>& w, int64_t lanes, const ResampleGroup& group, Index* counts,
               Index* index, F* weight) {
  const int64_t indices = IndicesOf(group), taps = group.most;
  if (group.all == taps && group.to + lanes <= w.to) {
    std::fill_n(counts, lanes, static_cast<Index>(taps));
    const int64_t* const source = w.source + w.start[group.to];
    const F* const weights = w.weight + w.start[group.to];
    for (int64_t tap = 0, from = group.from; tap < taps; ++tap) {
      for (int64_t k = tap; k < taps * lanes; k += taps) {
        *weight++ = weights[k];
        if (tap < indices) *index++ = static_cast<Index>(source[k] - from);
      }
    }
    return;
  }
  if (group.all < taps) {
    std::fill_n(index, indices * lanes, Index{0});
    std::fill_n(weight, taps * lanes, -F{0});
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t o = std::min(group.to + lane, w.to - 1);
    const int64_t start = w.start[o], count = w.start[o + 1] - start;
    counts[lane] = static_cast<Index>(count);
    for (int64_t tap = 0, at = lane; tap < count; ++tap, at += lanes) {
      weight[at] = w.weight[start + tap];
      if (tap < indices) index[at] = static_cast<Index>(w.source[start + tap] - group.from);
    }
  }
}

// Makes all groups, with windows of `vectors` vectors. Returns false if windows are too short, or
// if a row costs `most` or more.
template <class F>
bool DescribeGroups(const ResampleTaps<F>& w, int64_t lanes, int64_t vectors, double most,
                    ResampleLookups<F>* lookups) {
  const int64_t window = vectors * lanes;
  lookups->vectors = vectors;
  lookups->need = std::max(w.from, window);
  lookups->groups.clear();
  lookups->groups.reserve(static_cast<size_t>(base::DivideUp(w.to, lanes)));
  int64_t indices = 0, weights = 0, empty = 0;
  for (int64_t o0 = 0; o0 < w.to; o0 += lanes) {
    ResampleGroup& group = lookups->groups.emplace_back();
    if (!DescribeGroup(w, o0, lanes, lookups->need, window, &group)) return false;
    group.index = indices;
    group.weight = weights;
    indices += IndicesOf(group) * lanes;
    weights += group.most * lanes;
    empty += group.most == 0 ? 1 : 0;
  }
  lookups->sparse = 2 * empty > std::ssize(lookups->groups);
  const auto taps = static_cast<double>(weights / lanes);
  const auto groups = static_cast<double>(lookups->groups.size());
  return taps * (vectors == 1 ? 1.3 : 2.2) + 4 * groups < most;  // in cycles, about
}

}  // namespace

template <class F>
std::optional<ResampleLookups<F>> MakeLookups(const ResampleTaps<F>& w, int64_t lanes,
                                              int64_t longest, double most) {
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
