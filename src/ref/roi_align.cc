// RoiAlign and its gradients. In an upright roi, each axis decides alone if a sample counts, how it
// is clamped and weighed. So a bin has a table of taps per axis, and multiplies their weights.
// Maxima and rotated rois are computed sample by sample.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/checked.h"
#include "base/dispatch.h"
#include "base/kernel.h"
#include "ops/listed_kernels.h"
#include "ops/roi_align_params.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

using Params = ops::RoiAlignParams;
using ops::RoiAlignMode;

// One channel of an image.
template <class T>
struct Plane {
  const T* first;
  int64_t row, column;  // strides

  base::ComputeType<T> At(int64_t y, int64_t x) const {
    return base::Widen(first[y * row + x * column]);
  }
};

template <class T>
class RoiAlign {
  using F = base::ComputeType<T>;
  using Corners = ops::RoiCorners<F>;

 public:
  // The size of the constructor's `memory`, in elements.
  static int64_t Room(const Params& p) {
    const int64_t area = p.backward ? base::SaturatedProduct({p.height, p.width}) : 0;
    const int64_t tables = base::SaturatedProduct({p.width, 3});
    int64_t elements = 0;
    const bool fits = base::CheckedAdd(area, tables, &elements) &&
                      base::CheckedAdd(elements, p.height, &elements);
    return fits ? elements : INT64_MAX;
  }

  RoiAlign(const Params& p, F* memory)
      : p_(p),
        samples_(p.rotated || p.mode != RoiAlignMode::kAverage),
        row_(memory),
        named_(row_ + p.width),
        columns_(named_ + p.width, p.width),
        rows_(named_ + 2 * p.width, p.height),
        sums_(named_ + 2 * p.width + p.height) {}

  // ---- the function -----------------------------------------------------------------------------

  void PoolRoi(int64_t n) {
    roi_ = ops::RoiAt<T>(p_, n);
    for (int64_t ph = 0; ph < p_.pooled_height; ++ph) {
      if (!samples_) rows_.Make(roi_.y, ph);
      for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
        if (!samples_) columns_.Make(roi_.x, pw);
        for (int64_t c = 0; c < p_.channels; ++c) {
          const F value = roi_.image < 0 ? F{0} : Pool(c, ph, pw);
          *p_.pooled.At<T>(n, c, ph, pw) = base::Narrow<T>(value);
        }
      }
    }
  }

  // ---- the gradient -----------------------------------------------------------------------------

  // Sums the gradient of one plane: all rois add to it in ascending order.
  void SumPlane(int64_t image, int64_t c) {
    std::fill_n(sums_, p_.height * p_.width, F{0});
    for (int64_t n = 0; n < p_.rois; ++n) {
      roi_ = ops::RoiAt<T>(p_, n);
      if (roi_.image != image) continue;
      for (int64_t ph = 0; ph < p_.pooled_height; ++ph) {
        if (samples_) {
          for (int64_t pw = 0; pw < p_.pooled_width; ++pw) AddSamples(n, c, ph, pw);
        } else {
          AddRow(n, c, ph);
        }
      }
    }
    for (int64_t i = 0; i < p_.height * p_.width; ++i) {
      *p_.image.At<T>(image, c, i / p_.width, i % p_.width) = base::Narrow<T>(sums_[i]);
    }
  }

 private:
  template <class Tensor>
  Plane<T> PlaneOf(const Tensor& images, int64_t c) const {
    return {images.template At<T>(roi_.image, c), images.stride[2], images.stride[3]};
  }
  F GradAt(int64_t n, int64_t c, int64_t ph, int64_t pw) const {
    return base::Widen(*p_.pooled.At<T>(n, c, ph, pw)) / roi_.count;
  }

  F Pool(int64_t c, int64_t ph, int64_t pw) const {
    const Plane<T> plane = PlaneOf(p_.image, c);
    if (!samples_) return Average(plane);
    if (!p_.rotated) return Winner(plane, ph, pw).value;
    F sum = 0;
    ops::ForRotatedSamples(roi_, ph, pw, [&](const Corners& corners) {
      for (size_t i = 0; i < corners.count; ++i) {
        sum = std::fma(corners.weight[i], plane.At(corners.at[i][0], corners.at[i][1]), sum);
      }
    });
    return sum / roi_.count;
  }

  // ---- averages of upright rois -----------------------------------------------------------------

  // Averages along H, then along W. Returns 0 if the bin has no taps.
  F Average(const Plane<T>& plane) const {
    if (rows_.empty() || columns_.empty()) return F{0};
    std::optional<F> sum;
    columns_.ForEach([&](int64_t x, F of_x) {
      std::optional<F> column;
      rows_.ForEach([&](int64_t y, F of_y) {
        const F v = plane.At(y, x);
        column = column ? std::fma(of_y, v, *column) : of_y * v;
      });
      sum = sum ? std::fma(of_x, *column, *sum) : of_x * *column;
    });
    return *sum / roi_.count;
  }

  // Adds a row of bins: sums along W in row_ (named_[x] is 1 if a bin has column x), then along H.
  void AddRow(int64_t n, int64_t c, int64_t ph) {
    rows_.Make(roi_.y, ph);
    if (rows_.empty()) return;
    std::fill_n(row_, p_.width, F{0});
    std::fill_n(named_, p_.width, F{0});
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
      columns_.Make(roi_.x, pw);
      const F grad = GradAt(n, c, ph, pw);
      columns_.ForEach([&](int64_t x, F weight) {
        row_[x] = std::fma(weight, grad, row_[x]);
        named_[x] = 1;
      });
    }
    rows_.ForEach([&](int64_t y, F weight) {
      for (int64_t x = 0; x < p_.width; ++x) {
        F& sum = sums_[y * p_.width + x];
        if (named_[x] != 0) sum = std::fma(weight, row_[x], sum);
      }
    });
  }

  // ---- maxima of upright rois, averages of rotated ones -----------------------------------------

  // Adds a bin's gradient to the corners of its samples (rotated) or of its largest sample.
  void AddSamples(int64_t n, int64_t c, int64_t ph, int64_t pw) {
    const F grad = GradAt(n, c, ph, pw);
    const auto add = [&](const Corners& corners) {
      for (size_t i = 0; i < corners.count; ++i) {
        F& sum = sums_[corners.at[i][0] * p_.width + corners.at[i][1]];
        sum = std::fma(corners.weight[i], grad, sum);
      }
    };
    if (p_.rotated) return ops::ForRotatedSamples(roi_, ph, pw, add);
    add(Winner(PlaneOf(p_.values, c), ph, pw).corners);
  }

  struct Sample {
    F value = 0;
    Corners corners;
  };

  // Returns the bin's largest sample: NaN wins; the first of equal samples wins. Value 0 if none.
  Sample Winner(const Plane<T>& plane, int64_t ph, int64_t pw) const {
    std::optional<Sample> most;
    ops::ForUprightSamples(roi_, ph, pw, [&](const Corners& corners) {
      const Sample sample{ValueOf(plane, corners), corners};
      const bool wins = most && (sample.value > most->value ||
                                 (std::isnan(sample.value) && !std::isnan(most->value)));
      if (!most || wins) most = sample;
    });
    return most.value_or(Sample{});
  }

  // Returns the value of one sample; 0 if the sample does not count.
  F ValueOf(const Plane<T>& plane, const Corners& corners) const {
    F value = 0;
    for (size_t i = 0; i < corners.count; ++i) {
      const F v = plane.At(corners.at[i][0], corners.at[i][1]);
      const F product = corners.weight[i] * v;
      if (i == 0) {
        value = product;
      } else if (p_.mode == RoiAlignMode::kMax) {
        value = std::fma(corners.weight[i], v, value);
      } else if (product > value || std::isnan(product)) {
        value = product;
      }
    }
    return value;
  }

  const Params& p_;
  const bool samples_;  // true: sample by sample; false: by tables of taps
  ops::Roi<F> roi_;     // current roi
  F* const row_;
  F* const named_;
  ops::RoiTaps<F> columns_;
  ops::RoiTaps<F> rows_;
  F* const sums_;
};

// ---- the kernel --------------------------------------------------------------------------------

using Plan = base::PathPlan<int>;  // the number of tasks that run at a time

int64_t TasksOf(const Params& p) { return p.backward ? p.images * p.channels : p.rois; }

std::optional<Plan> MakePlan(const Params& p, std::string_view /*path*/) {
  const int64_t slots = std::clamp<int64_t>(TasksOf(p), 1, runtime::NumThreads());
  const int64_t bytes =
      base::SaturatedProduct({RoiAlign<double>::Room(p), int64_t{sizeof(double)}, slots});
  if (bytes == INT64_MAX) return std::nullopt;
  return Plan{.workspace_size = static_cast<uint64_t>(bytes), .way = static_cast<int>(slots)};
}

void RunAnyType(const Params& p, const Plan& plan, void* workspace) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const memory = static_cast<base::ComputeType<T>*>(workspace);
    runtime::ParallelForSlots(TasksOf(p), std::get<int>(plan.way), [&](int slot, int64_t i) {
      RoiAlign<T> task(p, memory + slot * RoiAlign<T>::Room(p));
      if (p.backward) return task.SumPlane(i / p.channels, i % p.channels);
      task.PoolRoi(i);
    });
  });
}

}  // namespace

const base::Kernel<Params> kRoiAlign =
    base::KernelOf<&MakePlan, &RunAnyType>::Make("ref", base::OnEveryCpu);

}  // namespace portacl::ref
