// Which strips of an image's rows its points touch: a byte for each point, which owners of strips
// read instead of the points. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_CODES_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_CODES_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_CODES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "cpu/grid_sampler/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_gather-inl.h"
#include "cpu/vector/highway.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// The code of a point is the sum of the strips of its first and its last row, plus 2; 0 if it has
// no pixel. Fills the codes of image n's points from `first` on, up to `last` and the block's end.
template <class F, bool kNearest>
void CodePoints(const ops::GridSampler2DBackwardParams& p, const OwnedStrips& g, int64_t n,
                int64_t first, int64_t last, uint8_t* codes) {
  const PointTag<F> d;
  const IndexTag<PointTag<F>> di;
  const hn::Rebind<float, decltype(d)> df;
  const hn::Rebind<uint8_t, decltype(d)> du8;
  using V = hn::Vec<decltype(d)>;
  using VI = hn::Vec<decltype(di)>;
  const auto geometry = PointGeometryOf<F>(p.shape);
  const PointStrides at = GridPointsOf(p.shape, p.grid_stride);
  const F* const grid = static_cast<const F*>(p.grid) + n * p.grid_stride[0];
  const VI rows = hn::Set(di, static_cast<int32_t>(p.shape.h));
  const VI columns = hn::Set(di, static_cast<int32_t>(p.shape.w));
  const VI one = hn::Set(di, 1);
  const auto strip_of = [&](VI row) HWY_ATTR {
    const VI inside = hn::Clamp(row, hn::Zero(di), hn::Sub(rows, one));
    const auto at_strip = hn::Mul(hn::ConvertTo(df, inside), hn::Set(df, g.per_row));
    return hn::Min(hn::ConvertTo(di, at_strip), hn::Set(di, static_cast<int32_t>(g.strips - 1)));
  };
  for (int64_t i = first; i < last; i += Length(d)) {
    const int64_t left = std::min(Length(d), p.shape.oh * p.shape.ow - i);
    if (left <= 0) {  // behind the last point
      std::memset(codes + i, 0, static_cast<size_t>(last - i));
      return;
    }
    V x = hn::Zero(d);
    V y = x;
    ReadPoints(d, at, grid, i, left, x, y);
    LocatePoints(d, geometry, Axes(x, y));
    const VI column = ToIndex(d, kNearest ? hn::Round(x) : hn::Floor(x));
    const VI row = ToIndex(d, kNearest ? hn::Round(y) : hn::Floor(y));
    const auto touches = [&](VI index, VI extent) HWY_ATTR {
      return kNearest ? IsBelow(di, index, extent)
                      : IsBelow(di, hn::Add(index, one), hn::Add(extent, one));
    };
    const auto exist = hn::FirstN(di, static_cast<size_t>(left));
    const auto any = hn::And(hn::And(touches(column, columns), touches(row, rows)), exist);
    const VI last_row = kNearest ? row : hn::Add(row, one);
    const VI code = hn::Add(hn::Add(strip_of(row), strip_of(last_row)), hn::Set(di, 2));
    hn::StoreU(hn::DemoteTo(du8, hn::IfThenElseZero(any, code)), du8, codes + i);
  }
}

// The codes of all images, if the strips want some.
template <class F, bool kNearest>
void CodeImages(const ops::GridSampler2DBackwardParams& p, const OwnedStrips& g, uint8_t* codes) {
  if (g.image_codes == 0) return;
  constexpr int64_t kGrain = 32;
  const int64_t blocks = g.image_codes / kCodeBlock;
  runtime::ParallelFor(p.shape.n * blocks, kGrain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t n = begin / blocks;
      const int64_t last = std::min(end, (n + 1) * blocks);
      CodePoints<F, kNearest>(p, g, n, (begin - n * blocks) * kCodeBlock,
                              (last - n * blocks) * kCodeBlock, codes + n * g.image_codes);
      begin = last;
    }
  });
}

// Appends to `to` the numbers of a block's points, from `first` on, with codes from `least` to
// least + 2; returns how many.
inline int64_t ListBlock(const uint8_t* codes, uint8_t least, int64_t first, int32_t* to) {
  const hn::CappedTag<uint8_t, kCodeBlock> d;
  int64_t listed = 0;
  for (int64_t i = 0; i < kCodeBlock; i += Length(d)) {
    const auto above = hn::Sub(hn::Load(d, codes + i), hn::Set(d, least));
    const auto hit = hn::Eq(hn::Min(above, hn::Set(d, 2)), above);
    if (hn::AllFalse(d, hit)) continue;
    if (hn::AllTrue(d, hit)) {
      std::iota(to + listed, to + listed + Length(d), static_cast<int32_t>(first + i));
      listed += Length(d);
      continue;
    }
    HWY_ALIGN uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hit, bits);
    uint64_t left;
    std::memcpy(&left, bits, sizeof(left));
    for (; left != 0; left &= left - 1) {
      to[listed++] = static_cast<int32_t>(first + i + std::countr_zero(left));
    }
  }
  return listed;
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
