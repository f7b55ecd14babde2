// Named machines, for which tests can make plans. Plain C++.
#ifndef PORTACL_CPU_NAMED_MACHINES_H_
#define PORTACL_CPU_NAMED_MACHINES_H_

#include <hwy/detect_targets.h>

#include <cstdint>

#include "cpu/machine/machine.h"

namespace portacl::cpu {

inline constexpr int64_t kAvx2 = HWY_AVX2;
inline constexpr int64_t kAvx512 = HWY_AVX3_DL | HWY_AVX3 | HWY_AVX2;
inline constexpr int64_t kKiB = 1 << 10;
inline constexpr int64_t kMiB = 1 << 20;

// Constant, name, vendor, instruction sets, CPUs, bytes of the second and of the last cache level,
// as a system reports them. Machines: the virtual machines of the figures in docs, an Arm server,
// the smallest machine (its second cache level is the last), a large server.
#define PORTACL_NAMED_MACHINES(MACHINE)                                                        \
  MACHINE(kGraniteRapids, "granite_rapids", Vendor::kOther, kAvx512, 2, 2 * kMiB, 480 * kMiB)  \
  MACHINE(kEmeraldRapids, "emerald_rapids", Vendor::kOther, kAvx512, 16, 2 * kMiB, 260 * kMiB) \
  MACHINE(kZen3, "zen3", Vendor::kAmd, kAvx2, 2, 512 * kKiB, 32 * kMiB)                        \
  MACHINE(kZen4, "zen4", Vendor::kAmd, kAvx512, 2, 1 * kMiB, 32 * kMiB)                        \
  MACHINE(kNeon, "neon", Vendor::kOther, HWY_NEON, 4, 1 * kMiB, 32 * kMiB)                     \
  MACHINE(kSmallMachine, "small", Vendor::kOther, kAvx2, 1, 256 * kKiB, 256 * kKiB)            \
  MACHINE(kLargeMachine, "large", Vendor::kOther, kAvx512, 64, 2 * kMiB, 480 * kMiB)

#define PORTACL_MACHINE(constant, name, ...) inline constexpr Machine constant = {__VA_ARGS__};
PORTACL_NAMED_MACHINES(PORTACL_MACHINE)
#undef PORTACL_MACHINE

struct NamedMachine {
  const char* name;
  Machine machine;
};
#define PORTACL_MACHINE(constant, name, ...) {name, constant},
inline constexpr NamedMachine kNamedMachines[] = {PORTACL_NAMED_MACHINES(PORTACL_MACHINE)};
#undef PORTACL_MACHINE

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_NAMED_MACHINES_H_
