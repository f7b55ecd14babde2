// An operator's outputs in exact arithmetic, and how far a correct kernel may be from them.
//
// The bound of an element, a sum of n terms t. u is half the distance of 1 and the next number of
// the arithmetic (float; double for DOUBLE):
//
//   gamma(n + r) * sum|t|   gamma(k) = k u / (1 - k u): n additions in any order, fused or not, and
//                           up to r = 4 more roundings an axis in a term (8 for images, 12 for
//                           volumes: differences, weights, products);
//                           nearest: gamma(n - 1), its terms are elements themselves; antialiased:
//                           twice the taps of an axis more: its weights are divided by their
//                           sum
//   + spread                the change of the terms if a coordinate moves by 8 eps max(W, |ix|)
//                           (resizing: by 4 eps (|x| + r + 1); affine grids' places: by 4 eps). A
//                           correct kernel's coordinate lies within 4 of the exact one, and so
//                           does ours. 0 if the coordinate is exact in every arithmetic: so
//                           pixel centres, halves, edges and folds are judged exactly there
//   + half an ULP           of the element type, for the rounding at the end
#ifndef PORTACL_TOOLS_TESTING_ERROR_BOUND_H_
#define PORTACL_TOOLS_TESTING_ERROR_BOUND_H_

#include <cstdint>
#include <vector>

#include "tools/testing/call.h"

namespace portacl::golden {

// One output, row-major. If the bound is infinity, every value is right: the order of additions
// decides, as in a sum that overflows. If the value is NaN, only NaN is right.
struct Exact {
  std::vector<double> value, bound;
};

// For each output of the call, in order; an output that the mask leaves out has empty vectors. The
// same bits on every machine: sums in double, for DOUBLE in quadruple precision.
std::vector<Exact> ExactOutputs(const Call& call);

// Distance of neighbouring numbers of the type at `value`.
double UlpAt(DataType dtype, double value);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_ERROR_BOUND_H_
