// A few slots with one piece of running work each.
#include "runtime/running_work.h"

#include <array>
#include <atomic>
#include <thread>

namespace portacl::runtime {
namespace {

struct Slot {
  std::atomic<const Work*> work{nullptr};
  std::atomic<int32_t> stream{0};
};
constexpr size_t kSlots = 64;
constinit std::array<Slot, kSlots> slots;
constinit std::atomic<int> readers{0};

}  // namespace

RunningWork::RunningWork(const Work& work, int32_t stream) : slot_(0) {
  for (; slot_ < kSlots; ++slot_) {
    const Work* none = nullptr;
    if (slots[slot_].work.compare_exchange_strong(none, &work)) break;
  }
  if (slot_ < kSlots) slots[slot_].stream.store(stream);
}

RunningWork::~RunningWork() {
  if (slot_ == kSlots) return;
  slots[slot_].work.store(nullptr);
  while (readers.load() != 0) std::this_thread::yield();  // some readers still have the pointer
}

WorkAtAddress FindRunningWork(uintptr_t address) {
  WorkAtAddress found;
  readers.fetch_add(1);
  for (const Slot& slot : slots) {
    const Work* const work = slot.work.load();
    if (work == nullptr || found.work != nullptr) continue;
    for (const MemoryAccess& access : work->accesses) {
      if (address < access.begin || address - access.begin >= access.bytes) continue;
      found = {work->name, slot.stream.load(), access.name, access.write, {}};
      if (work->launched != nullptr) found.launched = *work->launched;
      break;
    }
  }
  readers.fetch_sub(1);
  return found;
}

}  // namespace portacl::runtime
