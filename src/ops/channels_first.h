// Tensors with the channels last, by their format, seen as (N, C, ...) tensors.
#ifndef PORTACL_OPS_CHANNELS_FIRST_H_
#define PORTACL_OPS_CHANNELS_FIRST_H_

#include "base/tensor_desc.h"

namespace portacl::ops {

// (N, ..., C) as (N, C, ...).
inline base::Dims ChannelsFirst(const base::Dims& dims) {
  base::Dims moved = dims;
  const int last = dims.rank() - 1;
  moved[1] = dims[last];
  for (int axis = 1; axis < last; ++axis) moved[axis + 1] = dims[axis];
  return moved;
}

// Whether a tensor has format NHWC or NDHWC, and its rank.
inline bool HasChannelsLast(const base::TensorDesc& tensor) {
  const int rank = tensor.format == base::Format::kNHWC    ? 4
                   : tensor.format == base::Format::kNDHWC ? 5
                                                           : -1;
  return tensor.shape.rank() == rank;
}

// A channels_last tensor with its axes moved; any other as it is.
inline base::TensorDesc ChannelsFirst(const base::TensorDesc& tensor) {
  base::TensorDesc moved = tensor;
  if (!HasChannelsLast(tensor)) return moved;
  moved.shape = ChannelsFirst(tensor.shape);
  moved.strides = ChannelsFirst(tensor.strides);
  return moved;
}

// Only its shape, or only its strides: that costs a call less.
inline base::Dims ChannelsFirstShape(const base::TensorDesc& tensor) {
  return HasChannelsLast(tensor) ? ChannelsFirst(tensor.shape) : tensor.shape;
}
inline base::Dims ChannelsFirstStrides(const base::TensorDesc& tensor) {
  return HasChannelsLast(tensor) ? ChannelsFirst(tensor.strides) : tensor.strides;
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CHANNELS_FIRST_H_
