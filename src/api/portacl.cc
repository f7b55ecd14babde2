// The native C API of include/portacl/portacl.h.
#include "portacl/portacl.h"
#include "ops/plan.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "api/info.h"
#include "api/native_plan.h"
#include "api/shim.h"
#include "base/per_thread.h"
#include "base/status.h"
#include "cuda/library.h"
#include "ops/executor.h"
#include "ops/settings.h"
#include "runtime/fp_env.h"
#include "runtime/parallel.h"
#include "runtime/scratch.h"

namespace {

// The native API has aclnn's codes.
static_assert(PORTACL_ERROR_NULL == ACLNN_ERR_PARAM_NULLPTR);
static_assert(PORTACL_ERROR_INVALID == ACLNN_ERR_PARAM_INVALID);
static_assert(PORTACL_ERROR_RUNTIME == ACLNN_ERR_RUNTIME_ERROR);
static_assert(PORTACL_ERROR_INTERNAL == ACLNN_ERR_INNER);
static_assert(PORTACL_ERROR_NO_KERNEL == ACLNN_ERR_INNER_FIND_KERNEL_ERROR);

using portacl::base::Status;
using portacl::base::TensorDesc;

// Returns the addresses of a run: given addresses, and planned addresses for null.
portacl::ops::Storages StoragesOf(const portacl::ops::Plan& plan, void* const* tensors) {
  portacl::ops::Storages storages = plan.PlannedStorages();
  for (int i = 0; tensors != nullptr && i < plan.num_tensors(); ++i) {
    if (tensors[i] != nullptr) storages[static_cast<size_t>(i)] = tensors[i];
  }
  return storages;
}

// Checks that the call's memory is on the GPU. A kernel that reads other memory makes every later
// CUDA call of this process fail.
Status CheckGpuMemory(const portacl::ops::Plan& plan, const portacl::ops::Storages& storages,
                      const void* workspace) {
  const auto check = [&](const char* name, const void* address) -> Status {
    if (portacl::cuda::IsOnDevice(address, plan.device())) return {};
    return plan.refusals().Refuse(portacl::ops::Rule::kOther,
                                  "{} at {} does not lie in the memory of GPU {}", name,
                                  fmt::ptr(address), plan.device());
  };
  for (int i = 0; i < plan.num_tensors(); ++i) {
    if (!plan.tensor(i).has_elements()) continue;
    PORTACL_RETURN_IF_ERROR(check(plan.tensor(i).name, storages[static_cast<size_t>(i)]));
  }
  return workspace == nullptr ? Status() : check("workspace", workspace);
}

// Runs a plan on a CUDA stream.
Status RunOnGpu(const portacl::ops::Plan& plan, const portacl::ops::Storages& storages,
                void* workspace, void* stream, bool wait) {
  PORTACL_RETURN_IF_ERROR(CheckGpuMemory(plan, storages, workspace));
  const portacl::ops::CallTimer timer;
  portacl::cuda::Scope scope(plan.device(), stream);
  Status enough;
  if (workspace == nullptr && scope.error() == nullptr) {
    workspace = scope.Allocate(plan.workspace_size());
    enough = portacl::ops::CheckOwnWorkspace(plan, workspace);
  }
  if (enough.ok() && scope.error() == nullptr) {
    plan.Run(plan.ElementsAt(storages), workspace);
    if (wait) scope.Wait();
  }
  const char* const error = scope.Leave();
  timer.Ran(plan);
  if (error == nullptr) return enough;
  return portacl::ops::RefuseCuda(plan.refusals(), error);
}

Status RunPlan(const portacl::ops::Plan& plan, void* const* tensors, void* workspace,
               uint64_t workspace_size, void* stream, bool wait) {
  const portacl::ops::Storages storages = StoragesOf(plan, tensors);
  if (tensors != nullptr) PORTACL_RETURN_IF_ERROR(plan.CheckAddresses(storages));
  if (workspace != nullptr) {
    PORTACL_RETURN_IF_ERROR(portacl::ops::CheckWorkspaceSize(plan, workspace_size));
  }
  if (plan.device() != portacl::cuda::kCpu) {
    return RunOnGpu(plan, storages, workspace, stream, wait);
  }
  const portacl::runtime::Scratch scratch(workspace == nullptr ? plan.workspace_size() : 0);
  if (workspace == nullptr) {
    workspace = scratch.data();
    PORTACL_RETURN_IF_ERROR(portacl::ops::CheckOwnWorkspace(plan, workspace));
  }
  const portacl::runtime::FpEnvironment environment;
  const portacl::ops::Elements elements = plan.ElementsAt(storages);
  PORTACL_RETURN_IF_ERROR(plan.CheckContents(elements));
  const portacl::ops::CallTimer timer;
  Status status = plan.RunCall({&elements, 1}, workspace);
  timer.Ran(plan);
  return status;
}

// Texts that stay valid until the same thread asks for the same text again.
struct InfoText {
  std::string text;
};
struct ImplText {
  std::string text;
};
struct DeviceText {
  std::string text;
};

// Reads "cpu", "cuda" or "cuda:1".
std::optional<int32_t> DeviceFromName(std::string_view name) {
  if (name == "cpu") return portacl::cuda::kCpu;
  if (name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(name.begin(), name.end(), number);
  if (error != std::errc() || end != name.end()) return std::nullopt;
  return number;
}

template <class Kept>
const char* KeepText(std::string&& text) {
  Kept* const kept = portacl::base::PerThread<Kept>::Get();
  if (kept == nullptr) throw std::bad_alloc();
  kept->text = std::move(text);
  return kept->text.c_str();
}

int32_t Refuse(const char* function, int32_t code, const std::string& text) {
  return portacl::base::Report(Status(code, fmt::format("{}: {}", function, text)));
}

// Sets a setting to the value with this name.
template <class Find, class Value>
int32_t SetByName(const char* function, const char* name, Find from_name, const char* (*choices)(),
                  void (*set)(Value)) {
  return portacl::api::GuardedNative(function, [&]() -> int32_t {
    if (name == nullptr) return Refuse(function, PORTACL_ERROR_NULL, "name is null");
    const auto value = from_name(name);
    if (!value) {
      return Refuse(function, PORTACL_ERROR_INVALID,
                    fmt::format("name is \"{}\", but must be one of {}", name, choices()));
    }
    set(*value);
    return PORTACL_OK;
  });
}

}  // namespace

extern "C" {

const char* portaclGetErrorMessage() { return portacl::base::PeekErrorMessage(); }

const char* portaclGetVersion() { return PORTACL_VERSION_STRING; }

const char* portaclGetInfo() {
  return portacl::api::GuardedValue<const char*>(
      __func__, "{}", [] { return KeepText<InfoText>(portacl::api::InfoJson()); });
}

int32_t portaclSetNumThreads(int32_t threads) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (portacl::runtime::SetNumThreads(threads)) return PORTACL_OK;
    return Refuse("portaclSetNumThreads", PORTACL_ERROR_INVALID,
                  fmt::format("threads is {}, but must be 0 (the default) to 1024", threads));
  });
}

int32_t portaclGetNumThreads() {
  return portacl::api::GuardedValue<int32_t>(__func__, 1,
                                             [] { return portacl::runtime::NumThreads(); });
}

int32_t portaclSetThreadPool(const portaclThreadPool* pool) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (portacl::runtime::SetThreadPool(pool)) return PORTACL_OK;
    return Refuse("portaclSetThreadPool", PORTACL_ERROR_INVALID,
                  "called from inside a task of a pool, it would wait for its own end");
  });
}

int32_t portaclSetProfile(const char* name) {
  return SetByName(__func__, name, portacl::ops::ProfileFromName, portacl::ops::ProfileChoices,
                   portacl::ops::SetProfile);
}

const char* portaclGetProfile() {
  return portacl::api::GuardedValue<const char*>(
      __func__, portacl::ops::ProfileName(portacl::ops::Profile::kAtlasA2),
      [] { return portacl::ops::ProfileName(portacl::ops::CurrentProfile()); });
}

int32_t portaclSetEdition(const char* name) {
  return SetByName(__func__, name, portacl::ops::EditionFromName, portacl::ops::EditionChoices,
                   portacl::ops::SetEdition);
}

const char* portaclGetEdition() {
  return portacl::api::GuardedValue<const char*>(
      __func__, portacl::ops::EditionName(portacl::ops::Edition::k8),
      [] { return portacl::ops::EditionName(portacl::ops::CurrentEdition()); });
}

int32_t portaclSetStrict(int32_t strict) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    portacl::ops::SetStrict(strict != 0);
    return PORTACL_OK;
  });
}

int32_t portaclGetStrict() {
  return portacl::api::GuardedValue<int32_t>(__func__, 0,
                                             [] { return portacl::ops::Strict() ? 1 : 0; });
}

int32_t portaclSetImpl(const char* name) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    portacl::ops::SetForcedImpl(name == nullptr ? std::string() : std::string(name));
    return PORTACL_OK;
  });
}

const char* portaclGetImpl() {
  return portacl::api::GuardedValue<const char*>(
      __func__, "", [] { return KeepText<ImplText>(portacl::ops::ForcedImpl()); });
}

int32_t portaclSetDevice(const char* name) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (name == nullptr) return Refuse("portaclSetDevice", PORTACL_ERROR_NULL, "name is null");
    const auto device = DeviceFromName(name);
    if (!device) {
      return Refuse("portaclSetDevice", PORTACL_ERROR_INVALID,
                    fmt::format("name is \"{}\", but must be cpu, cuda or cuda:N", name));
    }
    const int32_t count = *device == portacl::cuda::kCpu ? 0 : portacl::cuda::DeviceCount();
    if (*device >= count) {
      return Refuse("portaclSetDevice", PORTACL_ERROR_NO_KERNEL,
                    count == 0 ? fmt::format("no GPU can be used: {}", portacl::cuda::WhyNone())
                               : fmt::format("name is \"{}\", but CUDA has {} device{}", name,
                                             count, count == 1 ? "" : "s"));
    }
    portacl::cuda::SetThreadDevice(*device);
    return PORTACL_OK;
  });
}

const char* portaclGetDevice() {
  return portacl::api::GuardedValue<const char*>(__func__, "cpu", [] {
    const int32_t device = portacl::cuda::ThreadDevice();
    return device == portacl::cuda::kCpu ? "cpu"
                                         : KeepText<DeviceText>(fmt::format("cuda:{}", device));
  });
}

uint64_t portaclPlanGetWorkspaceSize(const portaclPlan* plan) {
  return plan == nullptr ? 0 : plan->plan->workspace_size();
}

const char* portaclPlanGetKernel(const portaclPlan* plan) {
  return plan == nullptr ? "" : plan->plan->kernel().c_str();
}

int32_t portaclPlanRun(const portaclPlan* plan, void* const* tensors, void* workspace,
                       uint64_t workspaceSize) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (plan == nullptr) return Refuse("portaclPlanRun", PORTACL_ERROR_NULL, "plan is null");
    return portacl::base::Report(
        RunPlan(*plan->plan, tensors, workspace, workspaceSize, nullptr, true));
  });
}

int32_t portaclPlanEnqueue(const portaclPlan* plan, void* const* tensors, void* workspace,
                           uint64_t workspaceSize, void* stream) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (plan == nullptr) return Refuse("portaclPlanEnqueue", PORTACL_ERROR_NULL, "plan is null");
    if (plan->plan->device() == portacl::cuda::kCpu) {
      return Refuse("portaclPlanEnqueue", PORTACL_ERROR_INVALID,
                    "plan was made for the CPU, which has no streams of CUDA's: use "
                    "portaclPlanRun, or call portaclSetDevice before the plan is made");
    }
    return portacl::base::Report(
        RunPlan(*plan->plan, tensors, workspace, workspaceSize, stream, false));
  });
}

void portaclPlanDestroy(portaclPlan* plan) { delete plan; }

}  // extern "C"
