// The planes that few channels' gradients are computed on: padded copies of an image's planes, in a
// slot of the workspace. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_PLANES_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_PLANES_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PADDED_PLANES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_backward_padded_points-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Elements of a cache line.
inline constexpr auto kLine = int64_t{kStreamAlignment / sizeof(float)};

// Elements between the start of a cache line and `at`.
HWY_INLINE int64_t LineOffset(const float* at) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kStreamAlignment / sizeof *at);
}

// Copies n elements, `step` apart in one image row, to a row of a padded plane, and back.
HWY_INLINE void CopyRow(const float* from, int64_t from_step, float* to, int64_t to_step,
                        int64_t n) {
  int64_t i = 0;
  if (from_step == 1 && to_step == 1) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    if (n >= lanes) {
      hn::StoreU(hn::LoadU(d, from + n - lanes), d, to + n - lanes);
      return;
    }
  }
  for (; i < n; ++i) to[i * to_step] = from[i * from_step];
}

// A row of whole lines past the caches.
HWY_INLINE void StreamRow(const float* from, float* to, int64_t n) {
  const D d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Stream(hn::LoadU(d, from + i), d, to + i);
  }
}

// CopyRow for paired planes: a pixel holds two channels.
HWY_INLINE void PairRows(const float* from0, const float* from1, int64_t step, float* to,
                         int64_t n) {
  int64_t i = 0;
  if (step == 1) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      hn::StoreInterleaved2(hn::LoadU(d, from0 + i), hn::LoadU(d, from1 + i), d, to + 2 * i);
    }
  }
  for (; i < n; ++i) {
    to[2 * i] = from0[i * step];
    to[2 * i + 1] = from1[i * step];
  }
}

HWY_INLINE void PartRows(const float* from, float* to0, float* to1, int64_t step, int64_t n) {
  int64_t i = 0;
  if (step == 1) {
    const hn::ScalableTag<float> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      auto v0 = hn::Zero(d);
      auto v1 = hn::Zero(d);
      hn::LoadInterleaved2(d, from + 2 * i, v0, v1);
      hn::StoreU(v0, d, to0 + i);
      hn::StoreU(v1, d, to1 + i);
    }
  }
  for (; i < n; ++i) {
    to0[i * step] = from[2 * i];
    to1[i * step] = from[2 * i + 1];
  }
}

// The planes of one image with C = 1 or 2 channels. Planes of two channels are paired: one plane,
// each pixel with both channels.
template <int C, bool kInputGrad, bool kGridGrad>
class ImagePlanes {
  static constexpr bool kPaired = C == 2;

 public:
  // `slot`: planes.image elements.
  ImagePlanes(const Params& p, int64_t n, const PaddedGeometry& planes, float* slot)
      : p_(p),
        planes_(planes),
        input_(static_cast<const float*>(p.input) + n * p.input_stride[0]),
        input_grad_(kInputGrad ? static_cast<float*>(p.input_grad) + n * p.input_grad_stride[0]
                               : nullptr),
        values_(slot),
        sums_(slot + (kGridGrad ? C * planes.plane : 0)) {}

  // Values of input, if gridGrad is wanted, and sums of 0.
  void Fill() const {
    if constexpr (kInputGrad) Clear(sums_, C * planes_.plane);
    if constexpr (!kGridGrad) return;
    const auto& stride = p_.input_stride;
    Clear(values_, 2 * C * planes_.pitch);
    for (int64_t y = 0; y < p_.shape.h; ++y) {
      const float* from = input_ + y * stride[2];
      float* row = PaddedRow(values_, y);
      Clear(row - C, C);
      if constexpr (kPaired) {
        PairRows(from, from + stride[1], stride[3], row, p_.shape.w);
      } else {
        CopyRow(from, stride[3], row, 1, p_.shape.w);
      }
      Clear(row + C * p_.shape.w, C);
    }
    Clear(PaddedRow(values_, p_.shape.h) - C, C * planes_.pitch);
  }

  // The sums, to inputGrad.
  void StoreSums() const {
    if constexpr (!kInputGrad) return;
    const auto& stride = p_.input_grad_stride;
    const bool stream = planes_.stream && stride[3] == 1 && p_.shape.w % kLine == 0 &&
                        stride[2] % kLine == 0 && LineOffset(input_grad_) == 0;
    for (int64_t y = 0; y < p_.shape.h; ++y) {
      const float* row = PaddedRow(sums_, y);
      float* to = input_grad_ + y * stride[2];
      if constexpr (kPaired) {
        PartRows(row, to, to + stride[1], stride[3], p_.shape.w);
      } else if (stream) {
        StreamRow(row, to, p_.shape.w);
      } else {
        CopyRow(row, 1, to, stride[3], p_.shape.w);
      }
    }
  }

  const float* values() const { return values_; }
  float* sums() const { return sums_; }

 private:
  // Row y of the image, from column 0 on.
  float* PaddedRow(float* plane, int64_t y) const {
    return plane + ((y + 2) * planes_.pitch + 1) * C;
  }

  const Params& p_;
  const PaddedGeometry& planes_;
  const float* input_;
  float* input_grad_;
  float* values_;
  float* sums_;
};

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
