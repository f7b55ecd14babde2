// RoiAlign and its gradient: coordinates as the operator computes them, weights and sums exact.
#include <algorithm>
#include <cmath>
#include <map>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

constexpr int kRoundings = 8;  // in a term: weights, products, the average

struct Sample {
  template <class Float>
  Sample(Float place, int64_t extent) {
    counts = place >= Float{-1} && place <= static_cast<Float>(extent);
    if (!counts) return;
    place = std::max(place, Float{0});
    at[0] = at[1] = std::min(static_cast<int64_t>(place), extent - 1);
    if (at[0] == extent - 1) return;
    ++at[1];
    const Float rest = place - static_cast<Float>(at[0]);
    weight[0] = static_cast<double>(Float{1} - rest);
    weight[1] = static_cast<double>(rest);
  }
  bool counts = false;
  int64_t at[2] = {};
  double weight[2] = {1, 0};
};

// Where the samples of every bin lie along an axis.
template <class Float>
struct Axis {
  Axis(Float first, Float size, bool aligned, int64_t ratio, int64_t bins)
      : start(first), bin(size), count(ratio) {
    if (!aligned && bin < Float{1}) bin = Float{1};
    bin /= static_cast<Float>(bins);
    if (ratio == 0 && bin > 0 && std::isfinite(bin)) {
      count = static_cast<int64_t>(std::min(std::ceil(bin), Float{65536}));
    }
  }
  Float At(int64_t of_bin, int64_t i) const {
    const Float at = start + static_cast<Float>(of_bin) * bin;
    return at + ((static_cast<Float>(i) + Float{0.5}) * bin) / static_cast<Float>(count);
  }
  Float start;
  Float bin;
  int64_t count;
};

template <class Float>
class RoiAlign {
 public:
  using Wide = typename WideOf<Float>::Type;

  explicit RoiAlign(const Call& call)
      : call_(call),
        image_(call.op->backward() ? call.output() : call.input()),
        pooled_(call.op->backward() ? call.input() : call.output()),
        boxes_(call.tensor("boxes").Values()),
        columns_(static_cast<size_t>(call.tensor("boxes").shape()[1])) {}

  // The exact values of the output, or of the gradient.
  Exact Get() const {
    const bool backward = call_.op->backward();
    const std::vector<double> values = call_.input().Values();
    const auto count = static_cast<size_t>(call_.output().count());
    std::vector<Sum<Wide>> sums(count);
    ForEachTerm([&](size_t pooled, size_t image, Wide weight, double slip, int64_t roundings) {
      const double value = values[backward ? pooled : image];
      Sum<Wide>& sum = sums[backward ? image : pooled];
      sum.value += weight * static_cast<Wide>(value);
      sum.magnitude += (static_cast<double>(Magnitude(weight)) + slip) * std::fabs(value);
      sum.terms = backward ? sum.terms + 1 + roundings : roundings;
    });
    return Finished<Float>(sums, call_.source.dtype, kRoundings);
  }

 private:
  // A roi: its axes from its start or, rotated, from its centre (x, y).
  struct Roi {
    Axis<Float> along_y, along_x;
    Float y = 0, x = 0, sin = 0, cos = 1;
  };

  // Calls visit(element of `pooled`, element of the image, weight, slip, terms of the bin). Slip:
  // by how much the operator's own sine and cosine may move the weight, in kRoundings roundings.
  template <class Visit>
  void ForEachTerm(const Visit& visit) const {
    const auto rois = static_cast<size_t>(pooled_.shape()[0]);
    for (size_t n = 0; n < rois; ++n) {
      const double index = boxes_[columns_ * n];
      if (!(index >= 0 && index < static_cast<double>(image_.shape()[0]))) continue;
      const Roi roi = columns_ == 6 ? Rotated(n) : Upright(n);
      for (int64_t bin = 0; bin < pooled_.shape()[2] * pooled_.shape()[3]; ++bin) {
        ForBin(n, static_cast<int64_t>(index), roi, bin, visit);
      }
    }
  }

  template <class Visit>
  void ForBin(size_t n, int64_t image, const Roi& roi, int64_t bin, const Visit& visit) const {
    const int64_t samples = std::max<int64_t>(roi.along_y.count * roi.along_x.count, 1);
    const int64_t ph = bin / pooled_.shape()[3], pw = bin % pooled_.shape()[3];
    const auto add = [&](int64_t y, int64_t x, Wide weight, double slip, int64_t roundings) {
      for (int64_t c = 0; c < image_.shape()[1]; ++c) {
        visit(Index(pooled_.shape(), static_cast<int64_t>(n), c, ph, pw),
              Index(image_.shape(), image, c, y, x), weight / static_cast<Wide>(samples), slip,
              roundings);
      }
    };
    if (columns_ == 6) return ForTurned(roi, ph, pw, add);
    // An element that several samples use is one term: infinity times its summed weight is not NaN
    // if only one sample has the weight 0.
    const int64_t roundings = 3 * (roi.along_y.count + roi.along_x.count);
    const auto rows = TapsOf(roi.along_y, ph, image_.shape()[2]);
    const auto columns = TapsOf(roi.along_x, pw, image_.shape()[3]);
    for (const auto& [y, of_y] : rows) {
      for (const auto& [x, of_x] : columns) add(y, x, of_y * of_x, 0, roundings);
    }
  }

  static std::map<int64_t, Wide> TapsOf(const Axis<Float>& axis, int64_t bin, int64_t extent) {
    std::map<int64_t, Wide> taps;
    for (int64_t i = 0; i < axis.count; ++i) {
      const Sample sample(axis.At(bin, i), extent);
      if (!sample.counts) continue;
      taps[sample.at[0]] += static_cast<Wide>(sample.weight[0]);
      taps[sample.at[1]] += static_cast<Wide>(sample.weight[1]);
    }
    return taps;
  }

  template <class Add>
  void ForTurned(const Roi& roi, int64_t ph, int64_t pw, const Add& add) const {
    const int64_t samples = roi.along_y.count * roi.along_x.count;
    for (int64_t i = 0; i < samples; ++i) {
      const Float y = roi.along_y.At(ph, i / roi.along_x.count);
      const Float x = roi.along_x.At(pw, i % roi.along_x.count);
      const Sample sy((y * roi.cos - x * roi.sin) + roi.y, image_.shape()[2]);
      const Sample sx((y * roi.sin + x * roi.cos) + roi.x, image_.shape()[3]);
      if (!sy.counts || !sx.counts) continue;
      constexpr double kOwn = sizeof(Float) == 8 ? 256 : 1;  // the sine's error in roundings of 1
      const double away = static_cast<double>(std::fabs(y) + std::fabs(x));
      const double slip = kOwn / kRoundings * away / static_cast<double>(samples);
      for (int corner = 0; corner < 4; ++corner) {
        const int a = corner / 2, b = corner % 2;
        const Wide weight = static_cast<Wide>(sy.weight[a]) * static_cast<Wide>(sx.weight[b]);
        add(sy.at[a], sx.at[b], weight, slip, 4 * samples);
      }
    }
  }

  static size_t Index(const Shape& shape, int64_t n, int64_t c, int64_t y, int64_t x) {
    return static_cast<size_t>(((n * shape[1] + c) * shape[2] + y) * shape[3] + x);
  }

  bool aligned() const { return call_.integer("aligned") != 0; }
  Float Column(size_t n, size_t column) const {
    return static_cast<Float>(boxes_[columns_ * n + column]);
  }
  // A column by the scale.
  Float Scaled(size_t n, size_t column) const {
    const double scale = call_.at("spatialScale").real;
    return Column(n, column) *
           static_cast<Float>(columns_ == 6 ? scale
                                            : static_cast<double>(static_cast<float>(scale)));
  }
  Float Place(size_t n, size_t column) const {
    return Scaled(n, column) - (aligned() ? Float{0.5} : Float{0});
  }
  Axis<Float> AxisFrom(Float start, Float size, size_t axis) const {
    return Axis<Float>(start, size, aligned(), call_.integer("samplingRatio"),
                       pooled_.shape()[axis]);
  }

  // Ends stand two columns behind the starts.
  Roi Upright(size_t n) const {
    const Float x = Place(n, 1), y = Place(n, 2);
    return {AxisFrom(y, Place(n, 4) - y, 2), AxisFrom(x, Place(n, 3) - x, 3)};
  }

  Roi Rotated(size_t n) const {
    const auto axis = [&](size_t column, size_t of) {
      const Float size = aligned() ? Scaled(n, column) : std::max(Scaled(n, column), Float{1});
      return AxisFrom(-size / 2, size, of);
    };
    const double turn = static_cast<double>(Column(n, 5));
    const double angle = call_.integer("clockwise") != 0 ? -turn : turn;
    return {axis(4, 2),
            axis(3, 3),
            Place(n, 2),
            Place(n, 1),
            static_cast<Float>(std::sin(angle)),
            static_cast<Float>(std::cos(angle))};
  }

  const Call& call_;
  const ViewTensor& image_;
  const ViewTensor& pooled_;
  const std::vector<double> boxes_;
  const size_t columns_;  // 5, or 6 of rotated rois
};

}  // namespace

std::vector<Exact> ExactRoiAlign(const Call& call) {
  return {call.source.dtype == DataType::kFloat64 ? RoiAlign<double>(call).Get()
                                                  : RoiAlign<float>(call).Get()};
}

}  // namespace portacl::golden
