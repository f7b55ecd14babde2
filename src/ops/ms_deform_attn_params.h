// Parameters of the kernels of multi-scale deformable attention: the function and its gradient.
#ifndef PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_
#define PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_

#include <cstdint>

#include "base/dtype.h"
#include "ops/tensor_params.h"

namespace portacl::ops {

// One level of the pyramid: pixel (y, x) is key start + y * width + x. A level beyond the keys has
// height 0, and nothing reads its other members.
struct MsDeformAttnLevel {
  int64_t height = 0;
  int64_t width = 0;
  int64_t start = 0;
};

struct MsDeformAttnParams {
  base::DType dtype = base::DType::kFloat;        // of value, output and their gradients
  base::DType point_dtype = base::DType::kFloat;  // of locations and weights: `dtype` or FLOAT
  bool backward = false;
  int64_t batch = 0;
  int64_t keys = 0;
  int64_t heads = 0;
  int64_t channels = 0;
  int64_t queries = 0;
  int64_t levels = 0;
  int64_t points = 0;
  const MsDeformAttnLevel* level = nullptr;  // one per level; known when the call runs
  ReadTensor<4> value;                       // (batch, keys, heads, channels)
  ReadTensor<6> location;                    // (batch, queries, heads, levels, points, 2), x first
  ReadTensor<5> weight;                      // (batch, queries, heads, levels, points)
  WrittenTensor<4> output;      // (batch, queries, heads, channels); backward: its gradient, read
  WrittenTensor<4> value_grad;  // like the tensors above
  WrittenTensor<6> location_grad;
  WrittenTensor<5> weight_grad;

  bool wants_point_grads() const { return location_grad.has || weight_grad.has; }
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_
