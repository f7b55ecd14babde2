// Finds and loads libportacl_aten.so for the PyTorch that the process has loaded. If there is no
// such file, starts a build.
#include "aten/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "aten/backend.h"
#include "base/fork.h"
#include "base/settings.h"
#include "portacl/version.h"

namespace portacl::aten {
namespace {

namespace fs = std::filesystem;

constexpr char kHowTo[] =
    "script/setup --aten and script/build make libportacl_aten.so, which computes this function "
    "with PyTorch's CPU kernels (docs/aten.md)";

struct Library {
  const Backend* backend = nullptr;
  std::string why;
};

// A PyTorch: the folder of its libraries, and its version such as "2.15".
struct Torch {
  std::string folder;
  std::string version;
};

// Returns "2.15" for "'2.15.0+cu132'"; "" if the text has no version.
std::string TwoNumbers(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t begin = text.find_first_of(kDigits);
  const size_t dot = text.find('.', begin);
  if (begin == text.npos || dot == text.npos) return "";
  return std::string(text.substr(begin, text.find_first_not_of(kDigits, dot + 1) - begin));
}

// Finds the version in version.py of the Python package, or in Debian's name of the file.
Torch TorchOf(const fs::path& library) {
  Torch torch{library.parent_path().string(), ""};
  std::ifstream python(library.parent_path() / ".." / "version.py");
  for (std::string line; std::getline(python, line);) {
    if (line.rfind("__version__", 0) == 0) torch.version = TwoNumbers(line);
  }
  constexpr size_t kStem = std::string_view("libtorch_cpu.so").size();
  if (torch.version.empty()) torch.version = TwoNumbers(library.filename().string().substr(kStem));
  return torch;
}

// Returns the PyTorch that the process has loaded; without a version if there is none.
Torch LoadedTorch() {
  fs::path file;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        const std::string_view name = info->dlpi_name;
        const size_t slash = name.rfind('/');
        if (slash == name.npos || name.compare(slash + 1, 15, "libtorch_cpu.so") != 0) return 0;
        *static_cast<fs::path*>(found) = name;
        return 1;
      },
      &file);
  return file.empty() ? Torch() : TorchOf(file);
}

fs::path OwnFolder() {
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&OwnFolder), &own) == 0) return {};
  return fs::path(own.dli_fname == nullptr ? "" : own.dli_fname).parent_path();
}

// Returns the PyTorch of the Python environment that this library is installed in.
Torch TorchBeside(const fs::path& own) {
  const fs::path file = own / ".." / ".." / ".." / "torch" / "lib" / "libtorch_cpu.so";
  std::error_code error;
  return fs::exists(file, error) ? TorchOf(file.lexically_normal()) : Torch();
}

std::string Contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Finds the PyTorch version that a file was built for, without loading the file.
std::string BuiltFor(const fs::path& file) {
  const std::string bytes = Contents(file);
  const size_t mark = bytes.find(kBuiltFor);
  return mark == bytes.npos ? "" : TwoNumbers(std::string_view(bytes).substr(mark, 64));
}

Library Open(const fs::path& path, const Torch& loaded) {
  std::error_code error_code;
  const std::string file = (fs::exists(path, error_code) ? fs::absolute(path) : path).string();
  if (file.find('/') != file.npos && !fs::exists(path, error_code)) {
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
  if (!loaded.version.empty() && loaded.version != backend->torch) {
    return {nullptr, file + " was built for PyTorch " + backend->torch +
                         ", but this process has loaded " + loaded.version + ": " + kHowTo};
  }
  return {backend, {}};
}

// Returns a number that changes if the sources change.
uint64_t DigestOf(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  uint64_t digest = 0xcbf29ce484222325u;
  for (const fs::path& file : files) {
    for (const char byte : Contents(file)) {
      digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
  }
  return digest;
}

fs::path CacheFolder() {
  using base::settings::ReadText;
  if (const char* const cache = base::settings::Cache(); *cache != '\0') return cache;
  if (const char* const cache = ReadText("XDG_CACHE_HOME"); *cache != '\0') {
    return fs::path(cache) / "portacl";
  }
  const char* const home = ReadText("HOME");
  return *home == '\0' ? fs::path() : fs::path(home) / ".cache" / "portacl";
}

// Runs the script and writes its output to `log`.
bool RunScript(const fs::path& script, const Torch& torch, const fs::path& file,
               const fs::path& log) {
  std::string words[] = {"sh", script.string(), torch.folder, file.string()};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return access(file.c_str(), F_OK) == 0;  // a program that ignores SIGCHLD sees no status
}

// Locks a file against other processes during the object's life.
class Lock {
 public:
  explicit Lock(const fs::path& file)
      : fd_(open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool held() const { return fd_ >= 0; }

 private:
  const int fd_;
};

// Returns the first line with a compiler's error, else the first line.
std::string FirstError(const std::string& log) {
  const size_t error = log.find("error:");
  const size_t begin = error == std::string::npos ? 0 : log.rfind('\n', error) + 1;
  return log.substr(begin, log.find('\n', begin) - begin);
}

// Returns the library for `torch` from the user's cache. Builds it if it is not there.
Library Build(const Torch& torch, const fs::path& sources, const Torch& loaded) {
  char name[96];
  std::snprintf(name, sizeof name, "libportacl_aten-torch%s-%016llx.so", torch.version.c_str(),
                static_cast<unsigned long long>(DigestOf(sources)));
  const fs::path folder = CacheFolder() / "aten";
  const fs::path file = folder / name;
  std::error_code error;
  fs::create_directories(folder, error);
  const Lock lock(folder / "lock");
  if (!lock.held()) {
    return {nullptr, "cannot write " + folder.string() + "; PORTACL_CACHE names another folder"};
  }
  if (!fs::exists(file, error)) {
    std::fprintf(stderr, "portacl: building for PyTorch %s, once (a minute or two): %s\n",
                 torch.version.c_str(), file.c_str());
    const fs::path log = folder / "build.log";
    if (!RunScript(sources / "build.sh", torch, file, log)) {
      return {nullptr, "libportacl_aten.so cannot be built for PyTorch " + torch.version + ": " +
                           FirstError(Contents(log)) + " (" + log.string() + ")"};
    }
  }
  return Open(file, loaded);
}

Library Find() {
  const Torch loaded = LoadedTorch();
  if (const char* const set = base::settings::AtenLibrary(); *set != '\0') return Open(set, loaded);
  const fs::path own = OwnFolder();
  std::error_code error;
  fs::path beside = own / "libportacl_aten.so";
  const fs::path packaged = own / "portacl" / "libportacl_aten.so";  // Debian's libportacl-aten
  if (!fs::exists(beside, error) && fs::exists(packaged, error)) beside = packaged;
  if (!loaded.version.empty()) {
    const fs::path exact = own / ("libportacl_aten-" + loaded.version + ".so");
    if (fs::exists(exact, error)) return Open(exact, loaded);
  }
  const bool there = fs::exists(beside, error);
  if (there && (loaded.version.empty() || BuiltFor(beside) == loaded.version)) {
    return Open(beside, loaded);
  }
  const Torch torch = loaded.version.empty() ? TorchBeside(own) : loaded;
  const fs::path sources = own / "portacl_aten";
  if (torch.version.empty() || !fs::exists(sources / "build.sh", error))
    return Open(beside, loaded);
  return Build(torch, sources, loaded);
}

Library Load() {
  try {
    return Find();
  } catch (const std::exception& error) {
    return {nullptr, error.what()};
  }
}

const Library& Loaded() {
  static constinit base::Immortal<const Library> library;
  return library.Get([] { return new const Library(Load()); });
}

}  // namespace

const Backend* LoadedBackend() { return Loaded().backend; }
const std::string& WhyNone() { return Loaded().why; }

}  // namespace portacl::aten
