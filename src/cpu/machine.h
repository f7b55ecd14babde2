// Who made the CPU: for workarounds that help on one vendor's caches and hurt on another's. Plain
// C++, the same for every instruction set.
#ifndef PORTACL_CPU_MACHINE_H_
#define PORTACL_CPU_MACHINE_H_

#include <optional>

namespace portacl::cpu {

enum class Vendor { kAmd, kOther };

// Set: what CpuVendor() answers, so that tests can plan for another machine.
inline std::optional<Vendor> vendor_for_tests;

Vendor CpuVendor();

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_MACHINE_H_
