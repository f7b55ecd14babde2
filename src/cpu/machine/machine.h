// Who made the CPU: for workarounds that help on one vendor's cores and caches and hurt on
// another's. Plain C++, the same for every instruction set.
#ifndef PORTACL_CPU_MACHINE_H_
#define PORTACL_CPU_MACHINE_H_

#include <cstdint>
#include <optional>

namespace portacl::cpu {

enum class Vendor { kAmd, kOther };

// Set: what CpuVendor() answers, so that tests can plan for another machine.
inline std::optional<Vendor> vendor_for_tests;

Vendor CpuVendor();

// Whether a gather takes longer than looking its values up in a few whole vectors: on AMD's Zen 4
// it takes twice as long as on Intel's cores.
bool GathersAreSlow();

// Whether a call on so many points times channels is better done in 256 bits: a core of Intel's
// takes 512-bit instructions at a third of the speed for the first microseconds after some
// milliseconds without them.
bool IsOverBeforeWideVectorsAreFast(int64_t work);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_MACHINE_H_
