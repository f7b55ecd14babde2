// The machine that plans are made for: all facts that a plan uses beside the call and the number of
// threads (runtime::NumThreads()). Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_MACHINE_H_
#define PORTACL_CPU_MACHINE_H_

#include <cstdint>

namespace portacl::cpu {

enum class Vendor { kAmd, kOther };

struct Machine {
  Vendor vendor = Vendor::kOther;
  int64_t targets = 0;  // its instruction sets: bits of Highway, e.g. HWY_AVX2
  int cpus = 1;         // online
  // Bytes of the first CPU's caches. The defaults are for systems that do not say.
  int64_t l2_cache = int64_t{1} << 20;
  int64_t last_level_cache = int64_t{32} << 20;
};

// The machine that this process runs on; read once. A build with
// PORTACL_TEST_MACHINES takes the machine that the variable PORTACL_TEST_MACHINE
// names (named_machines.h).
const Machine& ThisMachine();

// Not null: the answer of ThisMachine(), so that tests can plan for another machine.
inline const Machine* machine_for_tests = nullptr;

// A call that moves fewer bytes runs on the calling thread: waking another costs as much.
inline constexpr int64_t kGrainBytes = int64_t{256} << 10;

// Upper limit of the last cache level's bytes for each CPU: more than a CPU's share on any known
// processor. A virtual machine of 2 CPUs reported the 300 MiB of a socket, which it shared with
// neighbours. There, writing 50 MiB through the caches took twice as long as past the caches.
inline constexpr int64_t kMostCacheBytesPerCpu = int64_t{16} << 20;

// Bytes of the last cache level. Calls that move more bytes write their results past the caches:
// cached lines would be evicted before anyone reads them, and fetching lines before writing costs a
// third of the traffic.
int64_t LastLevelCacheBytes();

// Bytes of the second cache level: what a thread can go back and forth in.
int64_t L2CacheBytes();

// Whether results can be written past the caches: Arm's kernels have no such stores.
bool HasStreamingStores();

Vendor CpuVendor();

// True if a gather takes longer than looking up its values in a few whole vectors. On AMD's Zen 4
// it takes twice as long as on Intel's cores.
bool GathersAreSlow();

// True if a call of this size (points times channels) is faster in 256 bits. After some
// milliseconds without 512-bit instructions, an Intel core runs them at a third of the speed for
// the first microseconds.
bool IsOverBeforeWideVectorsAreFast(int64_t work);

// `targets`: bits of Highway, e.g. HWY_AVX2. True if the CPU and ThisMachine() have one of these
// instruction sets. If this CPU has no instruction set of ThisMachine(), only the CPU's sets count:
// plans are then made for the other machine, kernels for the CPU.
bool HasTargets(int64_t targets);

// As a plain function per target, for a kernel's `available`.
template <int64_t kTarget>
bool HasTarget() {
  return HasTargets(kTarget);
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_MACHINE_H_
