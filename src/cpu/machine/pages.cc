// Asks for missing pages by mincore() and provides pages by madvise().
#include "cpu/machine/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace portacl::cpu {
namespace {

// MADV_POPULATE_WRITE of Linux 5.14, which older C libraries do not define.
constexpr int kPopulateWrite = 23;

uintptr_t PageBytes() {
  return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));  // without a system call
}

uintptr_t PageOf(const void* at) { return reinterpret_cast<uintptr_t>(at) / PageBytes(); }

bool IsPageMissing(uintptr_t page) {
  unsigned char state = 1;
  if (mincore(reinterpret_cast<void*>(page * PageBytes()), PageBytes(), &state) != 0) return false;
  return (state & 1) == 0;
}

}  // namespace

int64_t DenseBytes(const std::array<int64_t, 4>& shape, const std::array<int64_t, 4>& stride,
                   int64_t element_size) {
  int64_t elements = 1;
  int64_t reach = 1;  // elements from the first to the last
  for (size_t axis = 0; axis < 4; ++axis) {
    if (stride[axis] < 0) return 0;
    elements *= shape[axis];
    reach += (shape[axis] - 1) * stride[axis];
  }
  return elements > 0 && reach == elements ? elements * element_size : 0;
}

bool ArePagesMissing(const void* data, int64_t bytes) {
  if (bytes < kProvidedBytes) return false;
  const auto* first = static_cast<const unsigned char*>(data);
  // An allocator may reuse memory with some pages missing, so this looks at several places.
  const int64_t places[] = {bytes / 2, bytes / 4, bytes - 1};
  return std::any_of(std::begin(places), std::end(places),
                     [&](int64_t at) { return IsPageMissing(PageOf(first + at)); });
}

void ProvidePages(void* first, void* end) {
  const uintptr_t page = PageOf(first);
  const uintptr_t last = PageOf(static_cast<unsigned char*>(end) - 1);
  // The result does not matter: if the call fails, each page faults when it is written.
  static_cast<void>(madvise(reinterpret_cast<void*>(page * PageBytes()),
                            (last + 1 - page) * PageBytes(), kPopulateWrite));
}

void PreferHugePages(void* data, int64_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + kHuge - 1) / kHuge * kHuge;
  const uintptr_t end = (begin + static_cast<uintptr_t>(bytes)) / kHuge * kHuge;
  if (first >= end) return;
  static_cast<void>(madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE));
}

}  // namespace portacl::cpu
