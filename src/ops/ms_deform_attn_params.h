// Parameters of the kernels of multi-scale deformable attention: the function and its gradient.
#ifndef PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_
#define PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// One level of the pyramid: pixel (y, x) is key start + y * width + x. A level that does not fit
// among the keys has height 0, and nothing reads its other members.
struct MsDeformAttnLevel {
  int64_t height = 0;
  int64_t width = 0;
  int64_t start = 0;
};

// Strides in elements, any sign; 0 only in tensors that are read. Pointers are to the first
// element. A gradient that is not wanted is null.
struct MsDeformAttnParams {
  base::DType dtype = base::DType::kFloat;        // of value, output and their gradients
  base::DType point_dtype = base::DType::kFloat;  // of locations and weights: `dtype` or FLOAT
  bool backward = false;
  bool want_value_grad = false;  // known when the kernel plans, unlike the addresses
  bool want_point_grad = false;
  int64_t batch = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t channels = 0;
  int64_t queries = 0;
  int64_t levels = 0;
  int64_t points = 0;
  const MsDeformAttnLevel* level = nullptr;  // one for each level; known when the call runs
  const void* value = nullptr;               // (batch, keys, heads, channels)
  const void* location = nullptr;            // (batch, queries, heads, levels, points, 2), x first
  const void* weight = nullptr;              // (batch, queries, heads, levels, points)
  void* output = nullptr;      // (batch, queries, heads, channels); backward: its gradient, read
  void* value_grad = nullptr;  // like the tensors above
  void* location_grad = nullptr;
  void* weight_grad = nullptr;
  std::array<int64_t, 4> value_stride{};
  std::array<int64_t, 6> location_stride{};
  std::array<int64_t, 5> weight_stride{};
  std::array<int64_t, 4> output_stride{};
  std::array<int64_t, 4> value_grad_stride{};
  std::array<int64_t, 6> location_grad_stride{};
  std::array<int64_t, 5> weight_grad_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_
