// RoiAlign and its gradients. Of an upright roi, whether a sample counts, where it is clamped and
// how it is weighed depends on y alone and on x alone. So each bin has a table of taps for either
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

// The four elements around a sample, with their weights; none where the sample does not count.
template <class F>
struct Corners {
  Corners() = default;
  Corners(F y_at, F x_at, const Params& p) {
    const ops::RoiSample<F> y(y_at, p.height), x(x_at, p.width);
    if (!y.counts || !x.counts) return;
    count = 4;
    at = {{{y.low, x.low}, {y.low, x.high}, {y.high, x.low}, {y.high, x.high}}};
    weight = {y.of_low * x.of_low, y.of_low * x.of_high, y.of_high * x.of_low,
              y.of_high * x.of_high};
  }

  size_t count = 0;
  std::array<std::array<int64_t, 2>, 4> at{};
  std::array<F, 4> weight{};
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

// ---- maxima ------------------------------------------------------------------------------------

// The samples of a bin along an axis that count. A huge roi has far more samples than these.
struct Counted {
  int64_t first = 0;
  int64_t last = 0;  // one behind
};

// Samples lie in ascending or descending order, so those that count stand together.
template <class F>
Counted CountedOf(const ops::RoiAxis<F>& axis, int64_t bin) {
  const auto split = [&](const auto& before) {
    int64_t first = 0, last = axis.samples;
    while (first < last) {
      const int64_t middle = first + (last - first) / 2;
      if (before(axis.At(bin, middle))) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  };
  const F low = -1, high = static_cast<F>(axis.extent);
  if (axis.bin < 0) {
    return {split([&](F at) { return at > high; }), split([&](F at) { return at >= low; })};
  }
  return {split([&](F at) { return at < low; }), split([&](F at) { return at <= high; })};
}

template <class T, class F = base::ComputeType<T>>
class UprightMaximum {
 public:
  UprightMaximum(const Params& p, F* /*memory*/) : p_(p) {}

  bool Begin(int64_t n) {
    roi_ = ops::RoiAt<T>(p_, n);
    n_ = n;
    return true;
  }

  void BeginBin(int64_t ph, int64_t pw) {
    ph_ = ph;
    pw_ = pw;
    y_ = CountedOf(roi_.y, ph);
    x_ = CountedOf(roi_.x, pw);
  }
  F Pool(const Plane<T>& plane) const { return Winner(plane).value; }

  // Adds to the corners of each bin's winner.
  void AddRow(int64_t c, int64_t ph, F* sums) {
    const auto& s = p_.values_stride;
    const Plane<T> plane{static_cast<const T*>(p_.values) + roi_.image * s[0] + c * s[1], s[2],
                         s[3]};
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
      BeginBin(ph, pw);
      const Corners<F> corners = Winner(plane).corners;
      const F g = base::Widen(*PooledAt<const T>(p_, n_, c, ph, pw));
      for (size_t i = 0; i < corners.count; ++i) {
        F& sum = sums[corners.at[i][0] * p_.width + corners.at[i][1]];
        sum = std::fma(corners.weight[i], g, sum);
      }
    }
  }

 private:
  struct Sample {
    F value = 0;
    Corners<F> corners;
  };

  // The first of equal ones; NaN wins. No sample: 0. All samples that do not count are 0, so only
  // the first of these can win: (0, 0), or behind the first row, or behind all rows.
  Sample Winner(const Plane<T>& plane) const {
    if (roi_.y.samples == 0 || roi_.x.samples == 0) return Sample{};
    std::optional<Sample> most;
    const auto take = [&most](const Sample& sample) {
      const bool wins = most && (sample.value > most->value ||
                                 (std::isnan(sample.value) && !std::isnan(most->value)));
      if (!most || wins) most = sample;
    };
    if (y_.first > 0 || x_.first > 0 || y_.last == 0 || x_.last == 0) take(Sample{});
    for (int64_t iy = y_.first; iy < y_.last; ++iy) {
      for (int64_t ix = x_.first; ix < x_.last; ++ix) {
        const Corners<F> corners(roi_.y.At(ph_, iy), roi_.x.At(pw_, ix), p_);
        take(Sample{ValueOf(plane, corners), corners});
      }
      if (iy == 0 && x_.last < roi_.x.samples) take(Sample{});
    }
    if (y_.last < roi_.y.samples) take(Sample{});
    return *most;
  }

  // One that does not count is 0.
  F ValueOf(const Plane<T>& plane, const Corners<F>& corners) const {
    if (corners.count == 0) return F{0};
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
  Roi<F> roi_;
  int64_t ph_ = 0;
  int64_t pw_ = 0;
  Counted y_, x_;
};

// ---- rotated rois ------------------------------------------------------------------------------

// The sine and the cosine of an angle below 2^20, by Taylor's series after the quarters of a turn
// are taken off: no library's, so that the bits are the same everywhere.
struct Turn {
  explicit Turn(double angle) {
    constexpr double kQuarters = 0.63661977236758134308;  // in a unit of the angle
    constexpr double kQuarter = 1.57079632673412561417;   // its first 33 bits
    constexpr double kRest = 6.07710050650619224932e-11;
    const double quarters = std::nearbyint(angle * kQuarters);
    const double r = (angle - quarters * kQuarter) - quarters * kRest;
    double sine = 0, cosine = 0;
    for (int i = 16; i >= 2; i -= 2) {  // of r^17 / 17! and r^16 / 16! downwards
      sine = (1 + sine) * (-r * r / (i * (i + 1)));
      cosine = (1 + cosine) * (-r * r / ((i - 1) * i));
    }
    sine = r * (1 + sine);
    cosine = 1 + cosine;
    const auto quadrant = static_cast<int64_t>(quarters) & 3;
    sin = quadrant == 0 ? sine : quadrant == 1 ? cosine : quadrant == 2 ? -sine : -cosine;
    cos = quadrant == 0 ? cosine : quadrant == 1 ? -sine : quadrant == 2 ? -cosine : sine;
  }
  double sin, cos;
};

template <class T, class F = base::ComputeType<T>>
class RotatedAverage {
 public:
  RotatedAverage(const Params& p, F* /*memory*/) : p_(p) {}

  // False where the angle has no sine and cosine.
  bool Begin(int64_t n) {
    n_ = n;
    const F scale = static_cast<F>(p_.scale);
    const F offset = p_.aligned ? F{0.5} : F{0};
    x_ = ops::RoiColumn<T>(p_, n, 1) * scale - offset;
    y_ = ops::RoiColumn<T>(p_, n, 2) * scale - offset;
    along_x_ = AxisOf(ops::RoiColumn<T>(p_, n, 3) * scale, p_.pooled_width, p_.width);
    along_y_ = AxisOf(ops::RoiColumn<T>(p_, n, 4) * scale, p_.pooled_height, p_.height);
    count_ = static_cast<F>(std::max<int64_t>(along_y_.samples * along_x_.samples, 1));
    const auto angle = static_cast<double>(ops::RoiColumn<T>(p_, n, 5));
    constexpr double kMost = 1 << 20;
    if (!(std::fabs(angle) < kMost)) return false;
    const Turn turn(p_.clockwise ? -angle : angle);
    sin_ = static_cast<F>(turn.sin);
    cos_ = static_cast<F>(turn.cos);
    return true;
  }

  void BeginBin(int64_t ph, int64_t pw) {
    ph_ = ph;
    pw_ = pw;
  }
  F Pool(const Plane<T>& plane) const {
    F sum = 0;
    ForCorners(
        [&](int64_t y, int64_t x, F weight) { sum = std::fma(weight, plane.At(y, x), sum); });
    return sum / count_;
  }

  void AddRow(int64_t c, int64_t ph, F* sums) {
    for (int64_t pw = 0; pw < p_.pooled_width; ++pw) {
      BeginBin(ph, pw);
      const F q = base::Widen(*PooledAt<const T>(p_, n_, c, ph, pw)) / count_;
      ForCorners([&](int64_t y, int64_t x, F weight) {
        F& sum = sums[y * p_.width + x];
        sum = std::fma(weight, q, sum);
      });
    }
  }

 private:
  // Around the centre.
  ops::RoiAxis<F> AxisOf(F size, int64_t bins, int64_t extent) const {
    if (!p_.aligned && size < F{1}) size = F{1};
    return ops::RoiAxisOf<F>(p_, -size / F{2}, size, bins, extent);
  }

  template <class Visit>
  void ForCorners(const Visit& visit) const {
    for (int64_t iy = 0; iy < along_y_.samples; ++iy) {
      const F yy = along_y_.At(ph_, iy);
      for (int64_t ix = 0; ix < along_x_.samples; ++ix) {
        const F xx = along_x_.At(pw_, ix);
        const Corners<F> corners((yy * cos_ - xx * sin_) + y_, (yy * sin_ + xx * cos_) + x_, p_);
        for (size_t i = 0; i < corners.count; ++i) {
          visit(corners.at[i][0], corners.at[i][1], corners.weight[i]);
        }
      }
    }
  }

  const Params& p_;
  int64_t n_ = 0;
  F x_ = 0, y_ = 0;  // the centre
  F sin_ = 0, cos_ = 0;
  F count_ = 1;
  ops::RoiAxis<F> along_x_;
  ops::RoiAxis<F> along_y_;
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
  int64_t area = 0, bytes = 0;
  const bool fits = (!p.backward || base::CheckedMul(p.height, p.width, &area)) &&
                    base::CheckedMul(p.width, int64_t{3}, &plan.elements) &&
                    base::CheckedAdd(plan.elements, p.height, &plan.elements) &&
                    base::CheckedAdd(plan.elements, area, &plan.elements) &&
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
    if (p.rotated) return RunPooling<T, RotatedAverage<T>>(p, plan, workspace);
    if (p.mode != RoiAlignMode::kAverage)
      return RunPooling<T, UprightMaximum<T>>(p, plan, workspace);
    RunPooling<T, UprightAverage<T>>(p, plan, workspace);
  });
}

}  // namespace

const base::Kernel<Params> kRoiAlign =
    base::KernelOf<&MakePlan, &RunAnyType>::Make("ref", base::OnEveryCpu);

}  // namespace portacl::ref
