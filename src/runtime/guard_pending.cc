// The list of memory that is kept from the host, and the access rights of its pages.
#include "runtime/guard_pending.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string_view>
#include <thread>

#include "base/fork.h"
#include "runtime/guard.h"
#include "runtime/guard_table.h"

namespace portacl::runtime {

struct PendingHostTable {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kPendingHost};
  PendingHostMemory* first = nullptr;
  std::atomic<bool> empty{true};  // read by all work, without the lock

  static PendingHostTable& Get() {
    static constinit base::Immortal<PendingHostTable> table;
    return table.Get();
  }

  // The caller holds the lock for all functions below.
  void Add(PendingHostMemory& memory) {
    memory.next_ = first;
    first = &memory;
    memory.held_ = true;
    empty = false;
    SetRights(memory.begin_, memory.end_);
  }

  void Remove(PendingHostMemory& memory) {
    PendingHostMemory** link = &first;
    while (*link != &memory) link = &(*link)->next_;
    *link = memory.next_;
    memory.held_ = false;
    empty = first == nullptr;
    SetRights(memory.begin_, memory.end_);
  }

  // Allocates nothing. If the system refuses, early accesses are not found.
  void SetRights(uintptr_t begin, uintptr_t end) const {
    const auto set = [](uintptr_t from, uintptr_t to, int rights) {
      if (from < to) mprotect(reinterpret_cast<void*>(from), to - from, rights);
    };
    set(begin, end, PROT_READ | PROT_WRITE);
    for (const bool written : {false, true}) {  // the strictest rights come last
      for (const PendingHostMemory* held = first; held != nullptr; held = held->next_) {
        if (held->access_.write != written) continue;
        set(std::max(begin, held->begin_), std::min(end, held->end_),
            written ? PROT_NONE : PROT_READ);
      }
    }
  }

  // Removes the entries that would stop an access, and the entries of the caller's own work.
  void LetGo(const MemoryAccess& access, const GuardStack* own) {
    for (PendingHostMemory* held = first; held != nullptr;) {
      PendingHostMemory* const next = held->next_;
      const bool meets = held->begin_ < access.begin + access.bytes && access.begin < held->end_;
      const bool in_the_way = access.write || held->access_.write;
      if (meets && (in_the_way || (own != nullptr && held->launched_.get() == own))) Remove(*held);
      held = next;
    }
  }

  PendingAtAddress Find(uintptr_t address) const {
    for (const PendingHostMemory* held = first; held != nullptr; held = held->next_) {
      if (address < held->begin_ || address >= held->end_) continue;
      return {held->work_, held->stream_, held->access_, *held->launched_};
    }
    return {};
  }
};

namespace {

constexpr auto kLockPatience = std::chrono::milliseconds(200);

// Finds the pages that an access may keep from the host; `end` <= `begin` if there are none.
void FindPages(const MemoryAccess& access, uintptr_t* begin, uintptr_t* end) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t access_end = access.begin + access.bytes;
  *begin = (access.begin + page - 1) / page * page;
  *end = access_end / page * page;
  GuardRegion region;
  bool in_kernel_range = false;
  {
    GuardTable& table = TheGuardTable();
    const std::lock_guard lock(table.mutex);
    if (!FindRegion(access.begin, &region, &in_kernel_range)) {
      if (!access.write) *end = *begin;  // the memory may be read-only, and must stay so
      return;
    }
  }
  if (in_kernel_range || region.kernel != 0 || region.freed || region.watched) {
    *end = *begin;
    return;
  }
  const uintptr_t data = region.user + region.offset;
  if (access.begin == data) *begin = data / page * page;
  if (access_end == data + region.size) *end = (access_end + page - 1) / page * page;
}

void LetGoAll(const std::vector<MemoryAccess>& accesses, const GuardStack* own) {
  PendingHostTable& table = PendingHostTable::Get();
  if (table.empty) return;
  const std::lock_guard lock(table.mutex);
  for (const MemoryAccess& access : accesses) table.LetGo(access, own);
}

}  // namespace

PendingHostMemory::~PendingHostMemory() {
  PendingHostTable& table = PendingHostTable::Get();
  const std::lock_guard lock(table.mutex);
  if (held_) table.Remove(*this);
}

void PendingHostMemory::Hold() {
  PendingHostTable& table = PendingHostTable::Get();
  const std::lock_guard lock(table.mutex);
  table.Add(*this);
}

std::vector<std::unique_ptr<PendingHostMemory>> PendingHostMemoryOf(const Work& work,
                                                                    int32_t stream) {
  std::vector<std::unique_ptr<PendingHostMemory>> all(work.accesses.size());
  // Kernels use device memory of the program. Their other memory belongs to the library.
  if (!GuardEnabled() || std::string_view(work.category) == "kernel") return all;
  for (size_t i = 0; i < all.size(); ++i) {
    const MemoryAccess& access = work.accesses[i];
    uintptr_t begin = 0;
    uintptr_t end = 0;
    FindPages(access, &begin, &end);
    if (!access.dense || begin >= end) continue;
    all[i] = std::make_unique<PendingHostMemory>(begin, end, access, work, stream);
  }
  return all;
}

void LetGoForWork(const Work& work) { LetGoAll(work.accesses, work.launched.get()); }

void LetGoForHost(const std::vector<MemoryAccess>& accesses) { LetGoAll(accesses, nullptr); }

PendingAtAddress FindPendingHostMemory(uintptr_t address) {
  PendingHostTable& table = PendingHostTable::Get();
  const auto patience = std::chrono::steady_clock::now() + kLockPatience;
  while (!table.mutex.try_lock()) {  // this thread may hold the lock itself
    if (std::chrono::steady_clock::now() > patience) return {};
    std::this_thread::yield();
  }
  const PendingAtAddress found = table.Find(address);
  table.mutex.unlock();
  return found;
}

}  // namespace portacl::runtime
