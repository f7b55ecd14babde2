// CPUs by quota: both versions of control groups, groups above, containers.
#include "runtime/thread_policy.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace portacl::runtime {
namespace {

// A tree with /proc and /sys as the machine has them.
class Quota : public testing::Test {
 protected:
  ~Quota() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  double Read() const { return CpuQuota(root_.c_str()); }

 private:
  static std::string NewFolder() {
    std::string name = testing::TempDir() + "portacl_quota_XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    return name;
  }
  const std::string root_ = NewFolder();
};

TEST_F(Quota, NoneWithoutControlGroups) { EXPECT_EQ(Read(), 0); }

TEST_F(Quota, Version2) {
  Write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(Read(), 0);
  Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(Read(), 0);
  Write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(Read(), 1.5);
}

TEST_F(Quota, TheSmallestOfTheGroupsAboveCounts) {
  Write("/proc/self/cgroup", "0::/pods/one/container\n");
  Write("/sys/fs/cgroup/pods/one/container/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/pods/one/cpu.max", "200000 50000\n");
  Write("/sys/fs/cgroup/pods/cpu.max", "6400000 100000\n");
  EXPECT_EQ(Read(), 4);
  Write("/sys/fs/cgroup/pods/cpu.max", "300000 100000\n");
  EXPECT_EQ(Read(), 3);
}

TEST_F(Quota, Version1) {
  Write("/proc/self/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:cpuset:/\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Read(), 0);
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(Read(), 2.5);
}

// The path is the host's, but the container's own group is mounted.
TEST_F(Quota, OfAContainerThatDoesNotSeeItsPath) {
  Write("/proc/self/cgroup", "4:cpu:/docker/abc\n0::/\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Read(), 0.5);
}

TEST_F(Quota, OfVersion2BesideVersion1) {
  Write("/proc/self/cgroup", "2:cpuset:/\n0::/slice\n");
  Write("/sys/fs/cgroup/unified/slice/cpu.max", "700000 100000\n");
  EXPECT_EQ(Read(), 7);
}

TEST_F(Quota, GarbageIsNoQuota) {
  Write("/proc/self/cgroup", "\n0\n::\n0::relative\nx:cpu:/..\n3:cpu\n0::/\n");
  for (const char* text : {"", "\n", "abc", "0 100000", "100000", "100000 0", "-5 100"}) {
    Write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(Read(), 0) << text;
  }
}

TEST(Cpus, AQuotaIsRoundedToTheNearest) {
  EXPECT_EQ(WholeCpus(0.1), 1);
  EXPECT_EQ(WholeCpus(1.2), 1);
  EXPECT_EQ(WholeCpus(1.5), 2);
  EXPECT_EQ(WholeCpus(2.4), 2);
  EXPECT_EQ(WholeCpus(63.9), 64);
}

TEST(Cpus, NoMoreThanTheAffinityMask) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_GE(UsableCpus(), 1);
  EXPECT_LE(UsableCpus(), CPU_COUNT(&set));
}

}  // namespace
}  // namespace portacl::runtime
