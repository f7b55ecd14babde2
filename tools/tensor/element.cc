// Conversion of float16, bfloat16 and bytes, with one rounding.
#include "tools/tensor/element.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace portacl::cli {
namespace {

// A 16-bit format: 1 sign bit, then exponent, then fraction.
struct SmallFormat {
  int fraction_bits;
  int bias;
  int max_exponent;  // of finite numbers
};
constexpr SmallFormat kFloat16Format = {10, 15, 15};
constexpr SmallFormat kBFloat16Format = {7, 127, 127};

double DecodeSmall(SmallFormat format, uint16_t bits) {
  const int fraction_mask = (1 << format.fraction_bits) - 1;
  const int fraction = bits & fraction_mask;
  const int exponent = (bits & 0x7FFF) >> format.fraction_bits;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == format.max_exponent + format.bias + 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.fraction_bits;
  const int significand = exponent == 0 ? fraction : fraction + fraction_mask + 1;
  return sign * std::ldexp(significand, scale);
}

uint16_t EncodeSmall(SmallFormat format, double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int infinity = (format.max_exponent + format.bias + 1) << format.fraction_bits;
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | infinity | (1 << (format.fraction_bits - 1)));
  }
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  if (value == 0) return sign;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| = [0.5, 1) * 2^exponent
  exponent = std::max(exponent - 1, 1 - format.bias);
  // A multiple of the unit in the last place at this exponent. Rounding may carry into the next
  // exponent, so the exponent's bits are added, not or-ed.
  const double units =
      std::nearbyint(std::ldexp(std::fabs(value), format.fraction_bits - exponent));
  const double hidden = std::ldexp(1.0, format.fraction_bits);
  const int64_t base = static_cast<int64_t>(exponent + format.bias - 1) << format.fraction_bits;
  const int64_t bits = units < hidden && exponent == 1 - format.bias
                           ? static_cast<int64_t>(units)
                           : base + static_cast<int64_t>(units);
  return static_cast<uint16_t>(sign | std::min<int64_t>(bits, infinity));
}

template <class T>
T Load(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

}  // namespace

size_t ElementSize(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kFloat32:
      return 4;
    case DataType::kFloat64:
      return 8;
    default:
      break;
  }
  return dtype == kUInt8 ? 1 : 0;
}

const char* DataTypeName(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return "float16";
    case DataType::kBFloat16:
      return "bfloat16";
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    default:
      break;
  }
  return dtype == kUInt8 ? "uint8" : "?";
}

std::optional<DataType> ParseDataType(std::string_view name) {
  struct Entry {
    std::string_view name;
    DataType dtype;
  };
  static constexpr Entry kEntries[] = {
      {"float16", DataType::kFloat16}, {"fp16", DataType::kFloat16},
      {"half", DataType::kFloat16},    {"bfloat16", DataType::kBFloat16},
      {"bf16", DataType::kBFloat16},   {"float32", DataType::kFloat32},
      {"fp32", DataType::kFloat32},    {"float", DataType::kFloat32},
      {"float64", DataType::kFloat64}, {"fp64", DataType::kFloat64},
      {"double", DataType::kFloat64},  {"uint8", kUInt8},
  };
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

std::string DataTypeNames() {
  return "float32 (fp32, float), float16 (fp16, half), bfloat16 (bf16), float64 (fp64, double), "
         "uint8";
}

double LoadElement(DataType dtype, const void* address) {
  switch (dtype) {
    case DataType::kFloat16:
      return DecodeSmall(kFloat16Format, Load<uint16_t>(address));
    case DataType::kBFloat16:
      return DecodeSmall(kBFloat16Format, Load<uint16_t>(address));
    case DataType::kFloat32:
      return Load<float>(address);
    case DataType::kFloat64:
      return Load<double>(address);
    default:
      break;
  }
  return dtype == kUInt8 ? Load<uint8_t>(address) : 0;
}

void StoreElement(DataType dtype, double value, void* address) {
  switch (dtype) {
    case DataType::kFloat16:
    case DataType::kBFloat16: {
      const uint16_t bits =
          EncodeSmall(dtype == DataType::kFloat16 ? kFloat16Format : kBFloat16Format, value);
      std::memcpy(address, &bits, sizeof(bits));
      return;
    }
    case DataType::kFloat32: {
      const float narrow = static_cast<float>(value);
      std::memcpy(address, &narrow, sizeof(narrow));
      return;
    }
    case DataType::kFloat64:
      std::memcpy(address, &value, sizeof(value));
      return;
    default:
      break;
  }
  const double level = std::isnan(value) ? 0 : std::clamp(std::nearbyint(value), 0.0, 255.0);
  const auto byte = static_cast<uint8_t>(level);
  std::memcpy(address, &byte, sizeof(byte));
}

uint64_t CanonicalBits(DataType dtype, const void* address) {
  switch (dtype) {
    case DataType::kFloat16: {
      const uint16_t bits = Load<uint16_t>(address);
      return (bits & 0x7FFF) > 0x7C00 ? 0x7E00 : bits;
    }
    case DataType::kBFloat16: {
      const uint16_t bits = Load<uint16_t>(address);
      return (bits & 0x7FFF) > 0x7F80 ? 0x7FC0 : bits;
    }
    case DataType::kFloat32: {
      const uint32_t bits = Load<uint32_t>(address);
      return (bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC00000u : bits;
    }
    case DataType::kFloat64: {
      const uint64_t bits = Load<uint64_t>(address);
      const bool nan = (bits & 0x7FFFFFFFFFFFFFFFu) > 0x7FF0000000000000u;
      return nan ? 0x7FF8000000000000u : bits;
    }
    default:
      break;
  }
  return Load<uint8_t>(address);
}

double Epsilon(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16:
      return 0x1p-10;
    case DataType::kBFloat16:
      return 0x1p-7;
    case DataType::kFloat32:
      return 0x1p-23;
    case DataType::kFloat64:
      return 0x1p-52;
    default:
      break;
  }
  return 1;
}

}  // namespace portacl::cli
