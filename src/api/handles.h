// The objects behind handles of acl_base.h and aclnn/acl_meta.h, the tables of live objects, and
// the first checks of the functions on data buffers and tensor descriptions.
#ifndef PORTACL_API_HANDLES_H_
#define PORTACL_API_HANDLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"
#include "api/shim.h"
#include "base/dtype.h"
#include "base/fork.h"
#include "base/handle_table.h"
#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/executor.h"

// Not synchronised: the caller orders changes and other uses.
struct aclDataBuffer {
  void* data = nullptr;  // the caller's; may be null
  size_t size = 0;       // bytes
};

struct aclTensorDesc {
  portacl::base::DType dtype = portacl::base::DType::kUndefined;
  portacl::base::Format format = portacl::base::Format::kUndefined;
  std::vector<int64_t> dims;  // outermost first, any rank
  std::string name;
  // How the memory is laid out, if that was said; otherwise as above.
  std::optional<portacl::base::Format> storage_format = {};
  std::optional<std::vector<int64_t>> storage_dims = {};
  bool host = false;                      // the buffer is host memory
  std::vector<std::byte> constant = {};   // takes the place of the buffer; empty: none
  std::vector<int64_t> shape_range = {};  // least and greatest of each extent, or empty
};

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

// For the functions of acl_base.h. Refuses a buffer that Find() or Take() did not find.
inline base::Status CheckLive(const std::shared_ptr<aclDataBuffer>& buffer) {
  if (buffer != nullptr) return {};
  return {ACL_ERROR_INVALID_PARAM, "dataBuffer is null or no live data buffer"};
}
inline base::Status CheckLive(const std::shared_ptr<aclTensorDesc>& desc) {
  if (desc != nullptr) return {};
  return {ACL_ERROR_INVALID_PARAM, "desc is null or no live tensor description"};
}

// Calls use(object) with the live object behind a handle.
template <class T, class Use>
aclError With(const char* function, const T* handle, Use&& use) {
  return Guarded(function, [&]() -> base::Status {
    const std::shared_ptr<T> found = Handles<T>().Find(handle);
    PORTACL_RETURN_IF_ERROR(CheckLive(found));
    return use(*found);
  });
}

// For a query; a bad handle gives `fallback`.
template <class T, class Answer, class Query>
Answer Ask(const char* function, const T* handle, Answer fallback, Query&& query) {
  Answer answer = fallback;
  With(function, handle, [&](const T& found) -> base::Status {
    answer = query(found);
    return {};
  });
  return answer;
}

}  // namespace portacl::api

#endif  // PORTACL_API_HANDLES_H_
