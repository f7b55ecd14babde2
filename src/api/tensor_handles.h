// The objects behind the handles of aclnn/acl_meta.h, and the tables of the live ones.
#ifndef PORTACL_API_TENSOR_HANDLES_H_
#define PORTACL_API_TENSOR_HANDLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "aclnn/acl_meta.h"
#include "base/dtype.h"
#include "base/fork.h"
#include "base/handle_table.h"
#include "base/tensor_desc.h"
#include "ops/executor.h"

// Not synchronised: the interface leaves changes against other uses to the caller.
struct aclTensor {
  portacl::base::TensorDesc desc;
};
struct aclScalar {
  portacl::base::DType dtype = portacl::base::DType::kUndefined;
  alignas(16) std::array<std::byte, 16> value{};  // read as its dtype
};
struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<bool> values;
};
struct aclTensorList {
  std::vector<const aclTensor*> values;  // handles, owned by the list
};
struct aclScalarList {
  std::vector<const aclScalar*> values;  // handles, owned by the list
};
struct aclOpExecutor : portacl::ops::Executor {
  using Executor::Executor;
};

namespace portacl::api {

// The live handles of one type. Look a handle up here before touching it: Find() is null for one
// that is null, foreign or destroyed. Leaked on purpose: handles may be used during exit.
template <class T>
base::HandleTable<T>& Handles() {
  static constinit base::Immortal<base::HandleTable<T>> table;
  return table.Get();
}

}  // namespace portacl::api

#endif  // PORTACL_API_TENSOR_HANDLES_H_
