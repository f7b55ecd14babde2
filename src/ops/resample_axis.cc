// Computes coordinates, weights and taps. Every operation is rounded separately, because the bits
// of results depend on it. The compiler must not fuse a multiplication with an addition here
// (cmake/compiler.cmake).
#include "ops/resample_axis.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numbers>
#include <type_traits>
#include <utility>

#include "base/four.h"
#include "base/round_up.h"
#include "ops/sine.h"

namespace portacl::ops {
namespace {

// Up to this extent a float holds every index exactly. For larger extents, tables of all types are
// computed in double, and weights are then rounded to the call's type.
constexpr int64_t kFloatExtent = int64_t{1} << 24;

bool IsAntialiased(ResampleMode mode) { return mode >= ResampleMode::kAntialiasedLinear; }
// Half of the number of taps of an output if the axis does not shrink.
int HalfSupport(ResampleMode mode) {
  if (mode == ResampleMode::kLanczos) return 3;
  return mode == ResampleMode::kCubic || mode == ResampleMode::kAntialiasedCubic ? 2 : 1;
}
// True whatever the scale. Not for cubic of floats: its 0 * infinity is NaN. Bytes have no NaN.
bool IsIdentity(const ResampleRule& rule) {
  return rule.in == rule.out &&
         (rule.mode != ResampleMode::kCubic || rule.fixed != FixedWeights::kNone);
}
bool IsHuge(const ResampleRule& rule) { return std::max(rule.in, rule.out) > kFloatExtent; }

template <class T>
T RatioIn(const ResampleRule& rule) {
  if (rule.align_corners) {
    return rule.out > 1 ? static_cast<T>(rule.in - 1) / static_cast<T>(rule.out - 1) : T{0};
  }
  if (rule.scale > 0) return static_cast<T>(1.0 / rule.scale);
  return static_cast<T>(rule.in) / static_cast<T>(rule.out);
}

// ---- filters ------------------------------------------------------------------------------------

// Returns sin(pi t) / (pi t), for |t| <= 3.
double Sinc(double t) {
  if (t == 0) return 1;
  const double angle = std::abs(t * std::numbers::pi);
  return Sine(angle) / angle;
}

template <class T>
T Filter(T at, ResampleMode mode) {
  const T s = std::abs(at);
  if (mode == ResampleMode::kAntialiasedLinear) return s < 1 ? 1 - s : T{0};
  constexpr T kA = T{-0.5};
  if (mode == ResampleMode::kLanczos) {
    return at >= -3 && at < 3 ? static_cast<T>(Sinc(at) * Sinc(static_cast<double>(at) / 3)) : T{0};
  }
  if (s < 1) return (((kA + 2) * s - (kA + 3)) * s) * s + 1;
  return s < 2 ? ((((s - 5) * s + 8) * s) - 4) * kA : T{0};
}

// ---- destinations -------------------------------------------------------------------------------

using base::Four;  // four outputs at a time

// Computes where outputs lie, in modes without antialiasing. Index is int64_t for huge axes.
template <class T, class Index>
class OutputPlaces {
 public:
  explicit OutputPlaces(const ResampleRule& rule)
      : ratio_(RatioIn<T>(rule)),
        middle_(rule.align_corners || rule.from_top_left ? T{0} : T{0.5}),
        least_(rule.mode == ResampleMode::kCubic ? -std::numeric_limits<T>::infinity() : T{0}),
        last_(static_cast<Index>(rule.in - 1)) {}

  // For outputs o to o + 3: the input before each (or -1), and the fraction of the way to the next.
  void Find(int64_t o, Four<Index>* index, Four<T>* part) const {
    const Four<T> outputs = static_cast<T>(o) + Four<T>{0, 1, 2, 3};
    const Four<T> all = ratio_ * (outputs + middle_) - middle_;
    const Four<T> x = all < least_ ? Four<T>{} + least_ : all;
    // PyTorch takes the floor of a float, even for doubles. The float is at least -0.5, so a cast
    // and one comparison give the floor. The comparison with the last index comes before the
    // conversion, because the ratio may be infinite.
    Four<T> at = x;
    if constexpr (sizeof(Index) == 4) {
      at = __builtin_convertvector(__builtin_convertvector(x, Four<float>), Four<T>);
    }
    const auto inside = at < static_cast<T>(last_);
    at = inside ? at : Four<T>{};
    const Four<Index> below = __builtin_convertvector(at < 0, Four<Index>);  // true is -1
    *index = __builtin_convertvector(inside, Four<Index>)
                 ? __builtin_convertvector(at, Four<Index>) + below
                 : Four<Index>{} + last_;
    const Four<T> rest = x - __builtin_convertvector(*index, Four<T>);
    const Four<T> positive = rest > 0 ? rest : Four<T>{};
    *part = positive < 1 ? positive : Four<T>{} + 1;
  }

 private:
  T ratio_, middle_, least_;
  Index last_;
};

// The inputs of an antialiased output: `count` inputs from `first` on, around `centre`.
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

// ---- the arrays of a table ----------------------------------------------------------------------

// The arrays lie in one piece of memory, because few allocations make small plans fast.
template <class F>
struct Arrays {
  static size_t Bytes(int64_t destinations, int64_t taps) {
    const auto starts = static_cast<size_t>(destinations) + 1, count = static_cast<size_t>(taps);
    return (starts + count) * sizeof(int64_t) + base::RoundUp(count * sizeof(F), sizeof(int64_t));
  }
  Arrays(int64_t destinations, int64_t taps, std::byte* at)
      : start(reinterpret_cast<int64_t*>(at)),
        source(start + destinations + 1),
        weight(reinterpret_cast<F*>(source + taps)) {
    start[0] = 0;
  }
  int64_t* start;
  int64_t* source;
  F* weight;
};

// Fills tables of modes that antialias.
template <class T, class F>
void FillWindows(const ResampleRule& rule, const Arrays<F>& to) {
  const T ratio = RatioIn<T>(rule);
  const T half = static_cast<T>(HalfSupport(rule.mode));
  const T support = ratio >= 1 ? half * ratio : half;
  const T inverse = ratio >= 1 ? T{1} / ratio : T{1};
  std::vector<T> unrounded;
  for (int64_t o = 0, k = 0; o < rule.out; ++o) {
    const Window<T> window = WindowOf(rule, ratio, support, o);
    T* weight = nullptr;
    if constexpr (std::is_same_v<T, F>) {
      weight = to.weight + k;
    } else {
      unrounded.resize(static_cast<size_t>(window.count));
      weight = unrounded.data();
    }
    T total = 0;
    for (int64_t tap = 0; tap < window.count; ++tap) {
      const T offset = static_cast<T>(window.first + tap) - window.centre;
      const double at = (static_cast<double>(offset) + 0.5) * static_cast<double>(inverse);
      to.source[k + tap] = window.first + tap;
      weight[tap] = Filter(static_cast<T>(at), rule.mode);
      total += weight[tap];
    }
    for (int64_t tap = 0; tap < window.count; ++tap) {
      to.weight[k + tap] = static_cast<F>(total != 0 ? weight[tap] / total : weight[tap]);
    }
    to.start[o + 1] = k += window.count;
  }
}

// Writes the taps of four destinations: two taps each, or four.
template <class V, class To>
void Write(const V (&taps)[2], To* to) {
  const auto& [a, b] = taps;
  const auto first = __builtin_convertvector(__builtin_shufflevector(a, b, 0, 4, 1, 5), Four<To>);
  const auto second = __builtin_convertvector(__builtin_shufflevector(a, b, 2, 6, 3, 7), Four<To>);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + 4, &second, sizeof second);
}
template <class V, class To>
[[gnu::always_inline]] inline void Write(const V (&taps)[4], To* to) {
  V outputs[4];
  base::Transpose(taps, outputs);
#pragma GCC unroll 4
  for (int64_t k = 0; k < 4; ++k) {
    const auto converted = __builtin_convertvector(outputs[k], Four<To>);
    std::memcpy(to + 4 * k, &converted, sizeof converted);
  }
}

// Computes the weights of four taps for points `t` behind the second tap: polynomials of distances.
template <class T>
[[gnu::always_inline]] inline void CubicWeights(const Four<T>& t, Four<T>* weights) {
  constexpr T kA = T{-0.75};
  const Four<T> u = 1 - t;
  const auto find = [](const Four<T>& s, T p, T q, T r, T v, Four<T>* weight) {
    *weight = ((p * s - q) * s + r) * s - v;
  };
  find(t + 1, kA, 5 * kA, 8 * kA, 4 * kA, &weights[0]);
  find(t, kA + 2, kA + 3, 0, -1, &weights[1]);
  find(u, kA + 2, kA + 3, 0, -1, &weights[2]);
  find(u + 1, kA, 5 * kA, 8 * kA, 4 * kA, &weights[3]);
}

// Computes the taps of linear (2 taps) or cubic (4) for four outputs at a time: write(o, before,
// weights) gets the inputs before outputs o to o + 3 (or -1), and the weights of each tap.
template <class T, class Index, int64_t kTaps, class Write>
void ForTaps(const ResampleRule& rule, const Write& write) {
  const OutputPlaces<T, Index> places(rule);
  for (int64_t o = 0; o < rule.out; o += 4) {
    Four<Index> before;
    Four<T> t, weights[kTaps];
    places.Find(o, &before, &t);
    if constexpr (kTaps == 2) {
      weights[0] = 1 - t, weights[1] = t;
    } else {
      CubicWeights<T>(t, weights);
    }
    write(o, before, weights);
  }
}

// Fills tables of linear and cubic: each destination has as many taps. `to` needs RoomOf() taps.
template <class T, class Index, int64_t kTaps, class F>
void FillEven(const ResampleRule& rule, const Arrays<F>& to) {
  const Four<Index> last = Four<Index>{} + static_cast<Index>(rule.in - 1);
  Four<int64_t> starts = kTaps * Four<int64_t>{1, 2, 3, 4};
  for (int64_t o = 0; o < rule.out; o += 4, starts += 4 * kTaps) {
    std::memcpy(to.start + o + 1, &starts, sizeof starts);  // sources overwrite starts behind `out`
  }
  ForTaps<T, Index, kTaps>(rule, [&](int64_t o, const Four<Index>& i, const auto& weights) {
    const Four<Index> next = i < last ? i + 1 : last;
    if constexpr (kTaps == 2) {
      const Four<Index> sources[] = {i, next};
      Write(sources, to.source + 2 * o);
    } else {
      const Four<Index> zero{};
      const Four<Index> sources[] = {i > 1 ? i - 1 : zero, i > 0 ? i : zero, next,
                                     next < last ? i + 2 : last};
      Write(sources, to.source + 4 * o);
    }
    Write(weights, to.weight + kTaps * o);
  });
}

// Memory of a fixed size on the stack, or on the heap for more bytes.
class Scratch {
 public:
  explicit Scratch(size_t bytes) {
    if (bytes > sizeof few_) many_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  }
  std::byte* data() { return many_ == nullptr ? few_ : many_.get(); }

 private:
  alignas(int64_t) std::byte few_[4 << 10];
  std::unique_ptr<std::byte[]> many_;
};

// Fills the transposed tables of linear and cubic. Without clamping, outputs that have an input as
// the same tap are successive, and later taps belong to earlier outputs. So all outputs of an input
// are successive, and places follow from how many outputs came before.
template <class T, class Index, int64_t kTaps, class F>
class EvenTranspose {
 public:
  explicit EvenTranspose(const ResampleRule& rule)
      : in_(rule.in),
        out_(rule.out),
        room_(base::RoundUp(rule.out, 4)),
        scratch_(static_cast<size_t>(2 * in_ + 3 * kTaps + 1) * sizeof(int64_t) +
                 static_cast<size_t>(room_) * (kTaps * sizeof(F) + sizeof(Index))),
        passed_(reinterpret_cast<int64_t*>(scratch_.data()) + kTaps + 1),
        shift_(passed_ + in_ + kTaps + kHalf),
        weight_(reinterpret_cast<F*>(shift_ + in_ + kHalf)),
        before_(reinterpret_cast<Index*>(weight_ + kTaps * room_)) {
    ForTaps<T, Index, kTaps>(rule, [this](int64_t o, const Four<Index>& i, const auto& weights) {
      std::memcpy(before_ + o, &i, sizeof i);
      Write(weights, weight_ + kTaps * o);
    });
  }

  // Returns the taps of the input with the most taps. `to` needs RoomOf() taps.
  int64_t Fill(const Arrays<F>& to) {
    const int64_t most = FindPlaces(to.start);
    const F* weight = weight_;
    for (int64_t o = 0; o < out_; ++o, weight += kTaps) {
      const int64_t* const shift = shift_ + before_[o] - (kHalf - 1);
      int64_t* const source = to.source + o;
      F* const weights = to.weight + o;
#pragma GCC unroll 4
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        const int64_t at = shift[tap];
        source[at] = o;
        weights[at] = weight[tap];
      }
    }
    FillEdge(0, to);
    if (in_ > 1) FillEdge(in_ - 1, to);
    return std::max({most, to.start[1], to.start[in_] - to.start[in_ - 1]});
  }

 private:
  static constexpr int64_t kHalf = kTaps / 2;

  // Finds where each input's taps start, and the shifts. Clamped taps get places of inputs outside
  // of the image, in the order of these inputs. Returns the most taps of any input, inside or
  // outside.
  int64_t FindPlaces(int64_t* start) {
    std::fill_n(passed_ - kTaps - 1, in_ + 2 * kTaps, 0);
    for (int64_t o = 0; o < out_; ++o) passed_[before_[o]] = o + 1;
    int64_t at = 0, most = 0, passed = 0;
    const auto find = [&](int64_t i) {
      int64_t* const end = passed_ + i + kHalf - 1;
      const int64_t before = end[-kTaps];
      *end = passed = std::max(passed, *end);
      shift_[i] = at - before;
      most = std::max(most, passed - before);
      return at += passed - before;
    };
    for (int64_t i = -kHalf; i < 0; ++i) find(i);
    for (int64_t i = 0; i < in_ - 1; ++i) start[i + 1] = find(i);
    for (int64_t i = in_ - 1; i < in_ + kHalf; ++i) start[in_] = find(i);
    return most;
  }

  // Writes the taps of the first or the last input again, now in the order of their outputs.
  void FillEdge(int64_t input, const Arrays<F>& to) const {
    const bool first = input == 0, last = input == in_ - 1;
    const int64_t end = last ? out_ : passed_[kHalf - 1];
    int64_t at = to.start[input];
    for (int64_t o = first ? 0 : passed_[input - kHalf - 1]; o < end; ++o) {
      const int64_t next = last ? kTaps : kHalf - before_[o];
      for (int64_t tap = first ? 0 : input - before_[o] + kHalf - 1; tap < next; ++tap, ++at) {
        to.source[at] = o;
        to.weight[at] = weight_[kTaps * o + tap];
      }
    }
  }

  int64_t in_, out_;
  int64_t room_;  // of outputs
  Scratch scratch_;
  int64_t* passed_;  // for each input: the number of outputs before the next input
  int64_t* shift_;   // for each input: the place of a tap minus its output
  F* weight_;        // kTaps for each output
  Index* before_;    // for each output: the input before it
};

// The most entries of an array: no memory holds more.
constexpr int64_t kMostEntries = int64_t{1} << 56;

// Returns how many taps a table needs room for. Throws std::bad_alloc if there are too many.
int64_t RoomOf(const ResampleRule& rule) {
  const bool windows = IsAntialiased(rule.mode);
  const double most = windows ? rule.MostTaps() : static_cast<double>(rule.out);
  if (most > static_cast<double>(kMostEntries)) throw std::bad_alloc();
  return windows ? static_cast<int64_t>(most)
                 : int64_t{2} * HalfSupport(rule.mode) * base::RoundUp(rule.out, 4);
}

// Fills a table of linear or cubic. Returns the taps of the destination with the most taps.
template <class T, class Index, class F>
int64_t FillTaps(const ResampleRule& rule, bool backward, const Arrays<F>& to) {
  const bool linear = rule.mode == ResampleMode::kLinear;
  if (backward) {
    return linear ? EvenTranspose<T, Index, 2, F>(rule).Fill(to)
                  : EvenTranspose<T, Index, 4, F>(rule).Fill(to);
  }
  linear ? FillEven<T, Index, 2>(rule, to) : FillEven<T, Index, 4>(rule, to);
  return linear ? 2 : 4;
}

// Transposes a table: from the taps of `out` outputs to the taps of `in` inputs.
template <class F>
void Transpose(const Arrays<F>& from, int64_t in, int64_t out, const Arrays<F>& to) {
  const int64_t count = from.start[out];
  std::fill_n(to.start, in + 1, 0);
  for (int64_t k = 0; k < count; ++k) ++to.start[from.source[k] + 1];
  for (int64_t i = 0; i < in; ++i) to.start[i + 1] += to.start[i];
  // The loop moves each start to its end, which is where the next start was.
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = from.start[o]; k < from.start[o + 1]; ++k) {
      const int64_t at = to.start[from.source[k]]++;
      to.source[at] = o;
      to.weight[at] = from.weight[k];
    }
  }
  std::copy_backward(to.start, to.start + in, to.start + in + 1);
  to.start[0] = 0;
}

// Fills the table of an axis, or (backward) its transpose. Returns the taps of the destination with
// the most taps, or 0 if they are not known.
template <class F>
int64_t Fill(const ResampleRule& rule, bool backward, const Arrays<F>& to) {
  const bool windows = IsAntialiased(rule.mode);
  // Tables of many inputs without taps are faster made tap by tap.
  if (backward && (windows || rule.in / 4 > rule.out)) {
    const int64_t taps = RoomOf(rule);
    Scratch scratch(Arrays<F>::Bytes(rule.out, taps));
    const Arrays<F> forward(rule.out, taps, scratch.data());
    Fill(rule, false, forward);
    Transpose(forward, rule.in, rule.out, to);
    return 0;
  }
  if (windows) {
    IsHuge(rule) ? FillWindows<double>(rule, to) : FillWindows<F>(rule, to);
    return 0;
  }
  return IsHuge(rule) ? FillTaps<double, int64_t>(rule, backward, to)
                      : FillTaps<F, int32_t>(rule, backward, to);
}

// ---- fixed-point weights ------------------------------------------------------------------------

// Returns the number of fraction bits with which the largest weight still fits.
int32_t ShiftOf(FixedWeights fixed, double largest) {
  if (fixed == FixedWeights::kPillow) return kMostShift;
  int32_t shift = 1;
  while (shift < kMostShift && 0.5 + std::ldexp(largest, shift + 1) < 32768.0) ++shift;
  return shift;
}

// Rounds half away from zero. Clamps, because scales that cut a window off can make huge weights.
int32_t FixedOf(FixedWeights fixed, double weight, int32_t shift) {
  const double most = fixed == FixedWeights::kPillow ? 1 << 26 : 32767;
  const double scaled = std::ldexp(weight, shift) + (weight < 0 ? -0.5 : 0.5);
  return static_cast<int32_t>(std::clamp(scaled, -most, most));
}

// Writes the two entries of two taps.
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

}  // namespace

double ResampleRule::Ratio() const {
  return in_double || IsHuge(*this) ? RatioIn<double>(*this)
                                    : static_cast<double>(RatioIn<float>(*this));
}

double ResampleRule::MostTaps() const {
  if (IsIdentity(*this)) return 0;
  double taps = 2 * HalfSupport(mode);  // taps of one output
  if (IsAntialiased(mode)) {
    const double support = std::max(Ratio(), 1.0) * taps / 2;
    taps = std::min(std::ceil(support) * 2 + 1, static_cast<double>(in));
  }
  if (fixed != FixedWeights::kNone) ++taps;  // one more tap may make the number even
  return taps * static_cast<double>(out);
}

template <class F>
void ResampleTable::Make(const ResampleRule& rule, bool backward, std::byte* place) {
  const int64_t taps = RoomOf(rule);
  if (place == nullptr) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(Bytes(rule, backward));
    place = memory_.get();
  }
  const Arrays<F> made(axis_.to, taps, place);
  const int64_t most = Fill(rule, backward, made);
  Describe(made.start, made.source, made.weight, most);
}

size_t ResampleTable::Bytes(const ResampleRule& rule, bool backward) {
  if (IsIdentity(rule) || rule.fixed != FixedWeights::kNone) return 0;
  const int64_t destinations = backward ? rule.in : rule.out;
  if (destinations > kMostEntries) throw std::bad_alloc();
  return rule.in_double ? Arrays<double>::Bytes(destinations, RoomOf(rule))
                        : Arrays<float>::Bytes(destinations, RoomOf(rule));
}

// Taps that were clamped to one source are joined. A tap of weight 0 makes their number even.
void ResampleTable::MakeFixed(const ResampleRule& rule) {
  fixed_ = std::make_unique<Fixed>();
  std::vector<int64_t>& start = fixed_->start;
  std::vector<int64_t>& source = fixed_->source;
  std::vector<int32_t>& weight = fixed_->weight;
  std::vector<double> weights;
  double largest = 0;
  Scratch scratch(Arrays<double>::Bytes(rule.out, RoomOf(rule)));
  const Arrays<double> made(rule.out, RoomOf(rule), scratch.data());
  Fill(rule, false, made);
  start.push_back(0);
  for (int64_t o = 0; o < rule.out; ++o) {
    for (int64_t k = made.start[o]; k < made.start[o + 1]; ++k) {
      if (std::ssize(source) > start.back() && source.back() == made.source[k]) {
        weights.back() += made.weight[k];
      } else {
        source.push_back(made.source[k]);
        weights.push_back(made.weight[k]);
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
  }
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

ResampleTable::ResampleTable(const ResampleRule& rule, bool backward, std::byte* place) {
  axis_.from = backward ? rule.out : rule.in;
  axis_.to = backward ? rule.in : rule.out;
  if (IsIdentity(rule)) return;
  if (rule.fixed != FixedWeights::kNone) {
    MakeFixed(rule);
  } else if (rule.in_double) {
    Make<double>(rule, backward, place);
  } else {
    Make<float>(rule, backward, place);
  }
}

ResampleTable::ResampleTable(const NearestIndexRule& rule, int64_t in, int64_t out) {
  axis_.from = in;
  axis_.to = out;
  fixed_ = std::make_unique<Fixed>();
  bool identity = in == out;
  constexpr int32_t kShift = 14;  // the weight 1 has 15 bits
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
