// How far a result may be from the exact one: one function of (operator, element type), with its
// reason. Nothing else in the tests decides a tolerance.
#ifndef PORTACL_TESTS_SUPPORT_API_TOLERANCE_H_
#define PORTACL_TESTS_SUPPORT_API_TOLERANCE_H_

#include <cstdint>

#include "support/api/element.h"

namespace portacl_test {

enum class Operator { kNearestExact, kNearestExactBackward, kGridSampler, kGridSamplerBackward };

// An exact sum: its value, the sum of its terms' magnitudes and the number of terms. For bicubic a
// weight's magnitude is the sum of its polynomial's magnitudes, because the terms cancel: up to 36
// for weights below 1.
struct ExactSum {
  long double value = 0;
  long double magnitude = 0;
  int64_t terms = 0;

  void Add(long double weight, long double weight_magnitude, long double factor) {
    value += weight * factor;
    magnitude += weight_magnitude * (factor < 0 ? -factor : factor);
    ++terms;
  }
};

// Largest |result - exact| that is allowed.
//
// Nearest-exact: 0. The order of the sums is part of the contract, so the bits are.
//
// Grid sampler, after coordinates that are the operator's own bit for bit: each of the n terms is
// added with one rounding (eps/2 of a partial sum, which is at most sum|terms|), and reaches its
// sum through at most 8 more roundings (differences, weights, products): (n + 8) * eps/2 *
// sum|terms| to first order. Then the result is rounded to the element type: half of its distance
// to a neighbour. For gridGrad n is 16 + the number of 16-channel blocks, for the lanes' tree and
// the derivative. eps belongs to the arithmetic: float, or double for DOUBLE.
inline long double AllowedError(Operator op, Element element, const ExactSum& exact) {
  if (op == Operator::kNearestExact || op == Operator::kNearestExactBackward) return 0;
  const long double half_epsilon = ComputeEpsilon(element) / 2;
  const long double half_ulp = UlpAt(element, static_cast<double>(exact.value)) / 2;
  return static_cast<long double>(exact.terms + 8) * half_epsilon * exact.magnitude + half_ulp;
}

// Largest |result - PyTorch's result, calculated in double|, where `exact` is the oracle's sum for
// the element and `largest` the largest magnitude among the tensor's sums. On top of AllowedError:
// coordinates that were rounded to float lie within 4 eps * `extent` of the exact ones, and the
// steepest weight (bicubic's second derivative, below 8) carries that into the terms. FLOAT16 and
// BF16 grid values give exact coordinates at the stored sizes; double needs the same with its eps.
inline long double AllowedFromPyTorch(Element element, const ExactSum& exact, int64_t extent,
                                      long double largest) {
  const long double coordinate = 4 * ComputeEpsilon(element) * static_cast<long double>(extent);
  return 2 * AllowedError(Operator::kGridSamplerBackward, element, exact) +
         8 * coordinate * largest;
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_TOLERANCE_H_
