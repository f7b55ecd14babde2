// Adds up sixteen lanes in the documented order: lanes i and i + 8, then i + 4, i + 2 and i + 1.
#ifndef PORTACL_REF_LANE_TREE_H_
#define PORTACL_REF_LANE_TREE_H_

#include <array>
#include <cstddef>

namespace portacl::ref {

inline constexpr size_t kLanes = 16;
template <class F>
using Lanes = std::array<F, kLanes>;

template <class F>
F SumLanes(Lanes<F> lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_LANE_TREE_H_
