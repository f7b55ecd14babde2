// The sine of the tables, against the C library's in long double.
#include "ops/sine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>

#include "support/api/random.h"

namespace portacl::ops {
namespace {

double UlpOf(double value) { return std::nextafter(value, HUGE_VAL) - value; }

// How far Sine(x) is off, in units in the last place.
double ErrorOf(double x) {
  const long double exact = std::sin(static_cast<long double>(x));
  const auto away = static_cast<double>(std::fabs(static_cast<long double>(Sine(x)) - exact));
  return away / UlpOf(std::fabs(static_cast<double>(exact)));
}

TEST(Sine, IsNearlyTheNearestDouble) {
  const uint64_t seed = portacl_test::FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  portacl_test::Random random(seed);
  for (int i = 0; i < 1000 * 1000; ++i) {
    const double x = random.Uniform(0, 9.9) * (i % 5 == 0 ? 0.01 : 1);
    ASSERT_LE(ErrorOf(x), 0.6) << x;  // at most 0.56 was seen
  }
}

TEST(Sine, KeepsItsBitsWhereItIsAlmostZero) {
  EXPECT_EQ(Sine(0), 0);
  EXPECT_EQ(Sine(1e-300), 1e-300);
  for (const double turns : {1.0, 2.0, 3.0}) {
    for (const double away : {-1e-9, 0.0, 1e-15, 1e-9}) {
      const double x = turns * std::numbers::pi + away;
      EXPECT_LE(ErrorOf(x), 1.5) << x;  // long double has 11 bits more, and pi of it is cut too
      EXPECT_EQ(std::signbit(Sine(x)), std::signbit(std::sin(x))) << x;
    }
  }
}

}  // namespace
}  // namespace portacl::ops
