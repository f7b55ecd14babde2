// Finds and loads libportacl_cuda.so.
#include "cuda/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "base/fork.h"
#include "base/per_thread.h"
#include "base/settings.h"
#include "cuda/backend.h"
#include "portacl/version.h"

namespace portacl::cuda {
namespace {

struct Library {
  const Backend* backend = nullptr;
  std::string why;
};

// Returns PORTACL_CUDA_LIBRARY, or the file beside this library.
std::string FileName() {
  const char* const set = base::settings::CudaLibrary();
  if (*set != '\0') return access(set, F_OK) == 0 ? std::filesystem::absolute(set).string() : set;
  Dl_info own;
  std::string folder;
  if (dladdr(reinterpret_cast<const void*>(&FileName), &own) != 0 && own.dli_fname != nullptr) {
    folder = own.dli_fname;
    folder.erase(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  }
  return folder + "libportacl_cuda.so";
}

Library Load() {
  const std::string file = FileName();
  const bool beside = *base::settings::CudaLibrary() == '\0' && file.find('/') != file.npos;
  if (beside && access(file.c_str(), F_OK) != 0) {
    return {nullptr, "built without CUDA (no libportacl_cuda.so; docs/cuda.md)"};
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const error = dlerror();
    return {nullptr, error == nullptr ? file + " cannot be loaded" : error};
  }
  const auto function = reinterpret_cast<BackendFunction>(dlsym(handle, kBackendFunction));
  if (function == nullptr) return {nullptr, file + " is not portacl's backend for CUDA"};
  const Backend* const backend = function();
  if (std::strcmp(backend->version, PORTACL_VERSION_STRING) != 0) {
    return {nullptr, file + " is of portacl " + backend->version + ", but this is portacl " +
                         PORTACL_VERSION_STRING};
  }
  if (backend->device_count() > 0) return {backend, {}};
  const char* const why = backend->unavailable();
  return {nullptr, why == nullptr ? "CUDA finds no GPU" : std::string("CUDA: ") + why};
}

const Library& Loaded() {
  static constinit base::Immortal<const Library> library;
  return library.Get([] { return new const Library(Load()); });
}

PORTACL_STARTS_WITH_THREAD thread_local int32_t thread_device = kCpu;

}  // namespace

const Backend* LoadedBackend() { return Loaded().backend; }

int32_t DeviceCount() {
  const Backend* const backend = LoadedBackend();
  return backend == nullptr ? 0 : backend->device_count();
}

std::string WhyNone() {
  const Library& library = Loaded();
  if (library.backend == nullptr || library.backend->device_count() > 0) return library.why;
  const char* const why = library.backend->unavailable();  // not null in a forked child
  return why == nullptr ? "CUDA finds no GPU" : why;
}

int32_t ThreadDevice() { return thread_device; }
void SetThreadDevice(int32_t device) { thread_device = device; }

bool IsOnDevice(const void* address, int32_t device) {
  return LoadedBackend()->is_on_device(address, device);
}

Scope::Scope(int32_t device, void* stream) : error_(LoadedBackend()->enter(device, stream)) {}

Scope::~Scope() { Leave(); }

void* Scope::Allocate(uint64_t bytes) {
  if (bytes > 0) memory_ = LoadedBackend()->allocate(bytes);
  return memory_;
}

void Scope::Wait() { LoadedBackend()->wait(); }

const char* Scope::Leave() {
  if (!entered_) return error_;
  entered_ = false;
  const Backend* const backend = LoadedBackend();
  if (memory_ != nullptr) backend->free(memory_);
  const char* const error = backend->leave();
  if (error_ == nullptr) error_ = error;
  return error_;
}

}  // namespace portacl::cuda
