// acl_rt_stream.h: compiled device code, which a CPU cannot run.
#include "acl/acl_rt.h"
#include "api/unsupported.h"

using portacl::api::Unsupported;

extern "C" {

aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*,
                                 aclrtBinHandle*) {
  return Unsupported(__func__, "a CPU cannot run compiled device code");
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char*, aclrtFuncHandle*) {
  return Unsupported(__func__, "a CPU cannot run compiled device code");
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle, void**, void**) {
  return Unsupported(__func__, "a CPU cannot run compiled device code");
}

}  // extern "C"
