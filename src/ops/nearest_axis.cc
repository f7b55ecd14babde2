// The index rule and the table of one axis.
#include "ops/nearest_axis.h"

#include <algorithm>
#include <limits>

namespace portacl::ops {
namespace {

// Up to this extent a float holds every index exactly.
constexpr int64_t kFloatIndices = int64_t{1} << 24;

// Returns the first output of input i in [0, out], computed by the exact ratio.
int64_t IdealFirstOutput(int64_t i, int64_t out, double outputs_per_input) {
  const double first = static_cast<double>(i) * outputs_per_input - 0.5;  // rounded up
  if (!(first > 0)) return 0;
  if (first >= static_cast<double>(out)) return out;
  const auto at = static_cast<int64_t>(first);
  return at + (static_cast<double>(at) < first ? 1 : 0);
}

// Returns the first o in [0, out] with rule(o) >= i (out if there is none). Starts an exponential
// search at the exact ratio's output, because the rounded rule differs by a few at most. Does not
// start at the previous result, so that the CPU can overlap the searches.
int64_t FirstOutputOf(const NearestIndexRule& rule, int64_t i, int64_t out,
                      double outputs_per_input) {
  int64_t at = IdealFirstOutput(i, out, outputs_per_input);
  int64_t low = 0;     // rule(low - 1) < i, or low == 0
  int64_t high = out;  // rule(high) >= i, or high == out
  for (int64_t step = 1; low < high; step *= 2) {
    if (at < out && !rule.Reaches(at, i)) {
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
    if (!rule.Reaches(middle, i)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

NearestIndexRule::NearestIndexRule(int64_t in, int64_t out, double scale, Nearest rule)
    : last_(in - 1),
      in_float_(in <= kFloatIndices),
      before_(rule == Nearest::kExact ? 0.5 : 0.0),
      behind_(rule == Nearest::kCorners ? 0.5 : 0.0) {
  if (rule == Nearest::kFloor && (out == in || out == 2 * in)) {  // whatever the scale, as PyTorch
    in_float_ = false;
    ratio_ = out == in ? 1.0 : 0.5;
  } else if (rule == Nearest::kCorners) {
    ratio_ = out > 1 ? Rounded(Rounded(in - 1) / Rounded(out - 1)) : 0;
  } else if (in_float_) {
    const float ratio = scale > 0 ? static_cast<float>(1.0 / scale)
                                  : static_cast<float>(in) / static_cast<float>(out);
    ratio_ = static_cast<double>(ratio);
  } else {
    ratio_ = scale > 0 ? 1.0 / scale : static_cast<double>(in) / static_cast<double>(out);
  }
  // Keeps a tiny scale's ratio finite: output 0 has a number, other outputs are outside.
  ratio_ = std::min(ratio_, static_cast<double>(std::numeric_limits<float>::max()));
  quick_ = in_float_ && out <= kFloatIndices;
}

int64_t NearestIndexRule::operator()(int64_t o) const {
  const double at = Position(o);
  // `at` is not negative, so the conversion is the floor. (floor() of the C library costs more than
  // all the rest.) The comparison comes first, because a tiny scale makes `at` infinite.
  return at < static_cast<double>(last_) ? static_cast<int64_t>(at) : last_;
}

NearestTable::NearestTable(int64_t in, int64_t out, double scale, Nearest kind, int64_t* place) {
  if (in == 1 && out == 1) {
    static constexpr int64_t kBegin[] = {0, 1};
    axis_ = {.in = 1, .out = 1, .begin = kBegin, .ratio = 1};
    return;
  }
  const NearestIndexRule rule(in, out, scale, kind);
  const double outputs_per_input =
      scale > 0 ? scale : static_cast<double>(out) / static_cast<double>(in);
  if (place == nullptr) {
    begin_ = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(in) + 1);
  }
  int64_t* const begin = place == nullptr ? begin_.get() : place;
  begin[0] = 0;
  // Looking at every output costs less than a search per input, unless there are many more outputs.
  if (out / 4 <= in) {
    int64_t i = 0;
    double next = 0;  // i; not a number behind the last input, because places may be infinite
    double number = 0;
    for (int64_t o = 0; o < out; ++o, number += 1) {
      for (const double at = rule.Position(o, number); at >= next;) {
        begin[i++] = o;
        next = i < in ? static_cast<double>(i) : std::numeric_limits<double>::quiet_NaN();
      }
    }
    std::fill(begin + i, begin + in + 1, out);
  } else {
    for (int64_t i = 1; i < in; ++i) begin[i] = FirstOutputOf(rule, i, out, outputs_per_input);
    begin[in] = out;
  }

  axis_.in = in;
  axis_.out = out;
  axis_.begin = begin;
  const int64_t ratio = out / in;
  const bool exact = ratio * in == out && [&] {
    for (int64_t i = 0; i < in; ++i) {
      if (begin[i] != ratio * i) return false;
    }
    return true;
  }();
  axis_.ratio = exact ? ratio : 0;
}

std::array<int64_t, 4> As4D(const base::Dims& dims, int64_t missing) {
  const int last = dims.rank() - 1;
  return {dims[0], dims[1], last == 2 ? missing : dims[last - 1], dims[last]};
}

int64_t DepthOf(const base::Dims& dims, int64_t missing) {
  return dims.rank() == 5 ? dims[2] : missing;
}

// One allocation for all tables, because it costs as much as a small table. The scales are in the
// order of the axes that the tensors have.
NearestTables::NearestTables(const base::Dims& small, const base::Dims& large,
                             const std::array<double, 3>& scales, Nearest rule)
    : begins_(std::make_unique_for_overwrite<int64_t[]>(
          size_t{3} + static_cast<size_t>(DepthOf(small, 1)) +
          static_cast<size_t>(As4D(small, 1)[2]) + static_cast<size_t>(As4D(small, 1)[3]))),
      d_(DepthOf(small, 1), DepthOf(large, 1), small.rank() == 5 ? scales[0] : 0.0, rule,
         begins_.get()),
      h_(As4D(small, 1)[2], As4D(large, 1)[2],
         small.rank() == 3 ? 0.0 : scales[static_cast<size_t>(small.rank() - 4)], rule,
         begins_.get() + d().in + 1),
      w_(As4D(small, 1)[3], As4D(large, 1)[3], scales[static_cast<size_t>(small.rank() - 3)], rule,
         begins_.get() + d().in + h().in + 2) {}

}  // namespace portacl::ops
