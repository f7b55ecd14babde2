// RoiAlign and its gradients. For an upright roi, each axis by itself decides whether a sample
// counts, where it is clamped and how it is weighed. So each bin has a table of taps for either
// axis, and the products of both are its weights. Maxima and rotated rois go sample by sample.
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
template <class F>
using Taps = ops::RoiTaps<F>;
template <class F>
using Roi = ops::Roi<F>;
template <class F>
using Corners = ops::RoiCorners<F>;

template <class T>
T* PlaneOf(const Params& p, int64_t image, int64_t c) {
  return static_cast<T*>(p.image) + image * p.image_stride[0] + c * p.image_stride[1];
}
template <class T>
T* PooledAt(const Params& p, int64_t n, int64_t c, int64_t ph, int64_t pw) {
  const auto& s = p.pooled_stride;
  return static_cast<T*>(p.pooled) + n * s[0] + c * s[1] + ph * s[2] + pw * s[3];
}

// A channel of an image that is read.
template <class T>
struct Plane {
  const T* first;
  int64_t row, column;  // strides

  base::ComputeType<T> At(int64_t y, int64_t x) const {
    return base::Widen(first[y * row + x * column]);
  }
};

// ---- averages of upright rois ------------------------------------------------------------------

// Along H first. No tap: 0.
template <class T, class F = base::ComputeType<T>>
F Average(const Plane<T>& plane, const Taps<F>& rows, const Taps<F>& columns, F count) {
  if (rows.empty() || columns.empty()) return F{0};
  std::optional<F> sum;
  columns.ForEach([&](int64_t x, F of_x) {
    std::optional<F> column;
    rows.ForEach([&](int64_t y, F of_y) {
      const F v = plane.At(y, x);
      column = column ? std::fma(of_y, v, *column) : of_y * v;
    });
    sum = sum ? std::fma(of_x, *column, *sum) : of_x * *column;
  });
  return *sum / count;
}

template <class T, class F = base::ComputeType<T>>
class UprightAverage {
 public:
  UprightAverage(const Params& p, F* memory)
      : p_(p),
        row_(memory),
        named_(row_ + p.width),
        columns_(named_ + p.width, p.width),
        rows_(named_ + 2 * p.width, p.height) {}

  bool Begin(int64_t n) {
    roi_ = ops::RoiAt<T>(p_, n);
    n_ = n;
    return true;
  }

  void BeginBin(int64_t ph, int64_t pw) {
    if (pw == 0) rows_.Make(roi_.y, ph);
    columns_.Make(roi_.x, pw);
  }
  F Pool(const Plane<T>& plane) const { return Average(plane, rows_, columns_, roi_.count()); }

  // Adds a row of bins: first along W, row[x] where named[x] is not 0, then along H.
  void AddRow(int64_t c, int64_t ph, F* sums) {
    rows_.Make(roi_.y, ph);
    if (rows_.empty()) return;
    std::fill_n(row_, p_.width, F{0});
    std::fill_n(named_, p_.width, F{0});
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
      columns_.Make(roi_.x, pw);
      const F q = base::Widen(*PooledAt<const T>(p_, n_, c, ph, pw)) / roi_.count();
      columns_.ForEach([&](int64_t x, F weight) {
        row_[x] = std::fma(weight, q, row_[x]);
        named_[x] = 1;
      });
    }
    rows_.ForEach([&](int64_t y, F weight) {
      for (int64_t x = 0; x < p_.width; ++x) {
        F& sum = sums[y * p_.width + x];
        if (named_[x] != 0) sum = std::fma(weight, row_[x], sum);
      }
    });
  }

 private:
  const Params& p_;
  int64_t n_ = 0;
  Roi<F> roi_;
  F* const row_;
  F* const named_;
  Taps<F> columns_;
  Taps<F> rows_;
};

// ---- maxima of upright rois, averages of rotated ones ------------------------------------------

template <class T, class F = base::ComputeType<T>>
class Sampled {
 public:
  Sampled(const Params& p, F* /*memory*/) : p_(p) {}

  // False where the angle has no sine and cosine.
  bool Begin(int64_t n) {
    roi_ = ops::SampledRoiAt<T>(p_, n);
    n_ = n;
    return roi_.image >= 0;
  }

  void BeginBin(int64_t ph, int64_t pw) {
    ph_ = ph;
    pw_ = pw;
  }
  F Pool(const Plane<T>& plane) const {
    if (!p_.rotated) return Winner(plane).value;
    F sum = 0;
    ops::ForRotatedSamples(roi_, ph_, pw_, [&](const Corners<F>& corners) {
      for (size_t i = 0; i < corners.count; ++i) {
        sum = std::fma(corners.weight[i], plane.At(corners.at[i][0], corners.at[i][1]), sum);
      }
    });
    return sum / roi_.count;
  }

  // Adds to the corners of all samples, or of each bin's winner.
  void AddRow(int64_t c, int64_t ph, F* sums) {
    const auto& s = p_.values_stride;
    const Plane<T> plane{static_cast<const T*>(p_.values) + roi_.image * s[0] + c * s[1], s[2],
                         s[3]};
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
      BeginBin(ph, pw);
      const F grad = base::Widen(*PooledAt<const T>(p_, n_, c, ph, pw)) / roi_.count;
      const auto add = [&](const Corners<F>& corners) {
        for (size_t i = 0; i < corners.count; ++i) {
          F& sum = sums[corners.at[i][0] * p_.width + corners.at[i][1]];
          sum = std::fma(corners.weight[i], grad, sum);
        }
      };
      if (p_.rotated) {
        ops::ForRotatedSamples(roi_, ph_, pw_, add);
      } else {
        add(Winner(plane).corners);
      }
    }
  }

 private:
  struct Sample {
    F value = 0;
    Corners<F> corners;
  };

  // The first of equal ones; NaN wins. No sample: 0.
  Sample Winner(const Plane<T>& plane) const {
    std::optional<Sample> most;
    ops::ForUprightSamples(roi_, ph_, pw_, [&](const Corners<F>& corners) {
      const Sample sample{ValueOf(plane, corners), corners};
      const bool wins = most && (sample.value > most->value ||
                                 (std::isnan(sample.value) && !std::isnan(most->value)));
      if (!most || wins) most = sample;
    });
    return most.value_or(Sample{});
  }

  // One that does not count is 0.
  F ValueOf(const Plane<T>& plane, const Corners<F>& corners) const {
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
  int64_t n_ = 0;
  ops::SampledRoi<F> roi_;
  int64_t ph_ = 0;
  int64_t pw_ = 0;
};

// ---- the function and its gradient -------------------------------------------------------------

template <class T, class Pooling>
void PoolRoi(const Params& p, int64_t n, Pooling pooling) {
  using F = base::ComputeType<T>;
  const int64_t image = pooling.Begin(n) ? ops::RoiImage<T>(p, n) : -1;
  for (int64_t ph = 0; ph < p.pooled_height; ++ph) {
    for (int64_t pw = 0; pw < p.pooled_width; ++pw) {
      if (image >= 0) pooling.BeginBin(ph, pw);
      for (int64_t c = 0; c < p.channels; ++c) {
        F value = 0;
        if (image >= 0) {
          value =
              pooling.Pool({PlaneOf<const T>(p, image, c), p.image_stride[2], p.image_stride[3]});
        }
        *PooledAt<T>(p, n, c, ph, pw) = base::Narrow<T>(value);
      }
    }
  }
}

// The gradient of one plane, to which all rois add in ascending order.
template <class T, class Pooling, class F = base::ComputeType<T>>
void SumPlane(const Params& p, int64_t image, int64_t c, F* sums, Pooling pooling) {
  std::fill_n(sums, p.height * p.width, F{0});
  for (int64_t n = 0; n < p.rois; ++n) {
    if (ops::RoiImage<T>(p, n) != image || !pooling.Begin(n)) continue;
    for (int64_t ph = 0; ph < p.pooled_height; ++ph) pooling.AddRow(c, ph, sums);
  }
  T* const plane = PlaneOf<T>(p, image, c);
  for (int64_t y = 0; y < p.height; ++y) {
    for (int64_t x = 0; x < p.width; ++x) {
      plane[y * p.image_stride[2] + x * p.image_stride[3]] = base::Narrow<T>(sums[y * p.width + x]);
    }
  }
}

// ---- the kernel --------------------------------------------------------------------------------

struct Plan : base::PathPlan<std::monostate> {
  int slots = 1;
  int64_t elements = 0;  // of T, for each slot
};

std::optional<Plan> MakePlan(const Params& p, std::string_view /*path*/) {
  Plan plan;
  const int64_t tasks = p.backward ? p.images * p.channels : p.rois;
  plan.slots = static_cast<int>(std::clamp<int64_t>(tasks, 1, runtime::NumThreads()));
  const int64_t area = p.backward ? base::SaturatedProduct({p.height, p.width}) : 0;
  const int64_t tables = base::SaturatedProduct({p.width, 3});
  int64_t bytes = 0;
  const bool fits = base::CheckedAdd(area, tables, &plan.elements) &&
                    base::CheckedAdd(plan.elements, p.height, &plan.elements) &&
                    base::CheckedMul(plan.elements, int64_t{sizeof(double)} * plan.slots, &bytes);
  if (!fits) return std::nullopt;
  plan.workspace_size = static_cast<uint64_t>(bytes);
  return plan;
}

template <class T, class Pooling>
void RunPooling(const Params& p, const Plan& plan, void* workspace) {
  using F = base::ComputeType<T>;
  const auto memory = [&](int slot) { return static_cast<F*>(workspace) + slot * plan.elements; };
  if (p.backward) {
    return runtime::ParallelForSlots(p.images * p.channels, plan.slots, [&](int slot, int64_t i) {
      F* const sums = memory(slot);
      SumPlane<T>(p, i / p.channels, i % p.channels, sums, Pooling(p, sums + p.height * p.width));
    });
  }
  runtime::ParallelForSlots(
      p.rois, plan.slots, [&](int slot, int64_t n) { PoolRoi<T>(p, n, Pooling(p, memory(slot))); });
}

void RunAnyType(const Params& p, const Plan& plan, void* workspace) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (p.rotated || p.mode != RoiAlignMode::kAverage) {
      return RunPooling<T, Sampled<T>>(p, plan, workspace);
    }
    RunPooling<T, UprightAverage<T>>(p, plan, workspace);
  });
}

}  // namespace

const base::Kernel<Params> kRoiAlign =
    base::KernelOf<&MakePlan, &RunAnyType>::Make("ref", base::OnEveryCpu);

}  // namespace portacl::ref
