// Words of the log of calls: names of the aclnn signatures and of cases, whatever API was called.
#include "ops/call_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string_view>

#include "base/checked.h"
#include "base/log.h"
#include "ops/grid_sampler_modes.h"

namespace portacl::ops {
namespace {

constexpr const char* kHead = "portacl_call,v1";

std::string Name(base::DType dtype) {
  switch (dtype) {
    case base::DType::kFloat:
      return "float32";
    case base::DType::kFloat16:
      return "float16";
    case base::DType::kBFloat16:
      return "bfloat16";
    case base::DType::kDouble:
      return "float64";
    default:
      return base::DTypeName(dtype);
  }
}

// "2x3x8x8".
std::string Joined(const base::Dims& dims) {
  const std::span values(dims.data(), static_cast<size_t>(dims.rank()));
  return fmt::format("{}", fmt::join(values, "x"));
}

// Where a view's storage is not known, it begins with the first byte that the view reaches.
int64_t OffsetOf(const base::TensorDesc& desc) {
  if (desc.has_storage || desc.NumElements() == 0) return desc.offset;
  const base::ElementRange reach = base::ReachOf(desc);
  int64_t offset = 0;
  // A view that nothing reads may lie anywhere.
  return reach.valid && base::CheckedSub(int64_t{0}, reach.lowest, &offset) ? offset : 0;
}

// "input:float16:ND:2x3x8x8:192x64x8x1:0".
std::string TensorWord(const char* name, const base::TensorDesc& desc) {
  const bool plain = desc.format == base::Format::kUndefined;
  return fmt::format("{}:{}:{}:{}:{}:{}", name, Name(desc.dtype),
                     plain ? "ND" : base::FormatName(desc.format), Joined(desc.shape),
                     Joined(desc.strides), OffsetOf(desc));
}

}  // namespace

void LogCall(const Plan& plan, double microseconds) {
  const CallWords words = plan.Words();
  if (*words.op == '\0') return;
  std::string tensors;
  for (int i = 0; i < plan.num_tensors(); ++i) {
    const base::TensorDesc& desc = plan.tensor(i).desc;
    if (desc.shape.rank() == 0) continue;  // an output that the caller left out
    tensors += tensors.empty() ? "" : " ";
    tensors += TensorWord(words.tensors[static_cast<size_t>(i)], desc);
  }
  const bool backward = std::string_view(words.op).ends_with("_backward");
  base::LogCall(fmt::format("{},{},{},{},{},{},{},{:.3f}", kHead, plan.op(), words.op,
                            backward ? "backward" : "forward", plan.kernel(), tensors,
                            words.arguments, microseconds));
}

std::string ScaleWords(int spatial, const std::array<double, 3>& scales) {
  constexpr const char* kNames[] = {"scalesD", "scalesH", "scalesW"};
  std::string words;
  for (int axis = 0; axis < spatial; ++axis) {
    words += fmt::format("{}{}:{}", axis > 0 ? " " : "",
                         spatial == 1 ? "scales" : kNames[3 - spatial + axis],
                         scales[static_cast<size_t>(axis)]);
  }
  return words;
}

std::string ModeWords(Interpolation interpolation, Padding padding, bool align_corners) {
  return fmt::format("interpolationMode:{} paddingMode:{} alignCorners:{}",
                     kInterpolationNames[static_cast<size_t>(interpolation)],
                     kPaddingNames[static_cast<size_t>(padding)], align_corners ? 1 : 0);
}

}  // namespace portacl::ops
