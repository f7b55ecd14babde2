// Arithmetic on sizes. Functions report overflow, or return the largest value, instead of wrapping.
#ifndef PORTACL_BASE_CHECKED_H_
#define PORTACL_BASE_CHECKED_H_

#include <cstdint>
#include <initializer_list>

namespace portacl::base {

// Both return false if the exact result does not fit T; *out is unspecified then.
template <class T>
[[nodiscard]] constexpr bool CheckedMul(T a, T b, T* out) {
  return !__builtin_mul_overflow(a, b, out);
}
template <class T>
[[nodiscard]] constexpr bool CheckedAdd(T a, T b, T* out) {
  return !__builtin_add_overflow(a, b, out);
}
template <class T>
[[nodiscard]] constexpr bool CheckedSub(T a, T b, T* out) {
  return !__builtin_sub_overflow(a, b, out);
}

// Returns the product of factors that are not negative; INT64_MAX if 64 bits do not hold it.
constexpr int64_t SaturatedProduct(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool fits = true;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    fits = fits && CheckedMul(product, factor, &product);
  }
  return fits ? product : INT64_MAX;
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_CHECKED_H_
