// Sizes of the caches. Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_CACHES_H_
#define PORTACL_CPU_CACHES_H_

#include <unistd.h>

#include <cstdint>

namespace portacl::cpu {

// Results larger than this are written past the caches: their lines would be evicted before anyone
// reads them, and fetching them for ownership costs a third of the traffic.
inline int64_t LastLevelCacheBytes() {
  static const int64_t bytes = [] {
    const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return l3 > 0 ? int64_t{l3} : int64_t{32} << 20;
  }();
  return bytes;
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_CACHES_H_
