// What a failed call leaves on its thread, as clients read it: aclrtPeekAtLastError first, then
// aclGetRecentErrMsg. Answers to questions, success and the native API leave nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "support/api/acl_fixture.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

aclError Peek() { return aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL); }
aclError TakeError() { return aclrtGetLastError(ACL_RT_THREAD_LEVEL); }

// A call that fails, and the function that its message begins with.
struct FailingCall {
  std::string function;
  std::function<aclError()> call;  // the code, or ACL_SUCCESS where the function gives none
};

std::vector<FailingCall> FailingCalls(aclrtStream stream) {
  static int host = 0;
  void* const nowhere = &host;
  const auto created = [](const void* handle) {
    EXPECT_EQ(handle, nullptr);
    return ACL_SUCCESS;
  };
  const NearestCall nearest = NearestCall::For({{1, 1, 2, 2}}, {{1, 1, 2, 2}});
  const auto execute = [=](const char* type) {
    return aclopExecuteV2(type, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, stream);
  };
  return {
      {"aclnnUpsampleNearestExact2dBackward", [=] { return nearest.Plan().status; }},
      {"aclnnUpsampleNearestExact2dBackward",
       [=] { return nearest.Run(nullptr, 0, nullptr, stream); }},
      {"aclnnGridSampler2DBackward", [=] { return GridCall().Run(nullptr, 0, nullptr, stream); }},
      {"aclnnInit", [] { return aclnnInit("/no/such/file.json"); }},
      {"aclSetAclOpExecutorRepeatable", [] { return aclSetAclOpExecutorRepeatable(nullptr); }},
      {"aclDestroyTensor",
       [=] { return aclDestroyTensor(static_cast<const aclTensor*>(nowhere)); }},
      {"aclCreateTensor",
       [=] {
         return created(aclCreateTensor(nullptr, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr,
                                        3, nullptr));
       }},
      {"aclCreateIntArray", [=] { return created(aclCreateIntArray(nullptr, 2)); }},
      {"aclCreateScalar", [=] { return created(aclCreateScalar(nullptr, ACL_FLOAT)); }},
      {"aclCreateTensorDesc",
       [=] { return created(aclCreateTensorDesc(ACL_FLOAT, -1, nullptr, ACL_FORMAT_ND)); }},
      {"aclGetTensorDescNumDims",
       [] {
         EXPECT_EQ(aclGetTensorDescNumDims(nullptr), 0u);
         return ACL_SUCCESS;
       }},
      {"aclGetDataBufferAddr", [=] { return created(aclGetDataBufferAddr(nullptr)); }},
      {"aclopExecuteV2", [=] { return execute("UpsampleNearestExact2dGrad"); }},
      {"aclopExecuteV2", [=] { return execute("NoSuchOperator"); }},
      {"aclopSetAttrInt", [] { return aclopSetAttrInt(nullptr, "a", 1); }},
      {"aclopDestroyAttr",
       [=] {
         aclopDestroyAttr(static_cast<const aclopAttr*>(nowhere));
         return ACL_SUCCESS;
       }},
      {"aclInit", [] { return aclInit("/no/such/file.json"); }},
      {"aclrtSetDevice", [] { return aclrtSetDevice(-1); }},
      {"aclrtMalloc", [] { return aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST); }},
      {"aclrtSynchronizeStream", [=] { return aclrtSynchronizeStream(nowhere); }},
      {"aclrtRecordEvent", [=] { return aclrtRecordEvent(nowhere, stream); }},
      {"aclrtLaunchHostFunc", [=] { return aclrtLaunchHostFunc(stream, nullptr, nullptr); }},
  };
}

class LastErrorTest : public AclTest {
 protected:
  LastErrorTest() { TakeError(); }
};

TEST_F(LastErrorTest, IsThatOfEachFailingCallOfEveryHeader) {
  for (const FailingCall& failing : FailingCalls(stream_)) {
    SCOPED_TRACE(failing.function);
    TakeError();
    const aclError code = failing.call();
    EXPECT_NE(Peek(), ACL_SUCCESS);
    if (code != ACL_SUCCESS) {
      EXPECT_EQ(Peek(), code);
    }
    EXPECT_THAT(TakeMessage(), StartsWith(failing.function + ": "));
    EXPECT_EQ(TakeMessage(), "") << "reading clears the message";
  }
}

TEST_F(LastErrorTest, QuestionsLeaveTheErrorAndTheMessageAlone) {
  const auto ask = [] {
    int32_t device = 0;
    EXPECT_EQ(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT_EQ(aclrtGetDevice(nullptr), ACL_ERROR_RT_PARAM_INVALID);
    aclrtStreamStatus stream_status = ACL_STREAM_STATUS_COMPLETE;
    EXPECT_EQ(aclrtStreamQuery(&device, &stream_status), ACL_ERROR_RT_CONTEXT_NULL);
    aclrtEventStatus status = ACL_EVENT_STATUS_COMPLETE;
    EXPECT_EQ(aclrtQueryEvent(&device, &status), ACL_ERROR_RT_INVALID_HANDLE);
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT_EQ(aclrtQueryEventStatus(&device, &recorded), ACL_ERROR_RT_INVALID_HANDLE);
    aclrtEventWaitStatus waited = ACL_EVENT_WAIT_STATUS_COMPLETE;
    EXPECT_EQ(aclrtQueryEventWaitStatus(&device, &waited), ACL_ERROR_RT_INVALID_HANDLE);
  };
  std::thread([&ask] {  // has no context
    ask();
    EXPECT_EQ(Peek(), ACL_SUCCESS);
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
    EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    ask();
    EXPECT_EQ(Peek(), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_THAT(TakeMessage(), HasSubstr("deviceId is -1"));
  })
      .join();
}

TEST_F(LastErrorTest, OfAClientThatAsksForTheDeviceFirstIsTheRefusalOfItsOperator) {
  std::thread([this] {
    int32_t device = 0;
    aclrtGetDevice(&device);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(GridCall().Run(nullptr, 0, nullptr, stream_), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(Peek(), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(TakeMessage(), "aclnnGridSampler2DBackward: executor is null");
  }).join();
}

TEST_F(LastErrorTest, SuccessClearsNothingAndTakingTheCodeLeavesTheMessage) {
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_EQ(TakeError(), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(TakeError(), ACL_SUCCESS);
  EXPECT_THAT(TakeMessage(), StartsWith("aclrtSetDevice: "));
}

TEST_F(LastErrorTest, OfAnotherLevelIsRefusedByTheFunctionThatWasAsked) {
  const auto wrong = static_cast<aclrtLastErrLevel>(3);
  EXPECT_EQ(aclrtPeekAtLastError(wrong), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), StartsWith("aclrtPeekAtLastError: level is 3"));
  EXPECT_EQ(aclrtGetLastError(wrong), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), StartsWith("aclrtGetLastError: level is 3"));
}

TEST_F(LastErrorTest, TheNewestMessageCounts) {
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), StartsWith("aclrtFree: "));
}

// A format that the documents do not list is accepted with a warning.
TEST_F(LastErrorTest, AWarningIsNoErrorAndDoesNotHideOne) {
  Tensor grad_output(Element::kFloat, {1, 1, 4, 4});
  Tensor grad_input(Element::kFloat, {1, 1, 2, 2});
  const DeviceTensor from(&grad_output);
  const DeviceTensor to(&grad_input);
  NearestCall call = NearestCall::For(from.args(), to.args());
  call.input_size = Shape{1, 1, 2, 3};
  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  TakeError();
  for (const char* part : {"aclrtSetDevice: ", "warning: inputSize"}) {
    EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS);
    EXPECT_EQ(Peek(), ACL_SUCCESS);
    EXPECT_THAT(TakeMessage(), HasSubstr(part));
  }
}

TEST_F(LastErrorTest, IsNotTouchedByTheNativeApi) {
  EXPECT_EQ(portaclSetProfile("atlas-9"), PORTACL_ERROR_INVALID);
  EXPECT_EQ(Peek(), ACL_SUCCESS);
  EXPECT_THAT(TakeMessage(), HasSubstr("atlas-9"));
}

// The words by which torch_npu recognises a failed allocation, and the message that it shows for an
// operator by name.
TEST_F(LastErrorTest, WordsThatClientsLookFor) {
  void* memory = nullptr;
  EXPECT_ACL_ERROR(aclrtMalloc(&memory, size_t{1} << 60, ACL_MEM_MALLOC_HUGE_FIRST),
                   ACL_ERROR_RT_MEMORY_ALLOCATION, "Failed to allocate");
  EXPECT_ACL_ERROR(
      aclopExecuteV2("MseLoss", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, stream_),
      ACL_ERROR_OP_NOT_FOUND,
      "MseLoss: portacl has this operator in the aclnn API only: aclnnMseLoss");
  EXPECT_ACL_ERROR(aclopExecuteV2("GridSampler2DGradd", 0, nullptr, nullptr, 0, nullptr, nullptr,
                                  nullptr, stream_),
                   ACL_ERROR_OP_NOT_FOUND,
                   "not part of portacl (did you mean GridSampler2DGrad?); docs/ops/index.md");
  EXPECT_ACL_ERROR(
      aclopExecuteV2("Conv2D", 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, stream_),
      ACL_ERROR_OP_NOT_FOUND,
      "Conv2D: this operator is not part of portacl; docs/ops/index.md lists those that are");
}

// A program that looks at no code would print "success".
TEST(UnknownOperatorDeathTest, IsNamedOnceOnStderr) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto run = [](const char* name) {
    aclopExecuteV2(name, 0, nullptr, nullptr, 0, nullptr, nullptr, nullptr, nullptr);
  };
  EXPECT_EXIT(
      {
        for (const char* name : {"Conv2D", "Conv2D", "MseLoss", "GridSampler2DGradd"}) run(name);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0),
      testing::Eq("portacl: operator Conv2D is not here\n"
                  "portacl: operator MseLoss is not here by name, but as aclnnMseLoss\n"
                  "portacl: operator GridSampler2DGradd is not here (did you mean "
                  "GridSampler2DGrad?)\n"));
}

}  // namespace
}  // namespace portacl_test
