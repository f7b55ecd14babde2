// Prefetches memory that is read forward. Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_FETCH_H_
#define PORTACL_CPU_FETCH_H_

#include <hwy/base.h>

#include <cstdint>

namespace portacl::cpu {

// For every page that starts in the n elements at `from`, fetches the first lines of the page four
// pages ahead. Hardware prefetchers stop at the end of a (physical) page of 4 KiB. So the program
// would wait for the first lines and the address translation. Fetching behind a tensor does no
// harm. Always inline: GCC drops calls of a function that only fetches, because it thinks the
// function has no effect.
template <class T>
HWY_INLINE void FetchPagesAhead(const T* from, int64_t n) {
  constexpr uintptr_t kPage = 4096, kAhead = 4 * kPage, kLine = 64;
  constexpr int kLines = 4;
  const auto begin = reinterpret_cast<uintptr_t>(from);
  const uintptr_t end = begin + static_cast<uintptr_t>(n) * sizeof(T);
  for (uintptr_t page = (begin + kPage - 1) & ~(kPage - 1); page < end; page += kPage) {
    for (int line = 0; line < kLines; ++line) {
      __builtin_prefetch(reinterpret_cast<const char*>(page + kAhead + line * kLine), 0, 2);
    }
  }
}

// Fetches from[index] to read it or (kWrite 1) to write it: into L1 (kLocality 3), or only into L2
// and below (2). Any index is allowed, because an unmapped address does no harm.
template <int kLocality, int kWrite = 0, class T>
HWY_INLINE void FetchElement(const T* from, int64_t index) {
  const int64_t offset = index * int64_t{sizeof(T)};
  const auto at = reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(offset);
  __builtin_prefetch(reinterpret_cast<const void*>(at), kWrite, kLocality);
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_FETCH_H_
