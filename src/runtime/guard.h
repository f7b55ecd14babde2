// Guard mode, PORTACL_GUARD=1: the host cannot touch device memory.
//
// Each allocation has two mappings. The caller's address range has no access rights, so a host read
// or write stops the program with a message. Kernels and copies use the other range:
//
//   caller:   |no access ............................|
//   kernels:  |no access|  read/write pages  |no access|    the data ends at the last page's end
//
// So a kernel that overruns the allocation stops the program as well (within 64 bytes, the
// alignment). The rest of the data's pages holds canaries, which are checked when the memory is
// freed. Freed ranges stay inaccessible for a while: use after free stops the program, too.
#ifndef PORTACL_RUNTIME_GUARD_H_
#define PORTACL_RUNTIME_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace portacl::runtime {

// Reads the environment once. The first call installs the fault handler.
bool GuardEnabled();

// With PORTACL_GUARD=exit, a process in which something was reported ends with this status.
inline constexpr int kGuardExitStatus = 23;
bool GuardWantsExit();

// Writes a refused call and its stack to stderr, once for each place. If the reason was an address
// that NoteRefusedAddress() got on this thread, also writes where it was allocated and freed.
// Only in guard mode.
void NoteRefusedAddress(const void* address);
void ReportRefusal(const char* function, int32_t code);

// Notes that something was reported that does not stop the program.
void NoteMisuse();
bool MisuseWasNoted();

struct GuardedMemory {
  void* user = nullptr;    // the caller's address; null: no memory
  void* kernel = nullptr;  // the kernels' address; for host memory equal to `user`
};

// Allocates memory and fills it with bytes 0xFF, a NaN in each floating-point type.
GuardedMemory GuardAllocate(size_t size, bool host);

// Frees a live result of GuardAllocate(). `by_reset`: the program forgot to free it. Stops the
// program if bytes beside the data were overwritten.
void GuardFree(void* user, bool by_reset);

// Tells the fault handler a range of addresses, so that it explains host accesses. Both ranges have
// no access rights, except memory that is mapped into `kernel`.
void GuardWatch(void* user, void* kernel, size_t bytes);
void GuardUnwatch(void* user);

// Names an address that is in no live allocation: "freed device memory" or "host memory".
std::string DescribeForeign(const void* address);

// Returns a line for each place that made allocations which the program has not freed. Includes the
// newest 4096 allocations that a reset freed.
std::string DescribeLiveAllocations();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_H_
