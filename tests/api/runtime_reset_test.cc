// Resets of a device while other threads set it and allocate: a reset frees what existed before it
// and nothing else. Each test is a separate process, with a device of its own.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

constexpr size_t kPiece = size_t{2} << 20;
constexpr size_t kSize = size_t{1} << 20;
constexpr auto kSoon = std::chrono::milliseconds(400);

void* Allocate(size_t size) {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS) << NewestMessage();
  return memory;
}

void ExpectAllMemoryFree() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  size_t free_bytes = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
  EXPECT_EQ(free_bytes, total);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

// Runs each function repeatedly, on its own thread, until some time has passed or a test has
// failed.
void Repeat(const std::vector<std::function<void(int)>>& functions) {
  const auto end = std::chrono::steady_clock::now() + kSoon;
  std::vector<std::thread> threads;
  for (const auto& function : functions) {
    threads.emplace_back([&] {
      for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
        function(i);
        if (testing::Test::HasFailure()) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Sizes from the C heap and of blocks that are mapped.
void UseTheDevice(int i) {
  const size_t size = i % 2 == 0 ? 4096 : 70000;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* const memory = Allocate(size);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(aclrtMemset(memory, size, 1, size), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS) << NewestMessage();
}

void ResetAmongAllocations() {
  Repeat({&UseTheDevice, &UseTheDevice, &UseTheDevice, &UseTheDevice});
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, ALastResetLeavesWhatOtherThreadsAllocate) {
  PORTACL_IN_CHILD(Environment{}, ResetAmongAllocations());
}

TEST(RuntimeResetChild, ALastResetLeavesWhatOtherThreadsAllocateInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), ResetAmongAllocations());
}

aclrtDrvMemHandle AllocatePhysical() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), ACL_SUCCESS) << NewestMessage();
  return handle;
}

// One thread leaves its physical memory for resets to free. While other threads have the device,
// their resets are not the last ones, and pieces pile up; their number is bounded, because each
// needs a file descriptor.
void ResetAmongPhysicalMemory() {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  // One iteration a millisecond, but no more than the limit allows.
  const auto pieces = std::clamp<rlim_t>(limit.rlim_max / (kSoon.count() + 100), 1, 20);
  const auto leave_memory = [pieces](int) {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (rlim_t piece = 0; piece < pieces; ++piece) ASSERT_NE(AllocatePhysical(), nullptr);
    ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS) << NewestMessage();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  Repeat({leave_memory, &UseTheDevice});
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, ALastResetFreesPhysicalMemoryAmongAllocations) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICE_MEMORY", "1000G"}}), ResetAmongPhysicalMemory());
}

// Calls may find their context or their memory gone; no booking is lost, nor made twice.
void ForceResetsAmongAllocations() {
  const auto reset = [](int) {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS) << NewestMessage();
  };
  const auto allocate = [](int i) {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* memory = nullptr;
    const aclError made =
        aclrtMalloc(&memory, i % 2 == 0 ? 4096 : 70000, ACL_MEM_MALLOC_HUGE_FIRST);
    EXPECT_THAT(made, testing::AnyOf(ACL_SUCCESS, ACL_ERROR_RT_CONTEXT_NULL)) << NewestMessage();
    if (made != ACL_SUCCESS) return;
    EXPECT_THAT(aclrtFree(memory),
                testing::AnyOf(ACL_SUCCESS, ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_MEMORY_FREE))
        << NewestMessage();
  };
  Repeat({reset, allocate, allocate, allocate});
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, ForcedResetsLoseNoBooking) {
  PORTACL_IN_CHILD(Environment{}, ForceResetsAmongAllocations());
}

// The end of the calling thread's context on another thread, where it waits for a task.
class SlowReset {
 public:
  explicit SlowReset(const std::function<aclError()>& reset) {
    EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    EXPECT_EQ(blocker_.Launch(stream_), ACL_SUCCESS);
    blocker_.AwaitStart();
    thread_ = std::thread([reset] { EXPECT_EQ(reset(), ACL_SUCCESS) << NewestMessage(); });
    while (aclrtSynchronizeStream(nullptr) != ACL_ERROR_RT_CONTEXT_NULL) std::this_thread::yield();
  }
  void Finish() {
    blocker_.Release();
    thread_.join();
  }

 private:
  aclrtStream stream_ = nullptr;
  Blocker blocker_;
  std::thread thread_;
};

// Memory for a new context, while the device's old context ends, is not the old one's.
void AllocateDuringAReset(aclError (*reset)(int32_t)) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* const old = Allocate(kSize);
  const aclrtDrvMemHandle old_piece = AllocatePhysical();
  SlowReset slow([reset] { return reset(0); });
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* const memory = Allocate(kSize);
  const aclrtDrvMemHandle piece = AllocatePhysical();
  slow.Finish();
  EXPECT_EQ(aclrtMemset(memory, kSize, 1, kSize), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtFreePhysical(piece), ACL_SUCCESS) << NewestMessage();
  if (reset == &aclrtResetDeviceForce) {
    EXPECT_EQ(aclrtFree(old), ACL_ERROR_RT_MEMORY_FREE);
    EXPECT_EQ(aclrtFreePhysical(old_piece), ACL_ERROR_RT_PARAM_INVALID);
  }
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, AResetLeavesWhatANewContextHasGotMeanwhile) {
  PORTACL_IN_CHILD(Environment{}, AllocateDuringAReset(&aclrtResetDevice));
  PORTACL_IN_CHILD(Environment{}, AllocateDuringAReset(&aclrtResetDeviceForce));
}

// A new context maps memory beside and between the old context's memory, which goes.
void MapDuringAReset() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* range = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&range, 4 * kPiece, 0, nullptr, 0), ACL_SUCCESS);
  const auto at = [&](size_t piece) { return static_cast<char*>(range) + piece * kPiece; };
  const aclrtDrvMemHandle old = AllocatePhysical();
  ASSERT_EQ(aclrtMapMem(at(1), kPiece, 0, old, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(at(3), kPiece, 0, old, 0), ACL_SUCCESS);
  SlowReset slow([] { return aclrtResetDeviceForce(0); });
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const aclrtDrvMemHandle piece = AllocatePhysical();
  ASSERT_EQ(aclrtMapMem(at(0), kPiece, 0, piece, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(at(2), kPiece, 0, piece, 0), ACL_SUCCESS);
  slow.Finish();
  EXPECT_ACL_ERROR(aclrtMemset(at(0), 2 * kPiece, 1, 2 * kPiece), ACL_ERROR_RT_PARAM_INVALID,
                   "leave its allocation");
  EXPECT_EQ(aclrtMemset(at(2), kPiece, 1, kPiece), ACL_SUCCESS) << NewestMessage();
  EXPECT_ACL_ERROR(aclrtUnmapMem(at(1)), ACL_ERROR_RT_PARAM_INVALID, "no piece of memory");
  EXPECT_ACL_ERROR(aclrtUnmapMem(at(3)), ACL_ERROR_RT_PARAM_INVALID, "no piece of memory");
  EXPECT_EQ(aclrtUnmapMem(at(0)), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtUnmapMem(at(2)), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtReleaseMemAddress(range), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, AForcedResetLeavesWhatANewContextHasMappedMeanwhile) {
  PORTACL_IN_CHILD(Environment{}, MapDuringAReset());
}

// While one reset waits for a task that may use the device's memory, another reset frees no memory:
// a freed block would be handed out again.
void ResetDuringAReset() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* const used_by_task = Allocate(kSize);
  SlowReset slow([] { return aclrtResetDevice(0); });
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* const memory = Allocate(kSize);
  EXPECT_NE(memory, used_by_task);
  slow.Finish();
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, MemoryStaysWhileAnotherResetWaitsForItsTasks) {
  PORTACL_IN_CHILD(Environment{}, ResetDuringAReset());
}

// The same while a context is destroyed.
void ResetWhileAContextEnds() {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), ACL_SUCCESS);
  void* const used_by_task = Allocate(kSize);
  SlowReset slow([context] { return aclrtDestroyContext(context); });
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* const memory = Allocate(kSize);
  EXPECT_NE(memory, used_by_task);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  slow.Finish();
  ExpectAllMemoryFree();
}

TEST(RuntimeResetChild, MemoryStaysWhileAContextIsDestroyed) {
  PORTACL_IN_CHILD(Environment{}, ResetWhileAContextEnds());
}

}  // namespace
}  // namespace portacl_test
