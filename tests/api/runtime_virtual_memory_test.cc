// Virtual memory: reserved addresses, physical memory, and mapped pieces that count as device
// memory in every function, with and without guard mode, and across neighbours.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"
#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

constexpr size_t kPiece = size_t{2} << 20;

aclrtPhysicalMemProp DeviceMemory(uint32_t device = 0) {
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {device, ACL_MEM_LOCATION_TYPE_DEVICE};
  return prop;
}

size_t FreeBytes() {
  size_t free_bytes = 0;
  size_t total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
  return free_bytes;
}

// A reserved range with memory of its own in each of its first pieces.
class MappedRange {
 public:
  explicit MappedRange(size_t pieces, size_t reserved = 16) {
    EXPECT_EQ(aclrtReserveMemAddress(&base_, reserved * kPiece, 0, nullptr, 1), ACL_SUCCESS);
    for (size_t i = 0; i < pieces; ++i) Map(i);
  }
  ~MappedRange() {
    for (const size_t piece : mapped_) EXPECT_EQ(aclrtUnmapMem(At(piece)), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(base_), ACL_SUCCESS);
  }
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  void Map(size_t piece, uint32_t device = 0) {
    const aclrtPhysicalMemProp prop = DeviceMemory(device);
    aclrtDrvMemHandle handle = nullptr;
    ASSERT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMapMem(At(piece), kPiece, 0, handle, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);  // lives until it is unmapped
    mapped_.push_back(piece);
  }
  void Unmap(size_t piece) {
    EXPECT_EQ(aclrtUnmapMem(At(piece)), ACL_SUCCESS);
    std::erase(mapped_, piece);
  }
  char* At(size_t piece, size_t offset = 0) const {
    return static_cast<char*>(base_) + piece * kPiece + offset;
  }

 private:
  void* base_ = nullptr;
  std::vector<size_t> mapped_;
};

class VirtualMemory : public RuntimeTest {};

TEST_F(VirtualMemory, GranularityIsTwoMebibytes) {
  aclrtPhysicalMemProp prop = DeviceMemory();
  for (const auto option :
       {ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
    size_t granularity = 0;
    EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, option, &granularity), ACL_SUCCESS);
    EXPECT_EQ(granularity, kPiece);
  }
  size_t granularity = 0;
  EXPECT_ACL_ERROR(
      aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &granularity),
      kInvalid, "option is 65535");
  EXPECT_ACL_ERROR(
      aclrtMemGetAllocationGranularity(nullptr, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity),
      kInvalid, "prop is null");
}

TEST_F(VirtualMemory, ReservedRangesMayExceedTheMemory) {
#if defined(__SANITIZE_THREAD__)
  constexpr size_t kBig = size_t{64} << 30;  // its shadow leaves little room for addresses
#else
  constexpr size_t kBig = size_t{1} << 40;
#endif
  void* big = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&big, kBig, 0, nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(big) % kPiece, 0u);
  EXPECT_EQ(aclrtReleaseMemAddress(big), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtReleaseMemAddress(big), kInvalid, "not the start of a reserved range");

  void* aligned = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&aligned, 1, size_t{1} << 30, nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % (size_t{1} << 30), 0u);
  EXPECT_EQ(aclrtReleaseMemAddress(aligned), ACL_SUCCESS);
  void* expected = nullptr;  // the range that was just given back is free
  ASSERT_EQ(aclrtReserveMemAddress(&expected, kPiece, 0, aligned, 0), ACL_SUCCESS);
  EXPECT_EQ(expected, aligned);
  EXPECT_EQ(aclrtReleaseMemAddress(expected), ACL_SUCCESS);
}

TEST_F(VirtualMemory, WrongRequestsAreErrors) {
  void* range = nullptr;
  EXPECT_ACL_ERROR(aclrtReserveMemAddress(nullptr, kPiece, 0, nullptr, 0), kInvalid,
                   "virPtr is null");
  EXPECT_ACL_ERROR(aclrtReserveMemAddress(&range, 0, 0, nullptr, 0), kInvalid, "size is 0");
  EXPECT_ACL_ERROR(aclrtReserveMemAddress(&range, kPiece, 3, nullptr, 0), kInvalid,
                   "alignment is 3");
  EXPECT_ACL_ERROR(aclrtReserveMemAddress(&range, kPiece, 0, nullptr, 2), kInvalid, "flags is 2");
  EXPECT_ACL_ERROR(aclrtReserveMemAddress(&range, SIZE_MAX, 0, nullptr, 0), kInvalid, "size is");

  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = DeviceMemory();
  EXPECT_ACL_ERROR(aclrtMallocPhysical(nullptr, kPiece, &prop, 0), kInvalid, "handle is null");
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, kPiece, nullptr, 0), kInvalid, "prop is null");
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, 0, &prop, 0), kInvalid, "size is 0");
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, kPiece + 1, &prop, 0), kInvalid, "multiple of");
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, kPiece, &prop, 1), kInvalid, "flags is 1");
  prop.location.id = 1000;
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, kPiece, &prop, 0), ACL_ERROR_RT_INVALID_DEVICEID,
                   "deviceId is 1000");
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, kPiece, &prop, 0), kInvalid, "location.type is 0");
  int unknown = 0;
  EXPECT_ACL_ERROR(aclrtFreePhysical(&unknown), kInvalid, "no live physical memory");
}

TEST_F(VirtualMemory, WrongMappingsAreErrors) {
  const MappedRange range(2, 4);
  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, 2 * kPiece, &prop, 0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(1), kPiece, 0, handle, 0), kInvalid, "that is mapped at");
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(2, 4096), kPiece, 0, handle, 0), kInvalid, "multiple of");
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(3), 2 * kPiece, 0, handle, 0), kInvalid,
                   "range ends after");
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(2), 2 * kPiece, kPiece, handle, 0), kInvalid,
                   "leave the physical memory");
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(2), kPiece, 0, handle, 1), kInvalid, "flags is 1");
  EXPECT_ACL_ERROR(aclrtMapMem(nullptr, kPiece, 0, handle, 0), kInvalid, "in no range");
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(2), kPiece, 0, nullptr, 0), kInvalid, "no live physical");
  EXPECT_ACL_ERROR(aclrtUnmapMem(range.At(2)), kInvalid, "no piece of memory is mapped");
  EXPECT_ACL_ERROR(aclrtUnmapMem(range.At(1, 4096)), kInvalid, "no piece of memory is mapped");
  EXPECT_ACL_ERROR(aclrtReleaseMemAddress(range.At(0)), kInvalid, "2 pieces of memory are still");
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtFree(range.At(0)), ACL_ERROR_RT_MEMORY_FREE, "no live allocation");
}

TEST_F(VirtualMemory, AddressesWithoutMemoryAreRefused) {
  MappedRange range(3, 4);
  range.Unmap(1);
  char host[16] = {};
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  for (char* const hole : {range.At(1), range.At(2) - 8, range.At(3), range.At(4) - 16}) {
    constexpr const char* kWhy = "where no memory is mapped";
    EXPECT_ACL_ERROR(aclrtMemset(hole, 16, 0, 16), kInvalid, kWhy);
    EXPECT_ACL_ERROR(aclrtMemsetAsync(hole, 16, 0, 16, nullptr), kInvalid, kWhy);
    EXPECT_ACL_ERROR(aclrtMemcpy(hole, 16, host, 16, ACL_MEMCPY_DEFAULT), kInvalid, kWhy);
    EXPECT_ACL_ERROR(aclrtMemcpy(host, 16, hole, 16, ACL_MEMCPY_DEFAULT), kInvalid, kWhy);
    EXPECT_ACL_ERROR(aclrtMemcpy(memory, 16, hole, 16, ACL_MEMCPY_HOST_TO_DEVICE), kInvalid, kWhy);
    EXPECT_ACL_ERROR(aclrtMemcpyAsync(hole, 16, memory, 16, ACL_MEMCPY_DEVICE_TO_HOST, nullptr),
                     kInvalid, kWhy);
  }
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
}

TEST_F(VirtualMemory, MemoryIsBookedUntilItIsFreedAndUnmapped) {
  const size_t before = FreeBytes();
  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, 3 * kPiece, &prop, 0), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), before - 3 * kPiece);
  void* range = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&range, 3 * kPiece, 0, nullptr, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(range, 3 * kPiece, 0, handle, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), before - 3 * kPiece);
  ASSERT_EQ(aclrtUnmapMem(range), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), before);
  ASSERT_EQ(aclrtReleaseMemAddress(range), ACL_SUCCESS);
}

TEST_F(VirtualMemory, OneMemoryMayBeMappedTwice) {
  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle handle = nullptr;
  void* range = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, 2 * kPiece, &prop, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtReserveMemAddress(&range, 4 * kPiece, 0, nullptr, 0), ACL_SUCCESS);
  char* const first = static_cast<char*>(range);
  char* const second = first + 2 * kPiece;
  ASSERT_EQ(aclrtMapMem(first, 2 * kPiece, 0, handle, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(second, kPiece, kPiece, handle, 0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMapMem(first + kPiece, kPiece, 0, handle, 0), kInvalid,
                   "that is mapped at");  // the end of a piece
  EXPECT_ACL_ERROR(aclrtMapMem(first + kPiece, 2 * kPiece, 0, handle, 0), kInvalid,
                   "that is mapped at");  // the end of one and the start of another
  ASSERT_EQ(aclrtMemset(first + kPiece, kPiece, 0x37, kPiece), ACL_SUCCESS);
  std::vector<unsigned char> read(kPiece);
  ASSERT_EQ(aclrtMemcpy(read.data(), kPiece, second, kPiece, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(read, std::vector<unsigned char>(kPiece, 0x37));
  EXPECT_EQ(aclrtUnmapMem(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnmapMem(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(range), ACL_SUCCESS);
}

// Copies, fills and attributes across neighbours; gaps are not device memory.
void NeighboursAreOneMemory() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  MappedRange range(0);
  for (const size_t piece : {2, 0, 1, 4}) range.Map(piece);  // 0 1 2 . 4
  const size_t bytes = 3 * kPiece;
  std::string data(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i % 251);
  EXPECT_EQ(aclrtMemcpy(range.At(0), bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  std::string read(bytes, '\0');
  EXPECT_EQ(aclrtMemcpy(read.data(), bytes, range.At(0), bytes, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_TRUE(read == data);
  EXPECT_EQ(aclrtMemset(range.At(0, kPiece - 5), 10, 7, 10), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(read.data(), 10, range.At(0, kPiece - 5), 10, ACL_MEMCPY_DEVICE_TO_HOST),
            0);
  EXPECT_EQ(read.substr(0, 10), std::string(10, 7));

  EXPECT_ACL_ERROR(aclrtMemcpy(read.data(), bytes, range.At(1), bytes, ACL_MEMCPY_DEVICE_TO_HOST),
                   kInvalid, "leave its allocation");
  EXPECT_ACL_ERROR(aclrtMemcpy(read.data(), 1, range.At(3), 1, ACL_MEMCPY_DEVICE_TO_HOST), kInvalid,
                   "not device memory");
  aclrtPtrAttributes attributes{};
  EXPECT_EQ(aclrtPointerGetAttributes(range.At(4, 17), &attributes), ACL_SUCCESS);
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.pageSize, kPiece);

  range.Unmap(1);  // 0 . 2 . 4
  EXPECT_ACL_ERROR(aclrtMemset(range.At(0), bytes, 0, bytes), kInvalid, "leave its allocation");
  EXPECT_EQ(aclrtMemset(range.At(0), kPiece, 0, kPiece), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(range.At(2), kPiece, 0, kPiece), ACL_SUCCESS);
  range.Map(1);
  range.Map(3);  // 0 1 2 3 4
  EXPECT_EQ(aclrtMemset(range.At(0), 5 * kPiece, 1, 5 * kPiece), ACL_SUCCESS);
}

TEST(VirtualMemoryChild, NeighboursAreOneMemory) {
  PORTACL_IN_CHILD(Environment{}, NeighboursAreOneMemory());
}

TEST(VirtualMemoryChild, NeighboursAreOneMemoryInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), NeighboursAreOneMemory());
}

// Pieces of two devices lie side by side, whichever is mapped first, and stay apart.
void NeighboursOfTwoDevices() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  MappedRange range(0);
  range.Map(1, 1);
  range.Map(0, 0);
  range.Map(2, 0);  // 0 1 0
  for (const size_t piece : {0, 1, 2}) {
    EXPECT_EQ(aclrtMemset(range.At(piece), kPiece, 0, kPiece), ACL_SUCCESS);
    aclrtPtrAttributes attributes{};
    EXPECT_EQ(aclrtPointerGetAttributes(range.At(piece), &attributes), ACL_SUCCESS);
    EXPECT_EQ(attributes.location.id, piece % 2);
  }
  for (const size_t piece : {0, 1}) {
    EXPECT_ACL_ERROR(aclrtMemset(range.At(piece), 2 * kPiece, 0, 2 * kPiece), kInvalid,
                     "leave its allocation");
  }
}

TEST(VirtualMemoryChild, NeighboursOfTwoDevicesAreTwoMemories) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICES", "2"}}), NeighboursOfTwoDevices());
}

// An operator whose tensor begins in one piece and ends in the next.
void OperatorsReachMappedMemory() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  {
    const MappedRange range(2);
    char* const grad_data = range.At(0, kPiece - 8);
    char* const out_data = range.At(1, 4096);
    const float values[] = {1, 2, 3, 4};
    ASSERT_EQ(
        aclrtMemcpy(grad_data, sizeof values, values, sizeof values, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    const int64_t grad_dims[] = {1, 1, 4};
    const int64_t out_dims[] = {1, 1, 2};
    aclTensor* grad = aclCreateTensor(grad_dims, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCL,
                                      grad_dims, 3, grad_data);
    aclTensor* out =
        aclCreateTensor(out_dims, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCL, out_dims, 3, out_data);
    const int64_t output_size[] = {4};
    aclIntArray* sizes = aclCreateIntArray(output_size, 1);
    aclIntArray* input = aclCreateIntArray(out_dims, 3);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    ASSERT_EQ(aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(grad, sizes, input, 0.0, out,
                                                                  &bytes, &executor),
              0)
        << NewestMessage();
    void* workspace = bytes > 0 ? range.At(1, 65536) : nullptr;
    ASSERT_EQ(aclnnUpsampleNearestExact1dBackward(workspace, bytes, executor, nullptr), 0)
        << NewestMessage();
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    float result[2] = {};
    ASSERT_EQ(
        aclrtMemcpy(result, sizeof result, out_data, sizeof result, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    EXPECT_EQ(result[0], 3.0f);
    EXPECT_EQ(result[1], 7.0f);
    aclDestroyTensor(grad);
    aclDestroyTensor(out);
    aclDestroyIntArray(sizes);
    aclDestroyIntArray(input);
  }
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(VirtualMemoryChild, OperatorsReachMappedMemory) {
  PORTACL_IN_CHILD(Environment{}, OperatorsReachMappedMemory());
}

TEST(VirtualMemoryChild, OperatorsReachMappedMemoryInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), OperatorsReachMappedMemory());
}

void TouchMappedMemory() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const MappedRange range(1);
  *static_cast<volatile char*>(range.At(0, 100)) = 1;
}

TEST(VirtualMemoryChild, TheHostCannotTouchMappedMemoryInGuardMode) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH((SetEnvironment({{"PORTACL_GUARD", "1"}}), TouchMappedMemory()),
               "host write of device memory");
}

void RunOutOfMemory() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle first = nullptr;
  aclrtDrvMemHandle second = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&first, 3 * kPiece, &prop, 0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&second, 2 * kPiece, &prop, 0),
                   ACL_ERROR_RT_MEMORY_ALLOCATION, "Failed to allocate");
  EXPECT_EQ(aclrtFreePhysical(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocPhysical(&second, 2 * kPiece, &prop, 0), ACL_SUCCESS);
  // A reset takes what is left, and the device has all of its memory again.
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), 4 * kPiece);
  EXPECT_ACL_ERROR(aclrtFreePhysical(second), kInvalid, "no live physical memory");
}

TEST(VirtualMemoryChild, PhysicalMemoryCountsAgainstTheDevice) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_DEVICE_MEMORY", "8M"}}), RunOutOfMemory());
}

// In the child of a fork: ranges without memory, which can be given back and used anew.
void CheckMappedMemoryInChild(const MappedRange& range, aclrtDrvMemHandle parents_handle) {
  constexpr const char* kNoMemory = "where no memory is mapped";
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMemset(range.At(0), kPiece, 2, kPiece), kInvalid, kNoMemory);
  char byte = 0;
  EXPECT_ACL_ERROR(aclrtMemcpy(&byte, 1, range.At(1), 1, ACL_MEMCPY_DEFAULT), kInvalid, kNoMemory);
  EXPECT_ACL_ERROR(aclrtMapMem(range.At(3), kPiece, 0, parents_handle, 0), kInvalid,
                   "of the process that forked this one");
  EXPECT_EQ(aclrtFreePhysical(parents_handle), ACL_SUCCESS);

  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtUnmapMem(range.At(0)), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(range.At(0), kPiece, 0, handle, 0), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(aclrtMemset(range.At(0), kPiece, 3, kPiece), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclrtMemset(range.At(0), 2 * kPiece, 3, 2 * kPiece), kInvalid,
                   "leave its allocation");
  EXPECT_ACL_ERROR(aclrtMemset(range.At(1), kPiece, 3, kPiece), kInvalid, kNoMemory);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  size_t total = 0;
  size_t free_bytes = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total), ACL_SUCCESS);
  EXPECT_EQ(free_bytes, total);
  EXPECT_EQ(aclrtReleaseMemAddress(range.At(0)), ACL_SUCCESS) << NewestMessage();
}

void CheckMappedMemoryAndFork() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), ACL_SUCCESS);
  const MappedRange range(2, 4);
  ASSERT_EQ(aclrtMemset(range.At(0), 2 * kPiece, 1, 2 * kPiece), ACL_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    CheckMappedMemoryInChild(range, handle);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::string read(2 * kPiece, '\0');
  ASSERT_EQ(
      aclrtMemcpy(read.data(), read.size(), range.At(0), read.size(), ACL_MEMCPY_DEVICE_TO_HOST),
      ACL_SUCCESS);
  EXPECT_TRUE(read == std::string(2 * kPiece, 1)) << "the parent's memory";
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
}

TEST(VirtualMemoryChild, AForkedProcessHasNoneOfTheMappedMemory) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer does not follow forks of threaded processes";
#endif
  // One thread for the loops: none of oneTBB's starts while the process forks.
  const Environment serial = {{"PORTACL_NUM_THREADS", "1"}};
  PORTACL_IN_CHILD(serial, CheckMappedMemoryAndFork());
  const Environment guarded = {{"PORTACL_NUM_THREADS", "1"}, {"PORTACL_GUARD", "1"}};
  PORTACL_IN_CHILD(guarded, CheckMappedMemoryAndFork());
}

void RunOutOfFiles() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  const size_t before = FreeBytes();
  const int lowest_free = dup(0);
  ASSERT_GE(lowest_free, 0);
  close(lowest_free);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = static_cast<rlim_t>(lowest_free) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const aclrtPhysicalMemProp prop = DeviceMemory();
  aclrtDrvMemHandle handle = nullptr;
  std::vector<aclrtDrvMemHandle> pieces;
  while (pieces.size() <= 20 && aclrtMallocPhysical(&handle, kPiece, &prop, 0) == ACL_SUCCESS) {
    pieces.push_back(handle);
  }
  ASSERT_LE(pieces.size(), 20u);
  ASSERT_FALSE(pieces.empty());
  EXPECT_EQ(FreeBytes(), before - pieces.size() * kPiece);
  EXPECT_ACL_ERROR(aclrtMallocPhysical(&handle, kPiece, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION,
                   "the limit of " + std::to_string(limit.rlim_cur) +
                       " for this process is reached (RLIMIT_NOFILE; ulimit -n");
  EXPECT_EQ(aclrtFreePhysical(pieces.back()), ACL_SUCCESS);
  EXPECT_EQ(aclrtMallocPhysical(&pieces.back(), kPiece, &prop, 0), ACL_SUCCESS);
  for (aclrtDrvMemHandle piece : pieces) EXPECT_EQ(aclrtFreePhysical(piece), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), before);
}

TEST(VirtualMemoryChild, TheLimitOfOpenFilesIsNamed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer of undefined behaviour looks at objects through a pipe of its own";
#endif
  PORTACL_IN_CHILD(Environment{}, RunOutOfFiles());
}

TEST_F(VirtualMemory, OtherProcessesAreNotSupported) {
  uint64_t shareable = 0;
  EXPECT_ACL_ERROR(
      aclrtMemExportToShareableHandle(nullptr, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable),
      ACL_ERROR_API_NOT_SUPPORT, "not shared between processes");
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_ACL_ERROR(aclrtMemImportFromShareableHandle(0, 0, &handle), ACL_ERROR_API_NOT_SUPPORT,
                   "not shared between processes");
  int32_t pid = 0;
  EXPECT_ACL_ERROR(aclrtMemSetPidToShareableHandle(0, &pid, 1), ACL_ERROR_API_NOT_SUPPORT,
                   "not shared between processes");
}

}  // namespace
}  // namespace portacl_test
