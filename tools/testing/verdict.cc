// One pass over the elements for every standard.
#include "tools/testing/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "tools/tensor/mere_mare.h"

namespace portacl::golden {
namespace {

// Representable numbers in order: consecutive ones differ by 1, both zeros are 0.
int64_t Ordinal(DataType dtype, const std::byte* address) {
  const int bits = static_cast<int>(8 * cli::ElementSize(dtype));
  const uint64_t pattern = cli::CanonicalBits(dtype, address);
  if (dtype == cli::kUInt8) return static_cast<int64_t>(pattern);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  const auto magnitude = static_cast<int64_t>(pattern & (sign - 1));
  return (pattern & sign) != 0 ? -magnitude : magnitude;
}

int64_t UlpDistance(DataType dtype, const std::byte* a, const std::byte* b) {
  int64_t distance = 0;
  if (__builtin_sub_overflow(Ordinal(dtype, a), Ordinal(dtype, b), &distance)) return INT64_MAX;
  return distance < 0 ? -distance : distance;
}

double LargestFinite(DataType dtype) {
  return dtype == DataType::kFloat16    ? 65504.0
         : dtype == DataType::kBFloat16 ? 0x1.FEp127
         : dtype == DataType::kFloat32  ? 0x1.FFFFFEp127
         : dtype == cli::kUInt8         ? 255
                                        : 0x1.FFFFFFFFFFFFFp1023;
}

// The small-value rule of kStat: if |g| is below this value, a relative error means nothing: then
// the error is divided by this value.
double SmallValue(DataType dtype) {
  return dtype == DataType::kFloat64 ? 0x1p-40 : cli::ComparisonThreshold(dtype);
}

// The vendor's open standard of September 2026, which counts in double.
struct MixedTolerance {
  double relative, absolute;
  double floor;  // of what the largest error may be
};
MixedTolerance MixedToleranceOf(DataType dtype) {
  if (dtype == DataType::kFloat16) return {0x1p-9, 0x1p-9, 1e-1};
  if (dtype == DataType::kBFloat16) return {0x1p-6, 0x1p-6, 1};
  return {0x1p-10, 0x1p-16, 1e-2};
}
constexpr int64_t kMixedOutside = 100;  // of so many elements one may be outside the tolerance
constexpr double kMixedUlps = 32;       // of the largest error

struct Values {
  double actual, golden, exact, bound;
};

// The error of an element and the allowed error, in the standard's unit.
struct Measure {
  double error, allowed;
  bool passed() const { return error <= allowed; }  // false for NaN
};

class Judgement {
 public:
  Judgement(const GoldenOutput& golden, const std::vector<std::byte>& actual,
            const StandardOptions& options, const std::vector<std::byte>* second)
      : golden_(golden), actual_(actual), options_(options), second_(second) {}

  OutputVerdict Run() {
    verdict_.parameter = golden_.parameter;
    verdict_.dtype = golden_.dtype;
    verdict_.shape = golden_.shape;
    verdict_.in_ulp = options_.standard == Standard::kUlp || options_.standard == Standard::kBinary;
    const size_t size = cli::ElementSize(golden_.dtype);
    verdict_.count = static_cast<int64_t>(golden_.golden.size() / size);
    for (int64_t i = 0; i < verdict_.count; ++i) Look(i, static_cast<size_t>(i) * size);
    const auto count = static_cast<double>(std::max<int64_t>(verdict_.count, 1));
    verdict_.mere /= count;
    mean_error_ /= count;
    mean_second_ /= count;
    Conclude();
    std::sort(verdict_.worst.begin(), verdict_.worst.end(), IsWorse);
    return std::move(verdict_);
  }

 private:
  void Look(int64_t i, size_t at) {
    const std::byte* const a = actual_.data() + at;
    const std::byte* const g = golden_.golden.data() + at;
    const Values v{cli::LoadElement(golden_.dtype, a), cli::LoadElement(golden_.dtype, g),
                   golden_.exact.value[static_cast<size_t>(i)],
                   golden_.exact.bound[static_cast<size_t>(i)]};
    const bool same_bits =
        cli::CanonicalBits(golden_.dtype, a) == cli::CanonicalBits(golden_.dtype, g);
    if (!same_bits) ++verdict_.different_bits;
    Element element{i, v.actual, v.golden, v.exact, std::fabs(v.actual - v.exact), v.bound};
    // No byte is one that no kernel writes.
    const bool may_be_right = golden_.dtype == cli::kUInt8 && same_bits;
    if (options_.knows_unwritten && IsUnwritten(a) && !may_be_right) {
      ++verdict_.unwritten;
      element.unwritten = true;
      element.error = verdict_.largest_excess = HUGE_VAL;
      return Fail(element);
    }
    if (std::isinf(v.bound) && IsByBound()) return;  // any value is right
    if (!std::isfinite(v.actual) || !IsNumberWanted(v)) {
      if (!IsRightWithoutNumbers(v, same_bits)) {
        ++(std::isnan(v.actual) != std::isnan(v.golden) ? verdict_.nan_mismatch
                                                        : verdict_.infinity_mismatch);
        element.error = verdict_.largest_excess = HUGE_VAL;
        if (!IsByBound()) {
          element.allowed =
              options_.standard == Standard::kUlp ? static_cast<double>(options_.ulp) : 0;
        }
        Fail(element);
      }
      return;
    }
    const int64_t ulp = same_bits ? 0 : UlpDistance(golden_.dtype, a, g);
    verdict_.largest_ulp = std::max(verdict_.largest_ulp, ulp);
    verdict_.largest_error = std::max(verdict_.largest_error, element.error);
    if (element.error > 0) {
      const double excess = v.bound > 0 ? element.error / v.bound : HUGE_VAL;
      verdict_.largest_excess = std::max(verdict_.largest_excess, excess);
    }
    AddStatistics(v, element, at);
    const Measure measure = MeasureOf(v, same_bits, ulp);
    element.error = measure.error;
    element.allowed = measure.allowed;
    if (options_.standard == Standard::kMixed) {
      LookMixed(v, element);
    } else if (!measure.passed()) {
      Fail(element);
    }
  }

  // Notes elements outside the tolerance, and the largest error. Conclude() judges both.
  void LookMixed(const Values& v, const Element& element) {
    if (element.error > element.allowed) {
      ++outside_;
      Keep(element);
    }
    if (!(element.error > largest_mixed_)) return;
    largest_mixed_ = element.error;
    most_mixed_ = std::max(MixedToleranceOf(golden_.dtype).floor,
                           kMixedUlps * UlpAt(golden_.dtype, Narrowed(v.exact)));
  }

  // Rounded to the element type.
  double Narrowed(double value) const {
    std::byte bytes[8];
    cli::StoreElement(golden_.dtype, value, bytes);
    return cli::LoadElement(golden_.dtype, bytes);
  }

  bool IsUnwritten(const std::byte* address) const {
    const std::span<const std::byte> pattern = UnwrittenElement(cli::ElementSize(golden_.dtype));
    return std::equal(pattern.begin(), pattern.end(), address);
  }
  bool IsByBound() const { return options_.standard == Standard::kBound; }
  bool IsNumberWanted(const Values& v) const {
    if (options_.standard == Standard::kMixed) return std::isfinite(Narrowed(v.exact));
    return std::isfinite(IsByBound() ? v.exact : v.golden);
  }

  // A NaN or an infinity on one side or both.
  bool IsRightWithoutNumbers(const Values& v, bool same_bits) const {
    if (options_.standard == Standard::kMixed) {
      const double wanted = Narrowed(v.exact);
      return std::isnan(wanted) ? std::isnan(v.actual) : v.actual == wanted;
    }
    if (!IsByBound()) return same_bits;
    if (std::isnan(v.exact)) return std::isnan(v.actual);
    if (v.actual == v.exact) return true;
    // A sum that rounds to infinity in the element type.
    const double threshold = LargestFinite(golden_.dtype) + UlpAt(golden_.dtype, HUGE_VAL) / 2;
    return std::isinf(v.actual) && std::isfinite(v.exact) &&
           std::signbit(v.actual) == std::signbit(v.exact) &&
           std::fabs(v.exact) + v.bound >= threshold;
  }

  void AddStatistics(const Values& v, const Element& element, size_t at) {
    const double small = SmallValue(golden_.dtype);
    const double relative =
        std::fabs(v.actual - v.golden) / (std::max(std::fabs(v.golden), small) + 1e-7);
    verdict_.mere += relative;
    verdict_.mare = std::max(verdict_.mare, relative);
    if (second_ == nullptr) return;
    const double second = cli::LoadElement(golden_.dtype, second_->data() + at);
    if (!std::isfinite(second) || !std::isfinite(v.exact)) return;
    const double error = std::fabs(second - v.exact);
    largest_second_ = std::max(largest_second_, error);
    mean_second_ += error;
    mean_error_ += element.error;
    // Every library may round once.
    rounding_ = std::max(rounding_, UlpAt(golden_.dtype, v.exact) / 2);
  }

  Measure MeasureOf(const Values& v, bool same_bits, int64_t ulp) const {
    switch (options_.standard) {
      case Standard::kBound:
        return {std::fabs(v.actual - v.exact), v.bound};
      case Standard::kTolerance:
        return {std::fabs(v.actual - v.golden),
                options_.atol + options_.rtol * std::fabs(v.golden)};
      case Standard::kUlp:
        return {static_cast<double>(ulp), static_cast<double>(options_.ulp)};
      case Standard::kBinary:
        // Both zeros are the same number in other bits.
        return {same_bits ? 0.0 : static_cast<double>(std::max<int64_t>(ulp, 1)), 0};
      case Standard::kMixed: {
        const MixedTolerance t = MixedToleranceOf(golden_.dtype);
        return {std::fabs(v.actual - v.exact), t.absolute + t.relative * std::fabs(v.exact)};
      }
      default:
        return {0, 0};  // judged as a whole
    }
  }

  static bool IsWorse(const Element& a, const Element& b) {
    const auto excess = [](const Element& e) {
      return e.allowed > 0 ? e.error / e.allowed : HUGE_VAL;
    };
    return std::pair(excess(a), a.error) > std::pair(excess(b), b.error);
  }

  void Fail(const Element& element) {
    ++verdict_.failed;
    verdict_.where.Add(golden_.shape, element.index);
    Keep(element);
  }

  void Keep(const Element& element) {
    std::vector<Element>& worst = verdict_.worst;
    if (worst.size() < OutputVerdict::kWorst) {
      worst.push_back(element);
    } else {
      const auto mildest = std::max_element(worst.begin(), worst.end(), IsWorse);
      if (IsWorse(element, *mildest)) *mildest = element;
    }
  }

  void Conclude() {
    if (verdict_.failed > 0) {
      const int64_t wrong = verdict_.failed - verdict_.unwritten;
      if (verdict_.unwritten > 0) {
        verdict_.reason = fmt::format("{} of {} elements were never written{}", verdict_.unwritten,
                                      verdict_.count, wrong > 0 ? ", " : "");
      }
      if (wrong > 0) {
        verdict_.reason +=
            fmt::format("{} of {} elements not {}", wrong, verdict_.count, StandardText(options_));
      }
    } else if (options_.standard == Standard::kMixed) {
      if (outside_ * kMixedOutside > verdict_.count) {
        verdict_.reason =
            fmt::format("{} of {} elements outside the mixed tolerance, wanted at most 1 %",
                        outside_, verdict_.count);
      } else if (largest_mixed_ > most_mixed_) {
        verdict_.reason =
            fmt::format("largest error {:.3g}, wanted at most {:.3g}", largest_mixed_, most_mixed_);
      } else {
        verdict_.worst.clear();
      }
    } else if (options_.standard == Standard::kStat) {
      const double t = cli::ComparisonThreshold(golden_.dtype);
      if (!(verdict_.mere < t))
        verdict_.reason = fmt::format("MERE {:.3g}, wanted below {:.3g}", verdict_.mere, t);
      if (!(verdict_.mare < 10 * t))
        verdict_.reason = fmt::format("MARE {:.3g}, wanted below {:.3g}", verdict_.mare, 10 * t);
    } else if (options_.standard == Standard::kDual) {
      const double largest = options_.factor * largest_second_ + rounding_;
      const double mean = options_.factor * mean_second_ + rounding_;
      if (!(verdict_.largest_error <= largest)) {
        verdict_.reason = fmt::format("largest error {:.3g}, wanted at most {:.3g}",
                                      verdict_.largest_error, largest);
      } else if (!(mean_error_ <= mean)) {
        verdict_.reason =
            fmt::format("mean error {:.3g}, wanted at most {:.3g}", mean_error_, mean);
      }
    }
    verdict_.passed = verdict_.reason.empty();
  }

  const GoldenOutput& golden_;
  const std::vector<std::byte>& actual_;
  const StandardOptions& options_;
  const std::vector<std::byte>* second_;
  OutputVerdict verdict_;
  int64_t outside_ = 0;
  double largest_mixed_ = 0, most_mixed_ = HUGE_VAL;
  double mean_error_ = 0, mean_second_ = 0, largest_second_ = 0, rounding_ = 0;
};

}  // namespace

std::string StandardText(const StandardOptions& options) {
  switch (options.standard) {
    case Standard::kBound:
      return "within the error bound";
    case Standard::kTolerance:
      return fmt::format("within {:g} + {:g} |golden|", options.atol, options.rtol);
    case Standard::kUlp:
      return fmt::format("within {} ULP of golden", options.ulp);
    case Standard::kBinary:
      return "bit-identical to golden";
    case Standard::kStat:
      return "within MERE and MARE";
    case Standard::kMixed:
      return "within the mixed tolerance";
    case Standard::kDual:
      return fmt::format("within {:g} times the second library's error", options.factor);
  }
  return "";
}

OutputVerdict Judge(const GoldenOutput& golden, const std::vector<std::byte>& actual,
                    const StandardOptions& options, const std::vector<std::byte>* second) {
  StandardOptions used = options;
  // The mixed tolerance is one of floating types: "the bytes of integer outputs must be equal".
  if (golden.dtype == cli::kUInt8 && used.standard == Standard::kMixed) {
    used.standard = Standard::kBinary;
  }
  return Judgement(golden, actual, used, second).Run();
}

void Whereabouts::Add(const Shape& shape, int64_t index) {
  const size_t rank = shape.size();
  bool border = false, border_of_points = false;
  for (size_t axis = rank; axis-- > 0; index /= shape[axis]) {
    const int64_t at = index % shape[axis];
    const bool is_first = at == 0, is_last = at + 1 == shape[axis];
    if (!is_first) first &= ~(1U << axis);
    if (!is_last) last &= ~(1U << axis);
    border |= axis >= 2 && (is_first || is_last);
    border_of_points |= axis >= 1 && axis + 1 < rank && (is_first || is_last);
  }
  at_border &= border;
  at_border_of_points &= border_of_points;
}

void OutputVerdict::TakeExtremes(const OutputVerdict& other) {
  different_bits = std::max(different_bits, other.different_bits);
  largest_error = std::max(largest_error, other.largest_error);
  largest_excess = std::max(largest_excess, other.largest_excess);
  mere = std::max(mere, other.mere);
  mare = std::max(mare, other.mare);
  largest_ulp = std::max(largest_ulp, other.largest_ulp);
}

bool CaseVerdict::passed() const {
  return error.empty() && std::all_of(outputs.begin(), outputs.end(),
                                      [](const OutputVerdict& o) { return o.passed; });
}

Shape IndexOf(const Shape& shape, int64_t index) {
  Shape position(shape.size());
  for (size_t axis = position.size(); axis-- > 0;) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return position;
}

std::string ElementText(const OutputVerdict& output, const Element& element) {
  const std::string place = output.parameter + cli::ToString(IndexOf(output.shape, element.index));
  if (element.unwritten) {
    return fmt::format("{} was never written, golden {:.9g}, exact {:.17g}", place, element.golden,
                       element.exact);
  }
  return fmt::format("{} is {:.9g}, golden {:.9g}, exact {:.17g}, error {:.3g}{}, allowed {:.3g}",
                     place, element.actual, element.golden, element.exact, element.error,
                     output.in_ulp ? " ULP" : "", element.allowed);
}

}  // namespace portacl::golden
