// How many CPUs this process may use, by its affinity mask and by the time quota of control groups.
#ifndef PORTACL_RUNTIME_CPUS_H_
#define PORTACL_RUNTIME_CPUS_H_

namespace portacl::runtime {

// Returns the CPU time that control groups allow this process, in CPUs: 1.5 for 150 of each 100 ms;
// 0 if they set no limit. Takes the smallest limit of the process's group and all groups above it,
// in both versions of control groups (cpu.max; cpu.cfs_quota_us). `root` is put before /proc and
// /sys, for tests with another tree. Allocates nothing.
double CpuQuota(const char* root = "");

// Rounds a quota to the nearest number of CPUs, at least 1. With a quota of 1.2, a second thread
// would use up the time early in each period, and the process would then stand still. That costs
// more time than the second thread saves. With 1.7, one thread would leave too much time unused.
int WholeCpus(double quota);

// The CPUs of the affinity mask, or the quota if it is less; at least 1.
int UsableCpus();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CPUS_H_
