// acl.h: properties of the device and versions; acl_op_compiler.h, acl_op.h: options, model
// folders.
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "api/shim.h"
#include "api/unsupported.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/options.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::api::GuardedValue;
using portacl::api::RawValue;
using portacl::api::Unsupported;
using portacl::base::Status;

namespace {

constexpr std::array<aclCannAttr, 2> kAttributes{ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};

Status CheckOption(int32_t option) {
  if (option >= 0 && option < rt::kCompileOptions) return {};
  return rt::Error(ACL_ERROR_INVALID_PARAM, "opt is {}, wanted an aclCompileOpt, 0 to {}", option,
                   rt::kCompileOptions - 1);
}

}  // namespace

extern "C" {

aclError aclFinalizeReference(uint64_t* count) {
  const aclError code = aclFinalize();
  if (code == ACL_SUCCESS && count != nullptr) *count = 0;
  return code;
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return Guarded("aclGetCannAttribute", [&]() -> Status {
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    switch (RawValue(cannAttr)) {
      case ACL_CANN_ATTR_INF_NAN:
      case ACL_CANN_ATTR_BF16:
        *value = 1;
        return {};
      case ACL_CANN_ATTR_JIT_COMPILE:  // every operator is compiled already
        *value = 0;
        return {};
      default:
        return rt::Error(ACL_ERROR_INVALID_PARAM, "cannAttr is {}, which is no aclCannAttr",
                         RawValue(cannAttr));
    }
  });
}

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return Guarded("aclGetCannAttributeList", [&]() -> Status {
    if (cannAttrList == nullptr || num == nullptr) {
      return rt::Error(ACL_ERROR_INVALID_PARAM, "{} is null",
                       cannAttrList == nullptr ? "cannAttrList" : "num");
    }
    *cannAttrList = kAttributes.data();
    *num = kAttributes.size();
    return {};
  });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return Guarded("aclGetDeviceCapability", [&]() -> Status {
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    const auto device = static_cast<int32_t>(deviceId);
    PORTACL_RETURN_IF_ERROR(rt::CheckDevice(device));
    switch (RawValue(deviceInfo)) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = rt::DeviceCores(device, ACL_RT_DEV_RES_CUBE_CORE);
        return {};
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = rt::DeviceCores(device, ACL_RT_DEV_RES_VECTOR_CORE);
        return {};
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = static_cast<int64_t>(rt::CacheBytes());
        return {};
      default:
        return rt::Error(ACL_ERROR_INVALID_PARAM, "deviceInfo is {}, which is no aclDeviceInfo",
                         RawValue(deviceInfo));
    }
  });
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return Guarded("aclsysGetCANNVersion", [&]() -> Status {
    if (version == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "version is null");
    return rt::Error(
        ACL_ERROR_INVALID_FILE,
        "package {} of the vendor's toolkit is not installed; portacl's own version is "
        "aclrtGetVersion's",
        RawValue(name));
  });
}

aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  return Guarded("aclSetCompileopt", [&]() -> Status {
    PORTACL_RETURN_IF_ERROR(CheckOption(RawValue(opt)));
    if (value == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "value is null");
    rt::SetCompileOption(RawValue(opt), value);
    return {};
  });
}

size_t aclGetCompileoptSize(aclCompileOpt opt) {
  return GuardedValue<size_t>("aclGetCompileoptSize", 0, [&]() -> size_t {
    return CheckOption(RawValue(opt)).ok() ? rt::CompileOption(RawValue(opt)).size() + 1 : 0;
  });
}

aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  return Guarded("aclGetCompileopt", [&]() -> Status {
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
  return Guarded("aclopSetModelDir", [&]() -> Status {
    if (modelDir == nullptr) return rt::Error(ACL_ERROR_INVALID_PARAM, "modelDir is null");
    struct stat entry {};
    if (stat(modelDir, &entry) == 0 && S_ISDIR(entry.st_mode)) return {};
    return rt::Error(ACL_ERROR_INVALID_FILE, "modelDir is {}, which is no folder", modelDir);
  });
}

aclError aclopStartDumpArgs(uint32_t, const char*) {
  return Unsupported("aclopStartDumpArgs", "there are no dumps of arguments");
}

aclError aclopStopDumpArgs(uint32_t) {
  return Unsupported("aclopStopDumpArgs", "there are no dumps of arguments");
}

aclError aclGenGraphAndDumpForOp(const char*, int, const aclTensorDesc* const[],
                                 const aclDataBuffer* const[], int, const aclTensorDesc* const[],
                                 aclDataBuffer* const[], const aclopAttr*, aclopEngineType,
                                 const char*, const aclGraphDumpOption*) {
  return Unsupported("aclGenGraphAndDumpForOp", "operators have no graphs");
}

}  // extern "C"
