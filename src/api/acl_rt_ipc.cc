// acl_rt_memory.h, acl_rt_stream.h: sharing with other processes, which is not supported.
#include "acl/acl_rt.h"
#include "api/unsupported.h"

using portacl::api::Unsupported;

extern "C" {

aclError aclrtIpcMemGetExportKey(void*, size_t, char*, size_t, uint64_t) {
  return Unsupported(__func__, "memory is not shared between processes");
}

aclError aclrtIpcMemSetImportPid(const char*, int32_t*, size_t) {
  return Unsupported(__func__, "memory is not shared between processes");
}

aclError aclrtIpcMemImportByKey(void**, const char*, uint64_t) {
  return Unsupported(__func__, "memory is not shared between processes");
}

aclError aclrtIpcMemClose(const char*) {
  return Unsupported(__func__, "memory is not shared between processes");
}

aclError aclrtIpcGetEventHandle(aclrtEvent, aclrtIpcEventHandle*) {
  return Unsupported(__func__, "events are not shared between processes");
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle, aclrtEvent*) {
  return Unsupported(__func__, "events are not shared between processes");
}

}  // extern "C"
