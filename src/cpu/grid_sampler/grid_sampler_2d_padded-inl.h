// A small image with a frame of cells that add nothing, on the stack. Bilinear points that have
// been clipped to the frame have all four taps in it, and need no masks near the edges. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_PADDED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_PADDED_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_PADDED_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_PADDED_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_gather-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

//   . . . . . . .
//   . . . . . . .      Two cells of -0 on each side: with a weight of +0 or more, a fused
//   . . a b c . .      multiply-add leaves every sum as it is. A point behind the frame is clipped
//   . . d e f . .      to where no tap reaches the image.
//   . . . . . . .
//   . . . . . . .
template <class F>
class PaddedImage {
  using D = PointTag<F>;
  using V = hn::Vec<D>;
  static constexpr int64_t kFrame = 2;
  static constexpr int64_t kMostCells = 18432 / sizeof(F);

 public:
  // Whether the image, with all its channels, has room, and padding is by clipping.
  static bool Serves(const ops::GridSampler2DShape& s) {
    const int64_t rows = s.h + 2 * kFrame;
    return s.padding != ops::Padding::kReflection && !ops::IsExtended(s) && rows <= kMostCells &&
           s.w + 2 * kFrame <= kMostCells / rows && s.c <= kMostCells / (rows * (s.w + 2 * kFrame));
  }

  // `image` has dense rows.
  template <class T>
  PaddedImage(const ops::GridSampler2DShape& s, const T* image, int64_t channel_stride,
              int64_t row_stride)
      : pitch_(s.w + 2 * kFrame), plane_((s.h + 2 * kFrame) * pitch_) {
    for (int64_t c = 0; c < s.c; ++c) {
      const T* from = image + c * channel_stride;
      F* to = std::fill_n(cells_ + c * plane_, kFrame * pitch_ + kFrame, kNothing);
      for (int64_t y = 0; y < s.h; ++y) {
        CopyRow(from + y * row_stride, s.w, to);
        to = std::fill_n(to + s.w, 2 * kFrame, kNothing);  // of this row and the next
      }
      std::fill_n(to, kFrame * pitch_ - kFrame, kNothing);
    }
  }

  // Of a channel, with its frame.
  const F* cells() const { return cells_; }
  int64_t plane() const { return plane_; }
  int64_t pitch() const { return pitch_; }

  // Where the pixels at whole coordinates on the image or its frame are.
  HWY_INLINE hn::Vec<IndexTag<D>> OffsetsOf(V x, V y) const {
    const D d;
    const hn::Vec<IndexTag<D>> at =
        ToIndex(d, hn::MulAdd(y, hn::Set(d, static_cast<F>(pitch_)), x));
    return hn::Add(at, hn::Set(IndexTag<D>(), static_cast<int32_t>(kFrame * (pitch_ + 1))));
  }

  // A coordinate without NaN, where padding puts it or, of zeros, at the frame.
  static HWY_INLINE V ClipTo(const AxisExtent<F>& axis, ops::Padding padding, V at) {
    const D d;
    const bool zeros = padding == ops::Padding::kZeros;
    const V low = hn::Set(d, zeros ? -F{kFrame} : F{0});
    return hn::Min(hn::Max(at, low), hn::Set(d, zeros ? axis.size : axis.last));
  }

 private:
  static constexpr F kNothing = F{-0.0};

  template <class T>
  static HWY_INLINE void CopyRow(const T* from, int64_t count, F* to) {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (count < lanes) {
      for (int64_t x = 0; x < count; ++x) to[x] = base::Widen(from[x]);
      return;
    }
    for (int64_t x = 0; x < count - lanes; x += lanes) hn::StoreU(LoadWide(d, from + x), d, to + x);
    hn::StoreU(LoadWide(d, from + count - lanes), d, to + count - lanes);
  }

  int64_t pitch_;
  int64_t plane_;
  HWY_ALIGN F cells_[kMostCells];
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
