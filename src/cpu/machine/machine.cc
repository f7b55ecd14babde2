// Asks the CPU and sysfs what the plans want to know of the machine.
#include "cpu/machine/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/once.h"
#include "cpu/machine/caches.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace portacl::cpu {
namespace {

// What /sys/devices/system/cpu/cpu0/cache/index<index>/<file> begins with, 0 where it is missing.
int64_t CacheNumber(int index, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  long number = 0;
  const bool found = std::fscanf(file, "%ld", &number) == 1 && number > 0;
  std::fclose(file);
  return found ? number : 0;
}

struct Caches {
  int64_t l2 = int64_t{1} << 20;
  int64_t last = int64_t{32} << 20;
};

// From sysfs: sysconf() adds up the caches of a whole socket, also of the parts of it that a
// virtual machine or a process has no access to.
const Caches& ThisMachinesCaches() {
  static constinit base::Once<Caches> caches;
  return caches.Get([] {
    Caches found;
    int64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
      const int64_t bytes = CacheNumber(index, "size") << 10;
      largest = std::max(largest, bytes);
      if (bytes > 0 && CacheNumber(index, "level") == 2) found.l2 = bytes;
    }
    const auto cpus = std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
    if (largest > 0) found.last = std::min(largest, cpus * kMostCacheBytesPerCpu);
    return found;
  });
}

Vendor AskCpu() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned highest = 0;
  unsigned name[3] = {};
  if (__get_cpuid(0, &highest, &name[0], &name[2], &name[1]) == 0) return Vendor::kOther;
  const bool amd = std::memcmp(name, "AuthenticAMD", 12) == 0;
  return amd || std::memcmp(name, "HygonGenuine", 12) == 0 ? Vendor::kAmd : Vendor::kOther;
#else
  return Vendor::kOther;
#endif
}

}  // namespace

int64_t LastLevelCacheBytes() {
  if (last_level_cache_bytes_for_tests != 0) return last_level_cache_bytes_for_tests;
  return ThisMachinesCaches().last;
}

int64_t L2CacheBytes() {
  if (l2_cache_bytes_for_tests != 0) return l2_cache_bytes_for_tests;
  return ThisMachinesCaches().l2;
}

Vendor CpuVendor() {
  if (vendor_for_tests) return *vendor_for_tests;
  static constinit base::Once<Vendor> vendor;
  return vendor.Get([] { return AskCpu(); });
}

bool GathersAreSlow() { return CpuVendor() == Vendor::kAmd; }

bool IsOverBeforeWideVectorsAreFast(int64_t work) {
  return work < 1024 && CpuVendor() != Vendor::kAmd;
}

}  // namespace portacl::cpu
