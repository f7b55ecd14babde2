// aclnn/aclnn_base.h: functions that have nothing to prepare or to release.
#include "aclnn/aclnn_base.h"

#include <string>

#include "api/config_file.h"
#include "api/shim.h"

extern "C" {

aclnnStatus aclnnInit(const char* configPath) {
  return portacl::api::GuardedNn(__func__, [&]() -> portacl::base::Status {
    const portacl::base::Status status = portacl::api::ReadConfigFile(configPath);
    if (status.ok()) return {};
    return {ACLNN_ERR_PARAM_INVALID, std::string(status.message())};
  });
}

aclnnStatus aclnnFinalize() { return ACLNN_SUCCESS; }

}  // extern "C"
