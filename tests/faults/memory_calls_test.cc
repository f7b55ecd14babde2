// Rows for memory: allocations, copies, fills, registered host memory, virtual memory.
#include "faults/calls.h"

namespace portacl_test {
namespace {

constexpr int64_t kUnsupported = ACL_ERROR_API_NOT_SUPPORT;
constexpr size_t kPiece = size_t{2} << 20;
constexpr size_t kBytes = size_t{64} << 10;
// Answers of functions that give memory.
const std::vector<int64_t> kNoMemory = {ACL_ERROR_RT_MEMORY_ALLOCATION};

const Step kFree = PORTACL_DO(aclrtFree(w.Get<void*>()));
const Step kFreeHost = PORTACL_DO(aclrtFreeHost(w.Get<void*>()));

std::vector<Row> AllocationRows() {
  return {
      {"aclrtMalloc",
       PORTACL_CALL(aclrtMalloc(w.Out<void*>(), 1000, ACL_MEM_MALLOC_NORMAL_ONLY)),
       nullptr,
       kFree,
       {.bad = kNoMemory}},
      {"aclrtMalloc",
       PORTACL_CALL(aclrtMalloc(w.Out<void*>(), 3 * kPiece, ACL_MEM_MALLOC_HUGE_FIRST)),
       nullptr,
       kFree,
       {.bad = kNoMemory, .variant = " of huge pages"}},
      {"aclrtMallocAlign32",
       PORTACL_CALL(aclrtMallocAlign32(w.Out<void*>(), 1000, ACL_MEM_MALLOC_NORMAL_ONLY)),
       nullptr,
       kFree,
       {.bad = kNoMemory}},
      {"aclrtMallocCached",
       PORTACL_CALL(aclrtMallocCached(w.Out<void*>(), 1000, ACL_MEM_MALLOC_NORMAL_ONLY)),
       nullptr,
       kFree,
       {.bad = kNoMemory}},
      {"aclrtFree", PORTACL_CALL(aclrtFree(w.made[0])),
       PORTACL_DO(aclrtMalloc(&w.made[0], 3 * kPiece, ACL_MEM_MALLOC_HUGE_FIRST))},
      {"aclrtMallocHost",
       PORTACL_CALL(aclrtMallocHost(w.Out<void*>(), 1000)),
       nullptr,
       kFreeHost,
       {.bad = kNoMemory}},
      {"aclrtMallocHostWithCfg",
       PORTACL_CALL(aclrtMallocHostWithCfg(w.Out<void*>(), 1000, nullptr)),
       nullptr,
       kFreeHost,
       {.bad = kNoMemory}},
      {"aclrtFreeHost", PORTACL_CALL(aclrtFreeHost(w.made[0])),
       PORTACL_DO(aclrtMallocHost(&w.made[0], 1000))},
      {"aclrtGetMemInfo",
       PORTACL_CALL(aclrtGetMemInfo(ACL_HBM_MEM, w.Out<size_t>(), w.Out<size_t>(8)))},
      {"aclrtGetMemUsageInfo",
       PORTACL_CALL(aclrtGetMemUsageInfo(0, w.Out<aclrtMemUsageInfo>(8), 1, w.Out<size_t>()))},
      {"aclrtPointerGetAttributes",
       PORTACL_CALL(aclrtPointerGetAttributes(w.device, w.Out<aclrtPtrAttributes>()))},
      {"aclrtMemFlush", PORTACL_CALL(aclrtMemFlush(w.device, 64))},
      {"aclrtMemInvalidate", PORTACL_CALL(aclrtMemInvalidate(w.device, 64))},
      {"aclrtHostRegister",
       PORTACL_CALL(
           aclrtHostRegister(w.output.data() + 512, 64, ACL_HOST_REGISTER_MAPPED, w.Out<void*>())),
       nullptr, PORTACL_DO(aclrtHostUnregister(w.output.data() + 512))},
      {"aclrtHostRegisterV2",
       PORTACL_CALL(aclrtHostRegisterV2(w.output.data() + 512, 64, ACL_HOST_REG_MAPPED)), nullptr,
       PORTACL_DO(aclrtHostUnregister(w.output.data() + 512))},
      {"aclrtHostUnregister", PORTACL_CALL(aclrtHostUnregister(w.output.data() + 512)),
       PORTACL_DO(aclrtHostRegisterV2(w.output.data() + 512, 64, ACL_HOST_REG_MAPPED))},
      {"aclrtIpcMemGetExportKey",
       PORTACL_CALL(aclrtIpcMemGetExportKey(w.device, 64, w.Out<char>(), ACL_IPC_HANDLE_SIZE, 0)),
       {.good = kUnsupported}},
      {"aclrtIpcMemSetImportPid",
       PORTACL_CALL(aclrtIpcMemSetImportPid("k", w.Out<int32_t>(), 1)),
       {.good = kUnsupported}},
      {"aclrtIpcMemImportByKey",
       PORTACL_CALL(aclrtIpcMemImportByKey(w.Out<void*>(), "k", 0)),
       {.good = kUnsupported}},
      {"aclrtIpcMemClose", PORTACL_CALL(aclrtIpcMemClose("k")), {.good = kUnsupported}},
  };
}

std::vector<Row> CopyRows() {
  return {
      {"aclrtMemcpy",
       PORTACL_CALL(aclrtMemcpy(w.device, kBytes, w.host + 7, kBytes, ACL_MEMCPY_HOST_TO_DEVICE))},
      {"aclrtMemcpyAsync", PORTACL_CALL(aclrtMemcpyAsync(w.device, kBytes, w.host + 7, kBytes,
                                                         ACL_MEMCPY_HOST_TO_DEVICE, w.stream))},
      {"aclrtMemcpyAsyncWithCondition",
       PORTACL_CALL(aclrtMemcpyAsyncWithCondition(w.device, kBytes, w.host + 7, kBytes,
                                                  ACL_MEMCPY_HOST_TO_DEVICE, w.stream))},
      {"aclrtMemset", PORTACL_CALL(aclrtMemset(w.device, kBytes, 9, kBytes))},
      {"aclrtMemsetAsync", PORTACL_CALL(aclrtMemsetAsync(w.device, kBytes, 9, kBytes, w.stream))},
      {"aclrtMemsetAsync",
       PORTACL_CALL(
           aclrtMemsetAsync(w.device, World::kDeviceBytes, 9, World::kDeviceBytes, w.stream)),
       {.variant = " of much"}},
      {"aclrtMemcpy2d", PORTACL_CALL(aclrtMemcpy2d(w.device, 200, w.host + 7, 300, 100, 50,
                                                   ACL_MEMCPY_HOST_TO_DEVICE))},
      {"aclrtMemcpy2dAsync",
       PORTACL_CALL(aclrtMemcpy2dAsync(w.device, 200, w.host + 7, 300, 100, 50,
                                       ACL_MEMCPY_HOST_TO_DEVICE, w.stream))},
  };
}

// Two copies to the device.
struct Batch {
  void* dsts[2];
  size_t rooms[2] = {64, 64};
  void* srcs[2];
  size_t sizes[2] = {64, 64};
  aclrtMemcpyBatchAttr attrs[1] = {
      {{0, ACL_MEM_LOCATION_TYPE_DEVICE}, {0, ACL_MEM_LOCATION_TYPE_HOST}, {}}};
  size_t indexes[1] = {0};
  explicit Batch(World& w) : dsts{w.device, w.device + 64}, srcs{w.host + 7, w.host + 31} {}
};

std::vector<Row> BatchRows() {
  return {
      {"aclrtMemcpyBatch",
       [](World& w) -> int64_t {
         Batch b(w);
         return aclrtMemcpyBatch(b.dsts, b.rooms, b.srcs, b.sizes, 2, b.attrs, b.indexes, 1,
                                 w.Out<size_t>());
       }},
      {"aclrtMemcpyBatchAsync",
       [](World& w) -> int64_t {
         Batch b(w);
         return aclrtMemcpyBatchAsync(b.dsts, b.rooms, b.srcs, b.sizes, 2, b.attrs, b.indexes, 1,
                                      w.Out<size_t>(), w.stream);
       }},
  };
}

aclrtPhysicalMemProp Prop() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  return prop;
}
void MakePhysical(World& w) {
  const aclrtPhysicalMemProp prop = Prop();
  aclrtMallocPhysical(&w.made[0], kPiece, &prop, 0);
}
void MakeRange(World& w) { aclrtReserveMemAddress(&w.made[1], 4 * kPiece, 0, nullptr, 1); }
void MakeBoth(World& w) {
  MakePhysical(w);
  MakeRange(w);
}
void MakeMapped(World& w) {
  MakeBoth(w);
  aclrtMapMem(w.made[1], kPiece, 0, w.made[0], 0);
}
void* PieceAt(World& w, size_t index) { return w.Made<char>(1) + index * kPiece; }
void MakeThreeMapped(World& w) {
  MakeBoth(w);
  for (size_t i = 0; i < 3; ++i) aclrtMapMem(PieceAt(w, i), kPiece, 0, w.made[0], 0);
}
// Where the call fails, the memory is there as before: otherwise the write ends the process.
int64_t UnmapTheMiddle(World& w) {
  const aclError answer = aclrtUnmapMem(PieceAt(w, 1));
  if (answer != ACL_SUCCESS) aclrtMemset(PieceAt(w, 1), kPiece, 1, kPiece);
  return answer;
}
void FreeBoth(World& w) {
  aclrtFreePhysical(w.made[0]);
  aclrtReleaseMemAddress(w.made[1]);
}

std::vector<Row> VirtualRows() {
  return {
      {"aclrtReserveMemAddress",
       PORTACL_CALL(aclrtReserveMemAddress(w.Out<void*>(), 4 * kPiece, 0, nullptr, 1)),
       nullptr,
       PORTACL_DO(aclrtReleaseMemAddress(w.Get<void*>())),
       {.bad = kNoMemory}},
      {"aclrtReleaseMemAddress", PORTACL_CALL(aclrtReleaseMemAddress(w.made[1])), MakeRange},
      {"aclrtMallocPhysical",
       [](World& w) -> int64_t {
         const aclrtPhysicalMemProp prop = Prop();
         return aclrtMallocPhysical(w.Out<aclrtDrvMemHandle>(), kPiece, &prop, 0);
       },
       nullptr,
       PORTACL_DO(aclrtFreePhysical(w.Get<aclrtDrvMemHandle>())),
       {.bad = kNoMemory}},
      {"aclrtFreePhysical", PORTACL_CALL(aclrtFreePhysical(w.made[0])), MakePhysical},
      {"aclrtMapMem",
       PORTACL_CALL(aclrtMapMem(w.made[1], kPiece, 0, w.made[0], 0)),
       MakeBoth,
       PORTACL_DO(aclrtUnmapMem(w.made[1]); FreeBoth(w)),
       {.bad = kNoMemory}},
      {"aclrtUnmapMem", PORTACL_CALL(aclrtUnmapMem(w.made[1])), MakeMapped, FreeBoth},
      {"aclrtUnmapMem",
       UnmapTheMiddle,
       MakeThreeMapped,
       PORTACL_DO(aclrtUnmapMem(PieceAt(w, 0)); aclrtUnmapMem(PieceAt(w, 2)); FreeBoth(w)),
       {.variant = " of the middle of three"}},
      {"aclrtMemGetAllocationGranularity",
       [](World& w) -> int64_t {
         aclrtPhysicalMemProp prop = Prop();
         return aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM,
                                                 w.Out<size_t>());
       }},
      {"aclrtMemExportToShareableHandle",
       PORTACL_CALL(aclrtMemExportToShareableHandle(nullptr, ACL_MEM_HANDLE_TYPE_NONE, 0,
                                                    w.Out<uint64_t>())),
       {.good = kUnsupported}},
      {"aclrtMemImportFromShareableHandle",
       PORTACL_CALL(aclrtMemImportFromShareableHandle(0, 0, w.Out<aclrtDrvMemHandle>())),
       {.good = kUnsupported}},
      {"aclrtMemSetPidToShareableHandle",
       PORTACL_CALL(aclrtMemSetPidToShareableHandle(0, w.Out<int32_t>(), 1)),
       {.good = kUnsupported}},
  };
}

const Rows allocation_rows(AllocationRows());
const Rows copy_rows(CopyRows());
const Rows batch_rows(BatchRows());
const Rows virtual_rows(VirtualRows());

}  // namespace
}  // namespace portacl_test
