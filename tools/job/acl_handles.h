// Owners of the objects of the ACL interface, for as long as a scope lasts.
#ifndef PORTACL_TOOLS_JOB_ACL_HANDLES_H_
#define PORTACL_TOOLS_JOB_ACL_HANDLES_H_

#include <acl/acl.h>
#include <acl/acl_op_compiler.h>
#include <aclnn/acl_meta.h>

#include <memory>
#include <vector>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

// Throws for an acl or aclnn status other than 0, with the library's message.
void CheckAcl(int status, const char* call);

template <auto destroy>
struct AclDelete {
  template <class T>
  void operator()(T* object) const {
    static_cast<void>(destroy(object));
  }
};
struct AclDeleteDescription {
  void operator()(aclTensorDesc* desc) const { aclDestroyTensorDesc(desc); }
};
struct AclDeleteAttributes {
  void operator()(aclopAttr* attributes) const { aclopDestroyAttr(attributes); }
};

using AclTensor = std::unique_ptr<aclTensor, AclDelete<aclDestroyTensor>>;
using AclIntArray = std::unique_ptr<aclIntArray, AclDelete<aclDestroyIntArray>>;
using AclBoolArray = std::unique_ptr<aclBoolArray, AclDelete<aclDestroyBoolArray>>;
using AclExecutor = std::unique_ptr<aclOpExecutor, AclDelete<aclDestroyAclOpExecutor>>;
using AclDataBuffer = std::unique_ptr<aclDataBuffer, AclDelete<aclDestroyDataBuffer>>;
using AclDescription = std::unique_ptr<aclTensorDesc, AclDeleteDescription>;
using AclAttributes = std::unique_ptr<aclopAttr, AclDeleteAttributes>;

// aclInit, device 0 and a stream; undone in reverse order.
class AclSession {
 public:
  AclSession();
  ~AclSession();
  AclSession(const AclSession&) = delete;
  AclSession& operator=(const AclSession&) = delete;

  aclrtStream stream() const { return stream_; }
  void Synchronize() { CheckAcl(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream"); }

 private:
  aclrtStream stream_ = nullptr;
};

// Device memory from aclrtMalloc; null for 0 bytes.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&&) = delete;

  void* data() const { return data_; }
  size_t size() const { return size_; }
  void CopyFrom(const HostTensor& tensor);
  void CopyTo(HostTensor& tensor) const;

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_JOB_ACL_HANDLES_H_
