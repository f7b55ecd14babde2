// 16-bit floating-point storage types and their conversions: round to nearest even, subnormals
// kept, a NaN stays a (quiet) NaN. Pure integer code, so the caller's rounding mode and FTZ/DAZ
// flags do not matter.
#ifndef PORTACL_BASE_HALF_H_
#define PORTACL_BASE_HALF_H_

#include <bit>
#include <cstdint>

namespace portacl::base {

// IEEE binary16: 1 sign, 5 exponent, 10 fraction bits.
struct Float16 {
  uint16_t bits = 0;
};

// The upper half of a binary32: 1 sign, 8 exponent, 7 fraction bits.
struct BFloat16 {
  uint16_t bits = 0;
};

constexpr float ToFloat(Float16 h) {
  const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000u) << 16;
  const uint32_t exponent = (h.bits >> 10) & 0x1Fu;
  const uint32_t fraction = h.bits & 0x3FFu;
  if (exponent == 0x1F) {  // infinity and NaN; a signalling NaN is made quiet
    const uint32_t quiet = fraction != 0 ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7F800000u | quiet | (fraction << 13));
  }
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (fraction << 13));
  }
  if (fraction == 0) return std::bit_cast<float>(sign);
  // Subnormal: fraction * 2^-24, normalised by hand.
  const int shift = std::countl_zero(fraction) - 21;  // brings the leading one to bit 10
  const uint32_t normal = (fraction << shift) & 0x3FFu;
  return std::bit_cast<float>(sign | (static_cast<uint32_t>(113 - shift) << 23) | (normal << 13));
}

constexpr Float16 ToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {  // NaN: keep the upper payload bits, quiet
    return {static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu))};
  }
  if (magnitude >= 0x477FF000u) return {static_cast<uint16_t>(sign | 0x7C00u)};  // >= 65520
  if (magnitude >= 0x38800000u) {  // normal: rebias and round to nearest even
    const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
    return {static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13))};
  }
  // Subnormal or zero: the result is round(|value| * 2^24), an integer up to 1024.
  const uint32_t exponent = magnitude >> 23;
  if (exponent < 102) return {sign};  // below 2^-25: rounds to zero
  const uint32_t fraction = (magnitude & 0x7FFFFFu) | 0x800000u;
  const uint32_t shift = 126 - exponent;  // 14 to 24
  const uint32_t half = 1u << (shift - 1);
  const uint32_t low = fraction & ((1u << shift) - 1u);
  uint32_t result = fraction >> shift;
  if (low > half || (low == half && (result & 1u) != 0)) ++result;
  return {static_cast<uint16_t>(sign | result)};
}

constexpr float ToFloat(BFloat16 b) {
  const uint32_t bits = static_cast<uint32_t>(b.bits) << 16;
  const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return std::bit_cast<float>(nan ? bits | 0x00400000u : bits);
}

constexpr BFloat16 ToBFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
    return {static_cast<uint16_t>((bits >> 16) | 0x0040u)};
  }
  return {static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

// ---- storage type -> arithmetic type -----------------------------------------------------------

// The type in which an element type's arithmetic is done: float, or double for double.
template <class T>
struct ComputeTypeOf {
  using type = float;
};
template <>
struct ComputeTypeOf<double> {
  using type = double;
};
template <class T>
using ComputeType = typename ComputeTypeOf<T>::type;

constexpr float Widen(float v) { return v; }
constexpr double Widen(double v) { return v; }
constexpr float Widen(Float16 v) { return ToFloat(v); }
constexpr float Widen(BFloat16 v) { return ToFloat(v); }

// Rounds a result once to the element type T.
template <class T>
constexpr T Narrow(ComputeType<T> v) {
  return v;
}
template <>
constexpr Float16 Narrow<Float16>(float v) {
  return ToFloat16(v);
}
template <>
constexpr BFloat16 Narrow<BFloat16>(float v) {
  return ToBFloat16(v);
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_HALF_H_
