// Making and destroying what acl_handles.h owns.
#include "tools/job/acl_handles.h"

#include <utility>

#include "tools/cli_error.h"

namespace portacl::cli {

void CheckAcl(int status, const char* call) {
  if (status == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  ThrowOnStatus(status, call, message != nullptr ? message : "");
}

AclSession::AclSession() {
  CheckAcl(aclInit(nullptr), "aclInit");
  CheckAcl(aclrtSetDevice(0), "aclrtSetDevice");
  CheckAcl(aclrtCreateStream(&stream_), "aclrtCreateStream");
}

AclSession::~AclSession() {
  static_cast<void>(aclrtDestroyStream(stream_));
  static_cast<void>(aclrtResetDevice(0));
  static_cast<void>(aclFinalize());
}

DeviceMemory::DeviceMemory(size_t size) : size_(size) {
  if (size > 0) CheckAcl(aclrtMalloc(&data_, size, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) static_cast<void>(aclrtFree(data_));
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

void DeviceMemory::CopyFrom(const HostTensor& tensor) {
  if (tensor.bytes() == 0) return;
  CheckAcl(aclrtMemcpy(data_, size_, tensor.data(), tensor.bytes(), ACL_MEMCPY_HOST_TO_DEVICE),
           "aclrtMemcpy");
}

void DeviceMemory::CopyTo(HostTensor& tensor) const {
  if (tensor.bytes() == 0) return;
  CheckAcl(aclrtMemcpy(tensor.data(), tensor.bytes(), data_, size_, ACL_MEMCPY_DEVICE_TO_HOST),
           "aclrtMemcpy");
}

}  // namespace portacl::cli
