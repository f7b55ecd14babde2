// Parameters of the kernels of multi-scale deformable attention: the function and its gradient.
#ifndef PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_
#define PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_

#include <cstdint>

#include "base/checked.h"
#include "base/dtype.h"
#include "ops/tensor_params.h"

namespace portacl::ops {

// One level of the pyramid: pixel (y, x) is key start + y * width + x.
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
  base::DType shapes_dtype = base::DType::kInt64;  // or INT32
  base::DType starts_dtype = base::DType::kInt64;
  ReadTensor<4> value;          // (batch, keys, heads, channels)
  ReadTensor<2> shapes;         // (levels, 2): height, width
  ReadTensor<1> starts;         // (levels)
  ReadTensor<6> location;       // (batch, queries, heads, levels, points, 2), x first
  ReadTensor<5> weight;         // (batch, queries, heads, levels, points)
  WrittenTensor<4> output;      // (batch, queries, heads, channels); backward: its gradient, read
  WrittenTensor<4> value_grad;  // like the tensors above
  WrittenTensor<6> location_grad;
  WrittenTensor<5> weight_grad;

  // Return level l: as the tensors give it, or with height 0 if it does not fit the keys. Then
  // nothing reads its other members.
  MsDeformAttnLevel GivenLevel(int64_t l) const {
    return {IndexAt(shapes, shapes_dtype, l), IndexAt(shapes, shapes_dtype, l, 1),
            IndexAt(starts, starts_dtype, l)};
  }
  MsDeformAttnLevel Level(int64_t l) const {
    const MsDeformAttnLevel level = GivenLevel(l);
    return Fits(level) ? level : MsDeformAttnLevel{};
  }
  bool Fits(const MsDeformAttnLevel& level) const {
    int64_t end = 0;
    return level.height >= 1 && level.width >= 1 && level.start >= 0 &&
           base::CheckedMul(level.height, level.width, &end) &&
           base::CheckedAdd(end, level.start, &end) && end <= keys;
  }
  bool wants_point_grads() const { return location_grad.has || weight_grad.has; }
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_MS_DEFORM_ATTN_PARAMS_H_
