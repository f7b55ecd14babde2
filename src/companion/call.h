// A call of a companion operator and its plan.
#ifndef PORTACL_COMPANION_CALL_H_
#define PORTACL_COMPANION_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "companion/operators.h"
#include "ops/call.h"
#include "ops/plan.h"

namespace portacl::companion {

struct Scalar {
  base::DType dtype = base::DType::kUndefined;
  const void* value = nullptr;
};

// A parameter that is read: a tensor or a scalar, or neither if the caller gave null.
struct Operand {
  const char* name = "";
  const base::TensorDesc* tensor = nullptr;
  const Scalar* scalar = nullptr;
};

// The parameters of one call, set by the aclnn function.
struct Call {
  const char* op = "";  // static string: "aclnnAdd"
  ops::Surface surface = ops::Surface::kAclnn;
  Function function = Function::kCopy;
  std::vector<Operand> inputs;
  Operand out;
  bool in_place = false;         // `out` is the signature's first tensor, "selfRef"
  bool reads_out = false;        // inputs[0] is `out`
  std::optional<Operand> alpha;  // only kAdd and kSub
  int64_t reduction = 0;         // only losses: 0 none, 1 mean, 2 sum
  bool has_dims = false;         // only kSum and kMean
  const std::vector<int64_t>* dims = nullptr;
  bool keep_dims = false;
  std::optional<base::DType> dtype;  // the data type that the caller asks for
  // kMaskedSelect: the view that gets the shape of the selected elements at the end of the run.
  std::shared_ptr<base::TensorDesc> selected;
  bool has_workspace_size = true;  // false: the caller gave null for it in phase 1
  bool has_executor = true;
};

// Checks and plans a call. Checks in this order: null parameters (ACLNN_ERR_PARAM_NULLPTR); data
// types, formats, shapes, values (ACLNN_ERR_PARAM_INVALID); memory.
base::Status PlanCompanion(const Call& call, std::shared_ptr<const ops::Plan>* plan);

// Plans a call on lists: one call per member. The plan runs them in order, as one call.
base::Status PlanCompanionList(const char* op, const std::vector<Call>& calls,
                               std::shared_ptr<const ops::Plan>* plan);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_CALL_H_
