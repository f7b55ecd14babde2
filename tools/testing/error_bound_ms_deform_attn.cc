// Multi-scale deformable attention and its gradients, from the coordinates that the operator itself
// computes, bit for bit.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

constexpr int kRoundings = 8;  // in a term: distances, weights, products

template <class Float>
class MsDeformAttn {
 public:
  using Wide = typename WideOf<Float>::Type;
  using Sums = std::vector<Sum<Wide>>;

  explicit MsDeformAttn(const Call& call)
      : value_(Values(call, 0)),
        levels_(Values(call, 1)),
        starts_(Values(call, 2)),
        location_(Values(call, 3)),
        weight_(Values(call, 4)),
        dtype_(call.source.dtype) {
    const Shape& value = call.arguments[0].tensor.shape();
    const Shape& location = call.arguments[3].tensor.shape();
    keys_ = value[1];
    heads_ = value[2];
    channels_ = value[3];
    queries_ = location[1];
    row_points_ = location[3] * location[4];
    points_ = location[4];
  }

  std::vector<Exact> Forward() const {
    Sums sums(Rows() * static_cast<size_t>(channels_));
    ForPoints([&](const Point& point) {
      for (int64_t c = 0; c < channels_; ++c) {
        Sum<Wide>& sum = sums[At(point.row * channels_ + c)];
        if (point.is_nan) sum.value = std::nan("");
        ForTaps(point, [&](const Tap& tap) {
          Add(point.weight * tap.weight, value_[At(tap.key * channels_ + c)], sum);
        });
      }
    });
    return {Finished<Float>(sums, dtype_, kRoundings)};
  }

  std::vector<Exact> Backward(const std::vector<double>& grad) const {
    Sums value(value_.size()), location(location_.size()), weight(weight_.size());
    ForPoints([&](const Point& point) {
      Sum<Wide>* const xy = location.data() + 2 * point.index;
      Sum<Wide>& own = weight[At(point.index)];
      if (point.is_nan) own.value = xy[0].value = xy[1].value = std::nan("");
      ForTaps(point, [&](const Tap& tap) {
        for (int64_t c = 0; c < channels_; ++c) {
          const double g = grad[At(point.row * channels_ + c)];
          Add(point.weight * tap.weight, g, value[At(tap.key * channels_ + c)]);
          const double product = g * value_[At(tap.key * channels_ + c)];
          Add(tap.weight, product, own);
          Add(tap.slope_x, product, xy[0]);
          Add(tap.slope_y, product, xy[1]);
        }
      });
      // Not in the terms: the weight may be infinite.
      if (xy[0].terms > 0) Multiply(point.weight * point.width, xy[0]);
      if (xy[1].terms > 0) Multiply(point.weight * point.height, xy[1]);
    });
    for (Sums* const sums : {&location, &weight}) {
      for (Sum<Wide>& sum : *sums) sum.terms = 8 + (channels_ + 15) / 16;
    }
    return {Finished<Float>(value, dtype_, kRoundings),
            Finished<Float>(location, dtype_, kRoundings),
            Finished<Float>(weight, dtype_, kRoundings)};
  }

 private:
  struct Point {
    int64_t index = 0, row = 0, batch = 0;  // a row is a head of a query
    bool is_nan = false;
    Wide x = 0, y = 0, weight = 0, width = 0, height = 0;
    int64_t start = 0;
  };
  struct Tap {
    int64_t key = 0;  // (batch, key, head) as one number
    Wide weight = 0, slope_x = 0, slope_y = 0;
  };

  static std::vector<double> Values(const Call& call, size_t i) {
    return call.arguments[i].tensor.Values();
  }
  static size_t At(int64_t index) { return static_cast<size_t>(index); }
  size_t Rows() const {
    return row_points_ == 0 ? 0 : weight_.size() / static_cast<size_t>(row_points_);
  }

  static void Add(Wide weight, double factor, Sum<Wide>& sum) {
    sum.value += weight * static_cast<Wide>(factor);
    sum.magnitude += static_cast<double>(Magnitude(weight)) * std::fabs(factor);
    ++sum.terms;
  }

  static void Multiply(Wide factor, Sum<Wide>& sum) {
    sum.value *= factor;
    sum.magnitude *= static_cast<double>(Magnitude(factor));
  }

  static Wide Pixel(double location, double extent) {
    const Float scaled = static_cast<Float>(location) * static_cast<Float>(extent);
    return static_cast<Wide>(static_cast<Float>(scaled - Float{0.5}));
  }

  // Calls visit(point) for each that may contribute, in order.
  template <class Visit>
  void ForPoints(const Visit& visit) const {
    for (int64_t i = 0; i < static_cast<int64_t>(weight_.size()); ++i) {
      const size_t level = At(i % row_points_ / points_);
      const double height = levels_[2 * level], width = levels_[2 * level + 1];
      const double start = starts_[level];
      const bool fits = height >= 1 && width >= 1 && start >= 0 &&
                        start + height * width <= static_cast<double>(keys_);
      if (!fits) continue;
      Point point;
      point.index = i;
      point.row = i / row_points_;
      point.batch = point.row / heads_ / queries_;
      point.x = Pixel(location_[At(2 * i)], width);
      point.y = Pixel(location_[At(2 * i + 1)], height);
      point.is_nan = point.x != point.x || point.y != point.y;
      point.weight = static_cast<Wide>(weight_[At(i)]);
      point.width = static_cast<Wide>(width);
      point.height = static_cast<Wide>(height);
      point.start = static_cast<int64_t>(start);
      visit(point);
    }
  }

  template <class Visit>
  void ForTaps(const Point& point, const Visit& visit) const {
    const bool usable =
        point.x >= -1 && point.x < point.width && point.y >= -1 && point.y < point.height;
    if (!usable) return;
    const auto left = static_cast<int64_t>(std::floor(static_cast<double>(point.x)));
    const auto top = static_cast<int64_t>(std::floor(static_cast<double>(point.y)));
    const Wide tx = point.x - static_cast<Wide>(left), ty = point.y - static_cast<Wide>(top);
    const auto width = static_cast<int64_t>(point.width);
    for (int tap = 0; tap < 4; ++tap) {
      const bool right = tap % 2 == 1, below = tap / 2 == 1;
      const int64_t column = left + (right ? 1 : 0), row = top + (below ? 1 : 0);
      if (column < 0 || column >= width || row < 0 || row >= static_cast<int64_t>(point.height)) {
        continue;
      }
      const Wide wx = right ? tx : 1 - tx, wy = below ? ty : 1 - ty;
      const int64_t key = point.batch * keys_ + point.start + row * width + column;
      visit(Tap{key * heads_ + point.row % heads_, wx * wy, right ? wy : -wy, below ? wx : -wx});
    }
  }

  std::vector<double> value_, levels_, starts_, location_, weight_;
  DataType dtype_;
  int64_t keys_ = 0, heads_ = 0, channels_ = 0, queries_ = 0, row_points_ = 0, points_ = 0;
};

template <class Float>
std::vector<Exact> ExactAs(const Call& call) {
  const MsDeformAttn<Float> exact(call);
  if (call.op->op == ops::Op::kMsDeformAttn) {
    std::vector<Exact> made = exact.Forward();
    made[0].value.resize(static_cast<size_t>(call.output().count()));  // no points: zeros
    made[0].bound.resize(made[0].value.size());
    return made;
  }
  std::vector<Exact> made = exact.Backward(call.arguments[5].tensor.Values());
  for (size_t i = 0; i < made.size(); ++i) {
    if (!call.arguments[6 + i].wanted) made[i] = {};
  }
  return made;
}

}  // namespace

std::vector<Exact> ExactMsDeformAttn(const Call& call) {
  return call.source.dtype == DataType::kFloat64 ? ExactAs<double>(call) : ExactAs<float>(call);
}

}  // namespace portacl::golden
