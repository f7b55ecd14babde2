// Quotients and multiples, rounded up.
#ifndef PORTACL_BASE_ROUND_UP_H_
#define PORTACL_BASE_ROUND_UP_H_

#include <cstdint>
#include <type_traits>

namespace portacl::base {

// a / b, rounded up; of numbers from 0 on, and b at least 1.
constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The smallest multiple that is not below `value`, both from 0 on; it must fit into T.
template <class T>
constexpr T RoundUp(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Rounds up to whole cache lines: bytes, or elements, `line` to a cache line.
template <class T>
constexpr T WholeLines(T count, std::type_identity_t<T> line = 64) {
  return RoundUp(count, line);
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_ROUND_UP_H_
