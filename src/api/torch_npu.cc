// The functions for the package portacl_npu, and its import into a process of torch_npu. No header
// declares these functions, because only that package calls them, and finds them by name.
#include "api/torch_npu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "api/shim.h"
#include "base/log.h"
#include "portacl/export.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/trace.h"

namespace base = portacl::base;
namespace rt = portacl::runtime;

namespace {

template <class Function>
Function* Find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// Returns the folder "python" of this library's install tree, as a Python literal.
std::string PackageFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&PackageFolder), &info) == 0) return "''";
  std::error_code error;
  const auto library = std::filesystem::absolute(info.dli_fname, error);
  const std::string folder = library.parent_path().parent_path() / "python";
  std::string literal = "'";
  for (const char c : folder) {
    if (c == '\'' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + "'";
}

}  // namespace

namespace portacl::api {

void JoinTorchNpu() noexcept {
  GuardedValue(__func__, 0, [] {
    void* const plugin = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (plugin == nullptr) return 0;
    dlclose(plugin);
    const auto is_initialized = Find<int()>("Py_IsInitialized");
    const auto ensure = Find<int()>("PyGILState_Ensure");
    const auto release = Find<void(int)>("PyGILState_Release");
    const auto run = Find<int(const char*, void*)>("PyRun_SimpleStringFlags");
    if (is_initialized == nullptr || ensure == nullptr || release == nullptr || run == nullptr ||
        is_initialized() == 0) {
      return 0;
    }
    // exec() in a dictionary of its own, so that the names in the program's __main__ do not change.
    const std::string program = fmt::format(R"(exec('''
import sys
sys.path.insert(0, folder)
try:
    import portacl_npu
except ModuleNotFoundError as error:
    if error.name != "portacl_npu":
        raise
else:
    portacl_npu.first_use()
finally:
    if folder in sys.path:
        sys.path.remove(folder)
''', {{"folder": {}}})
)",
                                            PackageFolder());
    const int state = ensure();
    run(program.c_str(), nullptr);
    release(state);
    return 0;
  });
}

}  // namespace portacl::api

extern "C" {

// Returns 1 in guard mode: there, host code of the library uses other addresses than the program.
PORTACL_API int32_t portaclNpuGuarded(void) {
  return portacl::api::GuardedValue<int32_t>(__func__, 0,
                                             [] { return rt::GuardEnabled() ? 1 : 0; });
}

// Returns the address at which host code of the library reaches `bytes` bytes of device memory.
// Returns null and sets a message if the address is not in device memory.
PORTACL_API void* portaclNpuHostAddress(const void* address, size_t bytes) {
  void* host = nullptr;
  const int32_t code = portacl::api::GuardedNative(__func__, [&] {
    return rt::ResolveAddress(address, bytes, "a tensor of a routed operator", /*strict=*/false,
                              &host);
  });
  return code == 0 ? host : nullptr;
}

// Returns 1 if the timeline, the log (level debug) or the log of calls is on.
PORTACL_API int32_t portaclNpuWatched(void) {
  return portacl::api::GuardedValue<int32_t>(__func__, 0, [] {
    return rt::TraceEnabled() || base::LogEnabled(base::LogLevel::kDebug) || base::CallLogEnabled()
               ? 1
               : 0;
  });
}

// Reports a call that PyTorch's CPU kernels computed on device memory and that has just ended.
PORTACL_API void portaclNpuReportCall(const char* name, const char* tensors, double microseconds) {
  portacl::api::GuardedValue(__func__, 0, [&] {
    const rt::TraceTime end = std::chrono::steady_clock::now();
    const auto time = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double, std::micro>(microseconds));
    if (rt::TraceEnabled()) rt::AddTraceSpan({}, {"routed", name, tensors, end - time, end});
    if (base::LogEnabled(base::LogLevel::kDebug)) {
      base::Log(base::LogLevel::kDebug,
                fmt::format("routed {} {} {:.1f} us", name, tensors, microseconds));
    }
    if (base::CallLogEnabled()) {
      base::LogCall(fmt::format("portacl_routed,v1,{},{},{:.3f}", name, tensors, microseconds));
    }
    return 0;
  });
}

}  // extern "C"
