// Arithmetic on sizes that reports overflow instead of wrapping.
#ifndef PORTACL_BASE_CHECKED_H_
#define PORTACL_BASE_CHECKED_H_

namespace portacl::base {

// Each returns false, and leaves *out unspecified, when the exact result does not fit T.
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

}  // namespace portacl::base

#endif  // PORTACL_BASE_CHECKED_H_
