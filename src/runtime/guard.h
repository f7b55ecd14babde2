// Guard mode, PORTACL_GUARD=1: device memory that the host cannot touch.
//
// Each allocation is two mappings. The caller's address range has no access rights at all, so a
// host read or write stops the program with a message. Kernels and copies use the other range:
//
//   caller:   |no access ............................|
//   kernels:  |no access|  read/write pages  |no access|    the data ends at the last page's end
//
// so a kernel that overruns the allocation stops as well (within 64 bytes, the alignment). The rest
// of the data's pages holds canaries, which are checked when the memory is freed. Freed ranges stay
// inaccessible for a while: use after free stops the program with a message.
#ifndef PORTACL_RUNTIME_GUARD_H_
#define PORTACL_RUNTIME_GUARD_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace portacl::runtime {

// Read from the environment once; the first call installs the fault handler.
bool GuardEnabled();

// PORTACL_GUARD=exit: a process in which something was reported ends with this status.
inline constexpr int kGuardExitStatus = 23;
bool GuardWantsExit();

// Writes a refused call with its stack to stderr, once for each place. If an address of the table
// was the reason (NoteRefusedAddress, on the same thread), also where it was allocated and freed.
// Only in guard mode.
void NoteRefusedAddress(const void* address);
void ReportRefusal(const char* function, int32_t code);

// Something was reported that does not stop the program.
void NoteMisuse();
bool MisuseWasNoted();

struct GuardedMemory {
  void* user = nullptr;    // what the caller gets; null: no memory
  void* kernel = nullptr;  // the same for host memory, which the caller may touch
};

// Memory with a recognisable content: every byte 0xFF, a NaN in each floating-point type.
GuardedMemory GuardAllocate(size_t size, bool host);

// `user` is a live result of GuardAllocate. `by_reset`: the program forgot to free it. Stops the
// program if bytes beside the data were written.
void GuardFree(void* user, bool by_reset);

// Makes a range of addresses known to the fault handler. The handler explains the host's accesses.
// Both ranges stay without access rights, except memory that is mapped into `kernel`.
void GuardWatch(void* user, void* kernel, size_t bytes);
void GuardUnwatch(void* user);

// Names an address that is not a live allocation: "freed device memory" or "host memory".
std::string DescribeForeign(const void* address);

// A line for each allocation that the program has not freed: size, and the calls that led to it.
// Includes the newest 4096 allocations that a reset freed.
std::string DescribeLiveAllocations();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_H_
