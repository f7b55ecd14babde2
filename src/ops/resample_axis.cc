// Coordinates, weights and taps. Every operation is rounded separately, because bits of results
// depend on it: the compiler must not fuse a multiplication with an addition here
// (cmake/compiler.cmake).
#include "ops/resample_axis.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <type_traits>
#include <utility>

#include "ops/sine.h"

namespace portacl::ops {
namespace {

// Up to this extent a float holds every index exactly. For larger extents, tables are computed in
// double for every type, and weights are rounded to the call's type.
constexpr int64_t kFloatIndices = int64_t{1} << 24;

bool IsAntialiased(ResampleMode mode) { return mode >= ResampleMode::kAntialiasedLinear; }
// Half the taps of an output, as long as the axis does not shrink.
int HalfSupport(ResampleMode mode) {
  if (mode == ResampleMode::kLanczos) return 3;
  return mode == ResampleMode::kCubic || mode == ResampleMode::kAntialiasedCubic ? 2 : 1;
}
// Whatever the scale. Cubic keeps its four terms: 0 * infinity is a NaN. Bytes have no NaN.
bool IsIdentity(const ResampleRule& rule) {
  return rule.in == rule.out &&
         (rule.mode != ResampleMode::kCubic || rule.fixed != FixedWeights::kNone);
}
bool IsHuge(const ResampleRule& rule) { return std::max(rule.in, rule.out) > kFloatIndices; }

template <class T>
T RatioIn(const ResampleRule& rule) {
  if (rule.align_corners) {
    return rule.out > 1 ? static_cast<T>(rule.in - 1) / static_cast<T>(rule.out - 1) : T{0};
  }
  if (rule.scale > 0) return static_cast<T>(1.0 / rule.scale);
  return static_cast<T>(rule.in) / static_cast<T>(rule.out);
}

// ---- filters ------------------------------------------------------------------------------------

// The weights of the four taps around a place that lies `t` behind the second tap. All are computed
// at once: each is a polynomial of its distance, ((p * s - q) * s + r) * s - v.
template <class T>
std::array<T, 4> CubicWeights(T t) {
  using Four [[gnu::vector_size(4 * sizeof(T))]] = T;
  constexpr T kA = T(-0.75);
  const T u = 1 - t;
  const Four s = {t + 1, t, u, u + 1};
  const Four p = {kA, kA + 2, kA + 2, kA}, q = {5 * kA, kA + 3, kA + 3, 5 * kA},
             r = {8 * kA, 0, 0, 8 * kA}, v = {4 * kA, -1, -1, 4 * kA};
  const Four weights = ((p * s - q) * s + r) * s - v;
  return std::bit_cast<std::array<T, 4>>(weights);
}

// sin(pi t) / (pi t), |t| <= 3.
double Sinc(double t) {
  if (t == 0) return 1;
  const double angle = std::abs(t * std::numbers::pi);
  return Sine(angle) / angle;
}

template <class T>
T Filter(T at, ResampleMode mode) {
  const T s = std::abs(at);
  if (mode == ResampleMode::kAntialiasedLinear) return s < 1 ? 1 - s : T{0};
  constexpr T kA = T(-0.5);
  if (mode == ResampleMode::kLanczos) {
    return at >= -3 && at < 3 ? static_cast<T>(Sinc(at) * Sinc(static_cast<double>(at) / 3)) : T{0};
  }
  if (s < 1) return (((kA + 2) * s - (kA + 3)) * s) * s + 1;
  return s < 2 ? ((((s - 5) * s + 8) * s) - 4) * kA : T{0};
}

// ---- one destination ----------------------------------------------------------------------------

// Where an output lies: input `index` (-1 is possible) and the part of the way to the next one.
template <class T>
struct Place {
  int64_t index;
  T part;
};

// Of the modes that do not antialias.
template <class T>
class Places {
 public:
  explicit Places(const ResampleRule& rule)
      : ratio_(RatioIn<T>(rule)),
        middle_(rule.align_corners || rule.from_top_left ? T{0} : T(0.5)),
        least_(rule.mode == ResampleMode::kCubic ? -std::numeric_limits<T>::infinity() : T{0}),
        last_(rule.in - 1),
        huge_(IsHuge(rule)) {}

  Place<T> operator[](int64_t o) const {
    const T x = std::max(ratio_ * (static_cast<T>(o) + middle_) - middle_, least_);
    // PyTorch takes the floor of a float, for doubles too. The float is at least -0.5, so a cast
    // and one comparison give the floor. A number is compared before its conversion, because the
    // ratio may be infinite.
    const T at = huge_ ? x : static_cast<T>(static_cast<float>(x));
    const int64_t index =
        at < static_cast<T>(last_) ? static_cast<int64_t>(at) - (at < 0 ? 1 : 0) : last_;
    return {index, std::min(std::max(T{0}, x - static_cast<T>(index)), T{1})};
  }

 private:
  T ratio_, middle_, least_;
  int64_t last_;
  bool huge_;
};

// The window of an antialiased output: `count` inputs from `first` on, around `centre`.
template <class T>
struct Window {
  int64_t first;
  int64_t count;
  T centre;
};

template <class T>
Window<T> WindowOf(const ResampleRule& rule, T ratio, T support, int64_t o) {
  const auto in = static_cast<double>(rule.in);
  const auto cut = [in](T edge) {
    const double at = static_cast<double>(edge) + 0.5;
    return at > 0 ? static_cast<int64_t>(std::min(at, in)) : int64_t{0};
  };
  const T centre = static_cast<T>(static_cast<double>(ratio) * (static_cast<double>(o) + 0.5));
  const int64_t first = cut(centre - support);
  const auto size =
      static_cast<int64_t>(std::min(std::ceil(static_cast<double>(support)) * 2 + 1, in));
  return {first, std::clamp<int64_t>(cut(centre + support) - first, 0, size), centre};
}

// Calls add(sources, weights) with the taps of each output, in order.
template <class T, class Add>
void ForWindows(const ResampleRule& rule, Add add) {
  const T ratio = RatioIn<T>(rule);
  const T half = static_cast<T>(HalfSupport(rule.mode));
  const T support = ratio >= 1 ? half * ratio : half;
  const T inverse = ratio >= 1 ? T{1} / ratio : T{1};
  std::vector<int64_t> sources;
  std::vector<T> weights;
  for (int64_t o = 0; o < rule.out; ++o) {
    const Window<T> window = WindowOf(rule, ratio, support, o);
    T total = 0;
    sources.clear();
    weights.clear();
    for (int64_t i = window.first; i < window.first + window.count; ++i) {
      const T offset = static_cast<T>(i) - window.centre;
      const double at = (static_cast<double>(offset) + 0.5) * static_cast<double>(inverse);
      sources.push_back(i);
      weights.push_back(Filter(static_cast<T>(at), rule.mode));
      total += weights.back();
    }
    for (T& weight : weights) weight = total != 0 ? weight / total : weight;
    add(std::span<const int64_t>(sources), std::span<const T>(weights));
  }
}

template <class T, class Add>
void ForTaps(const ResampleRule& rule, Add add) {
  if (IsAntialiased(rule.mode)) return ForWindows<T>(rule, std::move(add));
  const Places<T> places(rule);
  const int64_t last = rule.in - 1;
  if (rule.mode == ResampleMode::kLinear) {
    for (int64_t o = 0; o < rule.out; ++o) {
      const auto [i, t] = places[o];
      add(std::array{i, std::min(i + 1, last)}, std::array{1 - t, t});
    }
    return;
  }
  for (int64_t o = 0; o < rule.out; ++o) {
    const auto [i, t] = places[o];
    add(std::array{std::clamp<int64_t>(i - 1, 0, last), std::max<int64_t>(i, 0),
                   std::min(i + 1, last), std::min(i + 2, last)},
        CubicWeights(t));
  }
}

// ---- fixed-point weights ------------------------------------------------------------------------

// The number of bits behind the point; the largest weight must fit.
int32_t ShiftOf(FixedWeights fixed, double largest) {
  if (fixed == FixedWeights::kPillow) return kMostShift;
  int32_t shift = 1;
  while (shift < kMostShift && 0.5 + std::ldexp(largest, shift + 1) < 32768.0) ++shift;
  return shift;
}

// Rounded, halves away from zero. If scales cut a window off, some weights are huge: clamped.
int32_t FixedOf(FixedWeights fixed, double weight, int32_t shift) {
  const double most = fixed == FixedWeights::kPillow ? 1 << 26 : 32767;
  const double scaled = std::ldexp(weight, shift) + (weight < 0 ? -0.5 : 0.5);
  return static_cast<int32_t>(std::clamp(scaled, -most, most));
}

// Two taps' entries.
void PackPair(FixedWeights fixed, int32_t first, int32_t second, int32_t* entries) {
  const auto pair = [](int32_t low, int32_t high) {
    const auto bits = [](int32_t part) { return static_cast<uint32_t>(part) & 0xFFFFU; };
    return static_cast<int32_t>(bits(low) | bits(high) << 16);
  };
  const auto upper = [fixed](int32_t weight) {
    if (fixed != FixedWeights::kPillow) return 0;
    return static_cast<int32_t>(std::floor(weight / double{kUpperPart} + 0.5));
  };
  const int32_t a = upper(first), b = upper(second);
  entries[0] = pair(first - a * kUpperPart, second - b * kUpperPart);
  entries[1] = pair(a, b);
}

// ---- the arrays of a table ----------------------------------------------------------------------

using Memory = std::unique_ptr<std::byte[]>;

// In one piece of memory: small plans are made in the time of a few allocations.
template <class F>
struct Arrays {
  Arrays(int64_t destinations, int64_t taps, Memory* memory) {
    const auto starts = static_cast<size_t>(destinations) + 1, count = static_cast<size_t>(taps);
    *memory = std::make_unique_for_overwrite<std::byte[]>((starts + count) * sizeof(int64_t) +
                                                          count * sizeof(F));
    start = reinterpret_cast<int64_t*>(memory->get());
    source = start + starts;
    weight = reinterpret_cast<F*>(source + count);
    start[0] = 0;
  }
  int64_t* start;
  int64_t* source;
  F* weight;
};

// The taps of `in` inputs, of the taps of `out` outputs.
template <class F>
Arrays<F> Transposed(const Arrays<F>& from, int64_t in, int64_t out, Memory* memory) {
  const int64_t count = from.start[out];
  const Arrays<F> to(in, count, memory);
  std::fill_n(to.start, in + 1, 0);
  for (int64_t k = 0; k < count; ++k) ++to.start[from.source[k] + 1];
  for (int64_t i = 0; i < in; ++i) to.start[i + 1] += to.start[i];
  // Each start moves to its end, where the next one began.
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = from.start[o]; k < from.start[o + 1]; ++k) {
      const int64_t at = to.start[from.source[k]]++;
      to.source[at] = o;
      to.weight[at] = from.weight[k];
    }
  }
  std::copy_backward(to.start, to.start + in, to.start + in + 1);
  to.start[0] = 0;
  return to;
}

}  // namespace

double ResampleRule::Ratio() const {
  return in_double || IsHuge(*this) ? RatioIn<double>(*this)
                                    : static_cast<double>(RatioIn<float>(*this));
}

double ResampleRule::MostTaps() const {
  if (IsIdentity(*this)) return 0;
  double taps = 2 * HalfSupport(mode);  // of an output
  if (IsAntialiased(mode)) {
    const double support = std::max(Ratio(), 1.0) * taps / 2;
    taps = std::min(std::ceil(support) * 2 + 1, static_cast<double>(in));
  }
  if (fixed != FixedWeights::kNone) ++taps;  // an even number
  return taps * static_cast<double>(out);
}

template <class F>
void ResampleTable::Make(const ResampleRule& rule, bool backward) {
  Arrays<F> made(rule.out, static_cast<int64_t>(rule.MostTaps()), &memory_);
  auto add = [start = made.start, source = made.source, weight = made.weight](
                 const auto& sources, const auto& weights) mutable {
    for (const int64_t from : sources) *source++ = from;
    for (const auto of : weights) *weight++ = static_cast<F>(of);
    start[1] = start[0] + std::ssize(sources);
    ++start;
  };
  if (std::is_same_v<F, float> && !IsHuge(rule)) {
    ForTaps<float>(rule, add);
  } else {
    ForTaps<double>(rule, add);
  }
  if (backward) {
    Memory memory;
    made = Transposed(made, rule.in, rule.out, &memory);
    memory_ = std::move(memory);
  }
  const bool even = !backward && !IsAntialiased(rule.mode);  // as many taps everywhere
  Describe(made.start, made.source, made.weight, even ? 2 * HalfSupport(rule.mode) : 0);
}

// Weights of clamped taps are one; a tap of weight 0 makes their number even.
void ResampleTable::MakeFixed(const ResampleRule& rule) {
  fixed_ = std::make_unique<Fixed>();
  std::vector<int64_t>& start = fixed_->start;
  std::vector<int64_t>& source = fixed_->source;
  std::vector<int32_t>& weight = fixed_->weight;
  std::vector<double> weights;
  double largest = 0;
  start.push_back(0);
  const auto add = [&](const auto& sources, const auto& tap_weights) {
    for (size_t k = 0; k < sources.size(); ++k) {
      if (std::ssize(source) > start.back() && source.back() == sources[k]) {
        weights.back() += tap_weights[k];
      } else {
        source.push_back(sources[k]);
        weights.push_back(tap_weights[k]);
      }
    }
    for (auto k = static_cast<size_t>(start.back()); k < weights.size(); ++k) {
      largest = std::max(largest, weights[k]);
    }
    if (source.size() % 2 != 0) {
      source.push_back(source.back());
      weights.push_back(0);
    }
    start.push_back(static_cast<int64_t>(source.size()));
  };
  ForTaps<double>(rule, add);
  axis_.shift = ShiftOf(rule.fixed, largest);
  weight.resize(weights.size());
  for (size_t k = 0; k < weights.size(); k += 2) {
    PackPair(rule.fixed, FixedOf(rule.fixed, weights[k], axis_.shift),
             FixedOf(rule.fixed, weights[k + 1], axis_.shift), &weight[k]);
  }
  Describe(start.data(), source.data(), weight.data());
}

void ResampleTable::Describe(const int64_t* start, const int64_t* source, const void* weight,
                             int64_t most) {
  axis_.identity = false;
  if (most == 0) {
    for (int64_t o = 0; o < axis_.to; ++o) most = std::max(most, start[o + 1] - start[o]);
  }
  axis_.most = most;
  axis_.start = start;
  axis_.source = source;
  axis_.weight = weight;
}

ResampleTable::ResampleTable(const ResampleRule& rule, bool backward) {
  axis_.from = backward ? rule.out : rule.in;
  axis_.to = backward ? rule.in : rule.out;
  if (IsIdentity(rule)) return;
  if (rule.fixed != FixedWeights::kNone) {
    MakeFixed(rule);
  } else if (rule.in_double) {
    Make<double>(rule, backward);
  } else {
    Make<float>(rule, backward);
  }
}

ResampleTable::ResampleTable(const NearestIndexRule& rule, int64_t in, int64_t out) {
  axis_.from = in;
  axis_.to = out;
  fixed_ = std::make_unique<Fixed>();
  bool identity = in == out;
  constexpr int32_t kShift = 14;  // 1 has 15 bits
  for (int64_t o = 0; o < out; ++o) {
    const int64_t source = rule(o);
    identity = identity && source == o;
    fixed_->start.push_back(2 * o);
    fixed_->source.insert(fixed_->source.end(), 2, source);
    fixed_->weight.insert(fixed_->weight.end(), {1 << kShift, 0});
  }
  if (identity) return;
  fixed_->start.push_back(2 * out);
  axis_.shift = kShift;
  Describe(fixed_->start.data(), fixed_->source.data(), fixed_->weight.data());
}

}  // namespace portacl::ops
