// gridGrad of an image from the totals of its channel blocks: added up in the blocks' order, times
// the slope of the coordinate. How a block's total is made: cpu/vector/channel_tree-inl.h. Per
// target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_BLOCK_TOTALS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_BLOCK_TOTALS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_BLOCK_TOTALS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_BLOCK_TOTALS_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_backward_slab-inl.h"
#include "cpu/grid_sampler/grid_sampler_source-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// One image.
template <class T>
class GridGradFinisher {
 public:
  using F = base::ComputeType<T>;

  GridGradFinisher(const SlabCall<T>& call, int64_t n, const ImageScratch<F>& scratch)
      : call_(call),
        g_(call.g),
        geometry_(call.geometry),
        grid_(call.GridOf(n)),
        out_(static_cast<T*>(call.p.grid_grad) + n * call.p.grid_grad_stride[0]),
        at_(GridPointsOf(call.s, call.p.grid_grad_stride)),
        scratch_(scratch) {}

  // Points [first, last).
  void Run(int64_t first, int64_t last) const {
    if (call_.slopes) {
      ForGridVectors<2>(call_.grid_at, grid_, first, last,
                        [&](int64_t p, int64_t count, V x, V y, V) PORTACL_INLINE_LAMBDA {
                          Finish(p, count, x, y);
                          WritePoints(D(), at_, out_, p, count, x, y);
                        });
    } else {  // zeros, and nobody need have a grid
      const int64_t lanes = Length(D());
      for (int64_t p = first; p < last; p += lanes) {
        WritePoints(D(), at_, out_, p, std::min(lanes, last - p), hn::Zero(D()), hn::Zero(D()));
      }
    }
  }

 private:
  using D = PointTag<F>;
  using V = hn::Vec<D>;

  // From coordinates to gradients: the totals over the blocks, times the coordinate's slope.
  HWY_INLINE void Finish(int64_t first, int64_t count, V& x, V& y) const {
    const D d;
    V slope_x, slope_y;
    hn::Mask<D> unusable, infinite;
    LocatePoints(d, geometry_, Axes(x, y), Axes(slope_x, slope_y), unusable, infinite);
    x = hn::Zero(d);
    y = x;
    SumBlocks(first, count, x, y);
    x = FinishGrad(d, x, slope_x, unusable, infinite);
    y = FinishGrad(d, y, slope_y, unusable, infinite);
  }

  // The totals of a vector of points over the blocks, in ascending order of the blocks.
  HWY_INLINE void SumBlocks(int64_t first, int64_t count, V& sum_x, V& sum_y) const {
    const D d;
    HWY_ALIGN F copy[2 * hn::MaxLanes(D())] = {};
    for (int64_t block = 0; block < g_.blocks.count; ++block) {
      F* const sums = scratch_.partial + (block * g_.partial_points + first) * 2;
      const bool whole = count == Length(d);
      if (!whole) std::copy_n(sums, 2 * count, copy);
      V x, y;
      LoadDeinterleaved2(d, whole ? sums : copy, x, y);
      sum_x = hn::Add(sum_x, x);
      sum_y = hn::Add(sum_y, y);
    }
  }

  const SlabCall<T>& call_;
  const SlabGeometry& g_;
  const PointGeometry<F>& geometry_;
  const T* grid_;
  T* out_;
  PointStrides at_;
  const ImageScratch<F> scratch_;
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
