// What plans are told of machines: the named ones, and the one that the tests run on.
#include "cpu/machine/machine.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "cpu/machine/named_machines.h"
#include "support/other_machine.h"

namespace portacl::cpu {
namespace {

using portacl_test::OtherMachine;

TEST(Machine, NamesAndFactsOfTheNamedOnesDiffer) {
  std::set<std::string> names;
  for (const NamedMachine& named : kNamedMachines) {
    EXPECT_TRUE(names.insert(named.name).second) << named.name;
    for (const NamedMachine& other : kNamedMachines) {
      const Machine& a = named.machine;
      const Machine& b = other.machine;
      const bool same = a.vendor == b.vendor && a.targets == b.targets && a.cpus == b.cpus &&
                        a.l2_cache == b.l2_cache && a.last_level_cache == b.last_level_cache;
      EXPECT_EQ(same, &named == &other) << named.name << " and " << other.name;
    }
  }
}

TEST(Machine, AnswersForTheOneThatATestNames) {
  for (const NamedMachine& named : kNamedMachines) {
    SCOPED_TRACE(named.name);
    const OtherMachine machine(named.machine);
    EXPECT_EQ(L2CacheBytes(), named.machine.l2_cache);
    EXPECT_EQ(CpuVendor(), named.machine.vendor);
    EXPECT_EQ(GathersAreSlow(), named.machine.vendor == Vendor::kAmd);
    EXPECT_EQ(HasStreamingStores(), named.machine.targets != HWY_NEON);
  }
}

TEST(Machine, CountsNoMoreOfTheLastLevelThanItsCpusShare) {
  const auto last_level = [](const Machine& named, int cpus) {
    OtherMachine machine(named);
    machine->cpus = cpus;
    return LastLevelCacheBytes();
  };
  EXPECT_EQ(last_level(kGraniteRapids, 2), 32 * kMiB);
  EXPECT_EQ(last_level(kEmeraldRapids, 16), 256 * kMiB);
  EXPECT_EQ(last_level(kEmeraldRapids, 17), 260 * kMiB);
  EXPECT_EQ(last_level(kSmallMachine, 1), 256 * kKiB);
}

TEST(Machine, RunsKernelsThatItAndTheCpuHave) {
  const auto runs = [](const Machine& named, int64_t targets) {
    const OtherMachine machine(named);
    return HasTargets(targets);
  };
  // Plans are Arm's, kernels are those of the CPU.
  if (!runs(kNeon, HWY_AVX2)) GTEST_SKIP() << "no AVX2";
  EXPECT_FALSE(runs(kNeon, HWY_NEON));
  EXPECT_TRUE(runs(kZen3, HWY_AVX2));
  EXPECT_FALSE(runs(kZen3, HWY_AVX3));
  EXPECT_TRUE(runs(kZen4, HWY_AVX2));
  EXPECT_EQ(runs(kZen4, HWY_AVX3), runs(kNeon, HWY_AVX3));
}

}  // namespace
}  // namespace portacl::cpu
