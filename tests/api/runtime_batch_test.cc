// Several copies in one call, registered host memory, use of memory, numbers that streams write and
// wait for, and times of events.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "support/api/device_memory_fixture.h"

namespace portacl_test {
namespace {

constexpr aclrtMemLocation kHost{0, ACL_MEM_LOCATION_TYPE_HOST};
constexpr aclrtMemLocation kDevice{0, ACL_MEM_LOCATION_TYPE_DEVICE};

class RuntimeBatch : public DeviceMemoryTest {
 protected:
  std::string Read(size_t count) {
    std::string bytes(count, '?');
    EXPECT_EQ(aclrtMemcpy(bytes.data(), count, device_, count, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return bytes;
  }
};

// Two copies to the device and one back. Their locations change at index 2.
struct Batch {
  std::string first = "abcd";
  std::string second = "efgh";
  std::string back = "....";
  void* dsts[3];
  size_t rooms[3] = {4, 4, 4};
  void* srcs[3];
  size_t sizes[3] = {4, 4, 4};
  aclrtMemcpyBatchAttr attrs[2] = {{kDevice, kHost, {}}, {kHost, kDevice, {}}};
  size_t indexes[2] = {0, 2};
  size_t failed = 0;

  explicit Batch(char* device)
      : dsts{device, device + 4, back.data()}, srcs{first.data(), second.data(), device} {}
  aclError Run(size_t count = 3) {
    return aclrtMemcpyBatch(dsts, rooms, srcs, sizes, count, attrs, indexes, 2, &failed);
  }
};

TEST_F(RuntimeBatch, CopiesGoBothWays) {
  Batch batch(At(0));
  ASSERT_EQ(batch.Run(), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(Read(8), "abcdefgh");
  EXPECT_EQ(batch.back, "abcd");
}

TEST_F(RuntimeBatch, CopiesKeepTheStreamsOrder) {
  Batch batch(At(0));
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyBatchAsync(batch.dsts, batch.rooms, batch.srcs, batch.sizes, 3, batch.attrs,
                                  batch.indexes, 2, &batch.failed, stream_),
            ACL_SUCCESS);
  EXPECT_EQ(batch.back, "....");
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(Read(8), "abcdefgh");
  EXPECT_EQ(batch.back, "abcd");
}

TEST_F(RuntimeBatch, ARefusedCopyIsNamedAndNoneIsMade) {
  Batch batch(At(0));
  batch.rooms[1] = 3;
  EXPECT_ACL_ERROR(batch.Run(), kInvalid, "count is 4, but destMax only 3");
  EXPECT_EQ(batch.failed, 1u);
  EXPECT_EQ(Read(4), std::string(4, '\0'));
  batch.rooms[1] = 4;
  batch.dsts[1] = batch.second.data();
  EXPECT_ACL_ERROR(batch.Run(), kInvalid, "not device memory");
  EXPECT_EQ(batch.failed, 1u);
}

TEST_F(RuntimeBatch, WrongBatchesNameNoCopy) {
  Batch batch(At(0));
  batch.indexes[0] = 1;
  EXPECT_ACL_ERROR(batch.Run(), kInvalid, "attrsIndexes[0] is 1");
  EXPECT_EQ(batch.failed, SIZE_MAX);
  batch.indexes[0] = 0;
  batch.indexes[1] = 3;
  EXPECT_ACL_ERROR(batch.Run(), kInvalid, "attrsIndexes[1] is 3");
  batch.indexes[1] = 2;
  EXPECT_ACL_ERROR(batch.Run(0), kInvalid, "numBatches is 0");
  batch.attrs[0].dstLoc.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  EXPECT_ACL_ERROR(batch.Run(), kInvalid, "location's type is 2");
  batch.attrs[0].dstLoc = {99, ACL_MEM_LOCATION_TYPE_DEVICE};
  EXPECT_ACL_ERROR(batch.Run(), ACL_ERROR_RT_INVALID_DEVICEID, "99");
  EXPECT_ACL_ERROR(aclrtMemcpyBatch(batch.dsts, batch.rooms, nullptr, batch.sizes, 3, batch.attrs,
                                    batch.indexes, 2, &batch.failed),
                   kInvalid, "is null");
  EXPECT_ACL_ERROR(aclrtMemcpyBatch(batch.dsts, batch.rooms, batch.srcs, batch.sizes, 3,
                                    batch.attrs, batch.indexes, 2, nullptr),
                   kInvalid, "failIdx is null");
}

TEST_F(RuntimeBatch, AConditionalCopyIsACopy) {
  const std::string text = "data";
  ASSERT_EQ(
      aclrtMemcpyAsyncWithCondition(device_, 4, text.data(), 4, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
      ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(Read(4), text);
}

TEST_F(RuntimeBatch, HostMemoryCanBeRegistered) {
  std::vector<char> memory(4096);
  const auto type = [&](size_t at) {
    aclrtPtrAttributes attributes{};
    EXPECT_EQ(aclrtPointerGetAttributes(memory.data() + at, &attributes), ACL_SUCCESS);
    return attributes.location.type;
  };
  EXPECT_EQ(type(0), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  void* device = nullptr;
  ASSERT_EQ(aclrtHostRegister(memory.data(), 1024, ACL_HOST_REGISTER_MAPPED, &device), ACL_SUCCESS);
  EXPECT_EQ(device, memory.data());
  EXPECT_EQ(type(1023), ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(type(1024), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_ACL_ERROR(aclrtHostRegisterV2(memory.data() + 1000, 1024, ACL_HOST_REG_PINNED), kInvalid,
                   "over memory that is registered");
  EXPECT_EQ(aclrtHostRegisterV2(memory.data() + 1024, 1024, ACL_HOST_REG_MAPPED), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(memory.data()), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(memory.data() + 1024), ACL_SUCCESS);
  EXPECT_EQ(type(0), ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_ACL_ERROR(aclrtHostUnregister(memory.data()), kInvalid, "not the start of registered");
  EXPECT_ACL_ERROR(aclrtHostRegister(nullptr, 1, ACL_HOST_REGISTER_MAPPED, &device), kInvalid,
                   "ptr is null");
  EXPECT_ACL_ERROR(aclrtHostRegister(memory.data(), 0, ACL_HOST_REGISTER_MAPPED, &device), kInvalid,
                   "size is 0");
  EXPECT_ACL_ERROR(aclrtHostRegister(device_, 1, ACL_HOST_REGISTER_MAPPED, &device), kInvalid,
                   "memory of device 0");
  EXPECT_ACL_ERROR(aclrtHostRegisterV2(memory.data(), 1, 1), kInvalid, "flag is 0x1");
}

TEST_F(RuntimeBatch, HostAllocationsTakeAttributes) {
  aclrtMallocAttribute attribute{ACL_RT_MEM_ATTR_MODULE_ID, {}};
  attribute.value.moduleId = 3;
  aclrtMallocConfig config{&attribute, 1};
  void* host = nullptr;
  ASSERT_EQ(aclrtMallocHostWithCfg(&host, 100, &config), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  attribute.attr = static_cast<aclrtMallocAttrType>(4);
  EXPECT_ACL_ERROR(aclrtMallocHostWithCfg(&host, 100, &config), kInvalid, "attrs[0].attr is 4");
}

TEST_F(RuntimeBatch, UseOfMemoryFollowsAllocations) {
  const auto use = [] {
    aclrtMemUsageInfo info{};
    size_t entries = 0;
    EXPECT_EQ(aclrtGetMemUsageInfo(0, &info, 1, &entries), ACL_SUCCESS);
    EXPECT_EQ(entries, 1u);
    EXPECT_STREQ(info.name, "portacl");
    return info;
  };
  const aclrtMemUsageInfo before = use();
  void* more = nullptr;
  ASSERT_EQ(aclrtMalloc(&more, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(use().curMemSize, before.curMemSize + (1 << 20));
  ASSERT_EQ(aclrtFree(more), ACL_SUCCESS);
  EXPECT_EQ(use().curMemSize, before.curMemSize);
  EXPECT_GE(use().memPeakSize, before.curMemSize + (1 << 20));
  aclrtUtilizationInfo busy{};
  ASSERT_EQ(aclrtGetDeviceUtilizationRate(0, &busy), ACL_SUCCESS);
  EXPECT_EQ(busy.cubeUtilization, DEVICE_UTILIZATION_NOT_SUPPORT);
  EXPECT_GE(busy.memoryUtilization, 0);
  EXPECT_LE(busy.memoryUtilization, 100);
}

TEST_F(RuntimeBatch, StreamsWaitForValues) {
  const StreamHandle writer;
  const auto runs = [&](uint32_t flag, uint64_t start, uint64_t wanted, uint64_t written) {
    Counter behind;
    const EventHandle started;
    EXPECT_EQ(aclrtValueWrite(device_, start, 0, stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtRecordEvent(started.get(), stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtValueWait(device_, wanted, flag, stream_), ACL_SUCCESS) << NewestMessage();
    EXPECT_EQ(behind.Launch(stream_), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeEvent(started.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    EXPECT_EQ(behind.count(), 0);
    EXPECT_EQ(aclrtValueWrite(device_, written, 0, writer.get()), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    return behind.count() == 1;
  };
  EXPECT_TRUE(runs(ACL_VALUE_WAIT_GEQ, 4, 5, 7));
  EXPECT_TRUE(runs(ACL_VALUE_WAIT_EQ, 4, 5, 5));
  EXPECT_TRUE(runs(ACL_VALUE_WAIT_AND, 4, 3, 2));
  EXPECT_TRUE(runs(ACL_VALUE_WAIT_NOR, UINT64_MAX, 1, 0));
}

TEST_F(RuntimeBatch, AWaitCountsAtItsTurn) {
  const StreamHandle writer;
  const EventHandle zeroed;
  Blocker blocker;
  Counter behind;
  // 1 is there when the wait is enqueued, and no longer at its turn.
  ASSERT_EQ(aclrtValueWrite(device_, 1, 0, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtValueWrite(device_, 0, 0, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(zeroed.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtValueWait(device_, 1, ACL_VALUE_WAIT_EQ, stream_), ACL_SUCCESS);
  ASSERT_EQ(behind.Launch(stream_), ACL_SUCCESS);
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeEvent(zeroed.get()), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT_EQ(behind.count(), 0);
  ASSERT_EQ(aclrtValueWrite(device_, 1, 0, writer.get()), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(behind.count(), 1);
}

TEST_F(RuntimeBatch, AWaitThatNeverEndsCanBeDropped) {
  Counter behind;
  ASSERT_EQ(aclrtValueWait(device_, 1, ACL_VALUE_WAIT_EQ, stream_), ACL_SUCCESS);
  ASSERT_EQ(behind.Launch(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtStreamAbort(stream_), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(behind.count(), 0);
}

TEST_F(RuntimeBatch, WrongValuesAreErrors) {
  uint64_t host = 0;
  EXPECT_ACL_ERROR(aclrtValueWrite(&host, 1, 0, stream_), kInvalid, "not device memory");
  EXPECT_ACL_ERROR(aclrtValueWrite(nullptr, 1, 0, stream_), kInvalid, "devAddr is null");
  EXPECT_ACL_ERROR(aclrtValueWrite(At(4), 1, 0, stream_), kInvalid, "wanted a multiple of 8");
  EXPECT_ACL_ERROR(aclrtValueWrite(At(kBytes - 4), 1, 0, stream_), kInvalid,
                   "leave its allocation");
  EXPECT_ACL_ERROR(aclrtValueWrite(device_, 1, 1, stream_), kInvalid, "flag is 1");
  EXPECT_ACL_ERROR(aclrtValueWait(device_, 1, 4, stream_), kInvalid, "flag is 4");
}

TEST_F(RuntimeBatch, CacheOperationsAreChecked) {
  EXPECT_EQ(aclrtCmoAsync(device_, kBytes, ACL_RT_CMO_TYPE_PREFETCH, stream_), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtCmoAsync(device_, kBytes + 1, ACL_RT_CMO_TYPE_PREFETCH, stream_), kInvalid,
                   "leave its allocation");
  EXPECT_ACL_ERROR(aclrtCmoAsync(device_, 0, ACL_RT_CMO_TYPE_PREFETCH, stream_), kInvalid,
                   "size is 0");
  EXPECT_ACL_ERROR(aclrtCmoAsync(device_, 1, static_cast<aclrtCmoType>(4), stream_), kInvalid,
                   "cmoType is 4");
}

TEST_F(RuntimeBatch, EventsHaveTimes) {
  const EventHandle first;
  const EventHandle last;
  uint64_t begin = 0;
  uint64_t end = 0;
  EXPECT_ACL_ERROR(aclrtEventGetTimestamp(first.get(), &begin),
                   ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "never recorded");
  ASSERT_EQ(aclrtRecordEvent(first.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ASSERT_EQ(aclrtRecordEvent(last.get(), stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventGetTimestamp(first.get(), &begin), ACL_SUCCESS);
  ASSERT_EQ(aclrtEventGetTimestamp(last.get(), &end), ACL_SUCCESS);
  EXPECT_GE(end, begin + 2000);
  float milliseconds = 0;
  ASSERT_EQ(aclrtEventElapsedTime(&milliseconds, first.get(), last.get()), ACL_SUCCESS);
  EXPECT_NEAR(static_cast<double>(end - begin) / 1000, milliseconds, 0.01);
  EXPECT_ACL_ERROR(aclrtEventGetTimestamp(first.get(), nullptr), kInvalid, "timestamp is null");
}

}  // namespace
}  // namespace portacl_test
