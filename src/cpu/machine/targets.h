// Which of the compiled instruction sets this CPU has.
#ifndef PORTACL_CPU_TARGETS_H_
#define PORTACL_CPU_TARGETS_H_

#include <cstdint>
#include <span>

namespace portacl::cpu {

// Names of the instruction sets that kernels are compiled for and this CPU has, best first: of
// {"avx512", "avx2"} on x86, of {"sve", "neon"} on Arm. Empty on an older CPU.
std::span<const char* const> TargetNames();

// `targets`: bits of Highway, e.g. HWY_AVX2. True where this CPU has one of them.
bool HasTargets(int64_t targets);

// As a plain function per target, for a kernel's `available`.
template <int64_t kTarget>
bool HasTarget() {
  return HasTargets(kTarget);
}

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_TARGETS_H_
