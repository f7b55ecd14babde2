// The machine that plans are made for: all that a plan looks at beside the call and the number of
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

// The machine that this process runs on; it is asked once. A build with PORTACL_TEST_MACHINES reads
// the name of another one from the variable PORTACL_TEST_MACHINE (named_machines.h).
const Machine& ThisMachine();

// Not null: the answer of ThisMachine(), so that tests can plan for another machine.
inline const Machine* machine_for_tests = nullptr;

// A call that moves fewer bytes runs on the calling thread: waking another costs as much.
inline constexpr int64_t kGrainBytes = int64_t{256} << 10;

// What the last cache level counts for at most, for each CPU: more than any CPU's share of those
// that are built. A virtual machine of 2 CPUs was shown the 300 MiB of a socket, and had what its
// neighbours left of it. Writing 50 MiB through the caches took twice as long as past them.
inline constexpr int64_t kMostCacheBytesPerCpu = int64_t{16} << 20;

// Bytes of the last cache level. Calls that move more write their results past the caches. The
// lines would be evicted before anyone reads them, and fetching them for ownership costs a third of
// the traffic.
int64_t LastLevelCacheBytes();

// Bytes of the second cache level: what a thread can go back and forth in.
int64_t L2CacheBytes();

// Whether results can be written past the caches: Arm's kernels have no such stores.
bool HasStreamingStores();

Vendor CpuVendor();

// Whether a gather takes longer than looking its values up in a few whole vectors. On AMD's Zen 4
// it takes twice as long as on Intel's cores.
bool GathersAreSlow();

// Whether a call on so many points times channels is better done in 256 bits. A core of Intel's
// takes 512-bit instructions at a third of the speed for the first microseconds after some
// milliseconds without them.
bool IsOverBeforeWideVectorsAreFast(int64_t work);

// `targets`: bits of Highway, e.g. HWY_AVX2. Whether kernels of one of them run here: the CPU has
// it, and so has ThisMachine(). If no instruction set of ThisMachine() runs on this CPU, all sets
// of the CPU do. Plans are then the other machine's, kernels are the CPU's.
bool HasTargets(int64_t targets);

// As a plain function per target, for a kernel's `available`.
template <int64_t kTarget>
bool HasTarget() {
  return HasTargets(kTarget);
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_MACHINE_H_
