// Rules of the resizing functions' pages that the list of operators does not have. Also the meaning
// of a call: which tensor is the forward input, which scales count.
#ifndef PORTACL_OPS_UPSAMPLE_RULES_H_
#define PORTACL_OPS_UPSAMPLE_RULES_H_

#include <array>
#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/nearest_axis.h"
#include "ops/resample_axis.h"

namespace portacl::ops::upsample {

// The pages' largest tensors. The pages give no error for larger ones.

inline constexpr int64_t k20Bits = int64_t{1} << 20;
inline constexpr int64_t k24Bits = int64_t{1} << 24;
inline constexpr int64_t k31Bits = (int64_t{1} << 31) - 1;

// What a page's limit of 60 GiB counts, and whether the page limits rows. kLine: gradients of
// vectors. kSixteens: images, C rounded up to sixteens. kPlane: images. kVolume: volumes.
enum class Reach { kAny, kLine, kSixteens, kPlane, kVolume };

struct PageLimits {
  int64_t longest = 0;       // largest extent of any axis; 0: no limit
  int64_t longest_wide = 0;  // the same for spatial axes of DOUBLE and UINT8
  Reach reach = Reach::kAny;

  friend bool operator==(const PageLimits&, const PageLimits&) = default;
};
inline constexpr PageLimits kOfPlanes = {.longest = k20Bits, .reach = Reach::kPlane};
inline constexpr PageLimits kOfVolumes = {.longest = k20Bits, .reach = Reach::kVolume};

// Returns a sentence about the first limit that a call exceeds, else "". `in` and `out` are the
// extents (N, C, ...) of the forward function's input and output.
std::string BeyondPage(const PageLimits& limits, const base::Dims& in, const base::Dims& out,
                       bool backward, base::DType dtype);

enum class Mode { kNearest, kLinear, kCubic, kLanczos };

struct PageRules {
  bool empty = false;                     // N or C may be 0
  bool negative_scales = true;            // negative scales count as not given
  int64_t shrink = 0;                     // largest input extent / output extent; 0: no limit
  int64_t growth = 0;                     // largest output extent / input extent; 0: no limit
  PageLimits limits = {};                 // beyond them: a warning, no refusal
  bool double_channels_last = false;      // DOUBLE only in NHWC
  bool bf16_same_extent = false;          // BF16 only if input and output extents are equal
  bool fitting_scales = false;            // a scale counts only if O == floor(I * scale)
  bool input_size_channels_last = false;  // inputSize of an NHWC tensor is (N, H, W, C)
};
PageRules PageRulesOf(const Call& call);

Mode ModeOf(const Call& call);
bool IsBackward(const Call& call);
bool AlignCorners(const Call& call);
bool Antialias(const Call& call);
// The release of Pillow, 12 or 13, that the call asks to follow; 0: PyTorch.
int PillowRelease(const Call& call);
// For graph names with the attribute half_pixel_centers (exact_mode).
bool HalfPixelCenters(const Call& call);
// Neither half pixels nor aligned corners: coordinates count from the outer edge of element 0.
bool FromTopLeft(const Call& call);

Nearest NearestRuleOf(const Call& call);

// Extents of the forward function's input and output as (N, C, ...).
struct Sides {
  base::Dims in;
  base::Dims out;
};
Sides SidesOf(const Call& call);

// The scales for the tables, by axis (1D: L; 2D: H, W; 3D: D, H, W); 0 if the extents decide.
std::array<double, 3> UsedScales(const Call& call, const Sides& sides);

// The rules of D, H and W; an axis that the call lacks has extent 1 and stays as it is.
std::array<ResampleRule, 3> RulesOf(const Call& call);

}  // namespace portacl::ops::upsample

#endif  // PORTACL_OPS_UPSAMPLE_RULES_H_
