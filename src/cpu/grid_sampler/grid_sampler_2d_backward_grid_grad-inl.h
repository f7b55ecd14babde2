// gridGrad of an image from the sums of its channel blocks: added up in the blocks' order, times
// the slope of the coordinate. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_GRID_GRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_GRID_GRAD_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_GRID_GRAD_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_GRID_GRAD_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "base/half.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_slab-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_point-inl.h"
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

  // `in_lists`: the sums are in the order of the lists.
  GridGradFinisher(const SlabCall<T>& call, int64_t n, const ImageScratch<F>& scratch,
                   bool in_lists)
      : call_(call),
        g_(call.g),
        geometry_(call.geometry),
        grid_(call.GridOf(n)),
        out_(static_cast<T*>(call.p.grid_grad) + n * call.p.grid_grad_stride[0]),
        at_(GridPointsOf(call.s, call.p.grid_grad_stride)),
        scratch_(scratch),
        in_lists_(in_lists) {}

  // Points [first, last).
  void Run(int64_t first, int64_t last) const {
    HWY_ALIGN F x[kGroup] = {};
    HWY_ALIGN F y[kGroup] = {};
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
      if (call_.slopes) FinishGroup(p, count, x, y);
      StoreGridGrad(x, y, p, count);
    }
    if (kCanShare) hwy::FlushStream();
  }

 private:
  // The totals of a group over the blocks, in ascending order of the blocks.
  void SumInOrder(int64_t first, int64_t count, F* sum_x, F* sum_y) const {
    const PointTag<F> d;
    for (int64_t block = 0; block < g_.blocks.count; ++block) {
      F* sums = scratch_.partial + (block * g_.partial_points + first) * 2;
      if (count == int64_t{kGroup}) {
        for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
          auto add_x = hn::Zero(d);
          auto add_y = hn::Zero(d);
          LoadDeinterleaved2(d, sums + 2 * i, add_x, add_y);
          hn::Store(hn::Add(hn::Load(d, sum_x + i), add_x), d, sum_x + i);
          hn::Store(hn::Add(hn::Load(d, sum_y + i), add_y), d, sum_y + i);
        }
        if (call_.Shared()) Release(sums);
        continue;
      }
      for (int64_t k = 0; k < count; ++k) {
        sum_x[k] += sums[2 * k];
        sum_y[k] += sums[2 * k + 1];
      }
    }
  }

  // The same where the sums are in the order of the lists.
  void SumFromLists(int64_t first, int64_t count, F* sum_x, F* sum_y) const {
    const hn::CappedTag<F, 2> pair;
    for (int64_t k = 0; k < count; ++k) {
      const int32_t* place = scratch_.place + first + k;
      const int64_t later = place[kFetchAhead];  // behind the last point any number
      const F* sums = scratch_.partial;
      auto total = hn::Zero(pair);
      for (int64_t block = 0; block < g_.blocks.count; ++block, sums += 2 * g_.partial_points) {
        FetchElement<3>(sums, 2 * later);
        total = hn::Add(total, hn::LoadU(pair, sums + 2 * int64_t{*place}));
      }
      HWY_ALIGN F both[2];
      hn::Store(total, pair, both);
      sum_x[k] = both[0];
      sum_y[k] = both[1];
    }
  }

  // The totals over the blocks, times the coordinate's slope.
  void FinishGroup(int64_t first, int64_t count, F* x, F* y) const {
    const PointTag<F> d;
    HWY_ALIGN F sum_x[kGroup] = {};
    HWY_ALIGN F sum_y[kGroup] = {};
    if (in_lists_) {
      SumFromLists(first, count, sum_x, sum_y);
    } else {
      SumInOrder(first, count, sum_x, sum_y);
    }
    HWY_ALIGN F grid_x[kGroup];
    HWY_ALIGN F grid_y[kGroup];
    ReadGrid<T>(call_.grid_at, grid_, first, count, grid_x, grid_y);
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      auto unusable = hn::MaskFromVec(hn::Zero(d));
      auto infinite = unusable;
      auto slope_x = hn::Zero(d);
      auto slope_y = hn::Zero(d);
      Locate(d, hn::Load(d, grid_x + i), geometry_.x, geometry_.rule, slope_x, unusable, infinite);
      Locate(d, hn::Load(d, grid_y + i), geometry_.y, geometry_.rule, slope_y, unusable, infinite);
      const auto finish = [&](const F* sum, auto slope, F* to) HWY_ATTR {
        hn::Store(FinishGrad(d, hn::Load(d, sum + i), slope, unusable, infinite), d, to + i);
      };
      finish(sum_x, slope_x, x);
      finish(sum_y, slope_y, y);
    }
  }

  // Writes a group's totals, which nobody needs any more, past the caches: see Shared().
  static void Release(F* totals) {
    const PointTag<F> d;
    for (size_t i = 0; i < 2 * kGroup; i += hn::Lanes(d)) {
      hn::Stream(hn::Zero(d), d, totals + i);
    }
  }

  void StoreGridGrad(const F* x, const F* y, int64_t first, int64_t count) const {
    const PointStrides& at = at_;
    if (HasDensePairs(at) && count == int64_t{kGroup}) {
      const PointTag<F> d;
      for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
        HWY_ALIGN F pairs[2 * kGroup];
        hn::StoreInterleaved2(hn::Load(d, x + i), hn::Load(d, y + i), d, pairs);
        T* to = out_ + 2 * (first + static_cast<int64_t>(i));
        StoreNarrow(hn::Load(d, pairs), d, to);
        StoreNarrow(hn::Load(d, pairs + hn::Lanes(d)), d, to + hn::Lanes(d));
      }
      return;
    }
    for (int64_t k = 0; k < count; ++k) {
      T* to = out_ + at.OffsetOf(first + k);
      to[0] = base::Narrow<T>(x[k]);
      to[at.channel_stride] = base::Narrow<T>(y[k]);
    }
  }

  const SlabCall<T>& call_;
  const SlabGeometry& g_;
  const PointGeometry<F>& geometry_;
  const T* grid_;
  T* out_;
  PointStrides at_;
  const ImageScratch<F> scratch_;
  bool in_lists_;
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
