// Reads the arguments of functions that PyTorch's kernels compute. The build makes these functions
// from src/aten/functions.txt; they are included below.
#include "api/aclnn_aten.h"

#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "api/aclnn_call.h"
#include "api/handles.h"
#include "aten/plan.h"
#include "ops/call.h"

#include "aten_headers.h"  // made by cmake/aten_functions.cmake

namespace portacl::api {
namespace {

using aten::Parameter;
using aten::Row;
using aten::Value;
using base::Status;
using base::TensorDesc;
using ops::Rule;

// Reads the objects behind one call's handles into values for PyTorch's kernels.
class Reader {
 public:
  explicit Reader(const Row& row)
      : row_(row), refusals_(row.function, ops::Surface::kAclnn), arguments_(row.function) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Status Read(std::span<const Given> given) {
    values_.resize(row_.parameters.size());
    singles_.reserve(row_.parameters.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      PORTACL_RETURN_IF_ERROR(ReadOne(row_.parameters[i], given[i], &values_[i]));
    }
    return {};
  }

  Status Plan(bool has_workspace_size, bool has_executor, ops::PlannedCall* planned) {
    if (!has_workspace_size) return refusals_.Refuse(Rule::kNull, "workspaceSize is null");
    if (!has_executor) return refusals_.Refuse(Rule::kNull, "executor is null");
    PORTACL_RETURN_IF_ERROR(arguments_.TakeStatus());
    return MakePlan(row_, values_, results_, planned);
  }

 private:
  Status ReadOne(const Parameter& parameter, Given given, Value* value) {
    switch (parameter.kind[0]) {
      case 'i':
      case 'b':
      case 'D':
        value->given = true;
        value->integer = given.integer;
        return {};
      case 'd':
      case 'f':
        value->given = true;
        value->number = given.number;
        return {};
      default:
        break;
    }
    if (given.handle == nullptr) {
      return parameter.optional() ? Status() : Null(parameter.name);
    }
    value->given = true;
    return ReadHandle(parameter, given.handle, value);
  }

  Status ReadHandle(const Parameter& parameter, const void* handle, Value* value) {
    const char* const name = parameter.name;
    if (parameter.tensor()) return ReadTensors(parameter, handle, value);
    switch (parameter.kind[0]) {
      case 'S':
        return ReadScalars(parameter, handle, value);
      case 'I':
        value->ints = *arguments_.Ints(name, static_cast<const aclIntArray*>(handle));
        return {};
      case 'F': {
        const auto& floats = *arguments_.Floats(name, static_cast<const aclFloatArray*>(handle));
        value->doubles = doubles_.emplace_back(floats.begin(), floats.end());
        return {};
      }
      case 'B': {
        const auto& bools = *arguments_.Bools(name, static_cast<const aclBoolArray*>(handle));
        value->ints = ints_.emplace_back(bools.begin(), bools.end());
        return {};
      }
      default:  // 's'
        value->text = static_cast<const char*>(handle);
        return {};
    }
  }

  Status ReadTensors(const Parameter& parameter, const void* handle, Value* value) {
    const char* const name = parameter.name;
    if (!parameter.list()) {
      AddTensor(parameter, static_cast<const aclTensor*>(handle));
      value->tensors = {&singles_.emplace_back(newest_), 1};
      return {};
    }
    std::vector<const TensorDesc*>& members = lists_.emplace_back();
    for (const aclTensor* const member :
         *arguments_.Tensors(name, static_cast<const aclTensorList*>(handle))) {
      if (member == nullptr) return refusals_.Refuse(Rule::kNull, "a member of {} is null", name);
      AddTensor(parameter, member);
      members.push_back(newest_);
    }
    value->tensors = members;
    return {};
  }

  void AddTensor(const Parameter& parameter, const aclTensor* tensor) {
    newest_ = arguments_.Tensor(parameter.name, tensor);
    ++count_;
    if (!parameter.finds_shape()) return;
    results_.resize(count_);
    results_.back() = arguments_.Result(parameter.name, const_cast<aclTensor*>(tensor));
  }

  Status ReadScalars(const Parameter& parameter, const void* handle, Value* value) {
    const char* const name = parameter.name;
    std::vector<aten::ScalarValue>& scalars = scalars_.emplace_back();
    const auto add = [&](const aclScalar* scalar) {
      const aclScalar* const found = arguments_.Scalar(name, scalar);
      scalars.push_back({static_cast<int32_t>(found->dtype), found->value.data()});
    };
    if (parameter.list()) {
      for (const aclScalar* const member :
           *arguments_.Scalars(name, static_cast<const aclScalarList*>(handle))) {
        if (member == nullptr) return refusals_.Refuse(Rule::kNull, "a member of {} is null", name);
        add(member);
      }
    } else {
      add(static_cast<const aclScalar*>(handle));
    }
    value->scalars = scalars;
    return {};
  }

  Status Null(const char* name) const { return refusals_.Refuse(Rule::kNull, "{} is null", name); }

  const Row& row_;
  const ops::Refusals refusals_;
  Arguments arguments_;
  std::vector<Value> values_;
  // The values point into these members. Elements of the inner vectors never move.
  std::vector<const TensorDesc*> singles_;  // reserved, so elements do not move
  std::vector<std::vector<const TensorDesc*>> lists_;
  std::vector<std::vector<aten::ScalarValue>> scalars_;
  std::vector<std::vector<double>> doubles_;
  std::vector<std::vector<int64_t>> ints_;
  std::vector<std::shared_ptr<TensorDesc>> results_;
  size_t count_ = 0;  // number of tensors
  const TensorDesc* newest_ = nullptr;
};

// Defines each row (such as kRowExp), kRows (rows with functions) and kFallbackRows.
#include "aten_rows.inc"

}  // namespace

aclnnStatus PhaseOneAten(const Row& row, std::span<const Given> given, uint64_t* workspace_size,
                         aclOpExecutor** executor) {
  return PhaseOne(row.function, workspace_size, executor, [&](ops::PlannedCall* planned) -> Status {
    Reader reader(row);
    PORTACL_RETURN_IF_ERROR(reader.Read(given));
    return reader.Plan(workspace_size != nullptr, executor != nullptr, planned);
  });
}

Status PlanAten(const char* function, std::span<const Given> given, ops::PlannedCall* planned) {
  for (const Row* const row : kFallbackRows) {
    if (std::strcmp(row->function, function) != 0) continue;
    Reader reader(*row);
    PORTACL_RETURN_IF_ERROR(reader.Read(given));
    return reader.Plan(true, true, planned);
  }
  return {ACLNN_ERR_PARAM_INVALID, {}};
}

std::span<const Row* const> AtenRows() { return kRows; }

}  // namespace portacl::api

extern "C" {
#include "aten_functions.inc"
}
