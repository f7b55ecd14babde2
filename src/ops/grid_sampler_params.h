// Parameters of the grid sampler's kernels: the function and its gradients, for images and for
// volumes.
#ifndef PORTACL_OPS_GRID_SAMPLER_PARAMS_H_
#define PORTACL_OPS_GRID_SAMPLER_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

enum class Interpolation : int32_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class Padding : int32_t {
  kZeros = 0,
  kBorder = 1,
  kReflection = 2,
  kCircular = 3,  // kCircular and kConstant: native API only
  kConstant = 4
};

struct GridSampler2DShape {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 0;
  int64_t c = 0;
  int64_t h = 0;  // input extents, at least 1
  int64_t w = 0;
  int64_t oh = 0;  // points along H and W
  int64_t ow = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  double fill = 0;                // padding kConstant: the value of taps outside
  bool replaces_outside = false;  // points outside the image give `outside_value`
  double outside_value = 0;
};

// Returns true if points follow rules that the aclnn functions do not have.
inline bool IsExtended(const GridSampler2DShape& s) {
  return s.padding == Padding::kCircular || s.padding == Padding::kConstant || s.replaces_outside;
}

// Strides are in elements, of any sign; 0 only in inputs. Pointers point to element (0, 0, 0, 0).
struct GridSampler2DParams {
  GridSampler2DShape shape;
  const void* input = nullptr;  // (n, c, h, w)
  const void* grid = nullptr;   // (n, oh, ow, 2), x first
  void* output = nullptr;       // (n, c, oh, ow)
  std::array<int64_t, 4> input_stride{};
  std::array<int64_t, 4> grid_stride{};
  std::array<int64_t, 4> output_stride{};
};

// Strides are in elements, of any sign; 0 only in inputs. Pointers point to element (0, 0, 0, 0).
// The order of every sum is part of the contract: see docs/ops/grid_sampler_2d_backward.md.
struct GridSampler2DBackwardParams {
  GridSampler2DShape shape;  // n, c, oh and ow may be 0
  bool want_input_grad = true;
  bool want_grid_grad = true;
  const void* grad_output = nullptr;            // (n, c, oh, ow)
  const void* input = nullptr;                  // (n, c, h, w)
  const void* grid = nullptr;                   // (n, oh, ow, 2), x first
  void* input_grad = nullptr;                   // (n, c, h, w); not touched unless wanted
  void* grid_grad = nullptr;                    // (n, oh, ow, 2); not touched unless wanted
  std::array<int64_t, 4> grad_output_stride{};  // An input that no gradient reads,
  std::array<int64_t, 4> input_stride{};        // or that is empty, may be null. Its strides
  std::array<int64_t, 4> grid_stride{};         // are 0 then, so kernels stay at null.
  std::array<int64_t, 4> input_grad_stride{};
  std::array<int64_t, 4> grid_grad_stride{};
};

// ---- volumes: like images, with one more axis ---------------------------------------------------

struct GridSampler3DShape : GridSampler2DShape {
  int64_t d = 0;   // input extent, at least 1
  int64_t od = 0;  // planes of points
};

// Strides are in elements, of any sign; 0 only in inputs. Pointers are to element (0, 0, 0, 0, 0).
struct GridSampler3DParams {
  GridSampler3DShape shape;
  const void* input = nullptr;  // (n, c, d, h, w)
  const void* grid = nullptr;   // (n, od, oh, ow, 3): x, y, z
  void* output = nullptr;       // (n, c, od, oh, ow)
  std::array<int64_t, 5> input_stride{};
  std::array<int64_t, 5> grid_stride{};
  std::array<int64_t, 5> output_stride{};
};

// The order of every sum is part of the contract: see docs/ops/grid_sampler_3d_backward.md.
struct GridSampler3DBackwardParams {
  GridSampler3DShape shape;  // n, c, od, oh and ow may be 0
  bool want_input_grad = true;
  bool want_grid_grad = true;
  const void* grad_output = nullptr;            // (n, c, od, oh, ow)
  const void* input = nullptr;                  // (n, c, d, h, w)
  const void* grid = nullptr;                   // (n, od, oh, ow, 3): x, y, z
  void* input_grad = nullptr;                   // (n, c, d, h, w); not touched unless wanted
  void* grid_grad = nullptr;                    // (n, od, oh, ow, 3); not touched unless wanted
  std::array<int64_t, 5> grad_output_stride{};  // An input that no gradient reads,
  std::array<int64_t, 5> input_stride{};        // or that is empty, may be null. Its strides
  std::array<int64_t, 5> grid_stride{};         // are 0 then, so kernels stay at null.
  std::array<int64_t, 5> input_grad_stride{};
  std::array<int64_t, 5> grid_grad_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_PARAMS_H_
