// Checks calls of companion operators, and makes the plan for each kind of call.
#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "companion/call.h"
#include "companion/element.h"
#include "companion/elementwise.h"
#include "companion/functions.h"
#include "companion/loop.h"
#include "companion/masked_select.h"
#include "companion/promote.h"
#include "companion/reduce.h"
#include "ops/call.h"
#include "runtime/fp_env.h"

namespace portacl::companion {
namespace {

using base::Dims;
using base::DType;
using base::DTypeName;
using base::Format;
using base::Status;
using base::TensorDesc;
using ops::Rule;

#define PORTACL_ELEMENTS "FLOAT, FLOAT16, BF16, DOUBLE, INT8, UINT8, INT16, INT32, INT64"
constexpr const char* kElements = "must have " PORTACL_ELEMENTS " or BOOL";
constexpr const char* kConverted =
    "a conversion needs " PORTACL_ELEMENTS ", BOOL, UINT16, UINT32 or UINT64";

bool IsComparison(Function function) {
  return function == Function::kNe || function == Function::kGt || function == Function::kLt ||
         function == Function::kIsFinite;
}

// Checks one call. The plan uses the results (common type, shape, ...).
class Checker {
 public:
  explicit Checker(const Call& call) : call_(call), refusals_(call.op, call.surface) {}

  Status Check() {
    PORTACL_RETURN_IF_ERROR(CheckNulls());
    PORTACL_RETURN_IF_ERROR(CheckDTypes());
    PORTACL_RETURN_IF_ERROR(CheckFormats());
    PORTACL_RETURN_IF_ERROR(FindShape());
    if (call_.function == Function::kMaskedSelect) return CheckMaskedSelect();
    PORTACL_RETURN_IF_ERROR(FindCommon());
    PORTACL_RETURN_IF_ERROR(CheckFunction());
    if (reduces()) PORTACL_RETURN_IF_ERROR(FindReduced());
    return CheckOut();
  }

  bool reduces() const {
    switch (call_.function) {
      case Function::kSum:
      case Function::kMean:
      case Function::kMax:
      case Function::kMin:
        return true;
      default:
        return call_.function == Function::kMseLoss && call_.reduction != 0;
    }
  }
  const Dims& shape() const { return shape_; }
  DType common() const { return common_; }
  const std::vector<bool>& reduced() const { return reduced_; }

 private:
  template <class... Args>
  Status Refuse(Rule rule, fmt::format_string<Args...> text, Args&&... args) const {
    return refusals_.Refuse(rule, text, std::forward<Args>(args)...);
  }

  // Returns true if the call copies elements as bits, for any type with a suitable size.
  bool CopiesBits() const {
    const DType out = call_.out.tensor->dtype;
    const int64_t size = base::DTypeSize(out);
    if (call_.function == Function::kMaskedSelect) {
      return size > 0 && size <= 8 && call_.inputs[0].tensor->dtype == out;
    }
    return size > 0 && size <= 16 && MovesBits(call_);
  }

  Status CheckNulls() const {
    const auto missing = [](const Operand& operand) {
      return operand.tensor == nullptr && operand.scalar == nullptr;
    };
    for (const Operand& input : call_.inputs) {
      if (missing(input)) return Refuse(Rule::kNull, "{} is null", input.name);
    }
    if (call_.alpha && missing(*call_.alpha)) return Refuse(Rule::kNull, "alpha is null");
    if (call_.has_dims && call_.dims == nullptr) return Refuse(Rule::kNull, "dims is null");
    if (missing(call_.out)) return Refuse(Rule::kNull, "{} is null", call_.out.name);
    if (!call_.has_workspace_size) return Refuse(Rule::kNull, "workspaceSize is null");
    if (!call_.has_executor) return Refuse(Rule::kNull, "executor is null");
    return {};
  }

  Status CheckDType(const char* name, DType dtype) const {
    const bool copies = call_.function == Function::kCopy;
    if (copies ? IsConvertible(dtype) : IsElement(dtype)) return {};
    return Refuse(Rule::kDType, "{} has data type {}, but {}", name, DTypeName(dtype),
                  copies ? kConverted : kElements);
  }

  Status CheckDTypes() const {
    const bool any = CopiesBits();
    for (const Operand& input : call_.inputs) {
      if (any && &input == call_.inputs.data()) continue;
      PORTACL_RETURN_IF_ERROR(CheckDType(
          input.name, input.tensor != nullptr ? input.tensor->dtype : input.scalar->dtype));
    }
    if (call_.alpha) PORTACL_RETURN_IF_ERROR(CheckDType("alpha", call_.alpha->scalar->dtype));
    if (call_.dtype && !any) PORTACL_RETURN_IF_ERROR(CheckDType("dtype", *call_.dtype));
    return any ? Status() : CheckDType(call_.out.name, call_.out.tensor->dtype);
  }

  // Accepts only formats for which shape and strides give the places of elements.
  Status CheckFormats() const {
    const auto check = [&](const Operand& operand) -> Status {
      if (operand.tensor == nullptr) return {};
      switch (operand.tensor->format) {
        case Format::kND:
        case Format::kNCHW:
        case Format::kNHWC:
        case Format::kHWCN:
        case Format::kNDHWC:
        case Format::kNCDHW:
        case Format::kNC:
        case Format::kNCL:
          return {};
        default:
          return Refuse(Rule::kFormat,
                        "{} has format {}, but must have one whose elements lie as its strides "
                        "say: ND, NCHW, NHWC, HWCN, NCDHW, NDHWC, NC or NCL",
                        operand.name, base::FormatName(operand.tensor->format));
      }
    };
    for (const Operand& input : call_.inputs) PORTACL_RETURN_IF_ERROR(check(input));
    return check(call_.out);
  }

  // Finds the broadcast shape of the inputs.
  Status FindShape() {
    const Operand* widest = nullptr;
    for (const Operand& input : call_.inputs) {
      if (input.tensor == nullptr) continue;
      Dims joined;
      if (!Broadcast(shape_, input.tensor->shape, &joined)) {
        return Refuse(Rule::kInput, "{} has shape {}, which does not broadcast with shape {} of {}",
                      input.name, input.tensor->shape.ToString(), shape_.ToString(), widest->name);
      }
      if (widest == nullptr || !(joined == shape_)) widest = &input;
      shape_ = joined;
    }
    TensorDesc all;
    all.shape = shape_;
    if (all.NumElements() >= 0) return {};
    return Refuse(Rule::kInput, "the inputs broadcast to shape {}, more than 64 bits can count",
                  shape_.ToString());
  }

  Status FindCommon() {
    ResultType type;
    for (const Operand& input : call_.inputs) {
      if (input.tensor != nullptr) {
        type.AddTensor(input.tensor->dtype, input.tensor->shape.rank());
      } else if (call_.function == Function::kCopy) {
        common_ = input.scalar->dtype;  // a fill converts its value itself
        return {};
      } else {
        type.AddScalar(input.scalar->dtype);
      }
    }
    common_ = type.Get();
    switch (call_.function) {
      case Function::kDiv:
        if (!IsFloating(common_)) common_ = DType::kFloat;
        break;
      case Function::kSum:
      case Function::kMean:
        common_ = *call_.dtype;
        break;
      default:
        break;
    }
    return {};
  }

  Status CheckFunction() const {
    const auto refuse = [&](const char* wanted) {
      return Refuse(Rule::kDType, "the inputs compute in {}, but must compute in {}",
                    DTypeName(common_), wanted);
    };
    switch (call_.function) {
      case Function::kSub:
      case Function::kNeg:
        if (common_ == DType::kBool) return refuse("a type other than BOOL");
        break;
      case Function::kAnd:
        if (IsFloating(common_)) return refuse("an integer type or BOOL");
        break;
      case Function::kMean:
        if (!IsFloating(common_)) {
          return Refuse(Rule::kDType, "dtype is {}, but a mean needs a floating-point type",
                        DTypeName(common_));
        }
        break;
      case Function::kMseLoss:
      case Function::kMseLossBackward:
        if (!IsFloating(common_)) return refuse("a floating-point type");
        if (call_.reduction < 0 || call_.reduction > 2) {
          return Refuse(Rule::kAttribute,
                        "reduction is {}, but must be 0 (none), 1 (mean) or 2 (sum)",
                        call_.reduction);
        }
        break;
      default:
        break;
    }
    // PyTorch accepts integer factors for BOOL, too.
    if (!call_.alpha || !IsFloating(call_.alpha->scalar->dtype) || IsFloating(common_)) return {};
    return Refuse(Rule::kAttribute, "alpha has data type {}, but the inputs compute in {}",
                  DTypeName(call_.alpha->scalar->dtype), DTypeName(common_));
  }

  Status FindReduced() {
    reduced_.assign(static_cast<size_t>(shape_.rank()), !call_.has_dims || call_.dims->empty());
    if (!call_.has_dims) {
      const bool extremum = call_.function == Function::kMax || call_.function == Function::kMin;
      TensorDesc all;
      all.shape = shape_;
      if (!extremum || all.NumElements() != 0) return {};
      return Refuse(Rule::kInput, "self has shape {}, but the extremum of nothing does not exist",
                    shape_.ToString());
    }
    const int64_t rank = std::max(shape_.rank(), 1);
    for (const int64_t dim : *call_.dims) {
      if (dim < -rank || dim >= rank) {
        return Refuse(Rule::kAttribute, "dims names axis {}, but self has shape {}", dim,
                      shape_.ToString());
      }
      if (shape_.rank() == 0) continue;
      const auto axis = static_cast<size_t>(dim < 0 ? dim + rank : dim);
      if (reduced_[axis]) {
        return Refuse(Rule::kAttribute, "dims names axis {} twice", axis);
      }
      reduced_[axis] = true;
    }
    return {};
  }

  Dims OutShape() const {
    if (!reduces()) return shape_;
    Dims kept = shape_;
    int rank = 0;
    for (int axis = 0; axis < shape_.rank(); ++axis) {
      const bool reduced = reduced_[static_cast<size_t>(axis)];
      if (!reduced || call_.keep_dims) kept[rank++] = reduced ? 1 : shape_[axis];
    }
    return Dims(kept.data(), rank);
  }

  Status CheckOut() const {
    const TensorDesc& out = *call_.out.tensor;
    if (call_.function == Function::kCopy) {
      if (call_.dtype && *call_.dtype != out.dtype) {
        return Refuse(Rule::kOutput, "dtype is {}, but out has data type {}",
                      DTypeName(*call_.dtype), DTypeName(out.dtype));
      }
    } else {
      const DType result = IsComparison(call_.function) ? DType::kBool : common_;
      if (!CanStore(result, out.dtype)) {
        return Refuse(Rule::kOutput, "{} has data type {}, but the result is {}", call_.out.name,
                      DTypeName(out.dtype), DTypeName(result));
      }
    }
    const Dims wanted = OutShape();
    Dims joined;
    const bool fills = call_.function == Function::kCopy && !call_.dtype;
    const bool one_element = reduces() && wanted.rank() == 0 && out.NumElements() == 1;
    if (wanted == out.shape || one_element ||
        (fills && Broadcast(wanted, out.shape, &joined) && joined == out.shape)) {
      return {};
    }
    return Refuse(Rule::kOutput, "{} has shape {}, but the result has shape {}", call_.out.name,
                  out.shape.ToString(), wanted.ToString());
  }

  Status CheckMaskedSelect() const {
    const TensorDesc& self = *call_.inputs[0].tensor;
    const TensorDesc& mask = *call_.inputs[1].tensor;
    const TensorDesc& out = *call_.out.tensor;
    if (mask.dtype != DType::kBool && mask.dtype != DType::kUInt8) {
      return Refuse(Rule::kDType, "mask has data type {}, but must have BOOL or UINT8",
                    DTypeName(mask.dtype));
    }
    if (out.dtype != self.dtype) {
      return Refuse(Rule::kDType, "out has data type {}, but self has {}", DTypeName(out.dtype),
                    DTypeName(self.dtype));
    }
    TensorDesc all;
    all.shape = shape_;
    if (out.shape.rank() == 1 && out.shape[0] >= all.NumElements()) return {};
    return Refuse(Rule::kOutput,
                  "out has shape {}, but must have one axis with room for all {} elements",
                  out.shape.ToString(), all.NumElements());
  }

  const Call& call_;
  const ops::Refusals refusals_;
  Dims shape_;
  DType common_ = DType::kUndefined;
  std::vector<bool> reduced_;
};

class ListPlan final : public ops::Plan {
 public:
  ListPlan(const char* op, std::vector<std::shared_ptr<const ops::Plan>> parts)
      : Plan(op, ops::Surface::kAclnn), parts_(std::move(parts)) {
    kernel_ = "companion";
    int64_t rest = kSmall;  // elements that may follow; a sum might pass 64 bits
    for (const auto& part : parts_) {
      small_ = small_ && part->small() && part->tensor(0).HasAtMost(rest);
      if (small_) rest -= part->tensor(0).elements;
    }
  }
  std::span<const std::shared_ptr<const ops::Plan>> parts() const override { return parts_; }
  void Run(const ops::Elements& /*elements*/, void* /*workspace*/) const noexcept override {}

 private:
  const std::vector<std::shared_ptr<const ops::Plan>> parts_;
};

}  // namespace

Status PlanCompanion(const Call& call, std::shared_ptr<const ops::Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach scalars
  Checker checker(call);
  PORTACL_RETURN_IF_ERROR(checker.Check());
  if (call.function == Function::kMaskedSelect) {
    return PlanMaskedSelect(call, checker.shape(), plan);
  }
  if (checker.reduces()) {
    return PlanReduction(call, checker.shape(), checker.reduced(), checker.common(), plan);
  }
  return PlanElementwise(call, checker.common(), plan);
}

Status PlanCompanionList(const char* op, const std::vector<Call>& calls,
                         std::shared_ptr<const ops::Plan>* plan) {
  std::vector<std::shared_ptr<const ops::Plan>> parts(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    Status status = PlanCompanion(calls[i], &parts[i]);
    // Checks addresses now, because members get no addresses later.
    if (status.ok() && parts[i]->LacksAddress()) {
      status = parts[i]->CheckAddresses(parts[i]->PlannedStorages());
    }
    if (!status.ok()) {
      const std::string_view text = status.message();
      const size_t prefix = std::min(std::string_view(op).size() + 2, text.size());
      return {status.code(),
              fmt::format("{}: member {} of the lists: {}", op, i, text.substr(prefix))};
    }
  }
  *plan = std::make_shared<ListPlan>(op, std::move(parts));
  return {};
}

}  // namespace portacl::companion
