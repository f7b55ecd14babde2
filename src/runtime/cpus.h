// How many CPUs this process has: by its affinity mask, and by its control groups' quota of time.
#ifndef PORTACL_RUNTIME_CPUS_H_
#define PORTACL_RUNTIME_CPUS_H_

namespace portacl::runtime {

// The CPU time that control groups allow this process, in CPUs: 1.5 for 150 of each 100 ms; 0 if
// they set no limit. The smallest limit among the process's group and the groups above it counts;
// both versions of control groups (cpu.max; cpu.cfs_quota_us). `root` stands before /proc and /sys:
// tests use another tree. Allocates nothing.
double CpuQuota(const char* root = "");

// A quota in whole CPUs, at least 1: rounded to the nearest. With 1.2, a second thread would use up
// the time early in each period. Then the process would stand still for longer than the second
// thread has helped. With 1.7, one thread would leave too much time unused.
int WholeCpus(double quota);

// The CPUs of the affinity mask, or of the quota if that is less; at least 1.
int UsableCpus();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CPUS_H_
