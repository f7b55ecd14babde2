// Nearest-exact upsampling, written from the rule alone.
#ifndef PORTACL_TESTS_SUPPORT_API_NEAREST_ORACLE_H_
#define PORTACL_TESTS_SUPPORT_API_NEAREST_ORACLE_H_

#include <cstdint>
#include <vector>

#include "support/api/tensor.h"

namespace portacl_test {

// Source of one output index; scale 0 means "use the sizes".
int64_t NearestSource(int64_t o, int64_t in, int64_t out, double scale);

// gradInput of the given shape, (N, C, L), (N, C, H, W) or (N, C, D, H, W), dense, in the
// contract's order and bits. `scales` is empty or has one value per spatial axis.
Tensor NearestBackward(const Tensor& grad_output, const Shape& grad_input_shape,
                       const std::vector<double>& scales = {});

// The forward function: output of the given shape.
Tensor NearestForward(const Tensor& input, const Shape& output_shape,
                      const std::vector<double>& scales = {});

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_NEAREST_ORACLE_H_
