// Bilinear gradients of images with three or four channels that fit the L2 cache. The channels of a
// pixel are packed into one cell. One pass over the points locates them, adds to inputGrad and
// finishes gridGrad. So this path needs no lists of points.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_packed.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;

// An image in the cells of a slot. The cells are a slab of all rows (see
// grid_sampler_2d_backward_strip-inl.h): two rows for points outside the image, then the image in a
// frame of zeros, then a row of zeros.
template <class T, bool kGridGrad>
class PackedImage {
  using D = BlockTag<float, int{kGroup}>;  // points; of a known length, SVE or not
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using Quad = hn::FixedTag<float, 4>;  // the channels of one pixel
  using Pixel = Cell<float, 4, true, kGridGrad>;
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

 public:
  PackedImage(const Params& p, int64_t n, const PackedGeometry& g, float* cells)
      : p_(p),
        g_(g),
        geometry_(PointGeometryOf<float>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grid_grad_at_(GridPointsOf(p.shape, p.grid_grad_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        n_(n),
        cells_(cells) {}

  void Run() const {
    const auto& s = p_.shape;
    const SlabBlock all = {.n = n_,
                           .first_channel = 0,
                           .channels = s.c,
                           .pitch = g_.pitch,
                           .first_row = 0,
                           .end_row = s.h,
                           .halo_end = s.h + 1,
                           .values = kGridGrad,
                           .sums = true,
                           .stream = false};
    LoadSlab<4, T>(p_, all, cells_);
    const T* grid = static_cast<const T*>(p_.grid) + n_ * p_.grid_stride[0];
    const int64_t points = s.oh * s.ow;
    const D d;
    V x = hn::Zero(d);
    V y = x;
    for (int64_t first = 0; first < points; first += kLanes) {
      const int64_t count = std::min(kLanes, points - first);
      ReadPoints(d, grid_at_, grid, first, count, x, y);
      AddPoints(x, y, first, count);
    }
    FlushSlab<4, T>(p_, all, cells_);
  }

 private:
  // A vector of points, in four groups: points 0, 4, 8, ..., then 1, 5, ... In `grad` a group has
  // four lanes for each point, its channels. Point 4 b + j is block b of group j.
  struct Points {
    HWY_ALIGN float weight[4][kLanes];  // nw ne sw se
    HWY_ALIGN float grad[4][kLanes];    // gradOutput of each group
    HWY_ALIGN int32_t offset[kLanes];   // of the north-western cell
  };

  int64_t RowSize() const { return g_.pitch * Pixel::kSize; }

  // ---- points -----------------------------------------------------------------------------------

  HWY_INLINE void AddPoints(V x, V y, int64_t first, int64_t count) const {
    const D d;
    const DI di;
    V slope_x, slope_y;
    hn::Mask<D> unusable, infinite;
    LocatePoints(d, geometry_, Axes(x, y), Axes(slope_x, slope_y), unusable, infinite);
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    V tx, ux, ty, uy, nw, ne, sw, se;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    BilinearWeights(d, tx, ux, ty, uy, nw, ne, sw, se);
    Points points;
    hn::Store(nw, d, points.weight[0]);
    hn::Store(ne, d, points.weight[1]);
    hn::Store(sw, d, points.weight[2]);
    hn::Store(se, d, points.weight[3]);
    constexpr int kShift = kGridGrad ? 3 : 2;
    static_assert(Pixel::kSize == 1 << kShift);
    const auto cells = PaddedCells(di, p_.shape, g_.pitch, ToIndex(d, x0), ToIndex(d, y0));
    hn::Store(hn::ShiftLeft<kShift>(cells), di, points.offset);
    ReadGradOutput(first, count, &points);
    if constexpr (kGridGrad) {
      V grad_x, grad_y;
      SumSlopes(points, tx, ux, ty, uy, grad_x, grad_y);
      const V zero = hn::Zero(d);
      grad_x = FinishGrad(d, hn::Add(zero, grad_x), slope_x, unusable, infinite);
      grad_y = FinishGrad(d, hn::Add(zero, grad_y), slope_y, unusable, infinite);
      T* const out = static_cast<T*>(p_.grid_grad) + n_ * p_.grid_grad_stride[0];
      WritePoints(d, grid_grad_at_, out, first, count, grad_x, grad_y);
    }
    Scatter(points, count);
  }

  HWY_INLINE void ReadGradOutput(int64_t first, int64_t count, Points* points) const {
    const D d;
    const T* from = static_cast<const T*>(p_.grad_output) + n_ * p_.grad_output_stride[0];
    const auto read = [&](int64_t c) HWY_ATTR {
      return c < p_.shape.c ? ReadChannel(d, grad_output_at_,
                                          from + c * grad_output_at_.channel_stride, first, count)
                            : hn::Zero(d);
    };
    V g0 = read(0);
    V g1 = read(1);
    V g2 = read(2);
    V g3 = read(3);
    TransposeIn128(d, g0, g1, g2, g3);
    hn::Store(g0, d, points->grad[0]);
    hn::Store(g1, d, points->grad[1]);
    hn::Store(g2, d, points->grad[2]);
    hn::Store(g3, d, points->grad[3]);
  }

  // Loads the cells at from + offset[0], from + offset[4], ...: one cell for each point of a group.
  template <class Tag>
  static HWY_INLINE hn::Vec<Tag> LoadQuads(Tag d, const float* from, const int32_t* offset) {
    if constexpr (hn::MaxLanes(Tag()) == 4) {
      return hn::Load(d, from + offset[0]);
    } else {
      const hn::Half<Tag> half;
      constexpr size_t kBehind = hn::MaxLanes(hn::Half<Tag>());
      return hn::Combine(d, LoadQuads(half, from, offset + kBehind), LoadQuads(half, from, offset));
    }
  }

  // Sums each point's slopes over its channels; coordinates' slopes are not yet applied.
  HWY_INLINE void SumSlopes(const Points& points, V tx, V ux, V ty, V uy, V& sum_x,
                            V& sum_y) const {
    const D d;
    V t0, t1, t2, t3;
    SumGroup<0>(points, tx, ux, ty, uy, t0);
    SumGroup<1>(points, tx, ux, ty, uy, t1);
    SumGroup<2>(points, tx, ux, ty, uy, t2);
    SumGroup<3>(points, tx, ux, ty, uy, t3);
    TransposeIn128(d, t0, t1, t2, t3);
    sum_x = t0;
    sum_y = t2;
  }

  // Computes the sums x, x, y, y of each point by the tree: (0 + 2) + (1 + 3).
  template <int kIndex>
  HWY_INLINE void SumGroup(const Points& points, V tx, V ux, V ty, V uy, V& totals) const {
    const D d;
    const hn::Repartition<double, D> pairs;
    const int32_t* offset = points.offset + kIndex;
    const float* lower = cells_ + RowSize();
    const V g = hn::Load(d, points.grad[kIndex]);
    const V nw = LoadQuads(d, cells_, offset);
    const V ne = LoadQuads(d, cells_ + Pixel::kSize, offset);
    const V sw = LoadQuads(d, lower, offset);
    const V se = LoadQuads(d, lower + Pixel::kSize, offset);
    const V x = hn::Mul(
        g, TapSlope(d, nw, ne, sw, se, hn::Broadcast<kIndex>(ty), hn::Broadcast<kIndex>(uy)));
    const V y = hn::Mul(
        g, TapSlope(d, nw, sw, ne, se, hn::Broadcast<kIndex>(tx), hn::Broadcast<kIndex>(ux)));
    const auto px = hn::BitCast(pairs, x);
    const auto py = hn::BitCast(pairs, y);
    const V sum = hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, px, py)),
                          hn::BitCast(d, hn::InterleaveUpper(pairs, px, py)));
    totals = hn::Add(sum, hn::Shuffle2301(sum));
  }

  // Adds points and taps in order; each sum takes one fused multiply-add.
  HWY_INLINE void Scatter(const Points& points, int64_t count) const {
    float* const sums = cells_ + Pixel::kSums;
    const int64_t down = RowSize();
    const auto add = [&](int64_t k) PORTACL_INLINE_LAMBDA {
      const Quad d;
      const auto grad = hn::Load(d, points.grad[k % 4] + k / 4 * 4);
      float* upper = sums + points.offset[k];
      float* lower = upper + down;
      AddTo(d, upper, hn::Set(d, points.weight[0][k]), grad);
      AddTo(d, upper + Pixel::kSize, hn::Set(d, points.weight[1][k]), grad);
      AddTo(d, lower, hn::Set(d, points.weight[2][k]), grad);
      AddTo(d, lower + Pixel::kSize, hn::Set(d, points.weight[3][k]), grad);
    };
    for (int64_t k = 0; k < count; ++k) add(k);
  }

  const Params& p_;
  const PackedGeometry& g_;
  PointGeometry<float> geometry_;
  PointStrides grid_at_;
  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
  int64_t n_;
  float* cells_;
};

template <class T>
void RunImages(const Params& p, const PackedGeometry& g, float* memory) {
  runtime::ParallelForRanges(p.shape.n, g.slots, [&](int slot, int64_t first, int64_t last) {
    float* const cells = memory + slot * g.image;
    for (int64_t n = first; n < last; ++n) {
      if (p.want_grid_grad) {
        PackedImage<T, true>(p, n, g, cells).Run();
      } else {
        PackedImage<T, false>(p, n, g, cells).Run();
      }
    }
  });
}

}  // namespace

void RunPath(const Params& p, const PackedGeometry& g, void* workspace) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, double>) RunImages<T>(p, g, static_cast<float*>(workspace));
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
