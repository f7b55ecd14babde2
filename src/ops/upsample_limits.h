// The largest tensors by the pages of resizing, which have no error row for larger ones.
#ifndef PORTACL_OPS_UPSAMPLE_LIMITS_H_
#define PORTACL_OPS_UPSAMPLE_LIMITS_H_

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "base/tensor_desc.h"

namespace portacl::ops::upsample {

inline constexpr int64_t k20Bits = int64_t{1} << 20;
inline constexpr int64_t k24Bits = int64_t{1} << 24;
inline constexpr int64_t k31Bits = (int64_t{1} << 31) - 1;

// Which tensors together may have 60 GiB on a page, and the page's words about their rows. The
// kinds are gradients of vectors; images with channels counted in sixteens; images; volumes.
enum class Reach { kAny, kLine, kSixteens, kPlane, kVolume };

struct PageLimits {
  int64_t longest = 0;       // extent of any axis; 0: any
  int64_t longest_wide = 0;  // of a spatial axis of DOUBLE and UINT8
  Reach reach = Reach::kAny;

  friend bool operator==(const PageLimits&, const PageLimits&) = default;
};
inline constexpr PageLimits kOfPlanes = {.longest = k20Bits, .reach = Reach::kPlane};
inline constexpr PageLimits kOfVolumes = {.longest = k20Bits, .reach = Reach::kVolume};

// The first limit that a call is beyond, as a sentence; empty within all. `in` and `out` are the
// extents (N, C, ...) of the forward function's input and output.
std::string BeyondPage(const PageLimits& limits, const base::Dims& in, const base::Dims& out,
                       bool backward, base::DType dtype);

}  // namespace portacl::ops::upsample

#endif  // PORTACL_OPS_UPSAMPLE_LIMITS_H_
