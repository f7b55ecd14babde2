// Deformable convolution, its samples and their gradients, from the coordinates that the operator
// itself computes, bit for bit.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

constexpr int kRoundings = 16;  // in a term: distances, weights, masks, products

template <class Float>
class DeformConv {
 public:
  using Wide = typename WideOf<Float>::Type;

  explicit DeformConv(const Call& call) : call_(call) {
    const ops::Op op = call.op->op;
    backward_ = call.op->backward();
    const bool alone =
        op == ops::Op::kDeformableOffsets || op == ops::Op::kDeformableOffsetsBackward;
    const std::vector<size_t> inputs = call.With(Role::kInput);
    const auto read = [&](size_t i) { return call.arguments[inputs[i]].tensor.Values(); };
    const auto shape = [&](size_t i) { return call.arguments[inputs[i]].tensor.shape(); };
    const size_t image = op == ops::Op::kDeformableOffsetsBackward ? 1 : 0;
    const size_t offset = op == ops::Op::kDeformConv2dBackward ? 4
                          : op == ops::Op::kDeformableOffsets  ? 1
                                                               : 2;
    input_ = read(image);
    image_ = shape(image);
    offset_ = read(offset);
    oh_ = shape(offset)[2];
    ow_ = shape(offset)[3];
    SetNumbers(alone);
    modulated_ = shape(offset)[1] == 3 * Points();
    if (op == ops::Op::kDeformConv2d) {
      SetWeight(read(1), shape(1));
      if (!call.arguments[inputs[3]].null) bias_ = read(3);
    } else if (op == ops::Op::kDeformConv2dBackward) {
      grad_ = read(1);
      saved_ = read(2);
      SetWeight(read(3), shape(3));
    } else if (backward_) {
      grad_ = read(0);
    }
  }

  std::vector<Exact> Get() const {
    if (!backward_) return Forward();
    return Backward();
  }

 private:
  using Sums = std::vector<Sum<Wide>>;

  // A number with the magnitude of the sum that it is.
  struct Value {
    Wide value = 0;
    double magnitude = 0;
  };
  static Value Exactly(double value) { return {static_cast<Wide>(value), std::fabs(value)}; }
  static void Add(const Value& a, const Value& b, Sum<Wide>& sum) {
    sum.value += a.value * b.value;
    sum.magnitude += a.magnitude * b.magnitude;
  }
  static void Add(const Value& a, const Value& b, Value& sum) {
    sum.value += a.value * b.value;
    sum.magnitude += a.magnitude * b.magnitude;
  }

  struct Point {
    bool is_nan = false;
    bool usable = false;
    Wide tx = 0, ty = 0;
    std::array<int64_t, 4> pixel{-1, -1, -1, -1};
    std::array<Wide, 4> weight{};
    Value mask{1, 1};
  };

  static size_t At(int64_t index) { return static_cast<size_t>(index); }
  int64_t Taps() const { return kh_ * kw_; }
  int64_t Points() const { return offset_groups_ * Taps(); }
  int64_t Positions() const { return oh_ * ow_; }
  int64_t C() const { return image_[1]; }

  void SetNumbers(bool alone) {
    std::vector<std::vector<int64_t>> lists;
    for (const size_t i : call_.With(Role::kInts)) lists.push_back(call_.arguments[i].integers);
    kh_ = lists[0][0];
    kw_ = lists[0][1];
    const auto last = [](const std::vector<int64_t>& list, size_t from_end) {
      return list[list.size() - from_end];
    };
    sh_ = last(lists[1], 2);
    sw_ = last(lists[1], 1);
    top_ = lists[2][0];
    left_ = lists[2][2];
    dh_ = last(lists[3], 2);
    dw_ = last(lists[3], 1);
    const std::vector<size_t> numbers = call_.With(Role::kInteger);
    if (!alone) groups_ = call_.arguments[numbers[0]].integers[0];
    offset_groups_ = call_.arguments[numbers[alone ? 0 : 1]].integers[0];
  }
  void SetWeight(std::vector<double> weight, const Shape& shape) {
    weight_ = std::move(weight);
    outputs_ = shape[0];
    group_channels_ = shape[1];
  }

  double OffsetAt(int64_t n, int64_t plane, int64_t position) const {
    const int64_t planes = (modulated_ ? 3 : 2) * Points();
    return offset_[At((n * planes + plane) * Positions() + position)];
  }
  Point PointAt(int64_t n, int64_t group, int64_t tap, int64_t position) const {
    const int64_t plane = group * Taps() + tap;
    const auto base_y = position / ow_ * sh_ - top_ + tap / kw_ * dh_;
    const auto base_x = position % ow_ * sw_ - left_ + tap % kw_ * dw_;
    const Float y =
        static_cast<Float>(base_y) + static_cast<Float>(OffsetAt(n, Points() + plane, position));
    const Float x = static_cast<Float>(base_x) + static_cast<Float>(OffsetAt(n, plane, position));
    Point point;
    point.is_nan = std::isnan(x) || std::isnan(y);
    point.usable = x >= -1 && x < static_cast<Float>(image_[3]) && y >= -1 &&
                   y < static_cast<Float>(image_[2]);
    if (modulated_) point.mask = Exactly(OffsetAt(n, 2 * Points() + plane, position));
    if (!point.usable) return point;
    const Float left = std::floor(x), top = std::floor(y);
    point.tx = static_cast<Wide>(x) - static_cast<Wide>(left);
    point.ty = static_cast<Wide>(y) - static_cast<Wide>(top);
    for (int64_t corner = 0; corner < 4; ++corner) {
      const int64_t column = static_cast<int64_t>(left) + corner % 2;
      const int64_t row = static_cast<int64_t>(top) + corner / 2;
      if (column < 0 || column >= image_[3] || row < 0 || row >= image_[2]) continue;
      point.pixel[At(corner)] = row * image_[3] + column;
      point.weight[At(corner)] =
          (corner % 2 == 1 ? point.tx : 1 - point.tx) * (corner / 2 == 1 ? point.ty : 1 - point.ty);
    }
    return point;
  }
  Value WeightOf(const Point& point, size_t corner) const {
    const auto own = static_cast<double>(Magnitude(point.weight[corner]));
    if (!modulated_) return {point.weight[corner], own};
    return {point.mask.value * point.weight[corner], point.mask.magnitude * own};
  }
  double Pixel(int64_t n, int64_t c, int64_t pixel) const {
    return input_[At((n * C() + c) * image_[2] * image_[3] + pixel)];
  }

  // The columns of image n, by (tap, channel, position).
  std::vector<Value> Columns(int64_t n) const {
    std::vector<Value> columns(At(Taps() * C() * Positions()));
    ForPoints(n, [&](const Point& point, int64_t /*group*/, int64_t tap, int64_t position,
                     int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        Value& sum = columns[At((tap * C() + c) * Positions() + position)];
        if (point.is_nan) sum.value = std::nan("");
        for (size_t corner = 0; corner < 4; ++corner) {
          if (point.pixel[corner] < 0) continue;
          Add(WeightOf(point, corner), Exactly(Pixel(n, c, point.pixel[corner])), sum);
        }
      }
    });
    return columns;
  }

  // Calls visit(point, group, tap, position, first channel, last channel + 1).
  template <class Visit>
  void ForPoints(int64_t n, const Visit& visit) const {
    const int64_t channels = C() / offset_groups_;
    for (int64_t position = 0; position < Positions(); ++position) {
      for (int64_t tap = 0; tap < Taps(); ++tap) {
        for (int64_t group = 0; group < offset_groups_; ++group) {
          visit(PointAt(n, group, tap, position), group, tap, position, group * channels,
                (group + 1) * channels);
        }
      }
    }
  }

  size_t InColumns(int64_t n, int64_t c, int64_t tap, int64_t position) const {
    const int64_t y = position / ow_ * kh_ + tap / kw_, x = position % ow_ * kw_ + tap % kw_;
    return At(((n * C() + c) * oh_ * kh_ + y) * ow_ * kw_ + x);
  }
  size_t InWeight(int64_t o, int64_t c, int64_t tap) const {
    return At((o * group_channels_ + c) * Taps() + tap);
  }

  std::vector<Exact> Forward() const {
    Sums columns(input_.empty() ? 0 : At(image_[0] * C() * Positions() * Taps()));
    Sums output(At(image_[0] * outputs_ * Positions()));
    for (int64_t n = 0; n < image_[0]; ++n) {
      const std::vector<Value> made = Columns(n);
      for (int64_t i = 0; i < static_cast<int64_t>(made.size()); ++i) {
        const int64_t position = i % Positions(), c = i / Positions() % C();
        Sum<Wide>& sum = columns[InColumns(n, c, i / Positions() / C(), position)];
        sum.value = made[At(i)].value;
        sum.magnitude = made[At(i)].magnitude;
        sum.terms = 4;
      }
      for (int64_t i = 0; i < outputs_ * Positions(); ++i) {
        SumOutput(made, i / Positions(), i % Positions(),
                  output[At(n * outputs_ * Positions() + i)]);
      }
    }
    const Exact samples = Finished<Float>(columns, call_.source.dtype, kRoundings);
    if (call_.op->op == ops::Op::kDeformableOffsets) return {samples};
    return {Finished<Float>(output, call_.source.dtype, kRoundings), samples};
  }

  void SumOutput(const std::vector<Value>& columns, int64_t o, int64_t position,
                 Sum<Wide>& sum) const {
    const int64_t first = o / (outputs_ / groups_) * group_channels_;
    for (int64_t tap = 0; tap < Taps(); ++tap) {
      for (int64_t c = 0; c < group_channels_; ++c) {
        Add(Exactly(weight_[InWeight(o, c, tap)]),
            columns[At((tap * C() + first + c) * Positions() + position)], sum);
      }
    }
    sum.terms = Taps() * group_channels_ + 5;
    if (!bias_.empty()) Add(Exactly(bias_[At(o)]), {1, 1}, sum);
  }

  // For the columns of image n, by (tap, channel, position).
  std::vector<Value> ColumnGrads(int64_t n) const {
    std::vector<Value> grads(At(Taps() * C() * Positions()));
    for (int64_t i = 0; i < static_cast<int64_t>(grads.size()); ++i) {
      const int64_t position = i % Positions(), c = i / Positions() % C();
      const int64_t tap = i / Positions() / C();
      if (weight_.empty()) {
        grads[At(i)] = Exactly(grad_[InColumns(n, c, tap, position)]);
        continue;
      }
      const int64_t outputs = outputs_ / groups_, group = c / group_channels_;
      for (int64_t o = group * outputs; o < (group + 1) * outputs; ++o) {
        Add(Exactly(weight_[InWeight(o, c % group_channels_, tap)]),
            Exactly(grad_[At((n * outputs_ + o) * Positions() + position)]), grads[At(i)]);
      }
    }
    return grads;
  }

  std::vector<Exact> Backward() const {
    Sums input(input_.size()), offset(offset_.size()), weight(weight_.size());
    Sums bias(weight_.empty() ? 0 : At(outputs_));
    const int64_t outputs = weight_.empty() ? 1 : outputs_ / groups_;
    const int64_t own = outputs + 8 + (C() / offset_groups_ + 15) / 16;
    for (int64_t n = 0; n < image_[0]; ++n) {
      const std::vector<Value> grads = ColumnGrads(n);
      ForPoints(n, [&](const Point& point, int64_t group, int64_t tap, int64_t position,
                       int64_t first, int64_t last) {
        std::array<Value, 4> dot{};
        for (int64_t c = first; c < last; ++c) {
          const Value& grad = grads[At((tap * C() + c) * Positions() + position)];
          for (size_t corner = 0; corner < 4; ++corner) {
            if (point.pixel[corner] < 0) continue;
            const int64_t pixel = point.pixel[corner];
            Sum<Wide>& sum = input[At((n * C() + c) * image_[2] * image_[3] + pixel)];
            Add(WeightOf(point, corner), grad, sum);
            sum.terms += sum.terms == 0 ? outputs + 1 : 1;
            Add(grad, Exactly(Pixel(n, c, pixel)), dot[corner]);
          }
        }
        SetPoint(point, dot, own, n, group * Taps() + tap, position, offset);
      });
      AddWeights(n, weight, bias);
    }
    const auto finished = [&](const Sums& sums) {
      return Finished<Float>(sums, call_.source.dtype, kRoundings);
    };
    if (weight_.empty()) return {finished(input), finished(offset)};
    return {finished(input), finished(weight), finished(offset), finished(bias)};
  }

  void SetPoint(const Point& point, const std::array<Value, 4>& dot, int64_t terms, int64_t n,
                int64_t plane, int64_t position, Sums& offset) const {
    const int64_t planes = (modulated_ ? 3 : 2) * Points();
    const auto store = [&](int64_t kind, const std::array<Wide, 4>& factors, const Value& mask) {
      Sum<Wide>& sum = offset[At((n * planes + kind * Points() + plane) * Positions() + position)];
      sum.terms = terms;
      if (point.is_nan) sum.value = std::nan("");
      if (!point.usable) return;
      for (size_t corner = 0; corner < 4; ++corner) {
        const Wide factor = factors[corner];
        Add({factor, static_cast<double>(Magnitude(factor))}, dot[corner], sum);
      }
      if (kind == 2 || !modulated_) return;
      sum.value *= mask.value;
      sum.magnitude *= mask.magnitude;
    };
    const Wide ux = 1 - point.tx, uy = 1 - point.ty;
    store(0, {-uy, uy, -point.ty, point.ty}, point.mask);
    store(1, {-ux, -point.tx, ux, point.tx}, point.mask);
    if (modulated_) {
      store(2, {ux * uy, point.tx * uy, ux * point.ty, point.tx * point.ty}, point.mask);
    }
  }

  void AddWeights(int64_t n, Sums& weight, Sums& bias) const {
    if (weight_.empty()) return;
    const auto blocks = (Positions() + 255) / 256;
    for (int64_t o = 0; o < outputs_; ++o) {
      const double* const grad = grad_.data() + (n * outputs_ + o) * Positions();
      for (int64_t c = 0; c < group_channels_; ++c) {
        const int64_t channel = o / (outputs_ / groups_) * group_channels_ + c;
        for (int64_t tap = 0; tap < Taps(); ++tap) {
          Sum<Wide>& sum = weight[InWeight(o, c, tap)];
          sum.terms = 5 + std::min<int64_t>(256, Positions()) + image_[0] * blocks;
          for (int64_t at = 0; at < Positions(); ++at) {
            Add(Exactly(grad[at]), Exactly(saved_[InColumns(n, channel, tap, at)]), sum);
          }
        }
      }
      bias[At(o)].terms = 4 + (Positions() + 15) / 16 + image_[0];
      for (int64_t at = 0; at < Positions(); ++at) Add(Exactly(grad[at]), {1, 1}, bias[At(o)]);
    }
  }

  const Call& call_;
  bool backward_ = false, modulated_ = false;
  std::vector<double> input_, offset_, weight_, bias_, grad_, saved_;
  Shape image_;
  int64_t oh_ = 0, ow_ = 0, kh_ = 0, kw_ = 0, sh_ = 0, sw_ = 0, dh_ = 0, dw_ = 0;
  int64_t top_ = 0, left_ = 0, groups_ = 1, offset_groups_ = 1;
  int64_t outputs_ = 0, group_channels_ = 0;
};

}  // namespace

std::vector<Exact> ExactDeformConv(const Call& call) {
  return call.source.dtype == DataType::kFloat64 ? DeformConv<double>(call).Get()
                                                 : DeformConv<float>(call).Get();
}

}  // namespace portacl::golden
