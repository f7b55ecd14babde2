// Converts between element types.
#include "companion/element.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/dispatch.h"
#include "base/half.h"

namespace portacl::companion {
namespace {

using base::BFloat16;
using base::DType;
using base::Float16;

struct Bool {
  uint8_t byte;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Calls f(TypeTag<T>{}) with the C++ type T of an element type.
template <class F>
auto Dispatch(DType dtype, F&& f) {
  if (dtype == kUInt16) return f(base::TypeTag<uint16_t>{});
  if (dtype == kUInt32) return f(base::TypeTag<uint32_t>{});
  if (dtype == kUInt64) return f(base::TypeTag<uint64_t>{});
  switch (dtype) {
    case DType::kInt8:
      return f(base::TypeTag<int8_t>{});
    case DType::kUInt8:
      return f(base::TypeTag<uint8_t>{});
    case DType::kInt16:
      return f(base::TypeTag<int16_t>{});
    case DType::kInt32:
      return f(base::TypeTag<int32_t>{});
    case DType::kInt64:
      return f(base::TypeTag<int64_t>{});
    case DType::kBool:
      return f(base::TypeTag<Bool>{});
    default:
      return base::DispatchFloating(dtype, f);
  }
}

template <class F>
auto Dispatch(Compute compute, F&& f) {
  switch (compute) {
    case Compute::kDouble:
      return f(base::TypeTag<double>{});
    case Compute::kInteger:
      return f(base::TypeTag<int64_t>{});
    case Compute::kUnsigned:
      return f(base::TypeTag<uint64_t>{});
    case Compute::kFloat:
      break;
  }
  return f(base::TypeTag<float>{});
}

// Rounds to FLOAT so that a second rounding to fewer bits equals a single rounding: a value between
// two FLOAT numbers becomes the number with an odd last bit.
float OddFloat(float value) { return value; }
float OddFloat(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) == value || value != value || (bits & 1u) != 0) return nearest;
  const bool below = std::fabs(static_cast<double>(nearest)) < std::fabs(value);
  return std::bit_cast<float>(below ? bits + 1 : bits - 1);
}
float OddFloat(uint64_t magnitude) {
  const int excess = static_cast<int>(std::bit_width(magnitude)) - 24;
  if (excess > 0) {
    const uint64_t rest = (uint64_t{1} << excess) - 1;
    magnitude = (magnitude & rest) == 0 ? magnitude : (magnitude & ~rest) | (rest + 1);
  }
  return static_cast<float>(magnitude);
}
float OddFloat(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return value < 0 ? -OddFloat(0 - bits) : OddFloat(bits);
}

template <class V>
int64_t Truncated(V value) {
  if (std::isnan(value)) return 0;
  if (value >= V{0x1p63}) return std::numeric_limits<int64_t>::max();
  if (value < V{-0x1p63}) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}
template <class V>
uint64_t TruncatedUnsigned(V value) {
  if (value >= V{0x1p64}) return std::numeric_limits<uint64_t>::max();
  return value >= V{0x1p63} ? static_cast<uint64_t>(value)
                            : static_cast<uint64_t>(Truncated(value));
}

// Returns the number that an element stands for.
template <class T>
auto ValueOf(T element) {
  if constexpr (kIsHalf<T>) {
    return base::ToFloat(element);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return int64_t{element.byte != 0};
  } else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, uint64_t>) {
    return element;
  } else {
    return static_cast<int64_t>(element);
  }
}

template <class To, class V>
To Rounded(V value) {
  if constexpr (std::is_same_v<To, Bool>) {
    return {static_cast<uint8_t>(value != V{0})};
  } else if constexpr (kIsHalf<To>) {
    return base::Narrow<To>(OddFloat(value));
  } else if constexpr (std::is_same_v<To, uint64_t> && std::is_floating_point_v<V>) {
    return TruncatedUnsigned(value);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<V>) {
    return static_cast<To>(Truncated(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class T, class C>
void Load(const void* from, int64_t stride, int64_t count, void* to) {
  auto* const __restrict out = static_cast<C*>(to);
  if (stride == static_cast<int64_t>(sizeof(T))) {
    const auto* const __restrict in = static_cast<const T*>(from);
    for (int64_t i = 0; i < count; ++i) out[i] = Rounded<C>(ValueOf(in[i]));
    return;
  }
  const auto* in = static_cast<const char*>(from);
  for (int64_t i = 0; i < count; ++i, in += stride) {
    out[i] = Rounded<C>(ValueOf(*reinterpret_cast<const T*>(in)));
  }
}

template <class C, class T>
void Store(const void* from, void* to, int64_t stride, int64_t count) {
  const auto* const __restrict in = static_cast<const C*>(from);
  if (stride == static_cast<int64_t>(sizeof(T))) {
    auto* const __restrict out = static_cast<T*>(to);
    for (int64_t i = 0; i < count; ++i) out[i] = Rounded<T>(in[i]);
    return;
  }
  auto* out = static_cast<char*>(to);
  for (int64_t i = 0; i < count; ++i, out += stride) {
    *reinterpret_cast<T*>(out) = Rounded<T>(in[i]);
  }
}

}  // namespace

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         dtype == DType::kDouble;
}

bool IsElement(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kBool:
      return true;
    default:
      return IsFloating(dtype);
  }
}

bool IsConvertible(DType dtype) {
  return IsElement(dtype) || dtype == kUInt16 || dtype == kUInt32 || dtype == kUInt64;
}

Compute ComputeOf(DType dtype) {
  if (dtype == kUInt64) return Compute::kUnsigned;
  if (dtype == DType::kDouble) return Compute::kDouble;
  return IsFloating(dtype) ? Compute::kFloat : Compute::kInteger;
}

DType BitsOf(DType dtype) {
  switch (base::DTypeSize(dtype)) {
    case 1:
      return DType::kInt8;
    case 2:
      return DType::kInt16;
    case 4:
      return DType::kInt32;
    default:
      return DType::kInt64;
  }
}

Loader LoaderOf(DType from, Compute to) {
  return Dispatch(from, [&](auto element) -> Loader {
    return Dispatch(to, [&](auto compute) -> Loader {
      return &Load<typename decltype(element)::type, typename decltype(compute)::type>;
    });
  });
}

Storer StorerOf(Compute from, DType to) {
  return Dispatch(to, [&](auto element) -> Storer {
    return Dispatch(from, [&](auto compute) -> Storer {
      return &Store<typename decltype(compute)::type, typename decltype(element)::type>;
    });
  });
}

}  // namespace portacl::companion
