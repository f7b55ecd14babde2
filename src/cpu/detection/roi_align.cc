// RoiAlign and its gradient, compiled for every instruction set. Lanes of a vector are channels.
// Averages of upright rois: sums along H make the columns of a roi; sums of these along W make the
// bins. The gradient takes these steps backwards. Tables have the taps along W and H, which all
// channels share.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/dispatch.h"
#include "base/round_up.h"
#include "cpu/detection/roi_align_plan.h"
#include "ops/listed_kernels.h"
#include "ops/roi_align_params.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/detection/roi_align.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/detection/roi_align_points-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::RoiAlignParams;

// Pixels with adjacent channels.
template <class S>
struct Pixels {
  S* first;     // element (0, 0) of the image
  int64_t row;  // strides
  int64_t column;
  bool padded = false;  // pixels are padded to whole vectors
};

template <class T>
class RoiAlign {
  using F = base::ComputeType<T>;

 public:
  RoiAlign(const Params& p, const RoiAlignGeometry& g, void* workspace)
      : p_(p), g_(g), workspace_(workspace) {}

  void Run() const {
    runtime::ParallelForSlots(p_.rois, g_.slots, [&](int slot, int64_t n) {
      TableOf(n).template Make<T>(p_, n, g_.weights.In<F>(workspace_, slot));
    });
    const int64_t tasks = p_.images * g_.blocks * g_.parts;
    runtime::ParallelForSlots(tasks, g_.slots, [&](int slot, int64_t i) {
      const Task task = TaskOf(slot, i);
      if (p_.backward) return SumStrip(task);
      PoolRois(task);
    });
  }

 private:
  static constexpr int kLanes = kBlockLanes<F, 16>;
  using D = BlockTag<F, 16>;
  using V = hn::Vec<D>;

  struct Task {
    int64_t image;
    int64_t channel, channels;
    int64_t first, last;  // rois (forward) or rows (backward)
    int slot;
  };

  RoiTable<F> TableOf(int64_t n) const {
    return RoiTable<F>(p_, g_, g_.tables.In<void>(workspace_, n));
  }
  F* At(const Part& part, const Task& task) const { return part.In<F>(workspace_, task.slot); }
  Task TaskOf(int slot, int64_t i) const {
    const int64_t channel = i / g_.parts % g_.blocks * kLanes;
    const int64_t channels = std::min<int64_t>(kLanes, p_.channels - channel);
    const int64_t all = p_.backward ? p_.height : p_.rois;
    const int64_t each = base::DivideUp(all, g_.parts), first = std::min(all, i % g_.parts * each);
    return {i / g_.parts / g_.blocks, channel, channels, first, std::min(all, first + each), slot};
  }

  // Pixels of the image that a task's rois read: columns [left, right) of the rows in `rows`.
  struct Named {
    int64_t left, right;  // right is behind the last one
    uint8_t* rows;
  };
  Named NamedBy(const Task& task, int64_t first_roi, int64_t last_roi) const {
    Named named{p_.width, 0, g_.rows.In<uint8_t>(workspace_, task.slot)};
    std::fill_n(named.rows, p_.height, uint8_t{0});
    for (int64_t n = first_roi; n < last_roi; ++n) {
      const RoiTable<F> table = TableOf(n);
      if (table.head->image != task.image) continue;
      named.left = std::min<int64_t>(named.left, table.column[0]);
      named.right = std::max<int64_t>(named.right, table.column[table.head->columns - 1] + 1);
      const int32_t taps = table.y_begin[p_.pooled_height];
      for (int32_t i = 0; i < taps; ++i) named.rows[table.y[i]] = 1;
    }
    return named;
  }

  // ---- the function -----------------------------------------------------------------------------

  void PoolRois(const Task& task) const {
    const auto& s = p_.image.stride;
    if (s[1] == 1 || p_.channels == 1) {
      const T* const first = p_.image.At<T>(task.image, task.channel);
      return PoolFrom(task, Pixels<const T>{first, s[2], s[3], false});
    }
    const Named named = NamedBy(task, task.first, task.last);
    F* const slab = At(g_.slab, task);
    const int64_t pitch = (named.right - named.left) * kLanes;
    for (int64_t y = 0; y < p_.height; ++y) {
      if (named.rows[y] == 0) continue;
      TurnPixels<kLanes>(PlanarAt<const T>(p_.image, task.image, task.channel, y, named.left,
                                           task.channels, named.right - named.left),
                         slab + y * pitch, kLanes);
    }
    PoolFrom(task, Pixels<const F>{slab - named.left * kLanes, pitch, kLanes, true});
  }

  // Computes the task's rois that name its image. Rois without an image are computed with image 0.
  template <class S>
  void PoolFrom(const Task& task, Pixels<const S> pixels) const {
    F* const row = At(g_.row, task);
    F* const tile = At(g_.tile, task);
    for (int64_t n = task.first; n < task.last; ++n) {
      const RoiTable<F> table = TableOf(n);
      const int64_t image = table.head->image;
      if (image != task.image && (image >= 0 || task.image > 0)) continue;
      for (int64_t ph = 0; ph < p_.pooled_height; ++ph) {
        F* const to = tile + ph * p_.pooled_width * kLanes;
        if (image < 0 || table.y_begin[ph] == table.y_begin[ph + 1]) {
          Clear(to, p_.pooled_width * kLanes);
          continue;
        }
        SumColumns(task, table, ph, pixels, row);
        PoolRow(table, row, to);
      }
      TurnBins<kLanes, T>(p_, n, task.channel, task.channels, tile, kLanes);
    }
  }

  // Sums along H: a vector for each column of the roi.
  template <class S>
  HWY_NOINLINE void SumColumns(const Task& task, const RoiTable<F>& table, int64_t ph,
                               Pixels<const S> pixels, F* HWY_RESTRICT row) const {
    const int32_t begin = table.y_begin[ph], end = table.y_begin[ph + 1];
    const bool whole = task.channels == kLanes || pixels.padded;
    const int64_t columns = table.head->columns;
    int64_t k = 0;
    const auto sum = [&](auto count, auto load) PORTACL_INLINE_LAMBDA {
      constexpr size_t kCount = decltype(count)::value;
      const S* at[4];
      for (size_t j = 0; j < kCount; ++j) {
        at[j] = pixels.first + table.column[k + static_cast<int64_t>(j)] * pixels.column;
      }
      const D d;
      const auto tap = [&](int32_t i, size_t j)
                           PORTACL_INLINE_LAMBDA { return load(at[j] + table.y[i] * pixels.row); };
      V weight = hn::Set(d, table.y_weight[begin]);
      V s0 = hn::Mul(weight, tap(begin, 0)), s1 = s0, s2 = s0, s3 = s0;
      if constexpr (kCount == 4) {
        s1 = hn::Mul(weight, tap(begin, 1));
        s2 = hn::Mul(weight, tap(begin, 2));
        s3 = hn::Mul(weight, tap(begin, 3));
      }
      for (int32_t i = begin + 1; i < end; ++i) {
        weight = hn::Set(d, table.y_weight[i]);
        s0 = hn::MulAdd(weight, tap(i, 0), s0);
        if constexpr (kCount == 4) {
          s1 = hn::MulAdd(weight, tap(i, 1), s1);
          s2 = hn::MulAdd(weight, tap(i, 2), s2);
          s3 = hn::MulAdd(weight, tap(i, 3), s3);
        }
      }
      hn::StoreU(s0, d, row + k * kLanes);
      if constexpr (kCount == 4) {
        hn::StoreU(s1, d, row + (k + 1) * kLanes);
        hn::StoreU(s2, d, row + (k + 2) * kLanes);
        hn::StoreU(s3, d, row + (k + 3) * kLanes);
      }
      k += static_cast<int64_t>(kCount);
    };
    const auto all = [&](const S* from) PORTACL_INLINE_LAMBDA { return LoadWide(D(), from); };
    const auto some = [&](const S* from) PORTACL_INLINE_LAMBDA {
      return LoadWideFirst(D(), from, static_cast<size_t>(task.channels));
    };
    while (whole && k + 4 <= columns) sum(std::integral_constant<size_t, 4>(), all);
    while (whole && k < columns) sum(std::integral_constant<size_t, 1>(), all);
    while (k < columns) sum(std::integral_constant<size_t, 1>(), some);
  }

  // Sums along W: a vector for each bin of a row.
  HWY_NOINLINE void PoolRow(const RoiTable<F>& table, const F* HWY_RESTRICT row,
                            F* HWY_RESTRICT to) const {
    const D d;
    const V count = hn::Set(d, table.head->count);
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw, to += kLanes) {
      int32_t i = table.x_begin[pw];
      const int32_t end = table.x_begin[pw + 1];
      if (i == end) {
        hn::StoreU(hn::Zero(d), d, to);
        continue;
      }
      const auto column = [&](int32_t tap) PORTACL_INLINE_LAMBDA {
        return hn::LoadU(d, row + int64_t{table.x[tap]} * kLanes);
      };
      V sum = hn::Mul(hn::Set(d, table.x_weight[i]), column(i));
      for (++i; i < end; ++i) sum = hn::MulAdd(hn::Set(d, table.x_weight[i]), column(i), sum);
      hn::StoreU(hn::Div(sum, count), d, to);
    }
  }

  // ---- the gradient -----------------------------------------------------------------------------

  // Computes the gradient in a task's rows and channels. Rois are added in ascending order.
  void SumStrip(const Task& task) const {
    const Named named = NamedBy(task, 0, p_.rois);
    F* const slab = At(g_.slab, task);
    const int64_t width = std::max<int64_t>(0, named.right - named.left);
    const int64_t pitch = width * kLanes;
    for (int64_t y = task.first; y < task.last; ++y) {
      if (named.rows[y] == 0) continue;
      Clear(slab + (y - task.first) * pitch, pitch);
    }
    AddRois(task, Pixels<F>{slab - named.left * kLanes - task.first * pitch, pitch, kLanes, true});
    for (int64_t y = task.first; y < task.last; ++y) {
      const bool read = named.rows[y] != 0;
      WriteRow<kLanes, T>(p_, task.image, y, task.channel, task.channels,
                          read ? named.left : p_.width, read ? named.right : p_.width,
                          slab + (y - task.first) * pitch, kLanes);
    }
  }

  void AddRois(const Task& task, Pixels<F> sums) const {
    F* const row = At(g_.row, task);
    F* const tile = At(g_.tile, task);
    for (int64_t n = 0; n < p_.rois; ++n) {
      const RoiTable<F> table = TableOf(n);
      if (table.head->image != task.image || !Touches(task, table, 0, p_.pooled_height)) continue;
      TurnBins<kLanes, const T>(p_, n, task.channel, task.channels, tile, kLanes);
      for (int64_t ph = 0; ph < p_.pooled_height; ++ph) {
        if (!Touches(task, table, ph, ph + 1)) continue;
        SpreadRow(table, tile + ph * p_.pooled_width * kLanes, row);
        AddRow(task, table, ph, row, sums);
      }
    }
  }

  // Whether rows [first, last) of a roi's bins have taps in the task's rows.
  bool Touches(const Task& task, const RoiTable<F>& table, int64_t first, int64_t last) const {
    const int32_t begin = table.y_begin[first], end = table.y_begin[last];
    return std::any_of(table.y + begin, table.y + end,
                       [&](int32_t y) { return y >= task.first && y < task.last; });
  }

  // Along W: adds the gradients of a row of bins to the columns of the roi.
  HWY_NOINLINE void SpreadRow(const RoiTable<F>& table, const F* HWY_RESTRICT bins,
                              F* HWY_RESTRICT row) const {
    const D d;
    const V count = hn::Set(d, table.head->count);
    Clear(row, table.head->columns * kLanes);
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
      const V q = hn::Div(hn::LoadU(d, bins + pw * kLanes), count);
      for (int32_t i = table.x_begin[pw]; i < table.x_begin[pw + 1]; ++i) {
        F* const to = row + int64_t{table.x[i]} * kLanes;
        hn::StoreU(hn::MulAdd(hn::Set(d, table.x_weight[i]), q, hn::LoadU(d, to)), d, to);
      }
    }
  }

  // Along H: adds the columns of the roi to the rows of the image.
  HWY_NOINLINE void AddRow(const Task& task, const RoiTable<F>& table, int64_t ph,
                           const F* HWY_RESTRICT row, Pixels<F> sums) const {
    const D d;
    const int64_t columns = table.head->columns;
    for (int32_t i = table.y_begin[ph]; i < table.y_begin[ph + 1]; ++i) {
      if (table.y[i] < task.first || table.y[i] >= task.last) continue;
      const V weight = hn::Set(d, table.y_weight[i]);
      F* const to = sums.first + table.y[i] * sums.row;
      for (int64_t k = 0; k < columns; ++k) {
        F* const sum = to + table.column[k] * sums.column;
        hn::StoreU(hn::MulAdd(weight, hn::LoadU(d, row + k * kLanes), hn::LoadU(d, sum)), d, sum);
      }
    }
  }

  const Params& p_;
  const RoiAlignGeometry& g_;
  void* const workspace_;
};

void Run(const Params& params, const RoiAlignPlan& plan, void* workspace) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (const auto* const points = std::get_if<RoiPointsGeometry>(&plan.way)) {
      return RoiPoints<T>(params, *points, workspace).Run();
    }
    RoiAlign<T>(params, std::get<RoiAlignGeometry>(plan.way), workspace).Run();
  });
}

std::optional<RoiAlignPlan> Plan(const Params& params, std::string_view /*path*/) {
  const bool wide = params.dtype == base::DType::kDouble;
  return PlanRoiAlign(params, wide ? kBlockLanes<double, 16> : kBlockLanes<float, 16>);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(RoiAlign, Plan, Run)
