// Parameters of the kernels of deformable convolution, of its samples alone (deformable offsets),
// and of the gradients of both.
#ifndef PORTACL_OPS_DEFORM_CONV_PARAMS_H_
#define PORTACL_OPS_DEFORM_CONV_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"
#include "ops/tensor_params.h"

namespace portacl::ops {

// Where offsets lie. Let i = group * taps + tap for a point (n, group, kernel tap, oh, ow). Its x
// is in plane x + step * i of the offsets, its y in plane y + step * i. Its mask is in plane i of
// the masks.
struct DeformConvPlanes {
  int64_t x = 0;
  int64_t y = 0;
  int64_t step = 1;
};

// A column holds the samples of one position: all channels for each kernel tap. Without a weight
// the columns are the output, and grad_columns is the output's gradient.
struct DeformConvParams {
  using Read = ReadTensor<4>;
  using Written = WrittenTensor<4>;

  base::DType dtype = base::DType::kFloat;
  bool backward = false;
  bool bias_is_float = false;
  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_channels = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  std::array<int64_t, 2> kernel{};  // along H, W, like the next three members
  std::array<int64_t, 2> stride{};
  std::array<int64_t, 2> padding{};  // rows above and columns left of the image
  std::array<int64_t, 2> dilation{};
  int64_t groups = 1;
  int64_t offset_groups = 1;
  DeformConvPlanes planes;

  Read input;         // (images, channels, height, width)
  Read weight;        // (out_channels, channels / groups, kernel)
  Read offset;        // (images, planes, out_height, out_width)
  Read mask;          // (images, offset_groups * taps, out_height, out_width)
  Read bias;          // (out_channels); FLOAT beside 16-bit tensors if bias_is_float
  Read grad_output;   // like the output
  Read columns;       // used for weight_grad; computed if not given
  Read grad_columns;  // like the columns
  Written output;     // (images, out_channels, out_height, out_width)
  // The samples (images, channels, out_height * kernel[0], out_width * kernel[1]). Tap (kh, kw) of
  // position (oh, ow) is at row oh * kernel[0] + kh, column ow * kernel[1] + kw.
  Written out_columns;
  Written input_grad;
  Written weight_grad;
  Written offset_grad;
  Written mask_grad;
  Written bias_grad;

  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t positions() const { return out_height * out_width; }
  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }
  int64_t offset_channels() const { return channels / offset_groups; }
  bool wants_point_grads() const { return offset_grad.has || mask_grad.has; }
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_DEFORM_CONV_PARAMS_H_
