// Computes the sine: subtracts quarters of the circle from the angle, then sums a series of the
// rest. A quarter is a sum of three doubles; the first two terms of the series are sums of two
// doubles. The compiler must not fuse operations here (cmake/compiler.cmake).
#include "ops/sine.h"

#include <cmath>
#include <cstdint>

namespace portacl::ops {
namespace {

// An angle of at most an eighth of the circle, as a sum of two doubles.
struct Angle {
  double angle;
  double rest;
};

// Returns f0 - x (f1 - x (f2 - ...)). The arguments are ..., f2, f1, f0.
template <class... Factors>
double Alternating(double x, Factors... factors) {
  double sum = 0;
  ((sum = factors - x * sum), ...);
  return sum;
}

double SineOf(Angle r) {
  const double square = r.angle * r.angle;
  const double square_rest = std::fma(r.angle, r.angle, -square);
  const double cube = r.angle * square;
  const double cube_rest = std::fma(r.angle, square, -cube) + r.angle * square_rest;
  const double sixth = cube / 6;
  const double sixth_rest = (std::fma(-6.0, sixth, cube) + cube_rest) / 6;
  const double series =
      Alternating(square, 1 / 121645100408832000.0, 1 / 355687428096000.0, 1 / 1307674368000.0,
                  1 / 6227020800.0, 1 / 39916800.0, 1 / 362880.0, 1 / 5040.0, 1 / 120.0);
  const double sum = r.angle - sixth;
  const double sum_rest = ((r.angle - sum) - sixth) - sixth_rest;
  return sum + (sum_rest + square * cube * series + r.rest * (1 - square / 2));
}

double CosineOf(Angle r) {
  const double square = r.angle * r.angle;
  const double square_rest = std::fma(r.angle, r.angle, -square);
  const double half = square / 2;
  const double series =
      Alternating(square, 1 / 6402373705728000.0, 1 / 20922789888000.0, 1 / 87178291200.0,
                  1 / 479001600.0, 1 / 3628800.0, 1 / 40320.0, 1 / 720.0, 1 / 24.0);
  const double sum = 1 - half;
  const double sum_rest = ((1 - sum) - half) - square_rest / 2;
  return sum + (sum_rest + square * square * series - r.rest * (r.angle - r.angle * square / 6));
}

}  // namespace

double Sine(double x) {
  // A quarter in three parts. The multiples of the first two parts by up to 7 are exact.
  constexpr double kFirst = 0x1.921fb544p0;
  constexpr double kSecond = 0x1.0b4611a6p-34;
  constexpr double kThird = 0x1.3198a2e037073p-69;
  constexpr double kQuartersPerUnit = 0x1.45f306dc9c883p-1;
  const auto quarters = static_cast<int64_t>(x * kQuartersPerUnit + 0.5);
  const auto times = static_cast<double>(quarters);
  const double rough = x - times * kFirst;
  const double second = times * kSecond;
  const double angle = rough - second;
  const double back = rough - angle;
  const double rest = (rough - (angle + back)) + (back - second) - times * kThird;
  const double sine = quarters % 2 == 0 ? SineOf({angle, rest}) : CosineOf({angle, rest});
  return quarters % 4 < 2 ? sine : -sine;
}

}  // namespace portacl::ops
