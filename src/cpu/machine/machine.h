// The machine that plans are made for: all facts that plans use, except the call and the number of
// threads (runtime::NumThreads()). Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_MACHINE_H_
#define PORTACL_CPU_MACHINE_H_

#include <cstdint>

namespace portacl::cpu {

enum class Vendor { kAmd, kOther };

struct Machine {
  Vendor vendor = Vendor::kOther;
  int64_t targets = 0;  // instruction sets: bits of Highway, e.g. HWY_AVX2
  int cpus = 1;         // online
  // Bytes of the first CPU's caches; the defaults serve systems that do not tell.
  int64_t l2_cache = int64_t{1} << 20;
  int64_t last_level_cache = int64_t{32} << 20;
};

// Returns the machine that this process runs on, read once. In builds with
// PORTACL_TEST_MACHINES, the variable PORTACL_TEST_MACHINE may name another machine
// (named_machines.h).
const Machine& ThisMachine();

// If not null, ThisMachine() returns it: tests plan for another machine in this way.
inline const Machine* machine_for_tests = nullptr;

// A call that moves fewer bytes runs on the calling thread: waking a thread costs as much.
inline constexpr int64_t kGrainBytes = int64_t{256} << 10;

// Most bytes of the last cache level that count for each CPU: more than the share of a CPU on any
// known processor. A virtual machine of 2 CPUs reported all 300 MiB of a shared socket. There,
// writing 50 MiB through the caches took twice as long as past the caches.
inline constexpr int64_t kMostCacheBytesPerCpu = int64_t{16} << 20;

// Returns the bytes of the last cache level, at most kMostCacheBytesPerCpu a CPU. Calls that move
// more bytes write results past the caches: cached lines would be evicted before anyone reads them,
// and fetching lines before writing costs a third of the traffic.
int64_t LastLevelCacheBytes();

// Returns the bytes of the second cache level, which holds the data that a thread reads again.
int64_t L2CacheBytes();

// Whether kernels can write past the caches. Arm's kernels cannot.
bool HasStreamingStores();

Vendor CpuVendor();

// Whether a gather takes longer than looking its values up in a few whole vectors. On AMD's Zen 4 a
// gather takes twice as long as on Intel's cores.
bool GathersAreSlow();

// Whether a call of `work` (points times channels) is faster with 256-bit vectors. After some
// milliseconds without 512-bit instructions, Intel cores run these at a third of their speed for
// the first microseconds.
bool IsOverBeforeWideVectorsAreFast(int64_t work);

// Whether the CPU and ThisMachine() both have one of the instruction sets `targets` (bits of
// Highway, e.g. HWY_AVX2). If they have no set in common, only the CPU's sets count: plans are then
// made for the other machine, kernels run on this CPU.
bool HasTargets(int64_t targets);

// HasTargets() for one target, as a plain function: a kernel's `available`.
template <int64_t kTarget>
bool HasTarget() {
  return HasTargets(kTarget);
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_MACHINE_H_
