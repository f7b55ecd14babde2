// Asks Highway for what the CPU and the operating system support.
#include "cpu/machine/targets.h"

#include <hwy/targets.h>

#include <array>
#include <cstddef>

#include "base/once.h"

namespace portacl::cpu {
namespace {

struct Target {
  int64_t bit;
  const char* name;
};

// Best first, as in PORTACL_KERNELS.
constexpr std::array kTargets = {
#ifndef PORTACL_NARROW_ONLY  // see highway.h
    Target{HWY_AVX3, "avx512"},
    Target{HWY_SVE, "sve"},
#endif
    Target{HWY_AVX2, "avx2"},
    Target{HWY_NEON, "neon"},
};

struct Names {
  std::array<const char*, kTargets.size()> names{};
  size_t count = 0;
};

}  // namespace

bool HasTargets(int64_t targets) {
  // Highway asks the CPU on every call, which costs tens of microseconds in a virtual machine.
  static constinit base::Once<int64_t> supported;
  return (supported.Get([] { return int64_t{hwy::SupportedTargets()}; }) & targets) != 0;
}

std::span<const char* const> TargetNames() {
  static constinit base::Once<Names> found;
  const Names& names = found.Get([] {
    Names supported;
    for (const Target& target : kTargets) {
      if (HasTargets(target.bit)) supported.names[supported.count++] = target.name;
    }
    return supported;
  });
  return {names.names.data(), names.count};
}

}  // namespace portacl::cpu
