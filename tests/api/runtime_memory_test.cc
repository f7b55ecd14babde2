// Memory through the C API: allocations, every kind of copy and fill, and each mistake refused.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "support/api/child_process.h"
#include "support/api/random.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

class RuntimeMemory : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_EQ(aclrtMalloc(&device_, kSize, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    ASSERT_EQ(aclrtMallocHost(&host_, kSize), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtFree(device_), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreeHost(host_), ACL_SUCCESS);
    RuntimeTest::TearDown();
  }
  // `count` bytes of device memory.
  std::string Read(const void* address, size_t count) {
    std::string bytes(count, '?');
    EXPECT_EQ(aclrtMemcpy(bytes.data(), count, address, count, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return bytes;
  }
  void Write(void* address, const std::string& bytes) {
    EXPECT_EQ(
        aclrtMemcpy(address, bytes.size(), bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE),
        0);
  }
  char* At(size_t offset) const { return static_cast<char*>(device_) + offset; }

  static constexpr size_t kSize = 1000;
  void* device_ = nullptr;
  void* host_ = nullptr;
};

TEST_F(RuntimeMemory, AllPoliciesGiveAlignedUsableMemory) {
  const uint32_t bits[] = {0, ACL_MEM_TYPE_LOW_BAND_WIDTH, ACL_MEM_TYPE_HIGH_BAND_WIDTH,
                           ACL_MEM_ACCESS_USER_SPACE_READONLY};
  for (uint32_t number = 0; number <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P; ++number) {
    for (const uint32_t bit : bits) {
      for (const size_t size : {size_t{1}, size_t{63}, size_t{70000}, size_t{3} << 20}) {
        void* memory = nullptr;
        const auto policy = static_cast<aclrtMemMallocPolicy>(number | bit);
        ASSERT_EQ(aclrtMalloc(&memory, size, policy), ACL_SUCCESS) << number << " " << bit;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
        EXPECT_EQ(aclrtMemset(memory, size, 0x5A, size), ACL_SUCCESS);
        EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
      }
    }
  }
  void* memory = nullptr;
  EXPECT_ACL_ERROR(aclrtMalloc(&memory, 8, static_cast<aclrtMemMallocPolicy>(8)),
                   ACL_ERROR_RT_PARAM_INVALID, "policy is 0x8");
  EXPECT_ACL_ERROR(aclrtMalloc(&memory, 8, static_cast<aclrtMemMallocPolicy>(0x200)),
                   ACL_ERROR_RT_PARAM_INVALID, "policy is 0x200");
  for (const auto allocate : {aclrtMallocAlign32, aclrtMallocCached}) {
    ASSERT_EQ(allocate(&memory, 100, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemFlush(memory, 100), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemInvalidate(memory, 100), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemFlush(memory, 101), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemInvalidate(memory, 100), ACL_ERROR_RT_PARAM_INVALID);
  }
}

TEST_F(RuntimeMemory, BadRequestsAreErrors) {
  void* memory = nullptr;
  EXPECT_ACL_ERROR(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_PARAM_INVALID,
                   "size is 0");
  EXPECT_ACL_ERROR(aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_PARAM_INVALID,
                   "devPtr is null");
  EXPECT_EQ(aclrtMallocHost(&memory, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMallocHost(nullptr, 8), ACL_ERROR_RT_PARAM_INVALID);
  for (const size_t size : {std::numeric_limits<size_t>::max(), size_t{1} << 62}) {
    EXPECT_ACL_ERROR(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST),
                     ACL_ERROR_RT_MEMORY_ALLOCATION, "bytes");
    EXPECT_EQ(aclrtMallocHost(&memory, size), ACL_ERROR_RT_MEMORY_ALLOCATION);
  }
}

// torch_npu's swapped memory: it rounds sizes to pages and addresses up to the next page.
TEST_F(RuntimeMemory, WholePagesBeginAtAPage) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  if (page != 4096) GTEST_SKIP() << "pages of " << page << " bytes";
  std::vector<void*> blocks;
  for (const size_t pages : {1, 1, 2, 3, 5, 15, 16, 17, 300}) {
    for (int at = 0; at < 4; ++at) {
      void* memory = nullptr;
      ASSERT_EQ(aclrtMallocHost(&memory, pages * page), ACL_SUCCESS);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % page, 0u) << pages;
      blocks.push_back(memory);
      blocks.push_back(malloc(40 * pages));  // so that what follows lies elsewhere
    }
  }
  for (size_t at = 0; at < blocks.size(); ++at) {
    if (at % 2 == 0) {
      EXPECT_EQ(aclrtFreeHost(blocks[at]), ACL_SUCCESS);
    } else {
      free(blocks[at]);
    }
  }
}

TEST_F(RuntimeMemory, HostMemoryIsNoMoreThanTheMachines) {
  const auto machine =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = nullptr;
  for (const size_t size : {machine + 1, size_t{16} << 40}) {
    EXPECT_ACL_ERROR(aclrtMallocHost(&memory, size), ACL_ERROR_RT_MEMORY_ALLOCATION,
                     std::to_string(size) + " bytes of host memory");
    EXPECT_EQ(aclrtMallocHostWithCfg(&memory, size, nullptr), ACL_ERROR_RT_MEMORY_ALLOCATION);
  }
  EXPECT_EQ(memory, nullptr);
}

TEST_F(RuntimeMemory, BadFreesAreErrors) {
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 100, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtFree(static_cast<char*>(memory) + 10), ACL_ERROR_RT_MEMORY_FREE,
                   "10 bytes inside");
  EXPECT_ACL_ERROR(aclrtFreeHost(memory), ACL_ERROR_RT_MEMORY_FREE,
                   "device memory, which aclrtFree frees");
  ASSERT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtFree(memory), ACL_ERROR_RT_MEMORY_FREE, "already freed");
  int foreign = 0;
  EXPECT_ACL_ERROR(aclrtFree(&foreign), ACL_ERROR_RT_MEMORY_FREE, "never allocated");
  EXPECT_ACL_ERROR(aclrtFree(host_), ACL_ERROR_RT_MEMORY_FREE,
                   "host memory, which aclrtFreeHost frees");
  EXPECT_ACL_ERROR(aclrtFree(nullptr), ACL_ERROR_RT_PARAM_INVALID, "devPtr is null");
  EXPECT_ACL_ERROR(aclrtFreeHost(nullptr), ACL_ERROR_RT_PARAM_INVALID, "hostPtr is null");
}

TEST_F(RuntimeMemory, MemInfoFollowsAllocations) {
  size_t free_before = 0;
  size_t total = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total), ACL_SUCCESS);
  EXPECT_LE(free_before, total);
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 12345, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  size_t free_after = 0;
  ASSERT_EQ(aclrtGetMemInfo(ACL_DDR_MEM, &free_after, &total), ACL_SUCCESS);
  EXPECT_EQ(free_before - free_after, 12345u);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetMemInfo(static_cast<aclrtMemAttr>(12), &free_after, &total),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, nullptr), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(RuntimeMemory, PointerAttributesTellTheSide) {
  aclrtPtrAttributes attributes;
  ASSERT_EQ(aclrtPointerGetAttributes(At(kSize - 1), &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 0u);
  EXPECT_GE(attributes.pageSize, 4096u);
  ASSERT_EQ(aclrtPointerGetAttributes(host_, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  int foreign = 0;
  ASSERT_EQ(aclrtPointerGetAttributes(&foreign, &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  EXPECT_EQ(aclrtPointerGetAttributes(nullptr, &attributes), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtPointerGetAttributes(host_, nullptr), ACL_ERROR_RT_PARAM_INVALID);
}

TEST_F(RuntimeMemory, CopiesInEveryDirection) {
  const std::string text = "gradients of images";
  void* second = nullptr;
  ASSERT_EQ(aclrtMalloc(&second, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  const size_t n = text.size();
  for (const bool deduced : {false, true}) {
    const auto kind = [&](aclrtMemcpyKind stated) { return deduced ? ACL_MEMCPY_DEFAULT : stated; };
    std::string back(n, ' ');
    ASSERT_EQ(aclrtMemcpy(host_, kSize, text.data(), n, kind(ACL_MEMCPY_HOST_TO_HOST)), 0);
    ASSERT_EQ(aclrtMemcpy(device_, kSize, host_, n, kind(ACL_MEMCPY_HOST_TO_DEVICE)), 0);
    ASSERT_EQ(aclrtMemcpy(second, 64, device_, n, kind(ACL_MEMCPY_DEVICE_TO_DEVICE)), 0);
    ASSERT_EQ(aclrtMemcpy(back.data(), n, second, n, kind(ACL_MEMCPY_DEVICE_TO_HOST)), 0);
    EXPECT_EQ(back, text);
    ASSERT_EQ(aclrtMemset(second, 64, 0, 64), 0);
  }
  ASSERT_EQ(aclrtMemcpy(second, 64, device_, n, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE), 0);
  EXPECT_EQ(Read(second, n), text);
  EXPECT_EQ(aclrtMemcpy(nullptr, 0, nullptr, 0, ACL_MEMCPY_DEFAULT), 0) << "nothing to copy";
  EXPECT_EQ(aclrtFree(second), ACL_SUCCESS);
}

TEST_F(RuntimeMemory, WrongCopiesAreErrorsAndCopyNothing) {
  Write(device_, "device");
  char host[16] = "host";
  const auto copy = [](void* dst, size_t room, const void* src, size_t count, int kind) {
    return aclrtMemcpy(dst, room, src, count, static_cast<aclrtMemcpyKind>(kind));
  };
  EXPECT_ACL_ERROR(copy(device_, 4, host, 5, 1), ACL_ERROR_RT_PARAM_INVALID,
                   "count is 5, but destMax only 4");
  EXPECT_ACL_ERROR(copy(device_, kSize + 1, host_, kSize + 1, 1), ACL_ERROR_RT_PARAM_INVALID,
                   "leave its allocation");
  EXPECT_ACL_ERROR(copy(host_, kSize, At(1), kSize, 2), ACL_ERROR_RT_PARAM_INVALID, "src");
  EXPECT_ACL_ERROR(copy(At(kSize), 1, host, 1, 1), ACL_ERROR_RT_PARAM_INVALID, "not device memory");
  EXPECT_ACL_ERROR(copy(device_, 4, At(100), 4, 1), ACL_ERROR_RT_PARAM_INVALID, "src is");
  EXPECT_ACL_ERROR(copy(host, 4, host_, 4, 2), ACL_ERROR_RT_PARAM_INVALID,
                   "which is not device memory");
  EXPECT_ACL_ERROR(copy(host, 4, device_, 4, 0), ACL_ERROR_RT_PARAM_INVALID, "memory of device 0");
  EXPECT_ACL_ERROR(copy(nullptr, 4, device_, 4, 2), ACL_ERROR_RT_PARAM_INVALID, "dst is null");
  EXPECT_ACL_ERROR(copy(host, 4, nullptr, 4, 0), ACL_ERROR_RT_PARAM_INVALID, "src is null");
  EXPECT_ACL_ERROR(copy(host, 4, device_, 4, 8), ACL_ERROR_RT_PARAM_INVALID, "kind is 8");
  EXPECT_ACL_ERROR(copy(host, 4, device_, 4, -1), ACL_ERROR_RT_PARAM_INVALID, "kind is -1");
  EXPECT_ACL_ERROR(copy(At(2), 4, device_, 4, 3), ACL_ERROR_RT_PARAM_INVALID, "overlap");
  EXPECT_STREQ(host, "host");
  EXPECT_EQ(Read(device_, 6), "device");
}

TEST_F(RuntimeMemory, FreedMemoryIsNoDeviceMemory) {
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(memory), ACL_SUCCESS);
  char host = 0;
  EXPECT_ACL_ERROR(aclrtMemcpy(&host, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST),
                   ACL_ERROR_RT_PARAM_INVALID, "not device memory");
}

TEST_F(RuntimeMemory, FillsBytes) {
  ASSERT_EQ(aclrtMemset(device_, kSize, 0x141, 5), ACL_SUCCESS) << "the low 8 bits count";
  EXPECT_EQ(Read(device_, 5), "AAAAA");
  ASSERT_EQ(aclrtMemset(host_, kSize, 'b', kSize), ACL_SUCCESS) << "host memory too";
  EXPECT_EQ(static_cast<char*>(host_)[kSize - 1], 'b');
  ASSERT_EQ(aclrtMemsetAsync(At(2), 10, 'c', 2, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(Read(device_, 5), "AAccA");
  EXPECT_ACL_ERROR(aclrtMemset(device_, 4, 0, 5), ACL_ERROR_RT_PARAM_INVALID,
                   "count is 5, but maxCount only 4");
  EXPECT_ACL_ERROR(aclrtMemset(device_, kSize + 1, 0, kSize + 1), ACL_ERROR_RT_PARAM_INVALID,
                   "leave its allocation");
  EXPECT_ACL_ERROR(aclrtMemset(nullptr, 1, 0, 1), ACL_ERROR_RT_PARAM_INVALID, "devPtr is null");
  EXPECT_ACL_ERROR(aclrtMemsetAsync(device_, 4, 0, 5, stream_), ACL_ERROR_RT_PARAM_INVALID,
                   "count is 5");
}

TEST_F(RuntimeMemory, CopiesRectangles) {
  // 3 rows of "abcde" into columns 1 to 5 of rows of 8 bytes.
  ASSERT_EQ(aclrtMemset(device_, kSize, '.', 24), ACL_SUCCESS);
  const std::string rows = "abcde-fghij-klmno";
  ASSERT_EQ(aclrtMemcpy2d(At(1), 8, rows.data(), 6, 5, 3, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  EXPECT_EQ(Read(device_, 24), ".abcde...fghij...klmno..");
  std::string back(9, '#');
  ASSERT_EQ(aclrtMemcpy2dAsync(back.data(), 3, At(2), 8, 2, 3, ACL_MEMCPY_DEVICE_TO_HOST, stream_),
            0);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(back, "bc#gh#lm#");
  // The right half of each row into the left half: the rows interleave and do not overlap.
  ASSERT_EQ(aclrtMemcpy2d(device_, 8, At(4), 8, 4, 3, ACL_MEMCPY_DEVICE_TO_DEVICE), 0);
  EXPECT_EQ(Read(device_, 24), "de..de..ij..ij..no..no..");
}

TEST_F(RuntimeMemory, WrongRectanglesAreErrors) {
  const std::string rows(100, 'x');
  const auto copy = [&](size_t dpitch, size_t spitch, size_t width, size_t height) {
    return aclrtMemcpy2d(device_, dpitch, rows.data(), spitch, width, height,
                         ACL_MEMCPY_HOST_TO_DEVICE);
  };
  EXPECT_ACL_ERROR(copy(4, 5, 5, 2), ACL_ERROR_RT_PARAM_INVALID, "dpitch is 4");
  EXPECT_ACL_ERROR(copy(5, 4, 5, 2), ACL_ERROR_RT_PARAM_INVALID, "spitch is 4");
  EXPECT_ACL_ERROR(copy(333, 5, 5, 4), ACL_ERROR_RT_PARAM_INVALID, "1004 bytes at dst");
  EXPECT_ACL_ERROR(copy(size_t{1} << 63, 5, 5, 3), ACL_ERROR_RT_PARAM_INVALID,
                   "more than an address space");
  EXPECT_EQ(copy(332, 5, 4, 4), ACL_SUCCESS) << "ends at the last byte";
  EXPECT_EQ(copy(1, 1, 0, 4), ACL_SUCCESS);
  EXPECT_EQ(copy(8, 8, 4, 0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMemcpy2d(device_, 8, At(3), 8, 4, 3, ACL_MEMCPY_DEVICE_TO_DEVICE),
                   ACL_ERROR_RT_PARAM_INVALID, "overlap");
}

// The source of a buffered copy may be changed as soon as the call returns.
TEST_F(RuntimeMemory, BufferedCopiesTakeTheirSourceAtOnce) {
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
  std::string text = "before";
  ASSERT_EQ(
      aclrtMemcpyAsync(device_, kSize, text.data(), 6, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream_),
      ACL_SUCCESS);
  text = "after!";
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(Read(device_, 6), "before");
}

TEST_F(RuntimeMemory, AsyncCopiesAreCheckedWhenTheyAreEnqueued) {
  char host[8] = {};
  EXPECT_ACL_ERROR(aclrtMemcpyAsync(device_, 4, host, 5, ACL_MEMCPY_HOST_TO_DEVICE, stream_),
                   ACL_ERROR_RT_PARAM_INVALID, "aclrtMemcpyAsync: count is 5");
  EXPECT_ACL_ERROR(aclrtMemcpyAsync(host, 8, host_, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream_),
                   ACL_ERROR_RT_PARAM_INVALID, "not device memory");
  EXPECT_EQ(aclrtMemcpyAsync(device_, 8, host, 8, ACL_MEMCPY_HOST_TO_DEVICE, host),
            ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

// Big enough for several threads, with odd ends.
TEST_F(RuntimeMemory, BigCopiesAndFillsAreComplete) {
  const size_t size = (size_t{5} << 20) + 13;
  std::vector<uint64_t> words(size / 8 + 1);
  Random random(7);
  for (uint64_t& word : words) word = random.Bits();
  void* big = nullptr;
  ASSERT_EQ(aclrtMalloc(&big, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(big, size, words.data(), size, ACL_MEMCPY_HOST_TO_DEVICE, stream_), 0);
  std::vector<char> back(size);
  ASSERT_EQ(aclrtMemcpyAsync(back.data(), size, big, size, ACL_MEMCPY_DEVICE_TO_HOST, stream_), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(back.data(), words.data(), size), 0);
  ASSERT_EQ(aclrtMemsetAsync(big, size, 0x77, size - 1, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  const char last = back[size - 1];
  ASSERT_EQ(aclrtMemcpy(back.data(), size, big, size, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(std::count(back.begin(), back.end() - 1, 0x77), static_cast<int64_t>(size) - 1);
  EXPECT_EQ(back[size - 1], last);
  EXPECT_EQ(aclrtFree(big), ACL_SUCCESS);
}

TEST_F(RuntimeMemory, MayBeAllocatedAndFreedOnManyThreads) {
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS);
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      ASSERT_EQ(aclrtSetCurrentContext(context), ACL_SUCCESS);
      Random random(seed);
      for (int i = 0; i < 100; ++i) {
        const auto size = static_cast<size_t>(random.Integer(1, 400000));
        const auto value = static_cast<char>(seed * 16 + 1);
        void* memory = nullptr;
        ASSERT_EQ(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
        ASSERT_EQ(aclrtMemset(memory, size, value, size), ACL_SUCCESS);
        char last = 0;
        ASSERT_EQ(aclrtMemcpy(&last, 1, static_cast<char*>(memory) + size - 1, 1,
                              ACL_MEMCPY_DEVICE_TO_HOST),
                  ACL_SUCCESS);
        ASSERT_EQ(last, value);
        ASSERT_EQ(aclrtFree(memory), ACL_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void CheckDeviceMemoryLimit() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_EQ(aclrtMalloc(&first, 900 << 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMalloc(&second, 200 << 10, ACL_MEM_MALLOC_HUGE_FIRST),
                   ACL_ERROR_RT_MEMORY_ALLOCATION, "204800");
  ASSERT_EQ(aclrtFree(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtMalloc(&second, 200 << 10, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
}

TEST(RuntimeMemoryChild, ADevicesMemoryMayBeLimited) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICE_MEMORY", "1M"}}), CheckDeviceMemoryLimit());
}

}  // namespace
}  // namespace portacl_test
