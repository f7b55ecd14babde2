// Linear, cubic, antialiased and Lanczos resizing and its gradients, for any number of axes. The
// documents' tables are exact here. Axis by axis they are applied to values, to magnitudes and to
// the changes of both.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {
namespace {

constexpr int kRoundingsOfAnAxis = 6;  // in a term: a distance, a polynomial, a product

// The term that one source adds to one destination.
template <class Wide>
struct Tap {
  int64_t index = 0;
  Wide weight = 0;
  double magnitude = 0;  // of the sum that the weight is
  double spread = 0;     // what the weight may change
  bool steady = true;    // it stays on one side of 0
  bool extra = false;    // rounding decides whether it is there; it may add errors, and no value
};

// The table of one axis: the taps of each destination.
template <class Wide>
using Table = std::vector<std::vector<Tap<Wide>>>;

struct Rule {
  Family family;
  bool antialias, align_corners;
  int64_t in, out;
  double scale;
  bool cubic() const { return family == Family::kCubic; }
};

bool IsCopy(const Rule& rule) { return rule.in == rule.out && (rule.antialias || !rule.cubic()); }

template <class Wide>
Wide Floor(Wide value) {
  if (!(Magnitude(value) < 0x1p62)) return value;
  auto whole = static_cast<Wide>(static_cast<int64_t>(value));
  return whole > value ? whole - 1 : whole;
}

// The cubic of two pieces with coefficient `a`, at a distance of at least 0.
template <class Wide>
Wide Cubic(Wide s, double a_of, double* magnitude) {
  const Wide a = a_of;
  const auto d = static_cast<double>(s), b = std::fabs(a_of);
  if (s <= 1) {
    *magnitude = (std::fabs(a_of + 2) * d + std::fabs(a_of + 3)) * d * d + 1;
    return ((a + 2) * s - (a + 3)) * s * s + 1;
  }
  *magnitude = b * (((d + 5) * d + 8) * d + 4);
  return s < 2 ? ((a * s - 5 * a) * s + 8 * a) * s - 4 * a : Wide(0);
}

// sin(pi t) / (pi t) for |t| <= 3, by its series. 34 terms are below a Quad's last bit.
template <class Wide>
Wide Sinc(Wide t) {
  const Wide pi = Wide(0x1.921fb54442d18p+1) + Wide(0x1.1a62633145c07p-53);
  const Wide square = pi * pi * t * t;
  Wide term = 1, sum = 1;
  for (int n = 1; n < 34; ++n) {
    term *= -square / (2 * n * (2 * n + 1));
    sum += term;
  }
  return sum;
}

// The tables of one axis. Float is the arithmetic in which operators calculate.
template <class Float>
class AxisTable {
 public:
  using Wide = typename WideOf<Float>::Type;

  explicit AxisTable(const Rule& rule) : rule_(rule) {
    const auto in = static_cast<Wide>(rule.in), out = static_cast<Wide>(rule.out);
    ratio_ = rule.align_corners ? (rule.out > 1 ? (in - 1) / (out - 1) : Wide(0))
             : rule.scale > 0   ? Wide(1) / static_cast<Wide>(rule.scale)
                                : in / out;
    // With few bits every way to calculate a coordinate gives the same. An antialiased distance is
    // divided by the ratio besides.
    exact_ = HasFewBits(ratio_) && ratio_ * (out + 1) * 2048 < 1 / static_cast<Wide>(kEpsilon) &&
             (!rule.antialias || ratio_ <= 1 || HasFewBits(1 / ratio_));
  }

  Table<Wide> Make() const {
    Table<Wide> table(static_cast<size_t>(rule_.out));
    for (int64_t o = 0; o < rule_.out; ++o) {
      std::vector<Tap<Wide>>& taps = table[static_cast<size_t>(o)];
      if (IsCopy(rule_)) {
        taps.push_back({o, 1, 1, 0, true, false});
      } else if (rule_.antialias) {
        AddWindow(o, taps);
      } else {
        AddNeighbours(o, taps);
      }
    }
    return table;
  }

 private:
  static constexpr double kEpsilon = std::numeric_limits<Float>::epsilon();

  static bool HasFewBits(Wide value) { return value * 1024 == Floor(value * 1024); }

  double Moves(Wide x) const {
    if (exact_) return 0;
    return 4 * kEpsilon * (std::fabs(static_cast<double>(x)) + static_cast<double>(ratio_) + 1);
  }

  static void Add(int64_t index, Wide weight, double magnitude, double spread, bool extra,
                  std::vector<Tap<Wide>>& taps) {
    const bool steady = spread == 0 || static_cast<double>(Magnitude(weight)) > 2 * spread;
    taps.push_back({index, weight, magnitude, spread, steady, extra});
  }

  void AddNeighbours(int64_t o, std::vector<Tap<Wide>>& taps) const {
    const Wide half = 0.5, last = static_cast<Wide>(rule_.in - 1);
    const Wide place = static_cast<Wide>(o);
    Wide x = rule_.align_corners ? ratio_ * place : ratio_ * (place + half) - half;
    double moves = Moves(x);
    const bool below = !rule_.cubic() && static_cast<double>(x) + moves <= 0;
    if (below || !(static_cast<double>(x) - moves < static_cast<double>(last) + 1)) moves = 0;
    if (!rule_.cubic() && x < 0) x = 0;
    if (x > last + 1) x = last + 1;
    const Wide i = std::min(Floor(x), last);
    const Wide t = std::min(x - i, Wide(1));
    const int reach = rule_.cubic() ? 2 : 1;
    const double slope = rule_.cubic() ? 1.5 : 1;
    const auto add = [&](int from, bool extra) {
      const Wide source = i + static_cast<Wide>(from), away = t - static_cast<Wide>(from);
      const auto index = static_cast<int64_t>(std::min(std::max(source, Wide(0)), last));
      const Wide distance = away < 0 ? -away : away;
      double magnitude = 1;
      const Wide weight = extra           ? Wide(0)
                          : rule_.cubic() ? Cubic(distance, -0.75, &magnitude)
                                          : 1 - distance;
      Add(index, weight, magnitude, slope * moves, extra, taps);
    };
    if (moves > 0 && static_cast<double>(t) < moves) add(-reach, true);
    for (int from = 1 - reach; from <= reach; ++from) add(from, false);
    if (moves > 0 && static_cast<double>(1 - t) < moves) add(reach + 1, true);
  }

  // The filter's weight at distance s >= 0 from a window's centre, as if the axis did not shrink.
  Wide Filter(Wide s, double* magnitude) const {
    if (rule_.cubic()) return Cubic(s, -0.5, magnitude);
    if (rule_.family == Family::kLinear) return std::max(1 - s, Wide(0));
    return s < 3 ? Sinc(s) * Sinc(s / 3) : Wide(0);
  }

  void AddWindow(int64_t o, std::vector<Tap<Wide>>& taps) const {
    const Wide half = 0.5;
    const Wide widest = rule_.cubic() ? 2 : rule_.family == Family::kLinear ? 1 : 3;
    const Wide support = ratio_ >= 1 ? widest * ratio_ : widest;
    const Wide inverse = ratio_ >= 1 ? 1 / ratio_ : Wide(1);
    const Wide centre = ratio_ * (static_cast<Wide>(o) + half);
    const double moves = 2 * Moves(centre + support);
    // Beyond the image in either direction, so that its ends are not special.
    const Wide margin = static_cast<Wide>(moves) + 2;
    const auto first = static_cast<int64_t>(std::max(Floor(centre - support - margin), Wide(0)));
    const auto last =
        static_cast<int64_t>(std::min(centre + support + margin, static_cast<Wide>(rule_.in - 1)));
    const Wide low = std::max(Floor(centre - support + half), Wide(0));
    const Wide high = Floor(std::max(centre + support + half, Wide(0)));
    Wide total = 0;
    double changes = 0;
    const size_t begin = taps.size();
    for (int64_t j = first; j <= last; ++j) {
      const auto source = static_cast<Wide>(j);
      const bool inside = source >= low && source < high;
      Wide s = (source - centre + half) * inverse;
      if (s < 0) s = -s;
      const auto past = static_cast<double>(s - widest);
      const double spread =
          (rule_.family == Family::kLinear ? 1 : 1.5) * moves * static_cast<double>(inverse);
      if (!inside && (past > spread || spread == 0)) continue;
      double magnitude = 1;
      const Wide weight = inside ? Filter(s, &magnitude) : Wide(0);
      total += weight;
      changes += spread + magnitude * kEpsilon * 8;
      Add(j, weight, magnitude, spread, !inside, taps);
    }
    if (total == 0) return;
    Divide(total, changes, begin, taps);
  }

  static void Divide(Wide total, double changes, size_t begin, std::vector<Tap<Wide>>& taps) {
    const auto whole = static_cast<double>(Magnitude(total));
    const double least = whole - changes;  // of the total
    for (size_t i = begin; i < taps.size(); ++i) {
      Tap<Wide>& tap = taps[i];
      const auto weight = static_cast<double>(Magnitude(tap.weight));
      const double moved = tap.spread > 0 ? changes : 0;
      tap.spread = least > 0 ? (tap.spread + weight * moved / whole) / least : HUGE_VAL;
      tap.magnitude = std::max(tap.magnitude, weight) / (least > 0 ? least : whole);
      tap.weight /= total;
      tap.steady &= least > 0;
    }
  }

  const Rule rule_;
  Wide ratio_;
  bool exact_;
};

template <class Wide>
Table<Wide> Transposed(const Table<Wide>& table, int64_t in) {
  Table<Wide> turned(static_cast<size_t>(in));
  for (size_t o = 0; o < table.size(); ++o) {
    for (Tap<Wide> tap : table[o]) {
      const auto to = static_cast<size_t>(tap.index);
      tap.index = static_cast<int64_t>(o);
      turned[to].push_back(tap);
    }
  }
  return turned;
}

// An element between the axes: Sum, and the sum of |weight * value|, which spreads need.
template <class Wide>
struct Part {
  Sum<Wide> sum;
  double size = 0;
};

template <class Wide>
void AddTap(const Tap<Wide>& tap, const Part<Wide>& from, Part<Wide>& to) {
  const auto weight = static_cast<double>(Magnitude(tap.weight));
  if (!tap.extra) {
    to.sum.value += tap.weight * from.sum.value;
    to.size += weight * from.size;
  }
  to.sum.magnitude += (tap.magnitude + tap.spread) * from.sum.magnitude;
  if (from.sum.spread != 0) to.sum.spread += (weight + tap.spread) * from.sum.spread;
  // Of an infinite value a weight that cannot change sign changes nothing.
  const bool counts = std::isfinite(from.size) || !tap.steady;
  if (tap.spread != 0 && counts) to.sum.spread += tap.spread * from.size;
  to.sum.terms += from.sum.terms;
}

// Applies a table along one axis of (outer, axis, inner).
template <class Wide>
std::vector<Part<Wide>> Along(const Table<Wide>& table, const std::vector<Part<Wide>>& from,
                              size_t axis_extent, size_t inner) {
  const size_t outer = axis_extent * inner > 0 ? from.size() / (axis_extent * inner) : 0;
  std::vector<Part<Wide>> to(outer * table.size() * inner);
  for (size_t o = 0; o < outer; ++o) {
    for (size_t k = 0; k < table.size(); ++k) {
      for (const Tap<Wide>& tap : table[k]) {
        const auto source = static_cast<size_t>(tap.index);
        for (size_t i = 0; i < inner; ++i) {
          AddTap(tap, from[(o * axis_extent + source) * inner + i],
                 to[(o * table.size() + k) * inner + i]);
        }
      }
    }
  }
  return to;
}

template <class Wide>
size_t MostTaps(const Table<Wide>& table) {
  size_t most = 0;
  for (const std::vector<Tap<Wide>>& taps : table) most = std::max(most, taps.size());
  return most;
}

template <class Float>
Exact ExactOf(const Call& call) {
  using Wide = typename WideOf<Float>::Type;
  const bool backward = call.op->backward();
  const Shape& from = call.input().shape();
  const Shape& to = call.output().shape();
  const std::vector<double> scales = call.scales();
  std::vector<Part<Wide>> parts;
  for (const double value : call.input().Values()) {
    parts.push_back({{static_cast<Wide>(value), std::fabs(value), 0, 1}, std::fabs(value)});
  }
  int roundings = 0;
  size_t inner = 1;
  for (size_t axis = from.size(); axis-- > 2;) {
    const Rule rule = {call.op->family,
                       call.op->traits->antialias,
                       call.integer("alignCorners") != 0,
                       (backward ? to : from)[axis],
                       (backward ? from : to)[axis],
                       scales[axis - 2]};
    Table<Wide> table = AxisTable<Float>(rule).Make();
    if (!IsCopy(rule)) roundings += kRoundingsOfAnAxis;
    if (!IsCopy(rule) && rule.antialias) roundings += 2 * static_cast<int>(MostTaps(table));
    if (backward) table = Transposed(table, rule.in);
    parts = Along(table, parts, static_cast<size_t>(from[axis]), inner);
    inner *= static_cast<size_t>(to[axis]);
  }
  std::vector<Sum<Wide>> sums;
  for (const Part<Wide>& part : parts) sums.push_back(part.sum);
  return Finished<Float>(sums, call.source.dtype, roundings == 0 ? -1 : roundings);
}

}  // namespace

std::vector<Exact> ExactUpsample(const Call& call) {
  if (!call.op->weighs()) return ExactNearest(call);
  return {call.source.dtype == DataType::kFloat64 ? ExactOf<double>(call) : ExactOf<float>(call)};
}

}  // namespace portacl::golden
