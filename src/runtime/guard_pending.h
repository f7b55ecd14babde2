// Host memory that unfinished work on streams uses, if guard and lazy mode are both on. Until the
// host knows that the work is over, it cannot touch memory that the work writes. It cannot write
// memory of aclrtMallocHost that the work reads. An early access stops the program with a message.
//
// Access rights belong to pages, so only whole pages are kept. In memory of aclrtMallocHost these
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

// Memory that the host may not touch because of one access of work: from Hold() until this object
// is destroyed or released by LetGoFor...().
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
  PendingHostMemory* next_ = nullptr;  // in the list of all held objects
};

// Returns one object per access of a copy or fill, not held yet. Null for accesses without a whole
// page. Other work has only null objects.
std::vector<std::unique_ptr<PendingHostMemory>> PendingHostMemoryOf(const Work& work,
                                                                    int32_t stream);

// Called when work begins, and when a call of the host touches memory, because both use the host's
// addresses. Release the entries that would stop them, for good.
void LetGoForWork(const Work& work);
void LetGoForHost(const std::vector<MemoryAccess>& accesses);

// Says why the host may not touch an address. For signal handlers: allocates nothing.
struct PendingAtAddress {
  const char* work = nullptr;  // null: the host may touch the address
  int32_t stream = 0;
  MemoryAccess access;
  GuardStack launched;
};
PendingAtAddress FindPendingHostMemory(uintptr_t address);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_PENDING_H_
