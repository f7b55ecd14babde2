// The two-phase functions of the companion operators, made of the table in companion/operators.h.
#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_bitwise_and_scalar.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_ceil.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_foreach_add_list_v2.h"
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
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_zero.h"
#include "api/aclnn_call.h"
#include "api/tensor_handles.h"
#include "companion/call.h"
#include "ops/refusal.h"

#include <deque>
#include <memory>
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
    call_.inputs.push_back({name, arguments_.Tensor(name, tensor)});
    return *this;
  }
  Reader& Value(const char* name, const aclScalar* scalar) {
    call_.inputs.push_back(ScalarOperand(name, scalar));
    return *this;
  }
  Reader& Number(int64_t number) {
    static constexpr int64_t kNumbers[] = {0, 1};
    scalars_.push_back({DType::kInt64, &kNumbers[number]});
    call_.inputs.push_back({"value", nullptr, &scalars_.back()});
    return *this;
  }
  Reader& Alpha(const aclScalar* alpha) {
    call_.alpha = ScalarOperand("alpha", alpha);
    return *this;
  }
  Reader& Out(const char* name, aclTensor* tensor) {
    call_.out = {name, arguments_.Tensor(name, tensor)};
    return *this;
  }
  Reader& InPlace(aclTensor* tensor) {
    call_.in_place = true;
    Out("selfRef", tensor);
    call_.inputs.push_back(call_.out);
    return *this;
  }
  Reader& Reduction(int64_t reduction) {
    call_.reduction = reduction;
    return *this;
  }
  Reader& Dims(const aclIntArray* dims, bool keep) {
    call_.has_dims = true;
    call_.dims = arguments_.Ints("dims", dims);
    call_.keep_dims = keep;
    return *this;
  }
  Reader& Type(aclDataType dtype) {
    call_.dtype = static_cast<DType>(dtype);
    return *this;
  }
  Reader& Selected(aclTensor* tensor) {
    call_.selected = arguments_.Result("out", tensor);
    return Out("out", tensor);
  }
  void Lists(const aclTensorList* self, const aclTensorList* other, const aclScalar* alpha,
             aclTensorList* out) {
    Alpha(alpha);
    lists_ = std::make_unique<TensorLists>();
    lists_->self = arguments_.Tensors("self", self);
    lists_->other = arguments_.Tensors("other", other);
    lists_->out = arguments_.Tensors("out", out);
  }

  Status Plan(bool has_workspace_size, bool has_executor,
              std::shared_ptr<const portacl::ops::Plan>* plan) {
    call_.has_workspace_size = has_workspace_size;
    call_.has_executor = has_executor;
    if (lists_ != nullptr) return PlanLists(plan);
    if (has_workspace_size && has_executor) PORTACL_RETURN_IF_ERROR(arguments_.status());
    return PlanCompanion(call_, plan);
  }

 private:
  struct TensorLists {
    const std::vector<const aclTensor*>* self = nullptr;
    const std::vector<const aclTensor*>* other = nullptr;
    const std::vector<const aclTensor*>* out = nullptr;
  };

  Operand ScalarOperand(const char* name, const aclScalar* scalar) {
    const aclScalar* found = arguments_.Scalar(name, scalar);
    if (found == nullptr) return {name};
    scalars_.push_back({found->dtype, found->value.data()});
    return {name, nullptr, &scalars_.back()};
  }

  Status PlanLists(std::shared_ptr<const portacl::ops::Plan>* plan) {
    const portacl::ops::Refusals refusals(call_.op, portacl::ops::Surface::kAclnn);
    const auto null = [&](const char* name) {
      return refusals.Refuse(Rule::kNull, "{} is null", name);
    };
    if (lists_->self == nullptr) return null("self");
    if (lists_->other == nullptr) return null("other");
    if (call_.alpha->scalar == nullptr) return null("alpha");
    if (lists_->out == nullptr) return null("out");
    if (!call_.has_workspace_size) return null("workspaceSize");
    if (!call_.has_executor) return null("executor");
    const size_t size = lists_->self->size();
    if (lists_->other->size() != size || lists_->out->size() != size) {
      return refusals.Refuse(Rule::kInput,
                             "self has {} members, other {} and out {}, but they must be as many",
                             size, lists_->other->size(), lists_->out->size());
    }
    std::vector<Call> calls(size, call_);
    for (size_t i = 0; i < size; ++i) {
      calls[i].inputs = {{"self", arguments_.Tensor("self", (*lists_->self)[i])},
                         {"other", arguments_.Tensor("other", (*lists_->other)[i])}};
      calls[i].out = {"out", arguments_.Tensor("out", (*lists_->out)[i])};
    }
    PORTACL_RETURN_IF_ERROR(arguments_.status());
    return PlanCompanionList(call_.op, calls, plan);
  }

  portacl::api::Arguments arguments_;
  Call call_;
  std::deque<Scalar> scalars_;  // that the operands point to
  std::unique_ptr<TensorLists> lists_;
};

// The arguments of each kind of signature, and how they are read.
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
#define READ_InPlaceSource Out("selfRef", selfRef).Tensor("src", src)
#define PARAMETERS_InPlaceValue aclTensor *selfRef, const aclScalar *value
#define READ_InPlaceValue Out("selfRef", selfRef).Value("value", value)
#define PARAMETERS_InPlaceOne aclTensor* selfRef
#define READ_InPlaceOne Out("selfRef", selfRef).Number(1)
#define PARAMETERS_InPlaceZero aclTensor* selfRef
#define READ_InPlaceZero Out("selfRef", selfRef).Number(0)
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
#define READ_ListsAlphaOut Lists(self, other, alpha, out)

}  // namespace

extern "C" {

#define PORTACL_TWO_PHASES(Name, Arguments, function)                                              \
  aclnnStatus aclnn##Name##GetWorkspaceSize(PARAMETERS_##Arguments, uint64_t* workspaceSize,       \
                                            aclOpExecutor** executor) {                            \
    return portacl::api::PhaseOne("aclnn" #Name, workspaceSize, executor,                          \
                                  [&](std::shared_ptr<const portacl::ops::Plan>* plan) -> Status { \
                                    Reader reader("aclnn" #Name, Function::function);              \
                                    reader.READ_##Arguments;                                       \
                                    return reader.Plan(workspaceSize != nullptr,                   \
                                                       executor != nullptr, plan);                 \
                                  });                                                              \
  }                                                                                                \
  aclnnStatus aclnn##Name(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,        \
                          aclrtStream stream) {                                                    \
    return portacl::api::PhaseTwo("aclnn" #Name, workspace, workspaceSize, executor, stream);      \
  }

PORTACL_COMPANION_OPERATORS(PORTACL_TWO_PHASES)

}  // extern "C"
