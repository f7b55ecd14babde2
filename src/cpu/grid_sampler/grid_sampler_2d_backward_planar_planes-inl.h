// The planes that few channels' gradients are computed on: an image's own ones, or padded copies in
// a slot of the workspace. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PLANAR_PLANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PLANAR_PLANES_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PLANAR_PLANES_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_PLANAR_PLANES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_planar_points-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/machine/fetch.h"
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

// CopyRow for paired planes, whose pixels hold two channels.
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

// The planes of one image with C = 1 or 2 channels. Padded planes of two channels are paired: one
// plane whose pixels hold both.
template <int C, bool kInputGrad, bool kGridGrad, bool kPadded>
class ImagePlanes {
  static constexpr bool kPaired = kPadded && C == 2;

 public:
  // `slot`: planes.image elements.
  ImagePlanes(const Params& p, int64_t n, const PlanarGeometry& planes, float* slot)
      : p_(p),
        planes_(planes),
        fetch_next_(planes.fetch_input && n + 1 < p.shape.n),
        input_(static_cast<const float*>(p.input) + n * p.input_stride[0]),
        input_grad_(kInputGrad ? static_cast<float*>(p.input_grad) + n * p.input_grad_stride[0]
                               : nullptr),
        values_(slot),
        sums_(slot + (kGridGrad ? C * planes.plane : 0)) {
    if constexpr (!kPadded && kInputGrad) {
      sums_ = planes.stage_sums ? slot + LineOffset(input_grad_) : input_grad_;
    }
  }

  // Values of input, if gridGrad is wanted, and sums of 0.
  void Fill() const {
    if constexpr (kPadded) {
      FillPaddedPlanes();
    } else {
      if constexpr (kGridGrad) {
        if (fetch_next_) FetchNextInput();
      }
      if constexpr (kInputGrad) {
        for (int c = 0; c < C; ++c) ClearInputGrad(p_, Sums(c), 0, p_.shape.h);
      }
    }
  }

  // The sums, to inputGrad where they are elsewhere.
  void StoreSums() const {
    if constexpr (kInputGrad) {
      if constexpr (kPadded) {
        StorePaddedSums();
      } else if (planes_.stage_sums) {
        StreamSums();
      }
    }
  }

  const float* Values(int c) const { return kPadded ? values_ : input_ + c * p_.input_stride[1]; }
  float* Sums(int c) const { return kPadded ? sums_ : sums_ + c * p_.input_grad_stride[1]; }

 private:
  // Padded planes: row y of the image, from column 0 on.
  float* PaddedRow(float* plane, int64_t y) const {
    return plane + ((y + 2) * planes_.pitch + 1) * C;
  }

  void FillPaddedPlanes() const {
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

  void StorePaddedSums() const {
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

  // Inline: see FetchPagesAhead().
  HWY_INLINE void FetchNextInput() const {
    const int64_t elements = C * p_.shape.h * p_.shape.w;
    for (int64_t i = 0; i < elements; i += kLine) {
      FetchElement<2>(input_, p_.input_stride[0] + i);
    }
  }

  // Writes the staged sums, whole lines past the caches; to be ended with FlushStream().
  void StreamSums() const {
    const D d;
    const int64_t elements = C * p_.shape.h * p_.shape.w;
    const int64_t first = std::min(elements, (kLine - LineOffset(input_grad_)) % kLine);
    const int64_t last = first + (elements - first) / kLine * kLine;
    std::copy(sums_, sums_ + first, input_grad_);
    for (int64_t i = first; i < last; i += static_cast<int64_t>(hn::Lanes(d))) {
      hn::Stream(hn::Load(d, sums_ + i), d, input_grad_ + i);
    }
    std::copy(sums_ + last, sums_ + elements, input_grad_ + last);
  }

  const Params& p_;
  const PlanarGeometry& planes_;
  bool fetch_next_;
  const float* input_;
  float* input_grad_;
  float* values_;  // of padded planes
  float* sums_;    // of padded planes, staged, or inputGrad itself
};

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
