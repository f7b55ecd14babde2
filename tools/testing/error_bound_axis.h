// One axis of a sampling point. The coordinate's place is computed in the operator's arithmetic;
// the taps, weights and derivatives in the arithmetic of error_bound.h.
#ifndef PORTACL_TOOLS_TESTING_ERROR_BOUND_AXIS_H_
#define PORTACL_TOOLS_TESTING_ERROR_BOUND_AXIS_H_

#include <cstdint>
#include <vector>

#include "tools/testing/error_bound_sum.h"

namespace portacl::golden {

enum Interpolation { kBilinear = 0, kNearestPixel = 1, kBicubic = 2 };
enum Padding { kZeros = 0, kBorder = 1, kReflection = 2, kCircular = 3, kConstant = 4 };

struct SamplerMode {
  int64_t interpolation = kBilinear;
  int64_t padding = kZeros;
  bool align_corners = false;
  bool replaces_outside = false;
};

template <class Wide>
struct Tap {
  int64_t index = 0;   // -1: outside, where constant padding has a value
  bool extra = false;  // only if a moved coordinate has it: the weight is 0 here
  // Of the value; of the value's derivative with respect to the grid's coordinate (with m and d).
  Wide weight = 0, slope = 0;
  double weight_magnitude = 0, slope_magnitude = 0;  // of their terms: bicubic's cancel
  double weight_spread = 0, slope_spread = 0;
  bool weight_steady = true, slope_steady = true;  // the same sign, not 0, wherever it moves
};

enum class Reach { kInside, kOutside, kUnusable };

template <class Wide>
struct AxisPoint {
  Reach reach = Reach::kInside;
  bool wild = false;  // so far outside that rounding decides where a fold ends
  // `replaced`: the point is outside the image, and the rule replaces such points. `at_edge`: it is
  // so near the edge that rounding decides.
  bool replaced = false, at_edge = false;
  std::vector<Tap<Wide>> taps;
};

// `coordinate` is the grid's value, `extent` the image's along the axis.
template <class Float>
AxisPoint<typename WideOf<Float>::Type> AxisPointAt(Float coordinate, int64_t extent,
                                                    const SamplerMode& mode);

extern template AxisPoint<double> AxisPointAt(float, int64_t, const SamplerMode&);
extern template AxisPoint<Quad> AxisPointAt(double, int64_t, const SamplerMode&);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_ERROR_BOUND_AXIS_H_
