// The plugin has a thread for each device that looks for tensors to release. Between two looks it
// sleeps by select() of a microsecond, as long as the process lives. Linux's timers make this some
// 60 microseconds, and the thread takes a sixth of a CPU. Only a thread itself can make its timers
// coarse. So the plugin's calls of select() go through a function that does this.
#include "release.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <unistd.h>

#include <cstring>

namespace portacl_npu {
namespace {

constexpr unsigned long kCoarse = 1'000'000;  // nanoseconds

bool MakeCoarse() {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  return std::strcmp(name, "release_thread") == 0 && prctl(PR_SET_TIMERSLACK, kCoarse) == 0;
}

int Select(int count, fd_set* to_read, fd_set* to_write, fd_set* exceptions, timeval* time) {
  thread_local const bool coarse = MakeCoarse();
  static_cast<void>(coarse);
  return select(count, to_read, to_write, exceptions, time);
}

struct Imports {  // as <elf.h> describes them
  const ElfW(Rela) * first = nullptr;
  size_t bytes = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

Imports ImportsOf(const link_map& library) {
  Imports found;
  for (const ElfW(Dyn)* each = library.l_ld; each->d_tag != DT_NULL; ++each) {
    const auto address = reinterpret_cast<void*>(each->d_un.d_ptr);
    if (each->d_tag == DT_JMPREL) found.first = static_cast<ElfW(Rela)*>(address);
    if (each->d_tag == DT_PLTRELSZ) found.bytes = each->d_un.d_val;
    if (each->d_tag == DT_SYMTAB) found.symbols = static_cast<ElfW(Sym)*>(address);
    if (each->d_tag == DT_STRTAB) found.names = static_cast<char*>(address);
  }
  return found;
}

void Replace(void** place, void* function) {
  const uintptr_t size = sysconf(_SC_PAGESIZE);
  const uintptr_t page = reinterpret_cast<uintptr_t>(place) / size * size;
  if (mprotect(reinterpret_cast<void*>(page), size, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(place, function, __ATOMIC_RELEASE);
}

}  // namespace

void CalmReleaseThreads() {
  void* const plugin = dlopen("libtorch_npu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (plugin == nullptr) return;
  link_map* library = nullptr;
  if (dlinfo(plugin, RTLD_DI_LINKMAP, &library) == 0) {
    const Imports imports = ImportsOf(*library);
    const size_t count = imports.first == nullptr ? 0 : imports.bytes / sizeof(ElfW(Rela));
    for (size_t i = 0; i < count; ++i) {
      const ElfW(Rela)& each = imports.first[i];
      const auto& symbol = imports.symbols[ELF64_R_SYM(each.r_info)];
      if (std::strcmp(imports.names + symbol.st_name, "select") == 0) {
        Replace(reinterpret_cast<void**>(library->l_addr + each.r_offset),
                reinterpret_cast<void*>(&Select));
      }
    }
  }
  dlclose(plugin);
}

}  // namespace portacl_npu
