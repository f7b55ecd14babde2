// Conversions by arithmetic in double (not by bit tricks, as the library does it).
#include "support/api/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace portacl_test {
namespace {

template <class T>
T LoadAs(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

double FromSmall(uint16_t bits, const ElementInfo& info) {
  const int exponent_bits = 15 - info.fraction_bits;
  const int exponent = (bits >> info.fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << info.fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int hidden = exponent == 0 ? 0 : 1 << info.fraction_bits;
  const int power = std::max(exponent, 1) - 1 + info.min_exponent - info.fraction_bits;
  return sign * std::ldexp(fraction + hidden, power);
}

uint16_t ToSmall(double value, const ElementInfo& info) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(0x7FFF & ~((1 << info.fraction_bits) - 1));
  if (std::isnan(value)) return static_cast<uint16_t>(infinity | 1 << (info.fraction_bits - 1));
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(value)) return sign | infinity;
  const int power = std::max(std::ilogb(magnitude), info.min_exponent) - info.fraction_bits;
  const double steps = std::nearbyint(std::ldexp(magnitude, -power));  // half to even
  // Consecutive bit patterns are consecutive numbers, so a carry does the right thing.
  const int biased = power + info.fraction_bits - info.min_exponent;
  const double pattern = std::ldexp(biased, info.fraction_bits) + steps;
  return sign | static_cast<uint16_t>(std::min<double>(pattern, infinity));
}

int64_t Truncated(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value <= -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

}  // namespace

const ElementInfo& InfoOf(Element element) {
  static constexpr ElementInfo kFloat = {"FLOAT", 4, 23, -126, 127};
  static constexpr ElementInfo kFloat16 = {"FLOAT16", 2, 10, -14, 15};
  static constexpr ElementInfo kBFloat16 = {"BF16", 2, 7, -126, 127};
  static constexpr ElementInfo kDouble = {"DOUBLE", 8, 52, -1022, 1023};
  static constexpr ElementInfo kInt8 = {"INT8", 1, 0, 0, 0};
  static constexpr ElementInfo kUInt8 = {"UINT8", 1, 0, 0, 0};
  static constexpr ElementInfo kInt16 = {"INT16", 2, 0, 0, 0};
  static constexpr ElementInfo kInt32 = {"INT32", 4, 0, 0, 0};
  static constexpr ElementInfo kInt64 = {"INT64", 8, 0, 0, 0};
  static constexpr ElementInfo kBool = {"BOOL", 1, 0, 0, 0};
  switch (element) {
    case Element::kFloat16:
      return kFloat16;
    case Element::kBFloat16:
      return kBFloat16;
    case Element::kDouble:
      return kDouble;
    case Element::kInt8:
      return kInt8;
    case Element::kUInt8:
      return kUInt8;
    case Element::kInt16:
      return kInt16;
    case Element::kInt32:
      return kInt32;
    case Element::kInt64:
      return kInt64;
    case Element::kBool:
      return kBool;
    case Element::kFloat:
      break;
  }
  return kFloat;
}

double Load(Element element, const void* address) {
  switch (element) {
    case Element::kFloat:
      return LoadAs<float>(address);
    case Element::kDouble:
      return LoadAs<double>(address);
    case Element::kInt8:
      return LoadAs<int8_t>(address);
    case Element::kUInt8:
      return LoadAs<uint8_t>(address);
    case Element::kInt16:
      return LoadAs<int16_t>(address);
    case Element::kInt32:
      return LoadAs<int32_t>(address);
    case Element::kInt64:
      return static_cast<double>(LoadAs<int64_t>(address));
    case Element::kBool:
      return LoadAs<uint8_t>(address) != 0 ? 1 : 0;
    default:
      return FromSmall(LoadAs<uint16_t>(address), InfoOf(element));
  }
}

void Store(Element element, double value, void* address) {
  if (element == Element::kFloat) {
    const float narrow = static_cast<float>(value);
    std::memcpy(address, &narrow, sizeof(narrow));
  } else if (element == Element::kDouble) {
    std::memcpy(address, &value, sizeof(value));
  } else if (IsInteger(element)) {
    const int64_t integer = element == Element::kBool ? (value != 0 ? 1 : 0) : Truncated(value);
    std::memcpy(address, &integer, SizeOf(element));  // the low bytes come first
  } else {
    const uint16_t bits = ToSmall(value, InfoOf(element));
    std::memcpy(address, &bits, sizeof(bits));
  }
}

double RoundTo(Element element, double value) {
  std::array<std::byte, 8> bytes;
  Store(element, value, bytes.data());
  return Load(element, bytes.data());
}

double UlpAt(Element element, double value) {
  const ElementInfo& info = InfoOf(element);
  const double magnitude = std::fabs(value);
  int exponent = info.min_exponent;
  if (std::isinf(magnitude)) {
    exponent = info.max_exponent;
  } else if (magnitude != 0) {
    exponent = std::clamp(std::ilogb(magnitude), info.min_exponent, info.max_exponent);
  }
  return std::ldexp(1.0, exponent - info.fraction_bits);
}

double ComputeEpsilon(Element element) {
  return element == Element::kDouble ? std::numeric_limits<double>::epsilon()
                                     : std::numeric_limits<float>::epsilon();
}

uint64_t CanonicalBits(Element element, const void* address) {
  if (std::isnan(Load(element, address))) {
    std::array<std::byte, 8> nan;
    Store(element, std::numeric_limits<double>::quiet_NaN(), nan.data());
    address = nan.data();
    uint64_t bits = 0;
    std::memcpy(&bits, address, SizeOf(element));
    return bits;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, address, SizeOf(element));
  return bits;
}

}  // namespace portacl_test
