// The words for the grid sampler's modes, in the order of the modes' values.
#ifndef PORTACL_OPS_GRID_SAMPLER_MODES_H_
#define PORTACL_OPS_GRID_SAMPLER_MODES_H_

#include <array>

namespace portacl::ops {

using ModeNames = std::array<const char*, 3>;

inline constexpr ModeNames kInterpolationNames{"bilinear", "nearest", "bicubic"};
inline constexpr ModeNames kPaddingNames{"zeros", "border", "reflection"};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_GRID_SAMPLER_MODES_H_
