// The table of registered host ranges.
#include "runtime/host_register.h"

#include <cstdint>
#include <map>
#include <mutex>

#include "base/fork.h"
#include "runtime/error.h"
#include "runtime/memory.h"

namespace portacl::runtime {
namespace {

struct Table {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kMemory};
  std::map<uintptr_t, size_t> ranges;  // start -> bytes
};

Table& TheTable() {
  static constinit base::Immortal<Table> table;
  return table.Get();
}

// Returns true if a registered range has a byte in [start, end). The caller holds the lock.
bool Touches(const Table& table, uintptr_t start, uintptr_t end) {
  auto next = table.ranges.lower_bound(end);
  if (next == table.ranges.begin()) return false;
  --next;
  return next->first + next->second > start;
}

}  // namespace

base::Status RegisterHost(void* address, size_t size) {
  if (address == nullptr) return InvalidParam("ptr is null");
  if (size == 0) return InvalidParam("size is 0, wanted at least 1 byte");
  const auto start = reinterpret_cast<uintptr_t>(address);
  if (size > UINTPTR_MAX - start) return InvalidParam("size is {}, beyond all addresses", size);
  AllocationInfo info;
  if (FindAllocation(address, &info) && !info.host) {
    return InvalidParam("ptr is {}, which is memory of device {}", address, info.device);
  }
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  if (Touches(table, start, start + size)) {
    return InvalidParam("{} bytes at ptr {} lie over memory that is registered", size, address);
  }
  table.ranges.emplace(start, size);
  return {};
}

base::Status UnregisterHost(void* address) {
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  if (table.ranges.erase(reinterpret_cast<uintptr_t>(address)) != 0) return {};
  return InvalidParam("ptr is {}, which is not the start of registered memory", address);
}

bool IsRegisteredHost(const void* address) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  Table& table = TheTable();
  const std::lock_guard lock(table.mutex);
  return Touches(table, start, start + 1);
}

}  // namespace portacl::runtime
