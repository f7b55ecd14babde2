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

}  // namespace

const ElementInfo& InfoOf(Element element) {
  static constexpr ElementInfo kFloat = {"FLOAT", 4, 23, -126, 127};
  static constexpr ElementInfo kFloat16 = {"FLOAT16", 2, 10, -14, 15};
  static constexpr ElementInfo kBFloat16 = {"BF16", 2, 7, -126, 127};
  static constexpr ElementInfo kDouble = {"DOUBLE", 8, 52, -1022, 1023};
  switch (element) {
    case Element::kFloat16:
      return kFloat16;
    case Element::kBFloat16:
      return kBFloat16;
    case Element::kDouble:
      return kDouble;
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
