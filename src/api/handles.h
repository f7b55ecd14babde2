// The objects behind handles of acl_base.h and aclnn/acl_meta.h, and the tables of live objects.
// Also the first checks of functions on data buffers and tensor descriptions.
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

// Not synchronised: the caller must order changes and other uses.
struct aclDataBuffer {
  void* data = nullptr;  // the caller's; may be null
  size_t size = 0;       // bytes
};

struct aclTensorDesc {
  portacl::base::DType dtype = portacl::base::DType::kUndefined;
  portacl::base::Format format = portacl::base::Format::kUndefined;
  std::vector<int64_t> dims;  // outermost first, any rank
  std::string name;
  // The layout of the memory, if the program set it; otherwise format and dims apply.
  std::optional<portacl::base::Format> storage_format = {};
  std::optional<std::vector<int64_t>> storage_dims = {};
  bool host = false;                      // the buffer is in host memory
  std::vector<std::byte> constant = {};   // data instead of a buffer; empty: none
  std::vector<int64_t> shape_range = {};  // (least, greatest) per extent, or empty
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

// The live handles of one type. Look a handle up before you touch its object: Find() returns null
// for a null, foreign or destroyed handle. Never destroyed: handles may be used during exit.
template <class T>
base::HandleTable<T>& Handles() {
  static constinit base::Immortal<base::HandleTable<T>> table;
  return table.Get();
}

// Refuses a handle that Find() or Take() did not find. For functions of acl_base.h.
inline base::Status CheckLive(const std::shared_ptr<aclDataBuffer>& buffer) {
  if (buffer != nullptr) return {};
  return {ACL_ERROR_INVALID_PARAM, "dataBuffer is null or no live data buffer"};
}
inline base::Status CheckLive(const std::shared_ptr<aclTensorDesc>& desc) {
  if (desc != nullptr) return {};
  return {ACL_ERROR_INVALID_PARAM, "desc is null or no live tensor description"};
}

// Calls use(object) with the object of a live handle.
template <class T, class Use>
aclError With(const char* function, const T* handle, Use&& use) {
  return Guarded(function, [&]() -> base::Status {
    const std::shared_ptr<T> found = Handles<T>().Find(handle);
    PORTACL_RETURN_IF_ERROR(CheckLive(found));
    return use(*found);
  });
}

// Returns query(object); `fallback` if the handle is not live.
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
