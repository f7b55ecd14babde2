// Parameters of the grid sampler kernels: of the forward function, and the common part of the
// backward one.
#ifndef PORTACL_OPS_GRID_SAMPLER_2D_PARAMS_H_
#define PORTACL_OPS_GRID_SAMPLER_2D_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

enum class Interpolation : int32_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum class Padding : int32_t {
  kZeros = 0,
  kBorder = 1,
  kReflection = 2,
  kCircular = 3,  // these two in the native API alone
  kConstant = 4
};

struct GridSampler2DShape {
  base::DType dtype = base::DType::kFloat;
  int64_t n = 0;
  int64_t c = 0;
  int64_t h = 0;  // input extents, at least 1
  int64_t w = 0;
  int64_t oh = 0;  // points
  int64_t ow = 0;
  Interpolation interpolation = Interpolation::kBilinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
  double fill = 0;                // of padding kConstant: the value of taps outside
  bool replaces_outside = false;  // a point outside the image is `outside_value`
  double outside_value = 0;
};

// Whether points follow rules that the aclnn functions lack.
inline bool IsExtended(const GridSampler2DShape& s) {
  return s.padding == Padding::kCircular || s.padding == Padding::kConstant || s.replaces_outside;
}

// Strides in elements, any sign; 0 only in inputs. Pointers are to element (0, 0, 0, 0).
struct GridSampler2DParams {
  GridSampler2DShape shape;
  const void* input = nullptr;  // (n, c, h, w)
  const void* grid = nullptr;   // (n, oh, ow, 2), x first
  void* output = nullptr;       // (n, c, oh, ow)
  std::array<int64_t, 4> input_stride{};
  std::array<int64_t, 4> grid_stride{};
  std::array<int64_t, 4> output_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_2D_PARAMS_H_
