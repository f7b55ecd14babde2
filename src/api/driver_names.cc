// Functions that torch_npu's libraries link and that no header here declares: the layer below the
// runtime, the profiler's collector, and communication between devices. A program on one device
// without compiled device code calls none of them.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "acl/acl_base.h"
#include "api/unsupported.h"
#include "portacl/export.h"

using portacl::api::Unsupported;

namespace {

// Clients read this code as "operator not supported", but call none of these before an operator.
int32_t NoDriver(const char* function) {
  return portacl::api::Guarded(function, [] {
    return portacl::runtime::Error(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                                   "not supported by portacl: a CPU cannot run device code");
  });
}

constexpr int32_t kHcclNotSupported = 5;  // HCCL_E_NOT_SUPPORT

int32_t NoPeers(const char* function) {
  Unsupported(function, "there is no communication between processes");
  return kHcclNotSupported;
}

}  // namespace

extern "C" {

PORTACL_API int32_t rtDevBinaryRegister(const void* /*binary*/, void** /*handle*/) {
  return NoDriver(__func__);
}
PORTACL_API int32_t rtFunctionRegister(void* /*handle*/, const void* /*stub*/, const char* /*name*/,
                                       const void* /*device*/, uint32_t /*mode*/) {
  return NoDriver(__func__);
}
PORTACL_API int32_t rtKernelLaunch(const void* /*stub*/, uint32_t /*blocks*/, void* /*args*/,
                                   uint32_t /*size*/, void* /*sm*/, void* /*stream*/) {
  return NoDriver(__func__);
}
PORTACL_API int32_t rtGetC2cCtrlAddr(uint64_t* /*address*/, uint32_t* /*length*/) {
  return NoDriver(__func__);
}

// Accepts the callback, but never calls it, because nothing is collected.
PORTACL_API int32_t MsprofRegisterCallback(uint32_t /*module*/,
                                           int32_t (* /*callback*/)(uint32_t, void*, uint32_t)) {
  return 0;
}
PORTACL_API int32_t MsprofReportApi(uint32_t /*nonPersistent*/, const void* /*api*/) { return 0; }
PORTACL_API int32_t MsprofReportCompactInfo(uint32_t /*nonPersistent*/, const void* /*data*/,
                                            uint32_t /*length*/) {
  return 0;
}
PORTACL_API int32_t MsprofReportAdditionalInfo(uint32_t /*nonPersistent*/, const void* /*data*/,
                                               uint32_t /*length*/) {
  return 0;
}
PORTACL_API uint64_t MsprofGetHashId(const char* text, size_t length) {
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (size_t i = 0; text != nullptr && i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001B3;
  }
  return hash;
}
PORTACL_API uint64_t MsprofSysCycleTime() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

PORTACL_API int32_t HcclAllGather(void*, void*, uint64_t, int32_t, void*, void*) {
  return NoPeers(__func__);
}
PORTACL_API int32_t HcclAllReduce(void*, void*, uint64_t, int32_t, int32_t, void*, void*) {
  return NoPeers(__func__);
}
PORTACL_API int32_t HcclBroadcast(void*, uint64_t, int32_t, uint32_t, void*, void*) {
  return NoPeers(__func__);
}
PORTACL_API int32_t HcclCommDestroy(void*) { return NoPeers(__func__); }
PORTACL_API int32_t HcclCommInitAll(uint32_t, int32_t*, void**) { return NoPeers(__func__); }
PORTACL_API int32_t HcclCommInitRootInfo(uint32_t, const void*, uint32_t, void**) {
  return NoPeers(__func__);
}
PORTACL_API int32_t HcclGetRootInfo(void*) { return NoPeers(__func__); }
PORTACL_API int32_t HcclRecv(void*, uint64_t, int32_t, uint32_t, void*, void*) {
  return NoPeers(__func__);
}
PORTACL_API int32_t HcclReduceScatter(void*, void*, uint64_t, int32_t, int32_t, void*, void*) {
  return NoPeers(__func__);
}
PORTACL_API int32_t HcclSend(void*, uint64_t, int32_t, uint32_t, void*, void*) {
  return NoPeers(__func__);
}

}  // extern "C"
