// Host memory that unfinished work on streams uses, in guard and lazy mode together. Until the host
// knows that the work is over, it cannot touch memory that the work writes. Nor can it write memory
// that the work reads. An early access stops the program with a message.
//
// Access rights belong to pages, so only whole pages are held. In memory of aclrtMallocHost these
// are pages on which the work uses all bytes of the allocation. In other host memory they are pages
// inside the range that the work writes.
#ifndef PORTACL_RUNTIME_GUARD_PENDING_H_
#define PORTACL_RUNTIME_GUARD_PENDING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/guard_stack.h"
#include "runtime/stream.h"

namespace portacl::runtime {

// The memory that the host may not touch because of one access of work, from Hold() until this
// object is destroyed or let go.
class PendingHostMemory {
 public:
  PendingHostMemory(uintptr_t begin, uintptr_t end, const MemoryAccess& access, const Work& work,
                    int32_t stream)
      : begin_(begin),
        end_(end),
        access_(access),
        work_(work.name),
        stream_(stream),
        launched_(work.launched) {}
  ~PendingHostMemory();
  PendingHostMemory(const PendingHostMemory&) = delete;
  PendingHostMemory& operator=(const PendingHostMemory&) = delete;

  void Hold();

 private:
  friend struct PendingHostTable;

  const uintptr_t begin_;  // of the pages
  const uintptr_t end_;
  const MemoryAccess access_;
  const char* const work_;
  const int32_t stream_;
  const std::shared_ptr<const GuardStack> launched_;
  bool held_ = false;
  PendingHostMemory* next_ = nullptr;  // in the list of the held ones
};

// The host memory of each access of a copy or fill, not held yet. Null if it has no whole page, and
// for other work.
std::vector<std::unique_ptr<PendingHostMemory>> PendingHostMemoryOf(const Work& work,
                                                                    int32_t stream);

// Called when the work begins, and when a call of the host touches memory, because both use the
// host's addresses. Lets go, for good, the entries that would stop them.
void LetGoForWork(const Work& work);
void LetGoForHost(const std::vector<MemoryAccess>& accesses);

// Why the host may not touch an address. For signal handlers: allocates nothing.
struct PendingAtAddress {
  const char* work = nullptr;  // null: nothing holds the address
  int32_t stream = 0;
  MemoryAccess access;
  GuardStack launched;
};
PendingAtAddress FindPendingHostMemory(uintptr_t address);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_PENDING_H_
