// Identity, Cast and TransData: checks, then a copy by the companion operators.
#include "api/acl_op_companion.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "acl/acl_base.h"
#include "api/acl_op_memory.h"
#include "companion/call.h"
#include "companion/operators.h"
#include "ops/call.h"

namespace portacl::api {
namespace {

using base::Dims;
using base::FormatName;
using base::Status;
using base::TensorDesc;
using ops::Refusals;
using ops::Rule;
using ops::Surface;

constexpr std::string_view kNone = "-";  // the axes of formats that do not name axes

base::Format MemoryFormat(const aclTensorDesc& desc) {
  return desc.storage_format.value_or(desc.format);
}

// Copies the input to the output, element by element, with axes in the output's order.
class Copy final : public GraphCall {
 public:
  // `converts`: also converts to the output's data type, as Cast does.
  Copy(const char* type, const char* input, const char* output, const Tensors& tensors,
       bool converts = false)
      : converts_(converts),
        refusals_(type, Surface::kGraph),
        input_name_(input),
        output_name_(output),
        input_(tensors.data()),
        output_(&tensors[1]),
        order_(input_->shape) {
    for (int at = 0; at < order_.rank(); ++at) order_[at] = at;
  }

  // If both formats name their axes, orders the input's axes as the output's format does.
  Status OrderAxes() {
    const auto rank = static_cast<size_t>(input_->shape.rank());
    const std::string_view from = AxesOf(input_->format, kNone);
    const std::string_view to = AxesOf(output_->format, kNone);
    const bool named = from != kNone && to != kNone;
    if (from.empty() || to.empty() ||
        (named && to.find_first_not_of(from) != std::string_view::npos)) {
      return refusals_.Refuse(Rule::kFormat,
                              "{} has format {} and {} {}: portacl knows formats that are orders "
                              "of the same axes",
                              input_name_, FormatName(input_->format), output_name_,
                              FormatName(output_->format));
    }
    if (!named || from.size() != rank || to.size() != rank) return {};
    for (size_t at = 0; at < rank; ++at) {
      order_[static_cast<int>(at)] = static_cast<int64_t>(from.find(to[at]));
    }
    return {};
  }

  Status Check() const override {
    if (!converts_ && output_->dtype != input_->dtype) {
      return refusals_.Refuse(Rule::kDType, "{} has data type {}, but {} has {}", output_name_,
                              DTypeName(output_->dtype), input_name_, DTypeName(input_->dtype));
    }
    const int64_t size = base::DTypeSize(input_->dtype);
    if (!converts_ && (size < 1 || size > 8)) {
      return refusals_.Refuse(Rule::kDType,
                              "{} has data type {}, but must have one of 1, 2, 4 or 8 bytes",
                              input_name_, DTypeName(input_->dtype));
    }
    const Dims shape = Ordered(input_->shape);
    if (output_->shape == shape) return {};
    return refusals_.Refuse(Rule::kOutput, "{} has shape {}, but must have {}, the shape of {}",
                            output_name_, output_->shape.ToString(), shape.ToString(), input_name_);
  }

  Status Plan(std::shared_ptr<const ops::Plan>* plan) const override {
    TensorDesc from = *input_;
    from.shape = Ordered(input_->shape);
    from.strides = Ordered(input_->strides);
    TensorDesc to = *output_;
    from.format = to.format = base::Format::kND;  // the strides alone say where elements lie
    companion::Call call;
    call.op = refusals_.op();
    call.surface = Surface::kGraph;
    call.function = companion::Function::kCopy;
    call.inputs = {{input_name_, &from}};
    call.out = {output_name_, &to};
    return PlanCompanion(call, plan);
  }

 private:
  Dims Ordered(const Dims& dims) const {
    Dims ordered = dims;
    for (int at = 0; at < dims.rank(); ++at) ordered[at] = dims[static_cast<int>(order_[at])];
    return ordered;
  }

  const bool converts_;
  const Refusals refusals_;
  const char* const input_name_;
  const char* const output_name_;
  const TensorDesc* const input_;
  const TensorDesc* const output_;
  Dims order_;  // for each axis of the output: the input's axis
};

// Refuses an attribute if it names another format than the format of the description's memory.
Status CheckFormatAttribute(const GraphOperator& op, const char* name, const aclTensorDesc& desc) {
  const auto found = op.attributes.values.find(name);
  if (found == op.attributes.values.end()) return {};
  const auto* const word = std::get_if<std::string>(found->second.get());
  const Refusals refusals(kTransData, Surface::kGraph);
  if (word == nullptr)
    return refusals.Refuse(Rule::kAttribute, "attribute {} must be a string", name);
  const std::string format = FormatName(MemoryFormat(desc));
  if (*word == format) return {};
  return refusals.Refuse(Rule::kAttribute, "attribute {} is \"{}\", but the tensor's format is {}",
                         name, *word, format);
}

#define PORTACL_COMPANION_NAME(Name, Arguments, function) #Name,
constexpr std::string_view kCompanionNames[] = {
    PORTACL_COMPANION_OPERATORS(PORTACL_COMPANION_NAME)};

}  // namespace

Status ReadIdentity(const GraphOperator& /*op*/, const Tensors& tensors, const HostLists& /*lists*/,
                    std::unique_ptr<GraphCall>* call) {
  *call = std::make_unique<Copy>(kIdentity, "x", "y", tensors);
  return {};
}

Status ReadCast(const GraphOperator& op, const Tensors& tensors, const HostLists& /*lists*/,
                std::unique_ptr<GraphCall>* call) {
  const Refusals refusals(kCast, Surface::kGraph);
  const auto found = op.attributes.values.find("dst_type");
  if (found != op.attributes.values.end()) {
    const auto* const number = std::get_if<int64_t>(found->second.get());
    const auto* const type = std::get_if<DataTypeAttribute>(found->second.get());
    if (number == nullptr && type == nullptr) {
      return refusals.Refuse(Rule::kAttribute, "attribute dst_type must be an int or a data type");
    }
    const int64_t wanted = number != nullptr ? *number : static_cast<int64_t>(*type);
    if (wanted != static_cast<int64_t>(tensors[1].dtype)) {
      return refusals.Refuse(Rule::kAttribute, "attribute dst_type is {}, but y has data type {}",
                             wanted, DTypeName(tensors[1].dtype));
    }
  }
  *call = std::make_unique<Copy>(kCast, "x", "y", tensors, true);
  return {};
}

Status ReadTransData(const GraphOperator& op, const Tensors& tensors, const HostLists& /*lists*/,
                     std::unique_ptr<GraphCall>* call) {
  PORTACL_RETURN_IF_ERROR(CheckFormatAttribute(op, "src_format", op.inputs[0]));
  PORTACL_RETURN_IF_ERROR(CheckFormatAttribute(op, "dst_format", op.outputs[0]));
  auto made = std::make_unique<Copy>(kTransData, "src", "dst", tensors);
  PORTACL_RETURN_IF_ERROR(made->OrderAxes());
  *call = std::move(made);
  return {};
}

bool IsCompanion(std::string_view name) {
  return std::find(std::begin(kCompanionNames), std::end(kCompanionNames), name) !=
         std::end(kCompanionNames);
}

}  // namespace portacl::api
