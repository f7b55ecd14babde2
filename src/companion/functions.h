// The functions of the companion operators, for blocks of elements of a compute type.
#ifndef PORTACL_COMPANION_FUNCTIONS_H_
#define PORTACL_COMPANION_FUNCTIONS_H_

#include <array>
#include <cstdint>

#include "companion/element.h"
#include "companion/operators.h"

namespace portacl::companion {

inline constexpr int kMaxInputs = 3;

// Rows of the compute type. `out` must not overlap an input.
struct Block {
  int64_t count;
  std::array<const void*, kMaxInputs> in;
  const void* factor;  // one value: alpha, or the factor of a loss's gradient
  void* out;
};
using BlockFunction = void (*)(const Block& block);

// Returns the function that computes element by element; comparisons give 1 or 0. Null if it does
// not exist: division of integers, bit operations on floating-point numbers, reductions, UINT64
// except kCopy. kSub is kAdd with the factor negated. kMseLoss is the squared difference.
BlockFunction BlockFunctionOf(Function function, Compute compute);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_FUNCTIONS_H_
