// Arithmetic with the same bits on GPU and host. Neither compiler may fuse operations: -fmad=false
// on the GPU, -ffp-contract=off on the host. Fused steps are explicit.
#ifndef PORTACL_BASE_DEVICE_MATH_H_
#define PORTACL_BASE_DEVICE_MATH_H_

#include <cmath>

#if defined(__CUDACC__)
#define PORTACL_DEVICE __host__ __device__
#else
#define PORTACL_DEVICE
#endif

namespace portacl::base {

PORTACL_DEVICE inline float Fma(float a, float b, float c) {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}
PORTACL_DEVICE inline double Fma(double a, double b, double c) {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

PORTACL_DEVICE inline float Floor(float v) { return floorf(v); }
PORTACL_DEVICE inline double Floor(double v) { return floor(v); }
// Rounds halves to even, because tasks run in the default rounding mode.
PORTACL_DEVICE inline float RoundToEven(float v) { return rintf(v); }
PORTACL_DEVICE inline double RoundToEven(double v) { return rint(v); }
PORTACL_DEVICE inline float Abs(float v) { return fabsf(v); }
PORTACL_DEVICE inline double Abs(double v) { return fabs(v); }
template <class F>
PORTACL_DEVICE bool IsNaN(F v) {
  return !(v == v);  // NOLINT(misc-redundant-expression): only NaN differs from itself
}
template <class F>
PORTACL_DEVICE bool IsInfinite(F v) {
  constexpr double kMost = sizeof(F) == 4 ? double{3.402823466e38F} : 1.7976931348623157e308;
  return Abs(v) > static_cast<F>(kMost);
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_DEVICE_MATH_H_
