// The two-phase functions of the companion operators, made from the table in companion/operators.h.
#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_bitwise_and_scalar.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_ceil.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_foreach_add_list_v2.h"
#include "aclnnop/aclnn_foreach_mul_scalar_v2.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_isfinite.h"
#include "aclnnop/aclnn_lt_scalar.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_max.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_min.h"
#include "aclnnop/aclnn_mse_loss.h"
#include "aclnnop/aclnn_mse_loss_backward.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_scalar.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_ones.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_stack.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_zero.h"
#include "api/aclnn_aten.h"
#include "api/aclnn_call.h"
#include "api/handles.h"
#include "api/shim.h"
#include "companion/call.h"
#include "companion/element.h"
#include "companion/join.h"
#include "ops/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using portacl::base::DType;
using portacl::base::Status;
using portacl::companion::Call;
using portacl::companion::Function;
using portacl::companion::Operand;
using portacl::companion::Scalar;
using portacl::ops::Rule;

// Turns the arguments of one call into a companion::Call, in the order of the signature.
class Reader {
 public:
  Reader(const char* op, Function function) : arguments_(op) {
    call_.op = op;
    call_.function = function;
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Reader& Tensor(const char* name, const aclTensor* tensor) {
    Note(tensor);
    call_.inputs.push_back({name, arguments_.Tensor(name, tensor)});
    return *this;
  }
  Reader& Value(const char* name, const aclScalar* scalar) {
    Note(scalar);
    call_.inputs.push_back(ScalarOperand(name, scalar));
    return *this;
  }
  Reader& One() {
    static constexpr int64_t kOne = 1;
    scalars_.push_back({DType::kInt64, &kOne});
    call_.inputs.push_back({"value", nullptr, &scalars_.back()});
    return *this;
  }
  // Adds a zero of the output's type: all bits are 0. (FLOAT8_E8M0 has no zero; this is its
  // smallest number.)
  Reader& Zero() {
    alignas(16) static constexpr std::array<std::byte, 16> kZero{};
    const bool null = call_.out.tensor == nullptr;
    scalars_.push_back({null ? DType::kInt64 : call_.out.tensor->dtype, kZero.data()});
    call_.inputs.push_back({call_.out.name, nullptr, &scalars_.back()});
    return *this;
  }
  Reader& Alpha(const aclScalar* alpha) {
    Note(alpha);
    call_.alpha = ScalarOperand("alpha", alpha);
    return *this;
  }
  Reader& Out(const char* name, aclTensor* tensor) {
    Note(tensor);
    call_.out = {name, arguments_.Tensor(name, tensor)};
    return *this;
  }
  // An output that is the first parameter of the function.
  Reader& Overwritten(aclTensor* tensor) {
    call_.in_place = true;
    return Out("selfRef", tensor);
  }
  // An output that is the first parameter and is also read.
  Reader& InPlace(aclTensor* tensor) {
    Overwritten(tensor);
    call_.reads_out = true;
    call_.inputs.push_back(call_.out);
    return *this;
  }
  Reader& Reduction(int64_t reduction) {
    Note(reduction);
    call_.reduction = reduction;
    return *this;
  }
  Reader& Dims(const aclIntArray* dims, bool keep) {
    Note(dims);
    Note(keep);
    call_.has_dims = true;
    call_.dims = arguments_.Ints("dims", dims);
    call_.keep_dims = keep;
    return *this;
  }
  Reader& Type(aclDataType dtype) {
    Note(portacl::api::RawValue(dtype));
    call_.dtype = static_cast<DType>(dtype);
    return *this;
  }
  Reader& Selected(aclTensor* tensor) {
    call_.selected = arguments_.Result("out", tensor);
    return Out("out", tensor);
  }
  // Adds a list. Inputs come first, then "out".
  Reader& List(const char* name, const aclTensorList* list) {
    lists_.push_back({name, arguments_.Tensors(name, list)});
    return *this;
  }

  Reader& Join(const aclTensorList* tensors, int64_t dim) {
    Note(tensors);
    Note(dim);
    joined_ = {"tensors", arguments_.Tensors("tensors", tensors)};
    dim_ = dim;
    return *this;
  }

  // Plans the call. If companion operators lack the data type, PyTorch's kernels may compute it.
  Status Plan(bool has_workspace_size, bool has_executor, portacl::ops::PlannedCall* planned) {
    Status status = PlanCompanionCall(has_workspace_size, has_executor, &planned->plan);
    if (status.code() != ACLNN_ERR_PARAM_INVALID || !HasOtherElements() ||
        !portacl::api::PlanAten(call_.op, std::span(given_).first(given_count_), planned).ok()) {
      return status;
    }
    return {};
  }

 private:
  struct TensorList {
    const char* name = nullptr;
    const std::vector<const aclTensor*>* members = nullptr;
  };

  void Note(portacl::api::Given given) {
    if (given_count_ < given_.size()) given_[given_count_++] = given;
  }

  bool HasOtherElements() const {
    const auto other = [](const Operand& operand) {
      if (operand.tensor == nullptr && operand.scalar == nullptr) return false;
      const DType dtype = operand.tensor != nullptr ? operand.tensor->dtype : operand.scalar->dtype;
      return !portacl::companion::IsElement(dtype) && portacl::base::DTypeSize(dtype) > 0;
    };
    return other(call_.out) || std::any_of(call_.inputs.begin(), call_.inputs.end(), other);
  }

  Status PlanCompanionCall(bool has_workspace_size, bool has_executor,
                           std::shared_ptr<const portacl::ops::Plan>* plan) {
    call_.has_workspace_size = has_workspace_size;
    call_.has_executor = has_executor;
    if (joined_.name != nullptr) return PlanJoined(plan);
    if (!lists_.empty()) return PlanLists(plan);
    if (has_workspace_size && has_executor) PORTACL_RETURN_IF_ERROR(arguments_.TakeStatus());
    return PlanCompanion(call_, plan);
  }

  Operand ScalarOperand(const char* name, const aclScalar* scalar) {
    const aclScalar* found = arguments_.Scalar(name, scalar);
    if (found == nullptr) return {name};
    scalars_.push_back({found->dtype, found->value.data()});
    return {name, nullptr, &scalars_.back()};
  }

  // Checks a call on lists. Its scalar operands and its factor apply to every member.
  Status CheckLists() const {
    const portacl::ops::Refusals refusals(call_.op, portacl::ops::Surface::kAclnn);
    const auto null = [&](const char* name) {
      return refusals.Refuse(Rule::kNull, "{} is null", name);
    };
    for (const TensorList& list : std::span(lists_).first(lists_.size() - 1)) {
      if (list.members == nullptr) return null(list.name);
    }
    for (const Operand& scalar : call_.inputs) {
      if (scalar.scalar == nullptr) return null(scalar.name);
    }
    if (call_.alpha && call_.alpha->scalar == nullptr) return null("alpha");
    if (lists_.back().members == nullptr) return null("out");
    if (!call_.has_workspace_size) return null("workspaceSize");
    if (!call_.has_executor) return null("executor");
    std::string sizes = fmt::format("self has {} members", lists_[0].members->size());
    bool same = true;
    for (const TensorList& list : std::span(lists_).subspan(1)) {
      same = same && list.members->size() == lists_[0].members->size();
      sizes += fmt::format("{} {} {}", &list == &lists_.back() ? " and" : ",", list.name,
                           list.members->size());
    }
    return same ? Status() : refusals.Refuse(Rule::kInput, "{}, but they must be as many", sizes);
  }

  Status PlanLists(std::shared_ptr<const portacl::ops::Plan>* plan) {
    PORTACL_RETURN_IF_ERROR(CheckLists());
    std::vector<Call> calls(lists_[0].members->size(), call_);
    for (size_t i = 0; i < calls.size(); ++i) {
      const auto member = [&](const TensorList& list) {
        return Operand{list.name, arguments_.Tensor(list.name, (*list.members)[i])};
      };
      const auto inputs = std::span(lists_).first(lists_.size() - 1);
      std::transform(inputs.begin(), inputs.end(),
                     std::inserter(calls[i].inputs, calls[i].inputs.begin()), member);
      calls[i].out = member(lists_.back());
    }
    PORTACL_RETURN_IF_ERROR(arguments_.TakeStatus());
    return PlanCompanionList(call_.op, calls, plan);
  }

  Status PlanJoined(std::shared_ptr<const portacl::ops::Plan>* plan) {
    if (joined_.members == nullptr) {
      return portacl::ops::Refusals(call_.op, call_.surface)
          .Refuse(Rule::kNull, "{} is null", joined_.name);
    }
    for (const aclTensor* const member : *joined_.members) {
      call_.inputs.push_back({joined_.name, arguments_.Tensor(joined_.name, member)});
    }
    if (call_.has_workspace_size && call_.has_executor) {
      PORTACL_RETURN_IF_ERROR(arguments_.TakeStatus());
    }
    return PlanJoin(call_, dim_, plan);
  }

  portacl::api::Arguments arguments_;
  Call call_;
  std::array<portacl::api::Given, 6> given_;  // the arguments in the order of the signature
  size_t given_count_ = 0;
  std::deque<Scalar> scalars_;  // operands point into it
  std::vector<TensorList> lists_;
  TensorList joined_;  // only for kCat and kStack
  int64_t dim_ = 0;
};

// The parameters of each kind of signature, and how the Reader reads them.
#define PARAMETERS_SelfOut const aclTensor *self, aclTensor *out
#define READ_SelfOut Tensor("self", self).Out("out", out)
#define PARAMETERS_SelfOtherOut const aclTensor *self, const aclTensor *other, aclTensor *out
#define READ_SelfOtherOut Tensor("self", self).Tensor("other", other).Out("out", out)
#define PARAMETERS_SelfScalarOut const aclTensor *self, const aclScalar *other, aclTensor *out
#define READ_SelfScalarOut Tensor("self", self).Value("other", other).Out("out", out)
#define PARAMETERS_SelfOtherAlphaOut \
  const aclTensor *self, const aclTensor *other, const aclScalar *alpha, aclTensor *out
#define READ_SelfOtherAlphaOut \
  Tensor("self", self).Tensor("other", other).Alpha(alpha).Out("out", out)
#define PARAMETERS_SelfScalarAlphaOut \
  const aclTensor *self, const aclScalar *other, const aclScalar *alpha, aclTensor *out
#define READ_SelfScalarAlphaOut \
  Tensor("self", self).Value("other", other).Alpha(alpha).Out("out", out)
#define PARAMETERS_InPlaceOther aclTensor *selfRef, const aclTensor *other
#define READ_InPlaceOther InPlace(selfRef).Tensor("other", other)
#define PARAMETERS_InPlaceScalar aclTensor *selfRef, const aclScalar *other
#define READ_InPlaceScalar InPlace(selfRef).Value("other", other)
#define PARAMETERS_InPlaceOtherAlpha \
  aclTensor *selfRef, const aclTensor *other, const aclScalar *alpha
#define READ_InPlaceOtherAlpha InPlace(selfRef).Tensor("other", other).Alpha(alpha)
#define PARAMETERS_InPlaceScalarAlpha \
  aclTensor *selfRef, const aclScalar *other, const aclScalar *alpha
#define READ_InPlaceScalarAlpha InPlace(selfRef).Value("other", other).Alpha(alpha)
#define PARAMETERS_InPlaceSource aclTensor *selfRef, const aclTensor *src
#define READ_InPlaceSource Overwritten(selfRef).Tensor("src", src)
#define PARAMETERS_InPlaceValue aclTensor *selfRef, const aclScalar *value
#define READ_InPlaceValue Overwritten(selfRef).Value("value", value)
#define PARAMETERS_InPlaceOne aclTensor* selfRef
#define READ_InPlaceOne Overwritten(selfRef).One()
#define PARAMETERS_InPlaceZero aclTensor* selfRef
#define READ_InPlaceZero Overwritten(selfRef).Zero()
#define PARAMETERS_SelfDTypeOut const aclTensor *self, const aclDataType dtype, aclTensor *out
#define READ_SelfDTypeOut Tensor("self", self).Type(dtype).Out("out", out)
#define PARAMETERS_SelfDimsDTypeOut \
  const aclTensor *self, const aclIntArray *dims, bool keepDims, aclDataType dtype, aclTensor *out
#define READ_SelfDimsDTypeOut Tensor("self", self).Dims(dims, keepDims).Type(dtype).Out("out", out)
#define PARAMETERS_SelfTargetReductionOut \
  const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *out
#define READ_SelfTargetReductionOut \
  Tensor("self", self).Tensor("target", target).Reduction(reduction).Out("out", out)
#define PARAMETERS_GradSelfTargetReductionOut                                                     \
  const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, \
      aclTensor *out
#define READ_GradSelfTargetReductionOut \
  Tensor("gradOutput", gradOutput)      \
      .Tensor("self", self)             \
      .Tensor("target", target)         \
      .Reduction(reduction)             \
      .Out("out", out)
#define PARAMETERS_SelfMaskOut const aclTensor *self, const aclTensor *mask, aclTensor *out
#define READ_SelfMaskOut Tensor("self", self).Tensor("mask", mask).Selected(out)
#define PARAMETERS_ListsAlphaOut \
  const aclTensorList *self, const aclTensorList *other, const aclScalar *alpha, aclTensorList *out
#define READ_ListsAlphaOut List("self", self).List("other", other).Alpha(alpha).List("out", out)
#define PARAMETERS_ListScalarOut \
  const aclTensorList *self, const aclScalar *scalar, aclTensorList *out
#define READ_ListScalarOut List("self", self).Value("scalar", scalar).List("out", out)
#define PARAMETERS_ListDimOut const aclTensorList *tensors, int64_t dim, aclTensor *out
#define READ_ListDimOut Join(tensors, dim).Out("out", out)

}  // namespace

extern "C" {

#define PORTACL_TWO_PHASES(Name, Arguments, function)                                         \
  aclnnStatus aclnn##Name##GetWorkspaceSize(PARAMETERS_##Arguments, uint64_t* workspaceSize,  \
                                            aclOpExecutor** executor) {                       \
    return portacl::api::PhaseOne("aclnn" #Name, workspaceSize, executor,                     \
                                  [&](portacl::ops::PlannedCall* planned) -> Status {         \
                                    Reader reader("aclnn" #Name, Function::function);         \
                                    reader.READ_##Arguments;                                  \
                                    return reader.Plan(workspaceSize != nullptr,              \
                                                       executor != nullptr, planned);         \
                                  });                                                         \
  }                                                                                           \
  aclnnStatus aclnn##Name(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,   \
                          aclrtStream stream) {                                               \
    return portacl::api::PhaseTwo("aclnn" #Name, workspace, workspaceSize, executor, stream); \
  }

PORTACL_COMPANION_OPERATORS(PORTACL_TWO_PHASES)

}  // extern "C"
