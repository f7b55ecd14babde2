// The objects behind the handles of aclnn/acl_meta.h.
#ifndef PORTACL_API_TENSOR_HANDLES_H_
#define PORTACL_API_TENSOR_HANDLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "aclnn/acl_meta.h"
#include "api/handles.h"
#include "base/dtype.h"
#include "base/tensor_desc.h"
#include "ops/executor.h"

// Not synchronised: the caller orders changes and other uses.
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

#endif  // PORTACL_API_TENSOR_HANDLES_H_
