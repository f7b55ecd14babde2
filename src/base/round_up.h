// Sizes as multiples.
#ifndef PORTACL_BASE_ROUND_UP_H_
#define PORTACL_BASE_ROUND_UP_H_

#include <type_traits>

namespace portacl::base {

// The smallest multiple that is not below `value`, both from 0 on; it must fit into T.
template <class T>
constexpr T RoundUp(T value, std::type_identity_t<T> multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_ROUND_UP_H_
