// The gradients on slabs: points are sorted into row strips, and strips are summed on pixel-major
// slabs, one block of channels after the other. The blocks' gridGrad sums are added in order. Apart
// from volumes' blocks (grid_sampler_3d_backward_blocks.cc): their owners look at all points, have
// no lists, and their cells no frame.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_slab.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_points-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_slab-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_gather-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/vector/elements.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using ops::Interpolation;

// gradOutput of points, from a PointBlock. Successive points of a list need no list.
template <class T, int L, class F = base::ComputeType<T>>
void FetchPoints(const void* source, int64_t first, const int32_t* index, int64_t count, F* to) {
  const auto& from = *static_cast<const PointBlock<const T>*>(source);
  if (index != nullptr && index[count - 1] - index[0] == count - 1) {
    first = index[0];
    index = nullptr;
  }
  ReadPointBlock<L>(from, first, index, count, to);
}

// The same from `gathered`: L lanes a point, in the order of the points' numbers.
template <class F, int L>
void FetchGathered(const void* source, int64_t first, const int32_t* index, int64_t count, F* to) {
  const BlockTag<F, L> d;
  const F* rows = static_cast<const F*>(source);
  for (int64_t k = 0; k < count; ++k) {
    const F* row = rows + (index != nullptr ? index[k] : first + k) * L;
    if (index != nullptr) {  // behind the list's end any number
      FetchElement<2>(rows, int64_t{index[k + kFetchAhead]} * L);
    }
    for (int64_t lane = 0; lane < L; lane += kBlockLanes<F, L>) {
      hn::Store(hn::Load(d, row + lane), d, to + k * L + lane);
    }
  }
}

// Adds the totals of a vector of points of an image up over the blocks, in ascending order. How a
// block's total is made: cpu/vector/channel_tree-inl.h.
template <class F, class V>
HWY_INLINE void SumTotals(const SlabGeometry& g, const F* totals, int64_t first, int64_t count,
                          V& sum_x, V& sum_y) {
  const hn::DFromV<V> d;
  sum_x = hn::Zero(d);
  sum_y = sum_x;
  HWY_ALIGN F copy[2 * hn::MaxLanes(d)] = {};
  for (int64_t block = 0; block < g.blocks.count; ++block) {
    const F* const sums = totals + (block * g.partial_points + first) * 2;
    const bool whole = count == Length(d);
    if (!whole) std::copy_n(sums, 2 * count, copy);
    V x, y;
    LoadDeinterleaved2(d, whole ? sums : copy, x, y);
    sum_x = hn::Add(sum_x, x);
    sum_y = hn::Add(sum_y, y);
  }
}

// What the strips' lists hold: groups of points, or points; the latter's gradOutput may have been
// gathered before.
enum class Lists { kGroups, kPoints, kGathered };

template <class T>
class Backward {
 public:
  using F = base::ComputeType<T>;

  Backward(const Params& p, const SlabGeometry& g, void* workspace)
      : call_(p, g, workspace),
        p_(p),
        s_(p.shape),
        g_(g),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)) {}

  void Run() const {
    if (!g_.by_image) {
      for (int64_t n = 0; n < s_.n; n += g_.images) {
        RunImages({n, std::min(g_.images, s_.n - n), 0});
      }
      return;
    }
    runtime::ParallelForSlots(s_.n, g_.slots, [&](int slot, int64_t n) {
      RunImages({n, 1, slot});
    });
  }

 private:
  using Scratch = ImageScratch<F>;

  void RunImages(const ImageRange& images) const {
    if (p_.want_input_grad || call_.slopes) {
      const PointOrder order = PointLister<T>::List(call_, images);
      if (order == PointOrder::kRandom && g_.group_blocks > 0) {
        for (int64_t block = 0; block < g_.blocks.count; block += g_.group_blocks) {
          const int64_t end = std::min(block + g_.group_blocks, g_.blocks.count);
          GatherGradOutput(images, block, end);
          RunStrips(images, block, end, Lists::kGathered);
        }
      } else {
        const Lists lists = order == PointOrder::kSmooth ? Lists::kGroups : Lists::kPoints;
        RunStrips(images, 0, g_.blocks.count, lists);
      }
    }
    if (!p_.want_grid_grad) return;
    call_.ForChunks(images, [&](int64_t i, int64_t, int64_t first, int64_t last) HWY_ATTR {
      const int64_t n = images.first + i;
      if (!call_.slopes) return NoGridGrad<Params, T>(p_).Run(n, first, last);
      const F* const totals = call_.ScratchOf(images, i).partial;
      TotalsGridGrad<Params, T>(p_).Run(
          n, first, last, [&](int64_t p, int64_t count, const auto& sum) PORTACL_INLINE_LAMBDA {
            SumTotals(g_, totals, p, count, sum.x, sum.y);
          });
    });
  }

  // ---- gradOutput -------------------------------------------------------------------------------

  PointBlock<const T> GradOutputOf(int64_t n, int64_t block) const {
    const T* base = static_cast<const T*>(p_.grad_output) + n * p_.grad_output_stride[0] +
                    g_.blocks.FirstChannel(block) * p_.grad_output_stride[1];
    return {base, grad_output_at_, g_.blocks.ChannelsOf(block)};
  }

  F* GatheredOf(int64_t block, const Scratch& scratch) const {
    return scratch.gathered + block % g_.group_blocks * g_.points * g_.blocks.MostLanes();
  }

  void GatherGradOutput(const ImageRange& images, int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block) {
      g_.blocks.WithLanes(block, [&](auto lanes) {
        call_.ForChunks(images, [&](int64_t i, int64_t, int64_t first, int64_t last) HWY_ATTR {
          const PointBlock<const T> from = GradOutputOf(images.first + i, block);
          F* const to = GatheredOf(block, call_.ScratchOf(images, i));
          for (int64_t p = first; p < last; p += 64) {
            const int64_t count = std::min<int64_t>(64, last - p);
            FetchPoints<T, lanes>(&from, p, nullptr, count, to + p * lanes);
          }
        });
      });
    }
  }

  // ---- strips -----------------------------------------------------------------------------------

  void RunStrips(const ImageRange& images, int64_t begin, int64_t end, Lists lists) const {
    const int64_t blocks = images.count * (end - begin);  // of all images, one after the other
    const auto run_strip = [&](int slot, int64_t at, int64_t strip) {
      const int64_t i = at / (end - begin);
      const int64_t block = begin + at % (end - begin);
      g_.blocks.WithLanes(block, [&](auto lanes) {
        RunStrip<lanes>(images.first + i, block, strip, call_.ScratchOf(images, i), lists, slot);
      });
    };
    const auto run_block = [&](int slot, int64_t at) {
      for (int64_t strip = 0; strip < g_.strips; ++strip) run_strip(slot, at, strip);
    };
    if (g_.by_image) {
      for (int64_t at = 0; at < blocks; ++at) run_block(static_cast<int>(images.scratch), at);
    } else if (blocks % g_.slots == 0) {
      // On a random grid, the gridGrad sums of a block's strips are stored side by side. Threads in
      // different strips would take the cache lines from each other.
      runtime::ParallelForSlots(blocks, g_.slots, run_block);
    } else {
      runtime::ParallelForSlots(blocks * g_.strips, g_.slots, [&](int slot, int64_t i) {
        run_strip(slot, i / g_.strips, i % g_.strips);
      });
    }
  }

  template <int L>
  void RunStrip(int64_t n, int64_t block, int64_t strip, const Scratch& scratch, Lists lists,
                int slot) const {
    F* slab = call_.SlabOf(slot);
    const int64_t first_row = g_.strips == 1 ? 0 : strip << g_.shift;
    const int64_t end_row = g_.strips == 1 ? s_.h : std::min(s_.h, (strip + 1) << g_.shift);
    const PointBlock<const T> grad_output = GradOutputOf(n, block);
    StripJob<F> job = {};
    job.geometry = call_.geometry;
    job.pitch = g_.pitch;
    job.first_row = first_row;
    job.end_row = end_row;
    job.halo_end = first_row + g_.slab_rows - 2;
    job.slab = slab;
    job.fetch = FetchPoints<T, L>;
    job.fetch_source = &grad_output;
    if (lists == Lists::kGathered) {
      job.random = true;
      job.fetch = FetchGathered<F, L>;
      job.fetch_source = GatheredOf(block, scratch);
    }
    job.foreign = g_.points + slot * kForeignPoints;
    job.partial = scratch.partial + block * g_.partial_points * 2;
    SetEntries(strip, scratch, lists, &job);
    const SlabBlock cells = {.n = n,
                             .first_channel = g_.blocks.FirstChannel(block),
                             .channels = g_.blocks.ChannelsOf(block),
                             .pitch = g_.pitch,
                             .first_row = first_row,
                             .end_row = end_row,
                             .halo_end = job.halo_end,
                             .values = call_.slopes,
                             .sums = p_.want_input_grad,
                             .stream = g_.stream};
    LoadSlab<L, T>(p_, cells, slab);
    if (job.count > 0) Pass<L>()(job);
    if (p_.want_input_grad) FlushSlab<L, T>(p_, cells, slab);
  }

  void SetEntries(int64_t strip, const Scratch& scratch, Lists lists, StripJob<F>* job) const {
    job->x = scratch.x;
    job->y = scratch.y;
    job->points = g_.points;
    if (g_.strips == 1) {
      job->count = g_.points;
      return;
    }
    const int32_t* ends = scratch.cursor + g_.chunks * g_.strips;
    const int32_t first = strip == 0 ? 0 : ends[strip - 1];
    if (lists == Lists::kGroups) {
      job->groups = scratch.group_lists + first;
      job->count = ends[strip] - first;
      return;
    }
    job->x = scratch.x + first;
    job->y = scratch.y + first;
    job->index = scratch.index + first;
    job->count = ends[strip] - first;
  }

  template <int L>
  StripPass<F> Pass() const {
    switch (s_.interpolation) {
      case Interpolation::kNearest:
        return NearestPass<F>(L);
      case Interpolation::kBilinear:
        return BilinearPass<F>(L, p_.want_input_grad, call_.slopes);
      default:
        return BicubicPass<F>(L, p_.want_input_grad, call_.slopes);
    }
  }

  SlabCall<T> call_;
  const Params& p_;
  const ops::GridSampler2DShape& s_;
  const SlabGeometry& g_;
  PointStrides grad_output_at_;
};

}  // namespace

template <class T>
void RunElements(const Params& p, const SlabGeometry& slabs, void* workspace) {
  Backward<T>(p, slabs, workspace).Run();
}
#define PORTACL_RUN(T) void RunElements<T>(const Params&, const SlabGeometry&, void*)
PORTACL_OF_ELEMENTS(PORTACL_RUN);
#undef PORTACL_RUN

#if PORTACL_FIRST_ELEMENTS
void RunPath(const Params& p, const SlabGeometry& slabs, void* workspace) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    RunElements<typename decltype(tag)::type>(p, slabs, workspace);
  });
}
#endif

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
