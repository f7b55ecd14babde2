// Sizes of the caches. Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_CACHES_H_
#define PORTACL_CPU_CACHES_H_

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace portacl::cpu {

// Not 0: what LastLevelCacheBytes() answers, so that tests send small calls past the caches.
inline int64_t last_level_cache_bytes_for_tests = 0;

// What the last cache level counts for at most, for each CPU: more than any CPU's share of those
// that are built. A virtual machine of 2 CPUs was shown the 300 MiB of a socket, and had what its
// neighbours left of it: writing 50 MiB through the caches took twice as long as past them.
inline constexpr int64_t kMostCacheBytesPerCpu = int64_t{16} << 20;

// Bytes of the last cache level that the first CPU uses, 32 MiB where the kernel does not say.
// Calls that move more write their results past the caches: the lines would be evicted before
// anyone reads them, and fetching them for ownership costs a third of the traffic.
//
// From sysfs: sysconf() adds up the caches of a whole socket, also of those parts of it that a
// virtual machine or a process has no access to.
inline int64_t LastLevelCacheBytes() {
  if (last_level_cache_bytes_for_tests != 0) return last_level_cache_bytes_for_tests;
  static const int64_t bytes = [] {
    int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
      char path[64];
      std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
      std::FILE* file = std::fopen(path, "re");
      if (file == nullptr) break;
      long kilobytes = 0;
      if (std::fscanf(file, "%ldK", &kilobytes) == 1 && kilobytes > 0 &&
          int64_t{kilobytes} << 10 > largest) {
        largest = int64_t{kilobytes} << 10;
      }
      std::fclose(file);
    }
    const auto cpus = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
    return largest > 0 ? std::min(largest, cpus * kMostCacheBytesPerCpu) : int64_t{32} << 20;
  }();
  return bytes;
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_CACHES_H_
