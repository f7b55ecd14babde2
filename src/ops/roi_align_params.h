// Parameters of RoiAlign's kernels, and the positions of a roi's samples. All kernels share this
// code, because the bits of a coordinate decide which pixels a sample uses.
#ifndef PORTACL_OPS_ROI_ALIGN_PARAMS_H_
#define PORTACL_OPS_ROI_ALIGN_PARAMS_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/dtype.h"
#include "base/half.h"
#include "ops/tensor_params.h"

namespace portacl::ops {

enum class RoiAlignMode : int32_t {
  kAverage = 0,
  kMax = 1,         // the largest interpolated sample
  kMaxCorners = 2,  // the largest of all samples' four weighted corners
};

// With T = float (double for double): each roi is cut into pooled_height x pooled_width bins. An
// element of `pooled` is the average (or maximum) of its bin's samples. The image's gradient is the
// transpose.
struct RoiAlignParams {
  base::DType dtype = base::DType::kFloat;
  bool backward = false;
  RoiAlignMode mode = RoiAlignMode::kAverage;
  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t rois = 0;
  int64_t pooled_height = 0;
  int64_t pooled_width = 0;
  int64_t samples = 0;  // per bin and axis; 0: the bin's length, rounded up
  double scale = 1;
  bool aligned = false;        // 0.5 is subtracted from scaled coordinates
  bool includes_ends = false;  // 1 is added to x2 and y2
  bool rotated = false;        // rois have a centre, a size and an angle; only averages
  bool clockwise = false;      // a positive angle turns clockwise
  // Without `indices` (rois, 5): image, x1, y1, x2, y2. With `indices` (rois, 4): without image.
  // Rotated (rois, 6): image, centre x, centre y, width, height, angle.
  ReadTensor<2> boxes;
  ReadTensor<1> indices;
  base::DType index_dtype = base::DType::kInt32;  // or INT64
  WrittenTensor<4> image;   // (images, channels, height, width); forward only reads it
  WrittenTensor<4> pooled;  // (rois, channels, pooled_height, pooled_width); backward only reads it
  ReadTensor<4> values;     // gradient of a maximum: the image that forward read
};

// ---- where the samples of a roi lie ------------------------------------------------------------

// The bins of a roi along one axis; the image has `extent` elements on it.
template <class F>
struct RoiAxis {
  int64_t extent = 0;
  F start = 0;          // coordinate where bin 0 begins
  F bin = 0;            // length of a bin
  int64_t samples = 0;  // samples per bin

  // Returns the coordinate of sample i of bin `of_bin`.
  F At(int64_t of_bin, int64_t i) const {
    return (start + static_cast<F>(of_bin) * bin) +
           ((static_cast<F>(i) + F{0.5}) * bin) / static_cast<F>(samples);
  }
};

template <class F>
RoiAxis<F> RoiAxisOf(const RoiAlignParams& p, F start, F size, int64_t bins, int64_t extent) {
  if (!p.aligned && size < F{1}) size = F{1};
  const F bin = size / static_cast<F>(bins);
  constexpr F kMost = 65536;
  int64_t samples = p.samples;
  if (samples == 0 && bin > 0 && std::isfinite(bin)) {
    samples = static_cast<int64_t>(std::min(std::ceil(bin), kMost));
  }
  return {extent, start, bin, samples};
}

// One sample on one axis: the elements before and behind it. `counts` is false outside the image.
template <class F>
struct RoiSample {
  RoiSample() = default;
  RoiSample(F at, int64_t extent) {
    if (!(at >= F{-1} && at <= static_cast<F>(extent))) return;
    counts = true;
    const F clamped = at <= 0 ? F{0} : at;
    low = high = std::min(static_cast<int64_t>(clamped), extent - 1);
    of_low = 1;
    if (low == extent - 1) return;
    ++high;
    of_high = clamped - static_cast<F>(low);
    of_low = F{1} - of_high;
  }

  bool counts = false;
  int64_t low = 0;
  int64_t high = 0;  // equal to low if the sample lies on the last element
  F of_low = 0;      // weights of low and high
  F of_high = 0;
};

// The elements that one bin's samples use on one axis, and the sum of the weights of each element.
template <class F>
class RoiTaps {
 public:
  // `memory` has room for `extent` weights.
  RoiTaps(F* memory, int64_t extent) : weight_(memory) { std::fill_n(weight_, extent, kNone); }

  void Make(const RoiAxis<F>& axis, int64_t bin) {
    if (!empty()) std::fill(weight_ + first_, weight_ + last_ + 1, kNone);
    first_ = axis.extent;
    last_ = -1;
    for (int64_t i = 0; i < axis.samples; ++i) {
      const RoiSample<F> sample(axis.At(bin, i), axis.extent);
      if (!sample.counts) continue;
      Add(sample.low, sample.of_low);
      if (sample.high != sample.low) Add(sample.high, sample.of_high);
    }
  }
  bool empty() const { return last_ < first_; }

  // Calls visit(element, weight) for each element used, in ascending order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    for (int64_t i = first_; i <= last_; ++i) {
      if (!std::isnan(weight_[i])) visit(i, weight_[i]);
    }
  }

 private:
  static constexpr F kNone = std::numeric_limits<F>::quiet_NaN();

  void Add(int64_t element, F weight) {
    weight_[element] = std::isnan(weight_[element]) ? weight : weight_[element] + weight;
    first_ = std::min(first_, element);
    last_ = std::max(last_, element);
  }

  F* const weight_;
  int64_t first_ = 0;
  int64_t last_ = -1;
};

// Returns column `column` of roi n.
template <class T>
base::ComputeType<T> RoiColumn(const RoiAlignParams& p, int64_t n, int64_t column) {
  return base::Widen(*p.boxes.At<T>(n, column));
}

// Returns the image of roi n; -1 if the roi's number is no image.
template <class T>
int64_t RoiImage(const RoiAlignParams& p, int64_t n) {
  if (p.indices.has) {
    const int64_t index = IndexAt(p.indices, p.index_dtype, n);
    return index >= 0 && index < p.images ? index : -1;
  }
  const double index = static_cast<double>(RoiColumn<T>(p, n, 0));
  return index >= 0 && index < static_cast<double>(p.images) ? static_cast<int64_t>(index) : -1;
}

// ---- samples one by one: maxima and rotated rois -----------------------------------------------

// The four elements around a sample, with their weights; none if the sample does not count.
template <class F>
struct RoiCorners {
  RoiCorners() = default;
  RoiCorners(const RoiSample<F>& y, const RoiSample<F>& x) {
    if (!y.counts || !x.counts) return;
    count = 4;
    at = {{{y.low, x.low}, {y.low, x.high}, {y.high, x.low}, {y.high, x.high}}};
    weight = {y.of_low * x.of_low, y.of_low * x.of_high, y.of_high * x.of_low,
              y.of_high * x.of_high};
  }

  size_t count = 0;
  std::array<std::array<int64_t, 2>, 4> at{};  // row, column
  std::array<F, 4> weight{};
};

// The range of a bin's samples that count on one axis. A huge roi has far more samples.
struct RoiCounted {
  int64_t first = 0;
  int64_t last = 0;  // behind the last sample that counts
};

// Samples lie in ascending or descending order, so the samples that count are consecutive.
template <class F>
RoiCounted RoiCountedOf(const RoiAxis<F>& axis, int64_t bin) {
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

// Computes sine and cosine of an angle below 2^20: subtracts whole quarter turns, then sums
// Taylor's series. Uses no library, so that the bits are the same everywhere.
struct RoiTurn {
  explicit RoiTurn(double angle) {
    constexpr double kQuarters = 0.63661977236758134308;  // quarters per radian
    constexpr double kQuarter = 1.57079632673412561417;   // the first 33 bits of a quarter
    constexpr double kRest = 6.07710050650619224932e-11;
    const double quarters = std::nearbyint(angle * kQuarters);
    const double r = (angle - quarters * kQuarter) - quarters * kRest;
    double sine = 0, cosine = 0;
    for (int i = 16; i >= 2; i -= 2) {  // from r^17 / 17! and r^16 / 16! down
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

// The bins of one roi. The axes of a rotated roi turn around its centre.
template <class F>
struct Roi {
  int64_t image = -1;  // -1: the roi contributes nothing
  RoiAxis<F> y{};
  RoiAxis<F> x{};
  F count = 1;  // divisor of sums: a bin's samples, or 1 for a maximum
  F centre_y = 0;
  F centre_x = 0;
  F sin = 0;
  F cos = 1;

  F RotatedY(F along_y, F along_x) const { return (along_y * cos - along_x * sin) + centre_y; }
  F RotatedX(F along_y, F along_x) const { return (along_y * sin + along_x * cos) + centre_x; }
};

template <class T, class F = base::ComputeType<T>>
Roi<F> RoiAt(const RoiAlignParams& p, int64_t n) {
  const F scale = static_cast<F>(p.scale);
  const F offset = p.aligned ? F{0.5} : F{0};
  const auto column = [&](int64_t i) { return RoiColumn<T>(p, n, p.indices.has ? i : i + 1); };
  const auto axis = [&](int64_t i, int64_t bins, int64_t extent) {
    F last = column(i + 2);  // the roi's end on this axis, or its length if rotated
    if (p.rotated) {
      last *= scale;
      if (!p.aligned && last < F{1}) last = F{1};
      return RoiAxisOf<F>(p, -last / F{2}, last, bins, extent);
    }
    if (p.includes_ends) last += F{1};
    const F start = column(i) * scale - offset;
    return RoiAxisOf<F>(p, start, (last * scale - offset) - start, bins, extent);
  };
  Roi<F> roi{RoiImage<T>(p, n), axis(1, p.pooled_height, p.height),
             axis(0, p.pooled_width, p.width)};
  if (p.mode == RoiAlignMode::kAverage) {
    roi.count = static_cast<F>(std::max<int64_t>(roi.y.samples * roi.x.samples, 1));
  }
  if (!p.rotated) return roi;
  roi.centre_y = column(1) * scale - offset;
  roi.centre_x = column(0) * scale - offset;
  const auto angle = static_cast<double>(column(4));
  constexpr double kMost = 1 << 20;
  if (!(std::fabs(angle) < kMost)) {
    roi.image = -1;  // too large an angle for RoiTurn
    return roi;
  }
  const RoiTurn turn(p.clockwise ? -angle : angle);
  roi.sin = static_cast<F>(turn.sin);
  roi.cos = static_cast<F>(turn.cos);
  return roi;
}

// Calls visit(corners) for each sample of a rotated roi's bin that counts.
template <class F, class Visit>
void ForRotatedSamples(const Roi<F>& roi, int64_t ph, int64_t pw, const Visit& visit) {
  for (int64_t iy = 0; iy < roi.y.samples; ++iy) {
    const F yy = roi.y.At(ph, iy);
    for (int64_t ix = 0; ix < roi.x.samples; ++ix) {
      const F xx = roi.x.At(pw, ix);
      const RoiSample<F> y(roi.RotatedY(yy, xx), roi.y.extent);
      const RoiSample<F> x(roi.RotatedX(yy, xx), roi.x.extent);
      if (y.counts && x.counts) visit(RoiCorners<F>(y, x));
    }
  }
}

// Like ForRotatedSamples(), for an upright roi. Samples that do not count are all 0, so only the
// first of them can be the maximum. It is visited without corners, at its place among the others.
template <class F, class Visit>
void ForUprightSamples(const Roi<F>& roi, int64_t ph, int64_t pw, const Visit& visit) {
  if (roi.y.samples == 0 || roi.x.samples == 0) return;
  const RoiCounted rows = RoiCountedOf(roi.y, ph), columns = RoiCountedOf(roi.x, pw);
  const RoiCorners<F> none;
  if (rows.first > 0 || columns.first > 0 || rows.last == 0 || columns.last == 0) visit(none);
  for (int64_t iy = rows.first; iy < rows.last; ++iy) {
    const RoiSample<F> y(roi.y.At(ph, iy), roi.y.extent);
    for (int64_t ix = columns.first; ix < columns.last; ++ix) {
      visit(RoiCorners<F>(y, RoiSample<F>(roi.x.At(pw, ix), roi.x.extent)));
    }
    if (iy == 0 && columns.last < roi.x.samples) visit(none);
  }
  if (rows.last < roi.y.samples) visit(none);
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_ROI_ALIGN_PARAMS_H_
