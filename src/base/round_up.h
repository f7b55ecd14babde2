// Division and multiples, rounded up.
#ifndef PORTACL_BASE_ROUND_UP_H_
#define PORTACL_BASE_ROUND_UP_H_

#include <cstdint>
#include <type_traits>

namespace portacl::base {

// Returns a / b rounded up, for a >= 0 and b >= 1.
constexpr int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Returns the smallest multiple of `multiple` that is at least `value` (>= 0). It must fit into T.
template <class T>
constexpr T RoundUp(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Rounds a count up to whole cache lines. `line`: how many bytes or elements a cache line has.
template <class T>
constexpr T WholeLines(T count, std::type_identity_t<T> line = 64) {
  return RoundUp(count, line);
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_ROUND_UP_H_
