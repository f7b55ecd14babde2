// acl.h: aclInit and aclFinalize, the version, and messages.
#include "acl/acl.h"

#include <mutex>

#include "api/acl_op_handles.h"
#include "api/config_file.h"
#include "api/handles.h"
#include "api/shim.h"
#include "api/torch_npu.h"
#include "base/fork.h"
#include "base/status.h"
#include "portacl/version.h"
#include "runtime/error.h"
#include "runtime/leaks.h"
#include "runtime/trace.h"

namespace rt = portacl::runtime;
using portacl::api::Guarded;
using portacl::base::Status;

namespace {

enum class Life { kFresh, kInitialized, kFinalized };

Life life = Life::kFresh;

std::unique_lock<portacl::base::ForkSafe<std::mutex>> LockLife() {
  static constinit portacl::base::Immortal<portacl::base::ForkSafe<std::mutex>> mutex;
  return std::unique_lock(mutex.Get(
      [] { return new portacl::base::ForkSafe<std::mutex>(portacl::base::LockRank::kLife); }));
}

Status CheckNotFinalized() {
  if (life != Life::kFinalized) return {};
  return rt::Error(ACL_ERROR_REPEAT_FINALIZE, "called a second time without aclInit");
}

template <class T>
void CountHandles(const char* name) {
  rt::RegisterLeakCounter(name, [] { return rt::LeakCount{portacl::api::Handles<T>().size(), 0}; });
}

void RegisterLeakCounters() {
  CountHandles<aclTensor>("tensors");
  CountHandles<aclScalar>("scalars");
  CountHandles<aclIntArray>("int arrays");
  CountHandles<aclFloatArray>("float arrays");
  CountHandles<aclBoolArray>("bool arrays");
  CountHandles<aclTensorList>("tensor lists");
  CountHandles<aclScalarList>("scalar lists");
  CountHandles<aclOpExecutor>("executors");
  CountHandles<aclopAttr>("operator attributes");
  CountHandles<aclopHandle>("operator handles");
  CountHandles<aclDataBuffer>("data buffers");
  CountHandles<aclTensorDesc>("tensor descriptions");
}

}  // namespace

extern "C" {

aclError aclInit(const char* configPath) {
  const aclError code = Guarded(__func__, [&]() -> Status {
    const auto lock = LockLife();
    if (life == Life::kInitialized) {
      return rt::Error(ACL_ERROR_REPEAT_INITIALIZE, "called a second time without aclFinalize");
    }
    PORTACL_RETURN_IF_ERROR(portacl::api::ReadConfigFile(configPath));
    RegisterLeakCounters();
    life = Life::kInitialized;
    return {};
  });
  if (code == ACL_SUCCESS) portacl::api::JoinTorchNpu();
  return code;
}

aclError aclFinalize() {
  return Guarded(__func__, [&]() -> Status {
    auto lock = LockLife();
    PORTACL_RETURN_IF_ERROR(CheckNotFinalized());
    lock.unlock();  // the leak report takes the loader's lock, as guard mode's messages do
    rt::ReportLeaks();
    rt::FlushTrace();
    lock.lock();
    PORTACL_RETURN_IF_ERROR(CheckNotFinalized());
    life = Life::kFinalized;
    return {};
  });
}

aclError aclFinalizeReference(uint64_t* count) {
  const aclError code = aclFinalize();
  if (code == ACL_SUCCESS && count != nullptr) *count = 0;
  return code;
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return Guarded(__func__, [&]() -> Status {
    if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr) {
      return rt::InvalidParam("one of the three pointers is null");
    }
    *majorVersion = PORTACL_VERSION_MAJOR;
    *minorVersion = PORTACL_VERSION_MINOR;
    *patchVersion = PORTACL_VERSION_PATCH;
    return {};
  });
}

const char* aclGetRecentErrMsg() { return portacl::base::TakeErrorMessage(); }

}  // extern "C"
