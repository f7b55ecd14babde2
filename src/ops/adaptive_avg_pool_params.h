// Parameters of the kernels of adaptive average pooling: the function and its gradient.
#ifndef PORTACL_OPS_ADAPTIVE_AVG_POOL_PARAMS_H_
#define PORTACL_OPS_ADAPTIVE_AVG_POOL_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// The elements [begin, end) of an axis.
struct PoolWindow {
  int64_t begin;
  int64_t end;
  int64_t extent() const { return end - begin; }
  bool operator==(const PoolWindow&) const = default;
};

// Returns the window of element i: i is on an axis of `extent`, the window on an axis of `other`.
// If the extents are exchanged, the window of j holds the elements i whose window holds j.
constexpr PoolWindow PoolWindowOf(int64_t i, int64_t extent, int64_t other) {
  // i * other / extent, without overflow if extents are below 2^31 or one divides the other.
  const auto place = [&](int64_t at, int64_t up) {
    return other / extent * at + (other % extent * at + up) / extent;
  };
  return {place(i, 0), place(i + 1, extent - 1)};
}

// Computed in float (double in double). k: the extents of the window of o.
//   pooled[o] = sum over the window of o of image[i], then / k_d / k_h / k_w
//   image_grad[i] = sum over all o with i in their window of pooled_grad[o] / k_d / k_h / k_w
// Sums begin with +0 and add elements in row-major order. Bytes (forward only): the exact quotient,
// halves rounded up. Axes are d, h, w; axes that a call lacks have an extent of 1.
// Strides (n, c, d, h, w) in elements, any sign; 0 only in inputs.
struct AdaptiveAvgPoolParams {
  base::DType dtype = base::DType::kFloat;
  bool backward = false;  // reads `pooled` and writes `image`
  int64_t n = 0;
  int64_t c = 0;
  std::array<int64_t, 3> extents{};  // of the image
  std::array<int64_t, 3> pooled_extents{};
  void* image = nullptr;
  void* pooled = nullptr;
  std::array<int64_t, 5> image_stride{};
  std::array<int64_t, 5> pooled_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_ADAPTIVE_AVG_POOL_PARAMS_H_
