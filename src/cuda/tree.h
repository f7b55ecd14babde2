// Adds up sixteen lanes in the documented order: lanes i and i + 8, then i + 4, i + 2 and i + 1.
// One thread computes the lanes one after the other, and keeps at most four sums.
#ifndef PORTACL_CUDA_TREE_H_
#define PORTACL_CUDA_TREE_H_

#include "cuda/device.h"

namespace portacl::cuda {

template <class F>
class Tree {
 public:
  static constexpr int kLanes = 16;
  static constexpr int kFew = 4;

  // The lane that comes as number i: lanes that are added first come one after the other.
  PORTACL_DEVICE static int Lane(int i) {
    return (i & 1) << 3 | (i & 2) << 1 | (i & 4) >> 1 | (i & 8) >> 3;
  }

  // Adds lane Lane(i), in order: i = 0 to 15, or 0, 4, 8, 12 if the lanes from kFew on are 0.
  template <int kStep = 1>
  PORTACL_DEVICE void Add(int i, F value) {
    if constexpr (kStep == 1) {
      if ((i & 1) == 0) {
        sums_[0] = value;
        return;
      }
      value = sums_[0] + value;
      if ((i & 2) == 0) {
        sums_[1] = value;
        return;
      }
      value = sums_[1] + value;
    } else {
      static_assert(kStep == kLanes / kFew);
      value = value + F(0);  // makes 0 of -0, as adding lanes that are 0 does
    }
    if ((i & 4) == 0) {
      sums_[2] = value;
      return;
    }
    value = sums_[2] + value;
    sums_[3] = (i & 8) == 0 ? value : sums_[3] + value;
  }

  PORTACL_DEVICE F sum() const { return sums_[3]; }

 private:
  F sums_[4] = {};
};

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_TREE_H_
