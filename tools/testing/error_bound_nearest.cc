// Nearest and nearest-exact upsampling and their gradients, for any number of axes.
#include <algorithm>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

// Where an index of the large tensor comes from in the small one, by the documented rule. The same
// formula in exact arithmetic or in double sometimes differs by one.
struct Source {
  int64_t index;
  int64_t low, high;  // of the three
};

int64_t Clamped(double product, int64_t extent) {
  return static_cast<int64_t>(std::min(std::floor(product), static_cast<double>(extent - 1)));
}

Source SourceOf(bool exact, int64_t o, int64_t small, int64_t large, double scale) {
  // Nearest has its own rule if sizes are equal or doubled.
  if (!exact && small == large) return {o, o, o};
  if (!exact && large == 2 * small) return {o / 2, o / 2, o / 2};
  const double place = static_cast<double>(o) + (exact ? 0.5 : 0.0);
  const double ratio =
      scale > 0 ? 1.0 / scale : static_cast<double>(small) / static_cast<double>(large);
  const float narrow = scale > 0 ? static_cast<float>(1.0 / scale)
                                 : static_cast<float>(small) / static_cast<float>(large);
  const int64_t in_double = Clamped(place * ratio, small);
  constexpr int64_t kFloatIndexes = int64_t{1} << 24;
  const int64_t rule =
      small > kFloatIndexes
          ? in_double
          : Clamped(static_cast<float>(place * static_cast<double>(narrow)), small);
  int64_t ideal = in_double;
  if (!(scale > 0) && o < kFloatIndexes && small <= kFloatIndexes) {
    ideal = std::min((2 * o + (exact ? 1 : 0)) * small / (2 * large), small - 1);
  }
  return {rule, std::min({rule, in_double, ideal}), std::max({rule, in_double, ideal})};
}

// The elements of the small tensor that an element of the large one belongs to. The rule gives
// `index`; `others` has more elements if the three ways to calculate disagree.
struct Match {
  int64_t index = 0;
  std::vector<int64_t> others;
};

// One for each element of a plane of the large tensor, row-major.
std::vector<Match> MatchesOfPlane(bool exact, const Shape& small, const Shape& large,
                                  const std::vector<double>& scales) {
  std::vector<Match> matches(1);
  for (size_t axis = 2; axis < small.size(); ++axis) {
    std::vector<Match> next;
    for (const Match& match : matches) {
      for (int64_t o = 0; o < large[axis]; ++o) {
        const Source source = SourceOf(exact, o, small[axis], large[axis], scales[axis - 2]);
        Match extended{match.index * small[axis] + source.index, {}};
        std::vector<int64_t> bases = match.others;
        bases.push_back(match.index);
        for (const int64_t base : bases) {
          for (int64_t i = source.low; i <= source.high; ++i) {
            const int64_t index = base * small[axis] + i;
            if (index != extended.index) extended.others.push_back(index);
          }
        }
        next.push_back(std::move(extended));
      }
    }
    matches = std::move(next);
  }
  return matches;
}

int64_t PlaneSize(const Shape& shape) {
  int64_t size = 1;
  for (size_t axis = 2; axis < shape.size(); ++axis) size *= shape[axis];
  return size;
}

Exact Forward(const std::vector<double>& self, const Shape& small, const Shape& large,
              const std::vector<Match>& matches) {
  Exact exact;
  for (int64_t plane = 0; plane < large[0] * large[1]; ++plane) {
    const double* const from = self.data() + plane * PlaneSize(small);
    for (const Match& match : matches) {
      double bound = 0;
      for (const int64_t other : match.others) {
        const double difference = std::fabs(from[match.index] - from[other]);
        bound = std::max(bound, std::isnan(difference) ? HUGE_VAL : difference);
      }
      exact.value.push_back(from[match.index]);
      exact.bound.push_back(bound);
    }
  }
  return exact;
}

template <class Float>
Exact Backward(const std::vector<double>& grad_output, const Shape& small, const Shape& large,
               const std::vector<Match>& matches, DataType dtype) {
  using Wide = typename WideOf<Float>::Type;
  const int64_t size = PlaneSize(small);
  std::vector<Sum<Wide>> sums(static_cast<size_t>(large[0] * large[1] * size));
  const double* g = grad_output.data();
  for (int64_t plane = 0; plane < large[0] * large[1]; ++plane) {
    Sum<Wide>* const to = sums.data() + plane * size;
    for (const Match& match : matches) {
      const double value = *g++;
      Sum<Wide>& sum = to[match.index];
      sum.value += static_cast<Wide>(value);
      sum.magnitude += std::fabs(value);
      ++sum.terms;
      if (!match.others.empty()) sum.spread += std::fabs(value);
      for (const int64_t other : match.others) to[other].spread += std::fabs(value);
    }
  }
  // A sum of one element is that element; further ones are a rounding each.
  return Finished<Float>(sums, dtype, -1);
}

}  // namespace

std::vector<Exact> ExactNearest(const Call& call) {
  const bool backward = call.op->backward();
  const ViewTensor& source = call.input();
  const ViewTensor& result = call.output();
  const Shape& small = backward ? result.shape() : source.shape();
  const Shape& large = backward ? source.shape() : result.shape();
  const std::vector<Match> matches =
      MatchesOfPlane(call.op->family == Family::kNearestExact, small, large, call.scales());
  const std::vector<double> values = source.Values();
  if (!backward) return {Forward(values, small, large, matches)};
  const DataType dtype = call.source.dtype;
  return {dtype == DataType::kFloat64 ? Backward<double>(values, small, large, matches, dtype)
                                      : Backward<float>(values, small, large, matches, dtype)};
}

std::vector<Exact> ExactUpsampleNearestExact(const Call& call) { return ExactNearest(call); }
std::vector<Exact> ExactUpsampleNearestExactBackward(const Call& call) {
  return ExactNearest(call);
}

}  // namespace portacl::golden
