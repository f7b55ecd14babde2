// Elements and arithmetic for GPUs. Results have the bits of base/half.h and of the CPU's kernels,
// except the payload of a NaN. The compiler fuses no operations (-fmad=false); fused steps are
// explicit.
#ifndef PORTACL_CUDA_ELEMENT_H_
#define PORTACL_CUDA_ELEMENT_H_

#include <cstdint>

#include "base/device_math.h"
#include "base/half.h"
#include "cuda/device.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace portacl::cuda {

using base::Abs;
using base::BFloat16;
using base::ComputeType;
using base::Float16;
using base::Floor;
using base::Fma;
using base::IsInfinite;
using base::IsNaN;
using base::RoundToEven;

PORTACL_DEVICE inline float Widened(float v) { return v; }
PORTACL_DEVICE inline double Widened(double v) { return v; }
PORTACL_DEVICE inline float Widened(Float16 v) {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(v.bits));
#else
  return base::ToFloat(v);
#endif
}
PORTACL_DEVICE inline float Widened(BFloat16 v) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(static_cast<unsigned>(v.bits) << 16);
#else
  return base::ToFloat(v);
#endif
}

PORTACL_DEVICE inline void Store(float v, float* to) { *to = v; }
PORTACL_DEVICE inline void Store(double v, double* to) { *to = v; }
PORTACL_DEVICE inline void Store(float v, Float16* to) {
#if defined(__CUDA_ARCH__)
  to->bits = __half_as_ushort(__float2half_rn(v));
#else
  *to = base::ToFloat16(v);
#endif
}
PORTACL_DEVICE inline void Store(float v, BFloat16* to) {
#if defined(__CUDA_ARCH__)
  to->bits = __bfloat16_as_ushort(__float2bfloat16_rn(v));
#else
  *to = base::ToBFloat16(v);
#endif
}

// kCount elements, loaded or stored at once.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Pack {
  T values[kCount];
};

// The number of elements in sixteen bytes.
template <class T>
inline constexpr int kPack = static_cast<int>(16 / sizeof(T));

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_ELEMENT_H_
