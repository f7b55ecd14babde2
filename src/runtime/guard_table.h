// The table of guard mode: live and freed allocations by address.
#ifndef PORTACL_RUNTIME_GUARD_TABLE_H_
#define PORTACL_RUNTIME_GUARD_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/fork.h"
#include "runtime/guard_stack.h"

namespace portacl::runtime {

struct GuardRegion {
  uintptr_t user = 0;    // start of the caller's range, with inaccessible pages
  uintptr_t kernel = 0;  // start of the kernels' range; 0 for host memory
  size_t bytes = 0;      // size of each range
  size_t offset = 0;     // from a range's start to the data
  size_t size = 0;       // size of the data
  bool freed = false;
  bool leaked = false;       // freed by a reset of the device, not by the program
  bool watched = false;      // range of GuardWatch(), with or without memory
  uintptr_t freed_next = 0;  // `user` of the range that was freed after this range; 0: none
  GuardStack allocated;
  GuardStack released;
};

struct GuardTable {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kGuard};
  std::map<uintptr_t, GuardRegion> regions;  // by `user`, live and in quarantine
  std::map<uintptr_t, uintptr_t> users;      // `kernel` -> `user`
  // The list of freed ranges, by `user`. It is linked, so that freeing allocates nothing.
  uintptr_t oldest_freed = 0;
  uintptr_t newest_freed = 0;
  size_t quarantine = 0;
  size_t quarantine_bytes = 0;
};

GuardTable& TheGuardTable();

// Adds a region to both maps. If this fails, neither map changes.
void EnterRegion(const GuardRegion& region);

// Copies the region that holds an address. `in_kernel_range`: the address is in the kernels' range.
// The caller holds the table's lock.
bool FindRegion(uintptr_t address, GuardRegion* region, bool* in_kernel_range);

// Writes to stderr where memory was allocated and freed.
void PrintStacks(const GuardRegion& region);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_TABLE_H_
