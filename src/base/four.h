// Vectors of four numbers, for tables: most new plans are small and take most of their time for
// tables.
#ifndef PORTACL_BASE_FOUR_H_
#define PORTACL_BASE_FOUR_H_

namespace portacl::base {

template <class T>
struct FourOf {
  using Type [[gnu::vector_size(4 * sizeof(T))]] = T;
};
template <class T>
using Four = typename FourOf<T>::Type;

// Transposes 4 x 4 numbers: element j of row i becomes element i of row j.
template <class V>
[[gnu::always_inline]] inline void Transpose(const V (&from)[4], V (&to)[4]) {
  const auto& [a, b, c, d] = from;
  const V low_ac = __builtin_shufflevector(a, c, 0, 4, 1, 5);
  const V low_bd = __builtin_shufflevector(b, d, 0, 4, 1, 5);
  const V high_ac = __builtin_shufflevector(a, c, 2, 6, 3, 7);
  const V high_bd = __builtin_shufflevector(b, d, 2, 6, 3, 7);
  to[0] = __builtin_shufflevector(low_ac, low_bd, 0, 4, 1, 5);
  to[1] = __builtin_shufflevector(low_ac, low_bd, 2, 6, 3, 7);
  to[2] = __builtin_shufflevector(high_ac, high_bd, 0, 4, 1, 5);
  to[3] = __builtin_shufflevector(high_ac, high_bd, 2, 6, 3, 7);
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_FOUR_H_
