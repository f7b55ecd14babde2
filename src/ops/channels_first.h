// Views tensors with formats NHWC and NDHWC as (N, C, ...) tensors.
#ifndef PORTACL_OPS_CHANNELS_FIRST_H_
#define PORTACL_OPS_CHANNELS_FIRST_H_

#include "base/tensor_desc.h"

namespace portacl::ops {

// Moves extents or strides from (N, ..., C) to (N, C, ...).
inline base::Dims ChannelsFirst(const base::Dims& dims) {
  base::Dims moved = dims;
  const int last = dims.rank() - 1;
  moved[1] = dims[last];
  for (int axis = 1; axis < last; ++axis) moved[axis + 1] = dims[axis];
  return moved;
}

// Returns true if a tensor has format NHWC or NDHWC, and the rank of its format.
inline bool HasChannelsLast(const base::TensorDesc& tensor) {
  const int rank = tensor.format == base::Format::kNHWC    ? 4
                   : tensor.format == base::Format::kNDHWC ? 5
                                                           : -1;
  return tensor.shape.rank() == rank;
}

// Returns the tensor as (N, C, ...). Tensors of other formats stay as they are.
inline base::TensorDesc ChannelsFirst(const base::TensorDesc& tensor) {
  base::TensorDesc moved = tensor;
  if (!HasChannelsLast(tensor)) return moved;
  moved.shape = ChannelsFirst(tensor.shape);
  moved.strides = ChannelsFirst(tensor.strides);
  return moved;
}

// Return only the shape or only the strides, which costs less.
inline base::Dims ChannelsFirstShape(const base::TensorDesc& tensor) {
  return HasChannelsLast(tensor) ? ChannelsFirst(tensor.shape) : tensor.shape;
}
inline base::Dims ChannelsFirstStrides(const base::TensorDesc& tensor) {
  return HasChannelsLast(tensor) ? ChannelsFirst(tensor.strides) : tensor.strides;
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CHANNELS_FIRST_H_
