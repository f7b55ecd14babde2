// acl_op_compiler.h and acl_op.h: options of the compiler, folders of models, dumps.
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "api/shim.h"
#include "api/unsupported.h"
#include "runtime/error.h"
#include "runtime/options.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::GuardedValue;
using portacl::api::RawValue;
using portacl::api::Unsupported;
using portacl::base::Status;

namespace {

Status CheckOption(int32_t option) {
  if (option >= 0 && option < rt::kCompileOptions) return {};
  return rt::Error(ACL_ERROR_INVALID_PARAM, "opt is {}, wanted an aclCompileOpt, 0 to {}", option,
                   rt::kCompileOptions - 1);
}

}  // namespace

extern "C" {

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckOption(RawValue(opt)));
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    rt::SetCompileOption(RawValue(opt), value);
    return {};
  });
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
  return GuardedValue<size_t>(__func__, 0, [&]() -> size_t {
    return CheckOption(RawValue(opt)).ok() ? rt::CompileOption(RawValue(opt)).size() + 1 : 0;
  });
}

aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  return Guarded(__func__, [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckOption(RawValue(opt)));
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    const std::string text = rt::CompileOption(RawValue(opt));
    if (length <= text.size()) {
      return rt::Error(ACL_ERROR_INVALID_PARAM, "length is {}, wanted at least {}", length,
                       text.size() + 1);
    }
    std::memcpy(value, text.c_str(), text.size() + 1);
    return {};
  });
}

aclError aclopSetModelDir(const char* modelDir) {
  return Guarded(__func__, [&]() -> Status {
    if (modelDir == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "modelDir is null");
    struct stat entry {};
    if (stat(modelDir, &entry) == 0 && S_ISDIR(entry.st_mode)) return {};
    return rt::Error(ACL_ERROR_INVALID_FILE, "modelDir is {}, which is no folder", modelDir);
  });
}

aclError aclopStartDumpArgs(uint32_t, const char*) {
  return Unsupported(__func__, "there are no dumps of arguments");
}

aclError aclopStopDumpArgs(uint32_t) {
  return Unsupported(__func__, "there are no dumps of arguments");
}

aclError aclGenGraphAndDumpForOp(const char*, int, const aclTensorDesc* const[],
                                 const aclDataBuffer* const[], int, const aclTensorDesc* const[],
                                 aclDataBuffer* const[], const aclopAttr*, aclopEngineType,
                                 const char*, const aclGraphDumpOption*) {
  return Unsupported(__func__, "operators have no graphs");
}

}  // extern "C"
