// Uses some functions of libdwfl, which are declared here as in libdwfl's header.
#include "runtime/guard_lines.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <string_view>

namespace portacl::runtime {
namespace {

struct Callbacks {
  void* find_elf;
  void* find_debuginfo;
  void* section_address;
  char** debuginfo_path;
};

struct Library {
  void* (*begin)(const Callbacks*);
  int (*report)(void*, pid_t);
  int (*report_end)(void*, void*, void*);
  void* (*module)(void*, uint64_t);
  const char* (*name)(void*, uint64_t);
  void* (*source)(void*, uint64_t);
  const char* (*line)(void*, uint64_t*, int*, int*, uint64_t*, uint64_t*);
  void (*end)(void*);
  Callbacks callbacks;
};

constinit std::atomic<const Library*> the_library{nullptr};

template <class Function>
bool Take(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

// Loads libdw. Debug information may be in a separate file; this way of finding it asks no server.
std::unique_ptr<const Library> Load() {
  void* const handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  auto library = std::unique_ptr<Library>(new (std::nothrow) Library{});
  if (handle == nullptr || library == nullptr) return nullptr;
  const bool whole =
      Take(handle, "dwfl_begin", library->begin) &&
      Take(handle, "dwfl_linux_proc_report", library->report) &&
      Take(handle, "dwfl_report_end", library->report_end) &&
      Take(handle, "dwfl_addrmodule", library->module) &&
      Take(handle, "dwfl_module_addrname", library->name) &&
      Take(handle, "dwfl_module_getsrc", library->source) &&
      Take(handle, "dwfl_lineinfo", library->line) && Take(handle, "dwfl_end", library->end) &&
      Take(handle, "dwfl_linux_proc_find_elf", library->callbacks.find_elf) &&
      Take(handle, "dwfl_build_id_find_debuginfo", library->callbacks.find_debuginfo);
  if (!whole) return nullptr;
  return library;
}

// Demangles names of C++ functions. Leaves C names: "f" is also the mangled name of float.
std::string Demangled(const char* name) {
  if (std::string_view(name).substr(0, 2) != "_Z") return name;
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string demangled = text != nullptr ? text : name;
  std::free(text);
  return demangled;
}

// Returns true for internal functions of this library. Programs call only its C functions.
bool IsInside(const Dl_info& file, const char* name) {
  Dl_info own{};
  return dladdr(&the_library, &own) != 0 && file.dli_fbase == own.dli_fbase &&
         (name == nullptr || std::string_view(name).substr(0, 2) == "_Z");
}

// Returns " at program.c:2", or "" if the line is unknown.
std::string SourceOf(const Library& library, void* module, uint64_t address) {
  void* const source = library.source(module, address);
  int line = 0;
  const char* const file =
      source != nullptr ? library.line(source, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
  return file != nullptr ? fmt::format(" at {}:{}", file, line) : "";
}

std::string LinesOf(const Library& library, void* session, const GuardStack& stack) {
  std::string all, told;
  bool named = false;
  for (int i = 0; i < stack.count; ++i) {
    // A return address may belong to the next line. The call is just before that address.
    const auto address = reinterpret_cast<uint64_t>(stack.frames[static_cast<size_t>(i)]) -
                         (stack.interrupted && i == 0 ? 0 : 1);
    void* const module = library.module(session, address);
    const char* const name = module != nullptr ? library.name(module, address) : nullptr;
    Dl_info file{};
    dladdr(reinterpret_cast<void*>(address), &file);
    std::string line;
    if (name != nullptr) {
      line = fmt::format("    {}{}\n", Demangled(name), SourceOf(library, module, address));
    } else if (file.dli_fname != nullptr) {
      line = fmt::format("    ?? in {}\n", file.dli_fname);
    }
    all += line;
    if (!IsInside(file, name)) told += line;
    named = named || name != nullptr;
    if (name != nullptr && std::string_view(name) == "main") break;  // below is the C library
  }
  if (!named) return "";
  return told.empty() ? all : told;
}

}  // namespace

void FindLineReader() {
  if (the_library.load() != nullptr) return;
  std::unique_ptr<const Library> loaded = Load();  // several threads may do this at a time
  const Library* none = nullptr;
  if (the_library.compare_exchange_strong(none, loaded.get())) static_cast<void>(loaded.release());
}

std::string DescribeLines(const GuardStack& stack) {
  const Library* const library = the_library.load();
  if (library == nullptr) return "";
  void* const session = library->begin(&library->callbacks);
  if (session == nullptr) return "";
  std::string text;
  if (library->report(session, getpid()) == 0 &&
      library->report_end(session, nullptr, nullptr) == 0) {
    text = LinesOf(*library, session, stack);
  }
  library->end(session);
  return text;
}

bool PrintLines(const GuardStack& stack) {
  if (the_library.load() == nullptr) return false;
  // clone() runs no handlers of fork(), which take locks. The child's end sends no signal.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (child < 0) return false;
  if (child == 0) {
    // The child may hang, and its parent may end before it kills the child.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT}) signal(number, SIG_DFL);
    const std::string text = DescribeLines(stack);
    Print(text);
    // Not _exit(): AddressSanitizer intercepts it, looks for the stack of this unknown thread, and
    // hangs.
    for (;;) syscall(SYS_exit_group, text.empty() ? 1 : 0);
  }
  for (int tries = 0; tries < 400; ++tries) {
    int status = -1;
    if (waitpid(child, &status, WNOHANG | __WALL) != 0) return status == 0;
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  // The child waits for a lock that the interrupted code holds. The next child would wait, too.
  the_library.store(nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, __WALL);
  return false;
}

}  // namespace portacl::runtime
