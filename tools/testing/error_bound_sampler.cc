// Grid sampling and its gradients, for any number of axes.
#include <algorithm>

#include "tools/testing/error_bound_axis.h"

namespace portacl::golden {
namespace {

constexpr int kRoundingsOfAnAxis = 4;  // in a term
constexpr size_t kMostAxes = 3;

// One pixel that a point touches: the product of one tap of each axis.
template <class Wide>
struct Pixel {
  int64_t offset = 0;    // in the plane
  bool outside = false;  // holds the constant
  bool extra = false;    // rounding decides whether it is touched; it may add errors, and no value
  Wide weight = 1;
  double weight_magnitude = 1, weight_spread = 0;
  bool weight_steady = true;
  // Derivatives, x first.
  Wide slope[kMostAxes] = {};
  double slope_magnitude[kMostAxes] = {}, slope_spread[kMostAxes] = {};
  bool slope_steady[kMostAxes] = {};
};

template <class Wide>
struct Point {
  Reach reach = Reach::kInside;
  bool wild = false;
  bool replaced = false;
  std::vector<Pixel<Wide>> pixels;
};

// How much a term may change. For an infinite value: not at all if its weight cannot change sign,
// else without limit.
double SpreadOf(double spread, bool steady, double value) {
  if (spread == 0) return 0;
  if (std::isfinite(value)) return spread * std::fabs(value);
  return steady ? 0 : HUGE_VAL;
}

// Multiplies one tap of each axis. `taps[a]` belongs to axis a of the image, the outermost first.
template <class Wide>
Pixel<Wide> Product(const std::vector<const Tap<Wide>*>& taps, const Shape& image) {
  const size_t axes = taps.size();
  Pixel<Wide> pixel;
  for (size_t a = 0; a < axes; ++a) {
    pixel.offset = pixel.offset * image[a + 2] + taps[a]->index;
    pixel.extra |= taps[a]->extra;
    pixel.outside |= taps[a]->index < 0;
  }
  // All weights (derived = axes), and with the derivative along one axis.
  for (size_t derived = 0; derived <= axes; ++derived) {
    Wide value = 1;
    double magnitude = 1, above = 1;
    bool steady = true;
    for (size_t a = 0; a < axes; ++a) {
      const Tap<Wide>& tap = *taps[a];
      const bool slope = a == derived;
      value *= slope ? tap.slope : tap.weight;
      magnitude *= slope ? tap.slope_magnitude : tap.weight_magnitude;
      above *= static_cast<double>(Magnitude(slope ? tap.slope : tap.weight)) +
               (slope ? tap.slope_spread : tap.weight_spread);
      steady &= slope ? tap.slope_steady : tap.weight_steady;
    }
    const double spread = above - static_cast<double>(Magnitude(value));
    const bool moves = std::any_of(taps.begin(), taps.end(), [](const Tap<Wide>* tap) {
      return tap->weight_spread > 0 || tap->slope_spread > 0;
    });
    if (derived == axes) {
      pixel.weight = value;
      pixel.weight_magnitude = magnitude;
      pixel.weight_spread = moves ? std::max(spread, 0.0) : 0;
      pixel.weight_steady = steady;
    } else {
      const size_t x_first = axes - 1 - derived;
      pixel.slope[x_first] = value;
      pixel.slope_magnitude[x_first] = magnitude;
      pixel.slope_spread[x_first] = moves ? std::max(spread, 0.0) : 0;
      pixel.slope_steady[x_first] = steady;
    }
  }
  return pixel;
}

// How the aclnn functions' parameters, or the native functions' with more paddings, say it.
SamplerMode ModeOf(const Call& call) {
  const bool padded = call.op->Find("fillValue").has_value();
  return {call.integer(padded ? "interpolation" : "interpolationMode"),
          call.integer(padded ? "padding" : "paddingMode"), call.integer("alignCorners") != 0,
          padded && call.integer("replaceOutside") != 0};
}

// Everything about a call that its points share.
template <class Float>
class Sampler {
 public:
  using Wide = typename WideOf<Float>::Type;

  explicit Sampler(const Call& call)
      : image_(call.tensor("input").shape()),
        axes_(call.op->axes),
        mode_(ModeOf(call)),
        grid_(call.tensor("grid").Values()),
        input_(call.tensor("input").Values()),
        dtype_(call.source.dtype) {
    if (mode_.padding == kConstant) fill_ = static_cast<Float>(call.at("fillValue").real);
    if (mode_.replaces_outside) outside_value_ = static_cast<Float>(call.at("outsideValue").real);
    for (size_t a = 0; a < axes_; ++a) plane_ *= image_[a + 2];
    points_ = axes_ > 0 ? static_cast<int64_t>(grid_.size() / axes_) : 0;
    points_of_image_ = image_[0] > 0 ? points_ / image_[0] : 0;
  }

  Exact Forward() const {
    std::vector<Sum<Wide>> sums(static_cast<size_t>(points_ * channels()));
    for (int64_t p = 0; p < points_; ++p) {
      const Point<Wide> point = PointAt(p);
      for (int64_t c = 0; c < channels(); ++c) {
        Sum<Wide>& sum = sums[static_cast<size_t>(ResultIndex(p, c))];
        if (point.wild) sum.spread = HUGE_VAL;
        if (point.reach != Reach::kInside) sum.value = static_cast<Wide>(ValueWithoutTaps(point));
        const double* const plane = input_.data() + PlaneOf(p, c) * plane_;
        for (const Pixel<Wide>& pixel : point.pixels) {
          const double value = pixel.outside ? fill_ : plane[pixel.offset];
          sum.spread += SpreadOf(pixel.weight_spread, pixel.weight_steady, value);
          if (!pixel.extra) sum.value += pixel.weight * static_cast<Wide>(value);
          sum.magnitude += pixel.weight_magnitude * std::fabs(value);
          ++sum.terms;
        }
      }
    }
    return Finished<Float>(sums, dtype_, Roundings());
  }

  // inputGrad and gridGrad.
  std::vector<Exact> Backward(const std::vector<double>& grad_output, bool want_input,
                              bool want_grid) const {
    std::vector<Sum<Wide>> input_grad(want_input ? input_.size() : 0);
    std::vector<Sum<Wide>> grid_grad(want_grid ? grid_.size() : 0);
    for (int64_t p = 0; p < points_; ++p) {
      const Point<Wide> point = PointAt(p);
      if (want_input) AddInputGrad(point, p, grad_output, input_grad);
      if (want_grid && mode_.interpolation != kNearestPixel) {
        AddGridGrad(point, p, grad_output, grid_grad.data() + p * static_cast<int64_t>(axes_));
      }
    }
    return {Finished<Float>(input_grad, dtype_, Roundings()),
            Finished<Float>(grid_grad, dtype_, Roundings())};
  }

 private:
  double ValueWithoutTaps(const Point<Wide>& point) const {
    if (point.replaced) return outside_value_;
    const bool nan = point.reach == Reach::kUnusable && mode_.interpolation != kNearestPixel;
    return nan ? std::nan("") : fill_;
  }

  int64_t channels() const { return image_[1]; }
  int64_t PlaneOf(int64_t p, int64_t c) const { return p / points_of_image_ * channels() + c; }
  // The index of a point in a tensor (N, C, OH, OW).
  int64_t ResultIndex(int64_t p, int64_t c) const {
    return PlaneOf(p, c) * points_of_image_ + p % points_of_image_;
  }
  // Nearest has weights of 1: nothing is rounded but the sum.
  int Roundings() const {
    return mode_.interpolation == kNearestPixel ? -1 : kRoundingsOfAnAxis * static_cast<int>(axes_);
  }

  Point<Wide> PointAt(int64_t p) const {
    Point<Wide> point;
    std::vector<AxisPoint<Wide>> axes;
    bool at_edge = false;
    for (size_t a = 0; a < axes_; ++a) {
      const double coordinate = grid_[static_cast<size_t>(p) * axes_ + (axes_ - 1 - a)];
      axes.push_back(AxisPointAt<Float>(static_cast<Float>(coordinate), image_[a + 2], mode_));
      point.wild |= axes[a].wild;
      point.reach = std::max(point.reach, axes[a].reach);
      at_edge |= axes[a].at_edge;
      point.replaced |= axes[a].replaced && !axes[a].at_edge;
    }
    if (point.replaced) {
      point.reach = Reach::kOutside;
      point.wild = false;
      return point;
    }
    point.wild |= at_edge;
    if (point.reach != Reach::kInside) return point;
    std::vector<const Tap<Wide>*> chosen(axes_);
    AddPixels(axes, 0, chosen, point.pixels);
    return point;
  }

  void AddPixels(const std::vector<AxisPoint<Wide>>& axes, size_t a,
                 std::vector<const Tap<Wide>*>& chosen, std::vector<Pixel<Wide>>& pixels) const {
    if (a == axes_) {
      pixels.push_back(Product(chosen, image_));
      return;
    }
    for (const Tap<Wide>& tap : axes[a].taps) {
      chosen[a] = &tap;
      AddPixels(axes, a + 1, chosen, pixels);
    }
  }

  void AddInputGrad(const Point<Wide>& point, int64_t p, const std::vector<double>& grad_output,
                    std::vector<Sum<Wide>>& input_grad) const {
    for (int64_t c = 0; c < channels(); ++c) {
      const double g = grad_output[static_cast<size_t>(ResultIndex(p, c))];
      Sum<Wide>* const plane = input_grad.data() + PlaneOf(p, c) * plane_;
      if (point.wild) {
        // It may land on any pixel.
        for (int64_t i = 0; i < plane_; ++i) plane[i].spread += SpreadOf(2, false, g);
      }
      for (const Pixel<Wide>& pixel : point.pixels) {
        if (pixel.outside) continue;
        Sum<Wide>& sum = plane[pixel.offset];
        sum.spread += SpreadOf(pixel.weight_spread, pixel.weight_steady, g);
        if (!pixel.extra) sum.value += pixel.weight * static_cast<Wide>(g);
        sum.magnitude += pixel.weight_magnitude * std::fabs(g);
        ++sum.terms;
      }
    }
  }

  void AddGridGrad(const Point<Wide>& point, int64_t p, const std::vector<double>& grad_output,
                   Sum<Wide>* sums) const {
    for (size_t a = 0; a < axes_; ++a) {
      Sum<Wide>& sum = sums[a];
      if (point.wild) sum.spread = HUGE_VAL;
      if (point.reach == Reach::kUnusable) sum.value = static_cast<Wide>(std::nan(""));
      for (int64_t c = 0; c < channels() && point.reach == Reach::kInside; ++c) {
        const double g = grad_output[static_cast<size_t>(ResultIndex(p, c))];
        const double* const plane = input_.data() + PlaneOf(p, c) * plane_;
        Wide slope = 0;
        for (const Pixel<Wide>& pixel : point.pixels) {
          const double value = pixel.outside ? fill_ : plane[pixel.offset];
          // 0 times infinity would be a spread of its own.
          const double both = std::isfinite(value) && std::isfinite(g) ? value * g : HUGE_VAL;
          sum.spread += SpreadOf(pixel.slope_spread[a], pixel.slope_steady[a], both);
          if (!pixel.extra) slope += pixel.slope[a] * static_cast<Wide>(value);
          sum.magnitude += pixel.slope_magnitude[a] * std::fabs(value) * std::fabs(g);
          ++sum.terms;
        }
        sum.value += slope * static_cast<Wide>(g);
      }
    }
  }

  const Shape& image_;
  size_t axes_;
  SamplerMode mode_;
  double fill_ = 0, outside_value_ = 0;
  std::vector<double> grid_, input_;
  DataType dtype_;
  int64_t plane_ = 1, points_ = 0, points_of_image_ = 0;
};

template <class Float>
std::vector<Exact> ExactOf(const Call& call) {
  const Sampler<Float> sampler(call);
  if (!call.op->backward()) return {sampler.Forward()};
  return sampler.Backward(call.tensor("gradOutput").Values(), call.at("inputGrad").wanted,
                          call.at("gridGrad").wanted);
}

}  // namespace

std::vector<Exact> ExactGridSampler(const Call& call) {
  return call.source.dtype == DataType::kFloat64 ? ExactOf<double>(call) : ExactOf<float>(call);
}
std::vector<Exact> ExactGridSamplerBackward(const Call& call) { return ExactGridSampler(call); }

}  // namespace portacl::golden
