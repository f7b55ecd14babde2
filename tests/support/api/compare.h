// Comparing a result with what it must be. NaN where a number is expected fails, and the reverse.
#ifndef PORTACL_TESTS_SUPPORT_API_COMPARE_H_
#define PORTACL_TESTS_SUPPORT_API_COMPARE_H_

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/api/tensor.h"
#include "support/api/tolerance.h"

namespace portacl_test {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Every element within AllowedError of the exact value.
testing::AssertionResult WithinTolerance(Operator op, const Tensor& got,
                                         const std::vector<ExactSum>& want);

// Every element with the same bits (all NaN are one), and the same shape and type.
testing::AssertionResult BitIdentical(const Tensor& got, const Tensor& want);

// The community's standard for comparing with another implementation: mean and maximum of
// |got - want| / (|want| + 1e-7) below T and 10 T, T = 2^-13 FLOAT, 2^-10 FLOAT16, 2^-7 BF16,
// 2^-44 DOUBLE.
testing::AssertionResult WithinCommunityStandard(const Tensor& got,
                                                 const std::vector<double>& want);

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_COMPARE_H_
