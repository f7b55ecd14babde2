// inputGrad with few channels, bilinear and nearest: a strip of inputGrad's rows has one owner, who
// looks at all points of the image and adds those that touch the strip straight to the planes.
// gridGrad, which needs no owner, is computed apart.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_owned.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_gather-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_paths-inl.h"
#include "cpu/vector/listed_lanes-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;

// Points that are located together, so that the latencies of that overlap.
inline constexpr int64_t kBatch = 64;

// Taps of a bilinear point that are in the strip.
enum Taps : int32_t { kNw = 1, kNe = 2, kSw = 4, kSe = 8, kAllTaps = 15 };

// Of a batch's points, one array per quantity; `touching` lists those with a tap in the strip.
template <class F>
struct BilinearBatch {
  HWY_ALIGN F weight[4][kBatch];
  HWY_ALIGN int32_t taps[kBatch];
  HWY_ALIGN int32_t cell[kBatch];  // of the upper left tap, from the plane's start
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// Of these points alone: the pixel of touching[j] is at cell[j].
struct NearestBatch {
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  HWY_ALIGN int32_t cell[kBatch + kGroup];
  int64_t count;
};

// The code of a point is the sum of the strips of its first and its last row, plus 2; 0 if it has
// no pixel. Fills the codes of image n's points from `first` on, up to `last` and the block's end.
template <class F, bool kNearest>
void CodePoints(const Params& p, const OwnedStrips& g, int64_t n, int64_t first, int64_t last,
                uint8_t* codes) {
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
    hn::Mask<decltype(d)> unusable;
    LocateAny(d, geometry, x, y, x, y, unusable);
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

// Points of an image: `count` from `first` on, or those of a list in ascending order.
struct SomePoints {
  int64_t first;
  int64_t count;
  const int32_t* list = nullptr;

  int64_t operator[](int64_t k) const { return list == nullptr ? first + k : list[k]; }
  // Whether points [begin, begin + length) of these follow each other in the image.
  bool AreSideBySide(int64_t begin, int64_t length) const {
    return list == nullptr || list[begin + length - 1] - list[begin] == length - 1;
  }
};

template <class F, bool kNearest>
class OwnedStrip {
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  using Batch = std::conditional_t<kNearest, NearestBatch, BilinearBatch<F>>;

 public:
  // Strip `strip` of image n.
  OwnedStrip(const Params& p, const OwnedStrips& g, int64_t n, int64_t strip)
      : p_(p),
        strip_(strip),
        first_row_(g.FirstRow(strip, p.shape.h)),
        end_row_(g.FirstRow(strip + 1, p.shape.h)),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        grid_(static_cast<const F*>(p.grid) + n * p.grid_stride[0]),
        grad_output_(static_cast<const F*>(p.grad_output) + n * p.grad_output_stride[0]),
        sums_(static_cast<F*>(p.input_grad) + n * p.input_grad_stride[0]) {}

  // `codes`: of the image's points, null where there are none.
  void Run(const uint8_t* codes) const {
    for (int64_t c = 0; c < p_.shape.c; ++c) {
      ClearInputGrad(p_, sums_ + c * p_.input_grad_stride[1], first_row_, end_row_);
    }
    const int64_t points = p_.shape.oh * p_.shape.ow;
    if (codes != nullptr) return RunListed(codes, points);
    for (int64_t first = 0; first < points; first += kBatch) {
      Add({first, std::min(kBatch, points - first)});
    }
  }

 private:
  // Points that touch the strip, wherever they are, a batch at a time.
  void RunListed(const uint8_t* codes, int64_t points) const {
    HWY_ALIGN int32_t list[kBatch + kCodeBlock];
    const auto least = static_cast<uint8_t>(2 * strip_ + 1);
    int64_t listed = 0;
    for (int64_t first = 0; first < points; first += kCodeBlock) {
      listed += ListBlock(codes + first, least, first, list + listed);
      if (listed < kBatch) continue;
      Add({0, kBatch, list});
      listed -= kBatch;
      std::memmove(list, list + kBatch, static_cast<size_t>(listed) * sizeof(int32_t));
    }
    if (listed > 0) Add({0, listed, list});
  }

  void Add(const SomePoints& points) const {
    Batch batch;
    Locate(points, &batch);
    if (batch.count == 0) return;
    HWY_ALIGN F copy[kBatch];
    for (int64_t c = 0; c < p_.shape.c; ++c) {
      AddPoints(batch, batch.count == points.count, GradOutput(c, points, copy),
                sums_ + c * p_.input_grad_stride[1]);
    }
  }

  HWY_INLINE void Read(const SomePoints& points, int64_t i, int64_t left, V& x, V& y) const {
    const D d;
    if (HWY_LIKELY(points.AreSideBySide(i, left))) {
      return ReadPoints(d, grid_at_, grid_, points[i], left, x, y);
    }
    HWY_ALIGN F at_x[kGroup];
    HWY_ALIGN F at_y[kGroup];
    for (int64_t k = 0; k < Length(d); ++k) {
      const F* const from = grid_ + grid_at_.OffsetOf(points[i + std::min(k, left - 1)]);
      at_x[k] = from[0];
      at_y[k] = from[grid_at_.channel_stride];
    }
    x = hn::Load(d, at_x);
    y = hn::Load(d, at_y);
  }

  // Not inlined: the compiler would keep the weights in vectors and extract them lane by lane.
  HWY_NOINLINE void Locate(const SomePoints& points, Batch* HWY_RESTRICT batch) const {
    const D d;
    const DI di;
    size_t listed = 0;
    for (int64_t i = 0; i < points.count; i += Length(d)) {
      V x = hn::Zero(d);
      V y = x;
      const int64_t left = std::min(Length(d), points.count - i);
      Read(points, i, left, x, y);
      hn::Mask<D> unusable;
      LocateAny(d, geometry_, x, y, x, y, unusable);
      const auto exist = hn::FirstN(di, static_cast<size_t>(left));
      const VI number = hn::Iota(di, static_cast<int32_t>(i));
      if constexpr (kNearest) {
        const VI column = ToIndex(d, hn::Round(x));
        const VI row = ToIndex(d, hn::Round(y));
        const auto touching =
            hn::And(hn::And(IsBelow(di, column, Width()), IsBelow(di, OwnRow(row), Rows())), exist);
        StoreListed(number, touching, di, batch->touching + listed);
        listed += StoreListed(CellAt(column, row), touching, di, batch->cell + listed);
      } else {
        const VI taps = Place(x, y, i, batch);
        const auto touching = hn::And(hn::Ne(taps, hn::Zero(di)), exist);
        listed += StoreListed(number, touching, di, batch->touching + listed);
      }
    }
    batch->count = static_cast<int64_t>(listed);
  }

  HWY_INLINE VI Width() const { return hn::Set(DI(), static_cast<int32_t>(p_.shape.w)); }
  HWY_INLINE VI Rows() const { return hn::Set(DI(), static_cast<int32_t>(end_row_ - first_row_)); }
  HWY_INLINE VI OwnRow(VI row) const {
    return hn::Sub(row, hn::Set(DI(), static_cast<int32_t>(first_row_)));
  }
  HWY_INLINE VI CellAt(VI column, VI row) const {
    const VI down = hn::Set(DI(), static_cast<int32_t>(p_.input_grad_stride[2]));
    return hn::Add(hn::Mul(row, down), column);
  }

  // Cells and weights of a vector of bilinear points; the result is which taps are in the strip.
  HWY_INLINE VI Place(V x, V y, int64_t i, Batch* HWY_RESTRICT batch) const {
    const D d;
    const DI di;
    const VI one = hn::Set(di, 1);
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const VI column = ToIndex(d, x0);
    const VI row = ToIndex(d, y0);
    const VI own_row = OwnRow(row);
    const auto bits = [&](VI at, VI extent, int32_t value) HWY_ATTR {
      return hn::IfThenElseZero(IsBelow(di, at, extent), hn::Set(di, value));
    };
    const VI columns =
        hn::Or(bits(column, Width(), kNw | kSw), bits(hn::Add(column, one), Width(), kNe | kSe));
    const VI rows =
        hn::Or(bits(own_row, Rows(), kNw | kNe), bits(hn::Add(own_row, one), Rows(), kSw | kSe));
    const VI taps = hn::And(columns, rows);
    if (hn::AllTrue(di, hn::Eq(taps, hn::Zero(di)))) return taps;
    hn::Store(taps, di, batch->taps + i);
    hn::Store(CellAt(column, row), di, batch->cell + i);
    V tx, ux, ty, uy, nw, ne, sw, se;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
    hn::Store(nw, d, batch->weight[0] + i);
    hn::Store(ne, d, batch->weight[1] + i);
    hn::Store(sw, d, batch->weight[2] + i);
    hn::Store(se, d, batch->weight[3] + i);
    return taps;
  }

  // Of these points, in the tensor itself or copied.
  const F* GradOutput(int64_t c, const SomePoints& points, F* HWY_RESTRICT copy) const {
    const PointStrides& at = grad_output_at_;
    const F* from = grad_output_ + c * at.channel_stride;
    if (at.flat && at.pixel_stride == 1 && points.AreSideBySide(0, points.count)) {
      return from + points[0];
    }
    for (int64_t k = 0; k < points.count; ++k) copy[k] = from[at.OffsetOf(points[k])];
    return copy;
  }

  // In order. `all`: no point is left out.
  static HWY_NOINLINE void AddPoints(const NearestBatch& batch, bool all, const F* HWY_RESTRICT g,
                                     F* HWY_RESTRICT plane) {
    if (HWY_LIKELY(all)) {
      for (int64_t j = 0; j < batch.count; ++j) plane[batch.cell[j]] += g[j];
      return;
    }
    for (int64_t j = 0; j < batch.count; ++j) plane[batch.cell[j]] += g[batch.touching[j]];
  }

  // Points and taps in order, each sum by one fused multiply-add.
  HWY_NOINLINE void AddPoints(const BilinearBatch<F>& batch, bool /*all*/, const F* HWY_RESTRICT g,
                              F* plane) const {
    const int64_t down = p_.input_grad_stride[2];
    for (int64_t j = 0; j < batch.count; ++j) {
      const int32_t k = batch.touching[j];
      F* const upper = plane + batch.cell[k];
      F* const lower = upper + down;
      const int32_t taps = batch.taps[k];
      const auto add = [&](int32_t tap, F* sum, size_t w) PORTACL_INLINE_LAMBDA {
        if ((taps & tap) != 0) *sum = std::fma(batch.weight[w][k], g[k], *sum);
      };
      if (HWY_LIKELY(taps == kAllTaps)) {
        upper[0] = std::fma(batch.weight[0][k], g[k], upper[0]);
        upper[1] = std::fma(batch.weight[1][k], g[k], upper[1]);
        lower[0] = std::fma(batch.weight[2][k], g[k], lower[0]);
        lower[1] = std::fma(batch.weight[3][k], g[k], lower[1]);
        continue;
      }
      add(kNw, upper, 0);
      add(kNe, upper + 1, 1);
      add(kSw, lower, 2);
      add(kSe, lower + 1, 3);
    }
  }

  const Params& p_;
  int64_t strip_;
  int64_t first_row_;
  int64_t end_row_;
  PointGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  const F* grid_;
  const F* grad_output_;
  F* sums_;
};

// gridGrad of a strip's share of image n's points: moving a point moves no nearest pixel.
template <class F>
void ClearGridGrad(const Params& p, int64_t n, int64_t strip, int64_t strips) {
  const int64_t points = p.shape.oh * p.shape.ow;
  const int64_t first = points * strip / strips;
  const int64_t end = points * (strip + 1) / strips;
  F* const grid_grad = static_cast<F*>(p.grid_grad) + n * p.grid_grad_stride[0];
  const PointStrides at = GridPointsOf(p.shape, p.grid_grad_stride);
  if (HasDensePairs(at)) return Clear(grid_grad + 2 * first, 2 * (end - first));
  for (int64_t k = first; k < end; ++k) {
    F* const pair = grid_grad + at.OffsetOf(k);
    pair[0] = pair[at.channel_stride] = 0;
  }
}

// The codes of all images, where the strips want some.
template <class F, bool kNearest>
void CodeImages(const Params& p, const OwnedStrips& g, uint8_t* codes) {
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

// Strip i % strips of image i / strips.
template <class F, bool kNearest>
void RunStrip(const Params& p, const OwnedStrips& g, int64_t i, const uint8_t* codes) {
  const int64_t n = i / g.strips;
  OwnedStrip<F, kNearest>(p, g, n, i % g.strips)
      .Run(g.image_codes == 0 ? nullptr : codes + n * g.image_codes);
}

}  // namespace

void RunPath(const Params& p, const OwnedGeometry& g, void* workspace) {
  auto* const codes = static_cast<uint8_t*>(workspace);
  if (p.want_grid_grad) RunPath(p, g.chunks, workspace);
  CodeImages<float, false>(p, g.strips, codes);
  runtime::ParallelFor(p.shape.n * g.strips.strips, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) RunStrip<float, false>(p, g.strips, i, codes);
  });
}

void RunPath(const Params& p, const ScatterGeometry& g, void* workspace) {
  auto* const codes = static_cast<uint8_t*>(workspace);
  const int64_t strips = g.strips.strips;
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, base::ComputeType<T>>) {
      CodeImages<T, true>(p, g.strips, codes);
      runtime::ParallelFor(p.shape.n * strips, g.grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (p.want_grid_grad) ClearGridGrad<T>(p, i / strips, i % strips, strips);
          RunStrip<T, true>(p, g.strips, i, codes);
        }
      });
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
