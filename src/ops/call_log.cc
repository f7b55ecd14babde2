// Writes the log of calls. The log uses names of aclnn functions and of cases, whichever API was
// called.
#include "ops/call_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "base/log.h"

namespace portacl::ops {
namespace {

constexpr const char* kHead = "portacl_call,v1";

std::string Name(base::DType dtype) {
  switch (dtype) {
    case base::DType::kInt32:
      return "int32";
    case base::DType::kInt64:
      return "int64";
    case base::DType::kFloat:
      return "float32";
    case base::DType::kFloat16:
      return "float16";
    case base::DType::kBFloat16:
      return "bfloat16";
    case base::DType::kDouble:
      return "float64";
    case base::DType::kUInt8:
      return "uint8";
    default:
      return base::DTypeName(dtype);
  }
}

// Returns "2x3x8x8".
std::string Joined(const base::Dims& dims) {
  const std::span values(dims.data(), static_cast<size_t>(dims.rank()));
  return fmt::format("{}", fmt::join(values, "x"));
}

// If the storage is unknown, the offset counts from the first byte that the view reaches.
int64_t OffsetOf(const base::TensorDesc& desc) {
  if (desc.has_storage || desc.NumElements() == 0) return desc.offset;
  const base::ElementRange reach = base::ReachOf(desc);
  int64_t offset = 0;
  // If the range overflows, no kernel reads the view, and its offset does not matter.
  return reach.valid && base::CheckedSub(int64_t{0}, reach.lowest, &offset) ? offset : 0;
}

// Returns "input:float16:ND:2x3x8x8:192x64x8x1:0": name, dtype, format, shape, strides, offset.
std::string TensorWord(const char* name, const base::TensorDesc& desc) {
  const bool plain = desc.format == base::Format::kUndefined;
  return fmt::format("{}:{}:{}:{}:{}:{}", name, Name(desc.dtype),
                     plain ? "ND" : base::FormatName(desc.format), Joined(desc.shape),
                     Joined(desc.strides), OffsetOf(desc));
}

// Splits an axis into two; the second of them has `inner` indices.
void Split(int axis, int64_t inner, base::TensorDesc* desc) {
  const auto split = [axis](const base::Dims& dims, int64_t first, int64_t second) {
    std::vector<int64_t> values(dims.data(), dims.data() + dims.rank());
    values[static_cast<size_t>(axis)] = first;
    values.insert(values.begin() + axis + 1, second);
    return base::Dims(values.data(), dims.rank() + 1);
  };
  const int64_t stride = desc->strides[axis];
  desc->shape = split(desc->shape, inner == 0 ? 0 : desc->shape[axis] / inner, inner);
  desc->strides = split(desc->strides, stride * inner, stride);
}

// Returns the description with all axes of the aclnn API. Other APIs join axes of deformable
// attention: levels and points, or heads and channels.
base::TensorDesc AsListed(const Plan& plan, const Parameter& parameter, base::TensorDesc desc) {
  if (desc.shape.rank() + 1 != static_cast<int>(PartsOf(parameter))) return desc;
  if (PartOf(parameter, 3) == "L") {
    const int64_t levels = plan.tensor(1).desc.shape[0];
    Split(3, levels == 0 ? 0 : desc.shape[3] / levels, &desc);
  } else if (PartOf(parameter, 3) == "C") {
    Split(2, plan.tensor(0).desc.shape[3], &desc);
  }
  return desc;
}

// Returns which outputs are wanted, e.g. "1x0".
std::string MaskWord(const Plan& plan) {
  std::string word;
  for (int i = 0; i < plan.num_outputs(); ++i) {
    word += word.empty() ? "" : "x";
    word += plan.tensor(plan.output(i)).active ? "1" : "0";
  }
  return word;
}

bool HasSymbol(const Parameter& parameter, std::string_view symbol) {
  for (size_t i = 0; i < PartsOf(parameter); ++i) {
    if (PartOf(parameter, i) == symbol) return true;
  }
  return false;
}

// Returns the values of list number `index`; "" if a tensor's extents are these values.
std::string ListWord(const Plan& plan, const Parameter& list, size_t index) {
  const size_t count = PartsOf(list);
  if (count == 0) return "";
  const std::string_view symbol = PartOf(list, count - 1);
  for (const Parameter& other : plan.logged()->parameters) {
    if (IsTensor(other.kind) && HasSymbol(other, symbol)) return "";
  }
  const auto& values = plan.logged_numbers().lists.at(index);
  return fmt::format("{}", fmt::join(std::span(values).last(count), "x"));
}

// Returns the value of the parameter that is number `index` of its form. "" for tensors, and for
// lists that repeat a tensor's extents.
std::string ValueWord(const Plan& plan, const Parameter& parameter, size_t index) {
  const LoggedNumbers& numbers = plan.logged_numbers();
  switch (FormOf(parameter.kind)) {
    case Form::kReal:
      return fmt::format("{}", numbers.reals.at(index));
    case Form::kInteger:
      return fmt::format("{}", numbers.integers.at(index));
    case Form::kChoice:
      return std::string(PartOf(parameter, static_cast<size_t>(numbers.choices.at(index))));
    case Form::kFlag:
      return numbers.flags.at(index) ? "1" : "0";
    case Form::kBools:
      return MaskWord(plan);
    case Form::kInts:
      return ListWord(plan, parameter, index);
    case Form::kReals:
    case Form::kFloats:
    case Form::kRead:
    case Form::kWritten:
      break;
  }
  return "";
}

// Returns "scalesH:0 scalesW:2".
std::string ArgumentWords(const Plan& plan) {
  std::string words;
  std::array<size_t, kForms> seen{};
  for (const Parameter& parameter : plan.logged()->parameters) {
    const size_t index = seen[static_cast<size_t>(FormOf(parameter.kind))]++;
    const std::string value = ValueWord(plan, parameter, index);
    if (value.empty()) continue;
    words += fmt::format("{}{}:{}", words.empty() ? "" : " ", parameter.name, value);
  }
  return words;
}

// Lists the plan's tensors, inputs first, by their names in the aclnn API.
std::string TensorWords(const Plan& plan) {
  std::string words;
  for (const bool outputs : {false, true}) {
    int at = outputs ? plan.output(0) : 0;  // the call may have inputs that the aclnn API lacks
    for (const Parameter& parameter : plan.logged()->parameters) {
      if (!IsTensor(parameter.kind) || IsWritten(parameter.kind) != outputs) continue;
      const base::TensorDesc& desc = plan.tensor(at++).desc;
      if (desc.shape.rank() == 0) continue;  // an output that the caller left out
      words += words.empty() ? "" : " ";
      words += TensorWord(parameter.name, AsListed(plan, parameter, desc));
    }
  }
  return words;
}

}  // namespace

void LogCall(const Plan& plan, double microseconds) {
  if (plan.logged() == nullptr) return;
  const char* const op = plan.logged()->case_name;
  const bool backward = std::string_view(RowOf(plan.logged()->op).name).ends_with("_backward");
  base::LogCall(fmt::format("{},{},{},{},{},{},{},{:.3f}", kHead, plan.op(), op,
                            backward ? "backward" : "forward", plan.kernel(), TensorWords(plan),
                            ArgumentWords(plan), microseconds));
}

}  // namespace portacl::ops
