// The rules of the vendor's pages on resizing, one row per function, and the meaning of a call.
#include "ops/upsample_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/settings.h"
#include "portacl/portacl.h"

namespace portacl::ops::upsample {
namespace {

using base::Dims;
using base::DType;

struct PageRow {
  const Signature* function;
  PageRules rules;
};

// Defaults of a row, and of functions without a row: no tensor may be empty, negative scales count
// as not given, and there are no limits.
constexpr PageRow kPages[] = {
    {&signatures::aclnnUpsampleNearest1d, {.limits = {.longest_wide = k24Bits - 1}}},
    {&signatures::aclnnUpsampleNearest1dV2,
     {.limits = {.longest = k31Bits, .longest_wide = k24Bits}}},
    {&signatures::aclnnUpsampleNearest2d,
     {.limits = {.longest = k20Bits, .reach = Reach::kSixteens}}},
    {&signatures::aclnnUpsampleNearest2dV2,
     {.empty = true, .limits = {.longest = k31Bits, .longest_wide = k24Bits - 1}}},
    {&signatures::aclnnUpsampleNearest3d, {.limits = {.longest = k31Bits}}},
    {&signatures::aclnnUpsampleNearest1dBackward, {.empty = true}},
    {&signatures::aclnnUpsampleNearest2dBackward,
     {.empty = true, .input_size_channels_last = true}},
    {&signatures::aclnnUpsampleNearest3dBackward, {.limits = kOfVolumes}},
    {&signatures::aclnnUpsampleLinear1dBackward,
     {.growth = 500,
      .limits = {.longest = k20Bits, .reach = Reach::kLine},
      .bf16_same_extent = true,
      .fitting_scales = true}},
    {&signatures::aclnnUpsampleBilinear2d,
     {.negative_scales = false, .double_channels_last = true}},
    {&signatures::aclnnUpsampleBilinear2dBackwardV2, {.limits = kOfPlanes}},
    {&signatures::aclnnUpsampleBilinear2dAA, {.negative_scales = false, .shrink = 50}},
    {&signatures::aclnnUpsampleBilinear2dAABackward, {.growth = 50}},
    {&signatures::aclnnUpsampleBicubic2d, {.limits = kOfPlanes}},
    {&signatures::aclnnUpsampleBicubic2dBackward,
     {.limits = {.longest = k31Bits}, .input_size_channels_last = true}},
    {&signatures::aclnnUpsampleBicubic2dAA, {.empty = true, .shrink = 50, .limits = kOfPlanes}},
    {&signatures::aclnnUpsampleBicubic2dAAGrad,
     {.negative_scales = false, .growth = 50, .limits = kOfPlanes}},
    {&signatures::aclnnUpsampleTrilinear3d, {.shrink = 50, .limits = kOfVolumes}},
    {&signatures::aclnnUpsampleTrilinear3dBackward, {.limits = kOfVolumes}},
};

ResampleMode ResampleModeOf(const Call& call) {
  const Mode mode = ModeOf(call);
  if (mode == Mode::kLanczos) return ResampleMode::kLanczos;
  if (mode == Mode::kCubic) {
    return Antialias(call) ? ResampleMode::kAntialiasedCubic : ResampleMode::kCubic;
  }
  return Antialias(call) ? ResampleMode::kAntialiasedLinear : ResampleMode::kLinear;
}

// ---- the pages' limits: extents, bytes, rows ----------------------------------------------------

// Returns a product of extents, in double because it may pass 2^63.
double Product(const Dims& shape, int from, int to) {
  double product = 1;
  for (int axis = from; axis < to; ++axis) product *= static_cast<double>(shape[axis]);
  return product;
}

std::string TooLong(const PageLimits& limits, const Dims& shape, DType dtype) {
  const bool wide = dtype == DType::kDouble || dtype == DType::kUInt8;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    int64_t longest = limits.longest > 0 ? limits.longest : shape[axis];
    if (wide && axis >= 2 && limits.longest_wide > 0) {
      longest = std::min(longest, limits.longest_wide);
    }
    if (shape[axis] > longest) {
      return fmt::format("an extent is {}, but the page's longest is {}", shape[axis], longest);
    }
  }
  return {};
}

// Returns the number of elements that the page's limit of 60 GiB counts.
double Counted(Reach reach, const Dims& in, const Dims& out, bool backward) {
  const Dims& read = backward ? out : in;
  const Dims& written = backward ? in : out;
  const int last = in.rank() - 1;
  const double images = Product(in, 0, 2);
  const double both = Product(in, 2, last + 1) + Product(out, 2, last + 1);
  switch (reach) {
    case Reach::kLine:
      return images * (Product(read, 2, 3) + 2 * Product(written, 2, 3));
    case Reach::kSixteens:
      return static_cast<double>(in[0]) * static_cast<double>((in[1] + 15) / 16 * 16) * both;
    case Reach::kPlane:
      return images * (both + static_cast<double>(read[2]) * static_cast<double>(written[3]));
    case Reach::kVolume:
      return images * (both + static_cast<double>(in[2]) * static_cast<double>(out[4]) *
                                  (static_cast<double>(in[3]) + static_cast<double>(out[3])));
    default:
      return 0;
  }
}

std::string TooLarge(Reach reach, const Dims& in, const Dims& out, bool backward, DType dtype) {
  const bool in_float = reach == Reach::kPlane || reach == Reach::kVolume;
  const double bytes = Counted(reach, in, out, backward) *
                       static_cast<double>(in_float ? 4 : base::DTypeSize(dtype));
  constexpr double kGiB = int64_t{1} << 30;
  if (bytes < 60 * kGiB) return {};
  return fmt::format(
      "the page's largest input, output and intermediate results have 60 GiB{}, these {:.1f}",
      in_float ? " in float" : "", bytes / kGiB);
}

// Says if the read tensor has too many rows, or a written volume too large planes; else "".
std::string TooMany(Reach reach, const Dims& in, const Dims& out, bool backward) {
  constexpr double k2To31 = int64_t{1} << 31;
  if (reach == Reach::kAny || reach == Reach::kSixteens) return {};
  const Dims& read = backward ? out : in;
  const double rows = Product(read, 0, read.rank() - 1);
  if (rows >= k2To31) {
    return fmt::format("what is read has {:.0f} rows, but the page wants less than 2^31", rows);
  }
  if (reach != Reach::kVolume) return {};
  const double plane = Product(backward ? in : out, 3, 5);
  if (plane < k2To31) return {};
  return fmt::format("H * W of what is written is {:.0f}, but the page wants less than 2^31",
                     plane);
}

}  // namespace

PageRules PageRulesOf(const Call& call) {
  if (call.surface() == Surface::kNative) {
    return {.empty = true, .negative_scales = false};
  }
  PageRules rules;
  for (const PageRow& row : kPages) {
    if (row.function != &call.signature()) continue;
    rules = row.rules;
    break;
  }
  if (CurrentProfile() != Profile::kOpen) return rules;
  return {.empty = true,
          .negative_scales = rules.negative_scales,
          .fitting_scales = rules.fitting_scales,
          .input_size_channels_last = rules.input_size_channels_last};
}

Mode ModeOf(const Call& call) {
  switch (call.signature().op) {
    case Op::kUpsampleNearest:
    case Op::kUpsampleNearestBackward:
      return Mode::kNearest;
    case Op::kUpsampleCubic:
    case Op::kUpsampleCubicBackward:
      return Mode::kCubic;
    case Op::kUpsampleLanczos:
    case Op::kUpsampleLanczosBackward:
      return Mode::kLanczos;
    default:
      return Mode::kLinear;
  }
}

bool IsBackward(const Call& call) {
  const Op op = call.signature().op;
  return op == Op::kUpsampleNearestBackward || op == Op::kUpsampleLinearBackward ||
         op == Op::kUpsampleCubicBackward || op == Op::kUpsampleLanczosBackward;
}

bool AlignCorners(const Call& call) { return call.flag(0); }
bool Antialias(const Call& call) { return call.antialias(); }
int PillowRelease(const Call& call) {
  const int64_t value = call.surface() == Surface::kNative ? call.flag_value(1) : 0;
  return value == PORTACL_PILLOW_12 || value == PORTACL_PILLOW_13 ? static_cast<int>(value) : 0;
}
bool HalfPixelCenters(const Call& call) { return call.flag(2); }
bool FromTopLeft(const Call& call) {
  return call.has_flag(2) && !HalfPixelCenters(call) && !AlignCorners(call);
}

Nearest NearestRuleOf(const Call& call) {
  if (HalfPixelCenters(call)) return Nearest::kExact;
  return AlignCorners(call) ? Nearest::kCorners : Nearest::kFloor;
}

Sides SidesOf(const Call& call) {
  const base::TensorDesc* const read = call.input(0);
  const base::TensorDesc* const written = call.output(0);
  const bool backward = IsBackward(call);
  return {ChannelsFirstShape(backward ? *written : *read),
          ChannelsFirstShape(backward ? *read : *written)};
}

std::array<double, 3> UsedScales(const Call& call, const Sides& sides) {
  std::array<double, 3> used = call.scales();
  if (used == std::array<double, 3>{}) return used;
  const bool corners = AlignCorners(call);
  for (int axis = 0; axis < call.axes(); ++axis) {
    double& scale = used[static_cast<size_t>(axis)];
    const auto in = static_cast<double>(sides.in[axis + 2]);
    const auto out = static_cast<double>(sides.out[axis + 2]);
    const bool counts = scale > 0 && !corners &&
                        (out == std::floor(in * scale) || !PageRulesOf(call).fitting_scales);
    if (!counts) scale = 0;
  }
  return used;
}

std::array<ResampleRule, 3> RulesOf(const Call& call) {
  const ResampleMode mode = ResampleModeOf(call);
  const Sides sides = SidesOf(call);
  const std::array<double, 3> scales = UsedScales(call, sides);
  const int axes = call.axes();
  const base::DType dtype = call.input(0)->dtype;
  const bool bytes = dtype == base::DType::kUInt8;
  const FixedWeights fixed = !bytes                     ? FixedWeights::kNone
                             : PillowRelease(call) != 0 ? FixedWeights::kPillow
                                                        : FixedWeights::kPyTorch;
  const bool align_corners = AlignCorners(call), from_top_left = FromTopLeft(call);
  std::array<ResampleRule, 3> rules;
  for (int at = 0; at < 3; ++at) {
    ResampleRule& rule = rules[static_cast<size_t>(at)];
    rule.in_double = bytes || dtype == base::DType::kDouble;
    rule.fixed = fixed;
    const int axis = at - (3 - axes);
    if (axis < 0) continue;
    rule.mode = mode;
    rule.in = sides.in[axis + 2];
    rule.out = sides.out[axis + 2];
    rule.align_corners = align_corners;
    rule.from_top_left = from_top_left;
    rule.scale = scales[static_cast<size_t>(axis)];
  }
  return rules;
}

std::string BeyondPage(const PageLimits& limits, const Dims& in, const Dims& out, bool backward,
                       DType dtype) {
  if (limits == PageLimits()) return {};
  for (const Dims* const shape : {&in, &out}) {
    if (std::string text = TooLong(limits, *shape, dtype); !text.empty()) return text;
  }
  if (limits.reach == Reach::kAny) return {};
  std::string text = TooMany(limits.reach, in, out, backward);
  return text.empty() ? TooLarge(limits.reach, in, out, backward, dtype) : text;
}

}  // namespace portacl::ops::upsample
