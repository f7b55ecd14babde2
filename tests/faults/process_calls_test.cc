// Rows for functions of the process: begin and end, versions, messages, profiles of a run, options,
// and names without a header.
#include "acl/acl_op_compiler.h"
#include "acl/acl_prof.h"
#include "faults/calls.h"
#include "test_paths.h"

extern "C" {
int32_t rtDevBinaryRegister(const void* binary, void** handle);
int32_t rtFunctionRegister(void* handle, const void* stub, const char* name, const void* device,
                           uint32_t mode);
int32_t rtKernelLaunch(const void* stub, uint32_t blocks, void* args, uint32_t size, void* sm,
                       void* stream);
int32_t rtGetC2cCtrlAddr(uint64_t* address, uint32_t* length);
int32_t MsprofRegisterCallback(uint32_t module, int32_t (*callback)(uint32_t, void*, uint32_t));
int32_t MsprofReportApi(uint32_t non_persistent, const void* api);
int32_t MsprofReportCompactInfo(uint32_t non_persistent, const void* data, uint32_t length);
int32_t MsprofReportAdditionalInfo(uint32_t non_persistent, const void* data, uint32_t length);
uint64_t MsprofGetHashId(const char* text, size_t length);
uint64_t MsprofSysCycleTime();
int32_t HcclAllGather(void*, void*, uint64_t, int32_t, void*, void*);
int32_t HcclAllReduce(void*, void*, uint64_t, int32_t, int32_t, void*, void*);
int32_t HcclBroadcast(void*, uint64_t, int32_t, uint32_t, void*, void*);
int32_t HcclCommDestroy(void*);
int32_t HcclCommInitAll(uint32_t, int32_t*, void**);
int32_t HcclCommInitRootInfo(uint32_t, const void*, uint32_t, void**);
int32_t HcclGetRootInfo(void*);
int32_t HcclRecv(void*, uint64_t, int32_t, uint32_t, void*, void*);
int32_t HcclReduceScatter(void*, void*, uint64_t, int32_t, int32_t, void*, void*);
int32_t HcclSend(void*, uint64_t, int32_t, uint32_t, void*, void*);
}

namespace portacl_test {
namespace {

constexpr int64_t kUnsupported = ACL_ERROR_API_NOT_SUPPORT;
constexpr int64_t kNoDriver = ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
constexpr int64_t kNoPeers = 5;

std::vector<Row> LifeRows() {
  return {
      {"aclInit",
       PORTACL_CALL(aclInit(nullptr)),
       nullptr,
       PORTACL_DO(aclFinalize()),
       {.bare = true}},
      {"aclInit",
       PORTACL_CALL(aclInit(PORTACL_SOURCE_DIR "/bench/shapes.json")),
       nullptr,
       PORTACL_DO(aclFinalize()),
       {.bare = true, .variant = " with a file"}},
      {"aclFinalize", PORTACL_CALL(aclFinalize()), PORTACL_DO(aclInit(nullptr)), {.bare = true}},
      {"aclFinalizeReference",
       PORTACL_CALL(aclFinalizeReference(w.Out<uint64_t>())),
       PORTACL_DO(aclInit(nullptr)),
       {.bare = true}},
      {"aclnnInit",
       PORTACL_CALL(aclnnInit(nullptr)),
       nullptr,
       PORTACL_DO(aclnnFinalize()),
       {.bare = true}},
      {"aclnnFinalize",
       PORTACL_CALL(aclnnFinalize()),
       PORTACL_DO(aclnnInit(nullptr)),
       {.bare = true}},
      {"aclrtGetVersion",
       PORTACL_CALL(aclrtGetVersion(w.Out<int32_t>(), w.Out<int32_t>(8), w.Out<int32_t>(16))),
       {.bare = true}},
      {"aclGetRecentErrMsg",
       PORTACL_CALL(Answer(aclGetRecentErrMsg())),
       PORTACL_DO(aclrtGetVersion(nullptr, nullptr, nullptr)),
       {.bare = true}},
      {"aclGetCannAttribute",
       PORTACL_CALL(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, w.Out<int32_t>())),
       {.bare = true}},
      {"aclGetCannAttributeList",
       PORTACL_CALL(aclGetCannAttributeList(w.Out<const aclCannAttr*>(), w.Out<size_t>(8))),
       {.bare = true}},
      {"aclGetDeviceCapability",
       PORTACL_CALL(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, w.Out<int64_t>())),
       {.bare = true}},
      {"aclsysGetCANNVersion",
       PORTACL_CALL(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, w.Out<aclCANNPackageVersion>())),
       {.good = ACL_ERROR_INVALID_FILE, .bare = true}},
      {"aclFloat16ToFloat", PORTACL_USE(aclFloat16ToFloat(1)), {.bare = true}},
      {"aclFloatToFloat16", PORTACL_USE(aclFloatToFloat16(1)), {.bare = true}},
      {"aclDataTypeSize", PORTACL_USE(aclDataTypeSize(ACL_FLOAT)), {.bare = true}},
      {"aclAppLog",
       PORTACL_USE(aclAppLog(ACL_INFO, "f", "file", 1, "%d of %s", 3, "a text")),
       {.bare = true}},
  };
}

std::vector<Row> OptionRows() {
  return {
      {"aclSetCompileopt",
       PORTACL_CALL(aclSetCompileopt(ACL_DEBUG_DIR, "/a/path/that/is/no/short/string")),
       {.bare = true}},
      {"aclGetCompileoptSize",
       PORTACL_CALL(aclGetCompileoptSize(ACL_DEBUG_DIR) == 32 ? kVoid : kNothing),
       PORTACL_DO(aclSetCompileopt(ACL_DEBUG_DIR, "/a/path/that/is/no/short/string")),
       {.bad = {kNothing}, .bare = true}},
      {"aclGetCompileopt",
       PORTACL_CALL(aclGetCompileopt(ACL_DEBUG_DIR, w.Out<char>(), 100)),
       PORTACL_DO(aclSetCompileopt(ACL_DEBUG_DIR, "/a/path/that/is/no/short/string")),
       {.bare = true}},
      {"aclopSetModelDir", PORTACL_CALL(aclopSetModelDir("/tmp")), {.bare = true}},
      {"aclopStartDumpArgs",
       PORTACL_CALL(aclopStartDumpArgs(0, "x")),
       {.good = kUnsupported, .bare = true}},
      {"aclopStopDumpArgs",
       PORTACL_CALL(aclopStopDumpArgs(0)),
       {.good = kUnsupported, .bare = true}},
      {"aclGenGraphAndDumpForOp",
       PORTACL_CALL(aclGenGraphAndDumpForOp("x", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr,
                                            ACL_ENGINE_SYS, "x", nullptr)),
       {.good = kUnsupported, .bare = true}},
  };
}

const Step kConfig = [](World& w) {
  uint32_t device = 0;
  w.made[0] = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_ACL_API);
};
const Step kEndConfig = PORTACL_DO(aclprofDestroyConfig(w.Made<aclprofConfig>()));
constexpr char kText[] = "a text that is too long for a small string";
const Step kStamp = PORTACL_DO(w.made[0] = aclprofCreateStamp();
                               aclprofSetStampTraceMessage(w.made[0], kText, sizeof kText - 1));
const Step kEndStamp = PORTACL_DO(aclprofDestroyStamp(w.made[0]));

std::vector<Row> ProfilingRows() {
  return {
      {"aclprofInit", PORTACL_CALL(aclprofInit("/tmp", 4)), {.bare = true}},
      {"aclprofFinalize", PORTACL_CALL(aclprofFinalize()), {.bare = true}},
      {"aclprofCreateConfig",
       [](World& w) -> int64_t {
         kConfig(w);
         return Answer(w.made[0]);
       },
       nullptr,
       kEndConfig,
       {.bad = {kNothing}}},
      {"aclprofDestroyConfig", PORTACL_CALL(aclprofDestroyConfig(w.Made<aclprofConfig>())),
       kConfig},
      {"aclprofStart", PORTACL_CALL(aclprofStart(w.Made<aclprofConfig>())), kConfig, kEndConfig},
      {"aclprofStop", PORTACL_CALL(aclprofStop(w.Made<aclprofConfig>())), kConfig, kEndConfig},
      {"aclprofSetConfig",
       PORTACL_CALL(aclprofSetConfig(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50", 2)),
       {.bare = true}},
      {"aclprofCreateStepInfo",
       [](World& w) -> int64_t {
         w.made[0] = aclprofCreateStepInfo();
         return Answer(w.made[0]);
       },
       nullptr,
       PORTACL_DO(aclprofDestroyStepInfo(w.Made<aclprofStepInfo>())),
       {.bad = {kNothing}}},
      {"aclprofDestroyStepInfo", PORTACL_USE(aclprofDestroyStepInfo(w.Made<aclprofStepInfo>())),
       PORTACL_DO(w.made[0] = aclprofCreateStepInfo())},
      {"aclprofGetStepTimestamp",
       PORTACL_CALL(aclprofGetStepTimestamp(w.Made<aclprofStepInfo>(), ACL_STEP_START, w.stream)),
       PORTACL_DO(w.made[0] = aclprofCreateStepInfo()),
       PORTACL_DO(aclprofDestroyStepInfo(w.Made<aclprofStepInfo>()))},
      {"aclprofCreateStamp",
       [](World& w) -> int64_t {
         w.made[0] = aclprofCreateStamp();
         return Answer(w.made[0]);
       },
       nullptr,
       kEndStamp,
       {.bad = {kNothing}}},
      {"aclprofDestroyStamp", PORTACL_USE(aclprofDestroyStamp(w.made[0])), kStamp},
      {"aclprofSetStampTraceMessage",
       PORTACL_CALL(aclprofSetStampTraceMessage(w.made[0], kText, sizeof kText - 1)),
       PORTACL_DO(w.made[0] = aclprofCreateStamp()), kEndStamp},
      {"aclprofMark", PORTACL_CALL(aclprofMark(w.made[0])), kStamp, kEndStamp},
      {"aclprofMarkEx", PORTACL_CALL(aclprofMarkEx(kText, sizeof kText - 1, w.stream))},
      {"aclprofPush", PORTACL_CALL(aclprofPush(w.made[0])), kStamp,
       PORTACL_DO(aclprofPop(); aclprofDestroyStamp(w.made[0]))},
      {"aclprofPop", PORTACL_CALL(aclprofPop()), PORTACL_DO(kStamp(w); aclprofPush(w.made[0])),
       kEndStamp},
      {"aclprofRangeStart", PORTACL_CALL(aclprofRangeStart(w.made[0], w.Out<uint32_t>())), kStamp,
       PORTACL_DO(aclprofRangeStop(w.Get<uint32_t>()); aclprofDestroyStamp(w.made[0]))},
      {"aclprofRangeStop", PORTACL_CALL(aclprofRangeStop(static_cast<uint32_t>(w.size))),
       [](World& w) {
         kStamp(w);
         uint32_t range = 0;
         aclprofRangeStart(w.made[0], &range);
         w.size = range;
       },
       kEndStamp},
  };
}

std::vector<Row> NamesWithoutHeader() {
  return {
      {"rtDevBinaryRegister",
       PORTACL_CALL(rtDevBinaryRegister(w.host, w.Out<void*>())),
       {.good = kNoDriver}},
      {"rtFunctionRegister",
       PORTACL_CALL(rtFunctionRegister(nullptr, nullptr, "f", nullptr, 0)),
       {.good = kNoDriver}},
      {"rtKernelLaunch",
       PORTACL_CALL(rtKernelLaunch(nullptr, 1, nullptr, 0, nullptr, w.stream)),
       {.good = kNoDriver}},
      {"rtGetC2cCtrlAddr",
       PORTACL_CALL(rtGetC2cCtrlAddr(w.Out<uint64_t>(), w.Out<uint32_t>(8))),
       {.good = kNoDriver}},
      {"MsprofRegisterCallback", PORTACL_CALL(MsprofRegisterCallback(1, nullptr))},
      {"MsprofReportApi", PORTACL_CALL(MsprofReportApi(1, w.host))},
      {"MsprofReportCompactInfo", PORTACL_CALL(MsprofReportCompactInfo(1, w.host, 8))},
      {"MsprofReportAdditionalInfo", PORTACL_CALL(MsprofReportAdditionalInfo(1, w.host, 8))},
      {"MsprofGetHashId", PORTACL_USE(MsprofGetHashId("text", 4))},
      {"MsprofSysCycleTime", PORTACL_USE(MsprofSysCycleTime())},
      {"HcclAllGather",
       PORTACL_CALL(HcclAllGather(nullptr, nullptr, 0, 0, nullptr, nullptr)),
       {.good = kNoPeers}},
      {"HcclAllReduce",
       PORTACL_CALL(HcclAllReduce(nullptr, nullptr, 0, 0, 0, nullptr, nullptr)),
       {.good = kNoPeers}},
      {"HcclBroadcast",
       PORTACL_CALL(HcclBroadcast(nullptr, 0, 0, 0, nullptr, nullptr)),
       {.good = kNoPeers}},
      {"HcclCommDestroy", PORTACL_CALL(HcclCommDestroy(nullptr)), {.good = kNoPeers}},
      {"HcclCommInitAll",
       PORTACL_CALL(HcclCommInitAll(1, w.Out<int32_t>(), w.Out<void*>(8))),
       {.good = kNoPeers}},
      {"HcclCommInitRootInfo",
       PORTACL_CALL(HcclCommInitRootInfo(1, nullptr, 0, w.Out<void*>())),
       {.good = kNoPeers}},
      {"HcclGetRootInfo", PORTACL_CALL(HcclGetRootInfo(w.Out<void>())), {.good = kNoPeers}},
      {"HcclRecv", PORTACL_CALL(HcclRecv(nullptr, 0, 0, 0, nullptr, nullptr)), {.good = kNoPeers}},
      {"HcclReduceScatter",
       PORTACL_CALL(HcclReduceScatter(nullptr, nullptr, 0, 0, 0, nullptr, nullptr)),
       {.good = kNoPeers}},
      {"HcclSend", PORTACL_CALL(HcclSend(nullptr, 0, 0, 0, nullptr, nullptr)), {.good = kNoPeers}},
  };
}

const Rows life_rows(LifeRows());
const Rows option_rows(OptionRows());
const Rows profiling_rows(ProfilingRows());
const Rows names_without_header(NamesWithoutHeader());

}  // namespace
}  // namespace portacl_test
