// Adaptive average pooling: each destination is one sum of its window, row-major, starting from +0.
#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "base/dispatch.h"
#include "base/half.h"
#include "base/kernel.h"
#include "ops/adaptive_avg_pool_params.h"
#include "ops/listed_kernels.h"
#include "ref/for_each_index.h"

namespace portacl::ref {
namespace {

using Params = ops::AdaptiveAvgPoolParams;
using Index = std::array<int64_t, 3>;  // d, h, w

// Returns per axis the window of `others` that belongs to element `at` of `extents`.
using Windows = std::array<ops::PoolWindow, 3>;
Windows WindowsOf(const Index& at, const Index& extents, const Index& others) {
  Windows windows{};
  for (size_t i = 0; i < 3; ++i) windows[i] = ops::PoolWindowOf(at[i], extents[i], others[i]);
  return windows;
}

template <class F>
F DividedByExtents(F value, const Windows& windows) {
  for (const ops::PoolWindow& window : windows) value /= static_cast<F>(window.extent());
  return value;
}

int64_t OffsetOf(const Index& at, const std::array<int64_t, 5>& stride) {
  return at[0] * stride[2] + at[1] * stride[3] + at[2] * stride[4];
}

// Calls visit(d, h, w) for each element of the windows, in row-major order.
template <class Visit>
void ForWindow(const Windows& windows, const Visit& visit) {
  for (int64_t d = windows[0].begin; d < windows[0].end; ++d) {
    for (int64_t h = windows[1].begin; h < windows[1].end; ++h) {
      for (int64_t w = windows[2].begin; w < windows[2].end; ++w) visit(Index{d, h, w});
    }
  }
}

template <class T>
T Average(const Params& p, const T* image, const Index& at) {
  const Windows windows = WindowsOf(at, p.pooled_extents, p.extents);
  if constexpr (std::is_same_v<T, uint8_t>) {
    uint64_t sum = 0;
    ForWindow(windows, [&](const Index& i) { sum += image[OffsetOf(i, p.image_stride)]; });
    const auto count =
        static_cast<uint64_t>(windows[0].extent() * windows[1].extent() * windows[2].extent());
    return static_cast<uint8_t>((2 * sum + count) / (2 * count));
  } else {
    base::ComputeType<T> sum = 0;
    ForWindow(windows,
              [&](const Index& i) { sum += base::Widen(image[OffsetOf(i, p.image_stride)]); });
    return base::Narrow<T>(DividedByExtents(sum, windows));
  }
}

template <class T>
T Gradient(const Params& p, const T* pooled, const Index& at) {
  base::ComputeType<T> sum = 0;
  ForWindow(WindowsOf(at, p.extents, p.pooled_extents), [&](const Index& o) {
    sum += DividedByExtents(base::Widen(pooled[OffsetOf(o, p.pooled_stride)]),
                            WindowsOf(o, p.pooled_extents, p.extents));
  });
  return base::Narrow<T>(sum);
}

// Calls make(n, c, (d, h, w)) for each element of the result.
template <class Make>
void ForResults(const Params& p, const Make& make) {
  const Index& extents = p.backward ? p.extents : p.pooled_extents;
  const int64_t rows = extents[0] * extents[1];
  const int64_t grain = 1 + 1024 / extents[2];
  ForEachIndex(p.n * p.c * rows, grain, [&](int64_t i) {
    const int64_t row = i % rows, plane = i / rows;
    for (int64_t w = 0; w < extents[2]; ++w) {
      make(plane / p.c, plane % p.c, Index{row / extents[1], row % extents[1], w});
    }
  });
}

template <class T>
T* PlaneOf(void* tensor, const std::array<int64_t, 5>& stride, int64_t n, int64_t c) {
  return static_cast<T*>(tensor) + n * stride[0] + c * stride[1];
}

template <class T>
void Run(const Params& p) {
  ForResults(p, [&](int64_t n, int64_t c, const Index& at) {
    T* const image = PlaneOf<T>(p.image, p.image_stride, n, c);
    T* const pooled = PlaneOf<T>(p.pooled, p.pooled_stride, n, c);
    if constexpr (!std::is_same_v<T, uint8_t>) {
      if (p.backward) {
        image[OffsetOf(at, p.image_stride)] = Gradient<T>(p, pooled, at);
        return;
      }
    }
    pooled[OffsetOf(at, p.pooled_stride)] = Average<T>(p, image, at);
  });
}

void RunAnyType(const Params& p) {
  if (p.dtype == base::DType::kUInt8) return Run<uint8_t>(p);
  base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
}

}  // namespace

const base::Kernel<Params> kAdaptiveAvgPool = base::ReferenceOf<Params, RunAnyType>::Make();

}  // namespace portacl::ref
