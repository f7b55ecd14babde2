// The parts that all two-phase functions share: read handles, make executors, run them.
#ifndef PORTACL_API_ACLNN_CALL_H_
#define PORTACL_API_ACLNN_CALL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"
#include "api/aclnn_aten.h"
#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/executor.h"
#include "ops/plan.h"

namespace portacl::api {

// Reads a call's handles and keeps their objects alive. A null handle gives null; the operator's
// first check reports it. A handle that is not live gives an empty stand-in and sets the status.
// Call TakeStatus() after the operator's first check has passed.
class Arguments {
 public:
  explicit Arguments(const char* op) : op_(op) {}
  const base::TensorDesc* Tensor(const char* name, const aclTensor* handle);
  const std::vector<int64_t>* Ints(const char* name, const aclIntArray* handle);
  const std::vector<float>* Floats(const char* name, const aclFloatArray* handle);
  const std::vector<bool>* Bools(const char* name, const aclBoolArray* handle);
  const aclScalar* Scalar(const char* name, const aclScalar* handle);
  const std::vector<const aclTensor*>* Tensors(const char* name, const aclTensorList* handle);
  const std::vector<const aclScalar*>* Scalars(const char* name, const aclScalarList* handle);
  // Returns a tensor that gets its shape from a run. The handle's object lives as long as it.
  std::shared_ptr<base::TensorDesc> Result(const char* name, aclTensor* handle);
  // Returns an error if a handle was not live and no handle was null.
  base::Status TakeStatus();

 private:
  template <class T>
  T* Find(const char* name, const T* handle);

  const char* op_;
  bool null_ = false;
  base::Status invalid_;
  // Room for the objects of most calls, without an allocation.
  std::array<std::shared_ptr<void>, 8> alive_;
  size_t count_ = 0;  // objects in `alive_`
  std::vector<std::shared_ptr<void>> more_alive_;
};

// Makes a call of an operator of src/ops from the arguments of phase 1, in their order.
class ArgumentReader {
 public:
  explicit ArgumentReader(const ops::Signature& signature)
      : arguments_(signature.name), call_(signature, ops::Surface::kAclnn, signature.name) {}
  ArgumentReader(const ArgumentReader&) = delete;
  ArgumentReader& operator=(const ArgumentReader&) = delete;

  void Add(const aclTensor* tensor) { Add(tensor, arguments_.Tensor(name(), tensor)); }
  void Add(const aclIntArray* values) { Add(values, arguments_.Ints(name(), values)); }
  void Add(const aclFloatArray* values) { Add(values, arguments_.Floats(name(), values)); }
  void Add(const aclBoolArray* values) { Add(values, arguments_.Bools(name(), values)); }
  void Add(const char* word) { Add(word, word); }
  void Add(double value) { Add(value, value); }
  void Add(float value) { Add(double{value}); }
  void Add(int64_t value) { Add(value, value); }
  void Add(int32_t value) { Add(int64_t{value}); }
  void Add(bool value) { Add(int64_t{value ? 1 : 0}); }

  // Plans the call. If the operator refuses it because of a data type or rank, PyTorch's kernels
  // may compute it.
  base::Status Plan(bool has_workspace_size, bool has_executor, ops::PlannedCall* planned);

 private:
  void Add(Given given, ops::Argument argument) {
    given_[call_.size()] = given;
    call_.Add(argument);
  }
  const char* name() const { return call_.parameter(call_.size()).name; }
  bool HasOtherTensors() const;

  Arguments arguments_;
  ops::Call call_;
  std::array<Given, ops::Signature::kMaxParameters> given_;  // as many as the call has arguments
};

// A reference to a function that plans. PhaseOne() calls it before it returns. It is no
// std::function, which may allocate where nothing catches exceptions.
class Planner {
 public:
  template <class Function>
  Planner(Function&& function)  // NOLINT: conversion is its purpose
      : function_(&function), call_([](const void* target, ops::PlannedCall* planned) {
          return (*static_cast<const std::remove_reference_t<Function>*>(target))(planned);
        }) {}
  base::Status operator()(ops::PlannedCall* planned) const { return call_(function_, planned); }

 private:
  const void* function_;
  base::Status (*call_)(const void*, ops::PlannedCall*);
};

// Phase 1: plans and makes an executor. On failure sets *workspace_size to 0 and *executor to null,
// unless these pointers are null.
aclnnStatus PhaseOne(const char* op, uint64_t* workspace_size, aclOpExecutor** executor,
                     Planner planner);

// Phase 1 of an operator of src/ops. `read(reader)` adds each argument to the reader, in the order
// of the signature.
template <class Read>
aclnnStatus PhaseOne(const ops::Signature& signature, uint64_t* workspace_size,
                     aclOpExecutor** executor, const Read& read) {
  const auto planner = [&](ops::PlannedCall* planned) -> base::Status {
    ArgumentReader reader(signature);
    read(reader);
    return reader.Plan(workspace_size != nullptr, executor != nullptr, planned);
  };
  return PhaseOne(signature.name, workspace_size, executor, planner);
}

// Phase 2: enqueues a run of an executor that phase 1 of `op` made. Frees a one-shot executor
// unless the call is refused.
aclnnStatus PhaseTwo(const char* op, void* workspace, uint64_t workspace_size,
                     aclOpExecutor* executor, aclrtStream stream);

}  // namespace portacl::api

#endif  // PORTACL_API_ACLNN_CALL_H_
