// Reads facts about the machine from the CPU and from sysfs.
#include "cpu/machine/machine.h"
#include "base/fork.h"

#include <hwy/targets.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#ifdef PORTACL_TEST_MACHINES
#include <cstdlib>

#include "base/settings.h"
#include "cpu/machine/named_machines.h"
#endif

namespace portacl::cpu {
namespace {

// Returns the number that starts cpu0/cache/index<index>/<name> of sysfs; 0 if there is none.
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

// Reads cache sizes from sysfs. sysconf() would add up the caches of a whole socket, even parts
// that a virtual machine or a process cannot use.
void AskForCaches(Machine* machine) {
  int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const int64_t bytes = CacheNumber(index, "size") << 10;
    largest = std::max(largest, bytes);
    if (bytes > 0 && CacheNumber(index, "level") == 2) machine->l2_cache = bytes;
  }
  if (largest > 0) machine->last_level_cache = largest;
}

Vendor AskForVendor() {
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

// Returns the machine that runs this process, even if tests plan for another one.
const Machine& RealMachine() {
  // Highway asks the CPU on every call, which costs tens of microseconds in a virtual machine.
  static constinit base::Once<Machine> machine;
  return machine.Get([] {
    Machine asked;
    asked.vendor = AskForVendor();
    asked.targets = hwy::SupportedTargets();
    asked.cpus = static_cast<int>(std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN)));
    AskForCaches(&asked);
    return asked;
  });
}

#ifdef PORTACL_TEST_MACHINES
// Returns null if the variable is not set. Ends the process for an unknown name: the test would
// otherwise run for the wrong machine.
const Machine* MachineOfEnvironment() {
  const char* const wanted = base::settings::ReadText("PORTACL_TEST_MACHINE");
  if (*wanted == '\0') return nullptr;
  for (const NamedMachine& named : kNamedMachines) {
    if (std::strcmp(named.name, wanted) == 0) return &named.machine;
  }
  std::fprintf(stderr, "portacl: PORTACL_TEST_MACHINE is '%s', but must be one of:", wanted);
  for (const NamedMachine& named : kNamedMachines) std::fprintf(stderr, " %s", named.name);
  std::fprintf(stderr, "\n");
  std::abort();
}

const Machine* ForcedMachine() {
  static constinit base::Once<const Machine*> machine;
  return machine.Get([] { return MachineOfEnvironment(); });
}
#else
const Machine* ForcedMachine() { return nullptr; }
#endif

}  // namespace

// Returns the machine that tests plan for; null if plans are for the real machine.
static const Machine* OtherMachine() {
  return machine_for_tests != nullptr ? machine_for_tests : ForcedMachine();
}

const Machine& ThisMachine() {
  const Machine* const other = OtherMachine();
  return other != nullptr ? *other : RealMachine();
}

int64_t LastLevelCacheBytes() {
  const Machine& machine = ThisMachine();
  return std::min(machine.last_level_cache, machine.cpus * kMostCacheBytesPerCpu);
}

int64_t L2CacheBytes() { return ThisMachine().l2_cache; }

bool HasStreamingStores() { return (ThisMachine().targets & (HWY_AVX2 | HWY_AVX3)) != 0; }

Vendor CpuVendor() { return ThisMachine().vendor; }

bool GathersAreSlow() { return CpuVendor() == Vendor::kAmd; }

bool IsOverBeforeWideVectorsAreFast(int64_t work) {
  return work < 1024 && CpuVendor() != Vendor::kAmd;
}

bool HasTargets(int64_t targets) {
  const int64_t real = RealMachine().targets;
  const Machine* const other = OtherMachine();
  const int64_t common = other != nullptr ? real & other->targets : real;
  return ((common != 0 ? common : real) & targets) != 0;
}

}  // namespace portacl::cpu
