// Finds and loads libportacl_aten.so, the one for the PyTorch that the process has loaded.
#include "aten/library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "aten/backend.h"
#include "base/fork.h"
#include "base/settings.h"
#include "portacl/version.h"

namespace portacl::aten {
namespace {

constexpr char kHowTo[] =
    "script/setup --aten and script/build make libportacl_aten.so, which computes this function "
    "with PyTorch's CPU kernels (docs/aten.md)";

struct Library {
  const Backend* backend = nullptr;
  std::string why;
};

// "2.15" of the PyTorch that this process has loaded, "" where there is none or it does not say.
std::string LoadedTorch() {
  void* const torch = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (torch == nullptr) return "";
  link_map* map = nullptr;
  std::string file;
  if (dlinfo(torch, RTLD_DI_LINKMAP, &map) == 0) file = map->l_name;
  dlclose(torch);
  const size_t slash = file.rfind('/');
  if (slash == std::string::npos) return "";
  std::ifstream python(file.substr(0, slash) + "/../version.py");
  for (std::string line; std::getline(python, line);) {
    if (line.rfind("__version__", 0) != 0) continue;
    const size_t begin = line.find_first_of("0123456789");
    const size_t dot = line.find('.', begin);
    if (dot == std::string::npos) return "";
    return line.substr(begin, line.find_first_not_of("0123456789", dot + 1) - begin);
  }
  return "";
}

std::string OwnFolder() {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &own) == 0) return "";
  const std::string file = own.dli_fname == nullptr ? "" : own.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

// PORTACL_ATEN_LIBRARY, or the file beside this library.
std::string FileName(const std::string& torch) {
  const char* const set = base::settings::AtenLibrary();
  if (*set != '\0') return set;
  const std::string stem = OwnFolder() + "libportacl_aten";
  const std::string exact = stem + "-" + torch + ".so";
  if (!torch.empty() && access(exact.c_str(), F_OK) == 0) return exact;
  return stem + ".so";
}

Library Load() {
  const std::string torch = LoadedTorch();
  const std::string file = FileName(torch);
  if (file.find('/') != std::string::npos && access(file.c_str(), F_OK) != 0) {
    return {nullptr, file + " is not there: " + kHowTo};
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const error = dlerror();
    return {nullptr, std::string(error == nullptr ? file : error) + ": " + kHowTo};
  }
  const auto function = reinterpret_cast<BackendFunction>(dlsym(handle, kBackendFunction));
  if (function == nullptr) return {nullptr, file + " is not portacl's library for PyTorch"};
  const Backend* const backend = function();
  if (std::strcmp(backend->version, PORTACL_VERSION_STRING) != 0) {
    return {nullptr, file + " is of portacl " + backend->version + ", but this is portacl " +
                         PORTACL_VERSION_STRING};
  }
  if (!torch.empty() && torch != backend->torch) {
    return {nullptr, file + " was built for PyTorch " + backend->torch +
                         ", but this process has loaded " + torch + ": " + kHowTo};
  }
  return {backend, {}};
}

const Library& Loaded() {
  static constinit base::Immortal<const Library> library;
  return library.Get([] { return new const Library(Load()); });
}

}  // namespace

const Backend* LoadedBackend() { return Loaded().backend; }
const std::string& WhyNone() { return Loaded().why; }

}  // namespace portacl::aten
