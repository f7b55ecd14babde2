// The index rule and the table made from it.
#include "ops/nearest_axis.h"

#include <algorithm>

namespace portacl::ops {
namespace {

// Up to here a float holds every index exactly.
constexpr int64_t kFloatIndices = int64_t{1} << 24;

// Where the ideal ratio puts the first output of input i, in [0, out].
int64_t IdealFirstOutput(int64_t i, int64_t out, double outputs_per_input) {
  const double first = static_cast<double>(i) * outputs_per_input - 0.5;  // rounded up
  if (!(first > 0)) return 0;
  if (first >= static_cast<double>(out)) return out;
  const auto at = static_cast<int64_t>(first);
  return at + (static_cast<double>(at) < first ? 1 : 0);
}

// The first o in [from, out] with rule(o) >= i (out where there is none): an exponential search
// from `at`, since the rounded rule is off by a few at most.
int64_t FirstOutputOf(const NearestIndexRule& rule, int64_t i, int64_t from, int64_t out,
                      int64_t at) {
  at = std::max(at, from);
  int64_t low = from;  // rule(low - 1) < i, or low == from
  int64_t high = out;  // rule(high) >= i, or high == out
  for (int64_t step = 1; low < high; step *= 2) {
    if (at < out && rule(at) < i) {
      low = at + 1;
      if (high - low <= step) break;
      at = low + step;
    } else {
      high = at;
      if (high - low <= step) break;
      at = high - step;
    }
  }
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (rule(middle) < i) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

NearestIndexRule::NearestIndexRule(int64_t in, int64_t out, double scale)
    : last_(in - 1), in_float_(in <= kFloatIndices) {
  if (in_float_) {
    const float ratio = scale > 0 ? static_cast<float>(1.0 / scale)
                                  : static_cast<float>(in) / static_cast<float>(out);
    ratio_ = static_cast<double>(ratio);
  } else {
    ratio_ = scale > 0 ? 1.0 / scale : static_cast<double>(in) / static_cast<double>(out);
  }
}

int64_t NearestIndexRule::operator()(int64_t o) const {
  const double at = Position(o);
  // Never negative, so that the conversion is the floor (a call of the C library's costs more than
  // the rest). Compared before it: a tiny scale makes the ratio infinite.
  return at < static_cast<double>(last_) ? static_cast<int64_t>(at) : last_;
}

NearestTable::NearestTable(int64_t in, int64_t out, double scale) {
  const NearestIndexRule rule(in, out, scale);
  const double outputs_per_input =
      scale > 0 ? scale : static_cast<double>(out) / static_cast<double>(in);
  begin_.resize(static_cast<size_t>(in) + 1);
  begin_[0] = 0;
  for (int64_t i = 1; i < in; ++i) {
    int64_t first = IdealFirstOutput(i, out, outputs_per_input);
    // As a rule it is: without a search, whose steps wait for each other.
    if (first < 1 || first >= out || !rule.Reaches(first, i) || rule.Reaches(first - 1, i)) {
      first = FirstOutputOf(rule, i, begin_[static_cast<size_t>(i - 1)], out, first);
    }
    begin_[static_cast<size_t>(i)] = first;
  }
  begin_[static_cast<size_t>(in)] = out;

  axis_.in = in;
  axis_.out = out;
  axis_.begin = begin_.data();
  const int64_t ratio = out / in;
  const bool exact = ratio * in == out && [&] {
    for (int64_t i = 0; i < in; ++i) {
      if (begin_[static_cast<size_t>(i)] != ratio * i) return false;
    }
    return true;
  }();
  axis_.ratio = exact ? ratio : 0;
}

}  // namespace portacl::ops
