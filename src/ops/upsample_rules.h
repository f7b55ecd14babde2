// Rules of the resizing functions' pages that the list of operators does not have. Also the meaning
// of a call: which side is the input, which scales count.
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

// The largest tensors by the pages, which have no error row for larger ones.

inline constexpr int64_t k20Bits = int64_t{1} << 20;
inline constexpr int64_t k24Bits = int64_t{1} << 24;
inline constexpr int64_t k31Bits = (int64_t{1} << 31) - 1;

// Which tensors share a page's limit of 60 GiB, and the page's words about rows. The kinds:
// gradients of vectors; images with channels counted in sixteens; images; volumes.
enum class Reach { kAny, kLine, kSixteens, kPlane, kVolume };

struct PageLimits {
  int64_t longest = 0;       // extent of any axis; 0: any
  int64_t longest_wide = 0;  // of a spatial axis of DOUBLE and UINT8
  Reach reach = Reach::kAny;

  friend bool operator==(const PageLimits&, const PageLimits&) = default;
};
inline constexpr PageLimits kOfPlanes = {.longest = k20Bits, .reach = Reach::kPlane};
inline constexpr PageLimits kOfVolumes = {.longest = k20Bits, .reach = Reach::kVolume};

// The first limit that a call exceeds, as a sentence; else empty. `in` and `out` are the extents
// (N, C, ...) of the forward function's input and output.
std::string BeyondPage(const PageLimits& limits, const base::Dims& in, const base::Dims& out,
                       bool backward, base::DType dtype);

enum class Mode { kNearest, kLinear, kCubic, kLanczos };

struct PageRules {
  bool empty = false;                     // N or C may be 0
  bool negative_scales = true;            // count as none
  int64_t shrink = 0;                     // input extent / output extent at most; 0: any
  int64_t growth = 0;                     // output extent / input extent
  PageLimits limits = {};                 // as facts without an error row
  bool double_channels_last = false;      // DOUBLE in NHWC alone
  bool bf16_same_extent = false;          // BF16 if input and output have one extent
  bool fitting_scales = false;            // a scale counts only if O == floor(I * scale)
  bool input_size_channels_last = false;  // inputSize of an NHWC tensor is (N, H, W, C)
};
PageRules PageRulesOf(const Call& call);

Mode ModeOf(const Call& call);
bool IsBackward(const Call& call);
bool AlignCorners(const Call& call);
bool Antialias(const Call& call);
// The release of Pillow that a picture is resized as, 12 or 13; 0: as PyTorch does.
int PillowRelease(const Call& call);
// For graph names that have the attribute half_pixel_centers (exact_mode).
bool HalfPixelCenters(const Call& call);
// Neither half pixels nor corners: places are counted from the first elements' outer edges.
bool FromTopLeft(const Call& call);

Nearest NearestRuleOf(const Call& call);

// Extents of the forward function's input and output as (N, C, ...).
struct Sides {
  base::Dims in;
  base::Dims out;
};
Sides SidesOf(const Call& call);

// Scales as the tables take them: 1D: L; 2D: H, W; 3D: D, H, W; 0 if the extents decide.
std::array<double, 3> UsedScales(const Call& call, const Sides& sides);

// The tables of D, H and W; an axis that the call lacks has an extent of 1 and stays as it is.
std::array<ResampleRule, 3> RulesOf(const Call& call);

}  // namespace portacl::ops::upsample

#endif  // PORTACL_OPS_UPSAMPLE_RULES_H_
