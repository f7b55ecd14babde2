// Sizes of the caches, by which each kernel plan decides whether results are written past them (its
// "stream"). Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_CACHES_H_
#define PORTACL_CPU_CACHES_H_

#include <cstdint>

namespace portacl::cpu {

// Not 0: what the functions below answer, so that tests can plan for another machine.
inline int64_t last_level_cache_bytes_for_tests = 0;
inline int64_t l2_cache_bytes_for_tests = 0;

// What the last cache level counts for at most, for each CPU: more than any CPU's share of those
// that are built. A virtual machine of 2 CPUs was shown the 300 MiB of a socket, and had what its
// neighbours left of it: writing 50 MiB through the caches took twice as long as past them.
inline constexpr int64_t kMostCacheBytesPerCpu = int64_t{16} << 20;

// Bytes of the last cache level that the first CPU uses, 32 MiB where the kernel does not say.
// Calls that move more write their results past the caches: the lines would be evicted before
// anyone reads them, and fetching them for ownership costs a third of the traffic.
int64_t LastLevelCacheBytes();

// Bytes of the first CPU's second level, 1 MiB where the kernel does not say: what a thread can go
// back and forth in.
int64_t L2CacheBytes();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_CACHES_H_
