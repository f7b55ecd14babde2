// Layouts of described memory, memory on the host, constants, and how operators by name use them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "acl/acl_op_compiler.h"
#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

// UpsampleNearestExact2dGrad from (1, 2, 2, 4) to (1, 2, 2, 2): neighbours in a row are added.
class Call {
 public:
  Call() {
    const int64_t in[] = {1, 2, 2, 4};
    const int64_t out[] = {1, 2, 2, 2};
    const int64_t output_size[] = {2, 4};
    grad = aclCreateTensorDesc(ACL_FLOAT, 4, in, ACL_FORMAT_NCHW);
    result = aclCreateTensorDesc(ACL_FLOAT, 4, out, ACL_FORMAT_NCHW);
    attr = aclopCreateAttr();
    aclopSetAttrListInt(attr, "output_size", 2, output_size);
    aclopSetAttrListInt(attr, "input_size", 4, out);
    EXPECT_EQ(aclrtMalloc(&device_in, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMalloc(&device_out, 32, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  ~Call() {
    aclDestroyTensorDesc(grad);
    aclDestroyTensorDesc(result);
    aclopDestroyAttr(attr);
    EXPECT_EQ(aclrtFree(device_in), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(device_out), ACL_SUCCESS);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void Fill(const std::vector<float>& values) {
    EXPECT_EQ(aclrtMemcpy(device_in, 64, values.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  }
  aclError Run(void* input, void* output) {
    aclDataBuffer* in = aclCreateDataBuffer(input, 64);
    aclDataBuffer* out = aclCreateDataBuffer(output, 32);
    const aclError code =
        aclopCompileAndExecute("UpsampleNearestExact2dGrad", 1, &grad, &in, 1, &result, &out, attr,
                               ACL_ENGINE_SYS, ACL_COMPILE_SYS, nullptr, nullptr);
    aclDestroyDataBuffer(in);
    aclDestroyDataBuffer(out);
    return code;
  }
  std::vector<float> Read() {
    std::vector<float> values(8);
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(values.data(), 32, device_out, 32, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return values;
  }

  aclTensorDesc* grad = nullptr;
  aclTensorDesc* result = nullptr;
  aclopAttr* attr = nullptr;
  void* device_in = nullptr;
  void* device_out = nullptr;
};

const std::vector<float> kInput{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
const std::vector<float> kResult{3, 7, 11, 15, 19, 23, 27, 31};

class TensorDescMemory : public RuntimeTest {};

TEST_F(TensorDescMemory, TheSameLayoutIsNoChange) {
  Call call;
  call.Fill(kInput);
  const int64_t in[] = {1, 2, 2, 4};
  const int64_t flat[] = {8};
  EXPECT_EQ(aclSetTensorFormat(call.grad, ACL_FORMAT_NCHW), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorShape(call.grad, 4, in), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorStorageFormat(call.result, ACL_FORMAT_ND), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorStorageShape(call.result, 1, flat), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorPlaceMent(call.grad, ACL_MEMTYPE_DEVICE), ACL_SUCCESS);
  ASSERT_EQ(call.Run(call.device_in, call.device_out), ACL_SUCCESS) << NewestMessage();
  EXPECT_EQ(call.Read(), kResult);
}

TEST_F(TensorDescMemory, MemoryInChannelsLastIsReadAndWrittenSo) {
  Call call;
  std::vector<float> last(16);
  for (size_t c = 0; c < 2; ++c) {
    for (size_t at = 0; at < 8; ++at) last[at * 2 + c] = kInput[c * 8 + at];
  }
  call.Fill(last);
  const int64_t in[] = {1, 2, 4, 2};
  const int64_t out[] = {1, 2, 2, 2};
  EXPECT_EQ(aclSetTensorFormat(call.grad, ACL_FORMAT_NHWC), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorShape(call.grad, 4, in), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorFormat(call.result, ACL_FORMAT_NHWC), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorShape(call.result, 4, out), ACL_SUCCESS);
  ASSERT_EQ(call.Run(call.device_in, call.device_out), ACL_SUCCESS) << NewestMessage();
  std::vector<float> expected(8);
  for (size_t c = 0; c < 2; ++c) {
    for (size_t at = 0; at < 4; ++at) expected[at * 2 + c] = kResult[c * 4 + at];
  }
  EXPECT_EQ(call.Read(), expected);
}

TEST_F(TensorDescMemory, OtherLayoutsAreRefused) {
  Call call;
  EXPECT_EQ(aclSetTensorFormat(call.grad, ACL_FORMAT_NC1HWC0), ACL_SUCCESS);
  EXPECT_ACL_ERROR(call.Run(call.device_in, call.device_out), ACL_ERROR_FORMAT_NOT_MATCH,
                   "its memory format NC1HWC0");
  EXPECT_EQ(aclSetTensorFormat(call.grad, ACL_FORMAT_NHWC), ACL_SUCCESS);
  const int64_t wrong[] = {1, 2, 2, 4};
  EXPECT_EQ(aclSetTensorShape(call.grad, 4, wrong), ACL_SUCCESS);
  EXPECT_ACL_ERROR(call.Run(call.device_in, call.device_out), ACL_ERROR_OP_INPUT_NOT_MATCH,
                   "memory of shape [1, 2, 2, 4], but its shape [1, 2, 2, 4] needs [1, 2, 4, 2]");
  const int64_t few[] = {4};
  EXPECT_EQ(aclSetTensorFormat(call.grad, ACL_FORMAT_NCHW), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorShape(call.grad, 1, few), ACL_SUCCESS);
  EXPECT_ACL_ERROR(call.Run(call.device_in, call.device_out), ACL_ERROR_OP_INPUT_NOT_MATCH,
                   "memory of shape [4]");
}

void HostInputsAreReadAtTheCall() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  {
    Call call;
    std::vector<float> host = kInput;
    EXPECT_EQ(aclSetTensorPlaceMent(call.grad, ACL_MEMTYPE_HOST), ACL_SUCCESS);
    Blocker blocker;
    ASSERT_EQ(blocker.Launch(nullptr), ACL_SUCCESS);
    ASSERT_EQ(call.Run(host.data(), call.device_out), ACL_SUCCESS) << NewestMessage();
    host.assign(16, 0);  // the call has its copy
    blocker.Release();
    EXPECT_EQ(call.Read(), kResult);

    EXPECT_EQ(aclSetTensorPlaceMent(call.grad, ACL_MEMTYPE_DEVICE), ACL_SUCCESS);
    std::vector<float> constant = kInput;
    EXPECT_EQ(aclSetTensorConst(call.grad, constant.data(), 64), ACL_SUCCESS);
    constant.assign(16, 0);
    ASSERT_EQ(aclrtMemset(call.device_out, 32, 0, 32), ACL_SUCCESS);
    ASSERT_EQ(call.Run(call.device_in, call.device_out), ACL_SUCCESS) << NewestMessage();
    EXPECT_EQ(call.Read(), kResult);
    EXPECT_EQ(aclSetTensorConst(call.grad, constant.data(), 60), ACL_SUCCESS);
    EXPECT_ACL_ERROR(call.Run(call.device_in, call.device_out), ACL_ERROR_OP_INPUT_NOT_MATCH,
                     "a constant of 60 bytes, but needs 64");
  }
  {
    Call call;
    EXPECT_EQ(aclSetTensorPlaceMent(call.result, ACL_MEMTYPE_HOST), ACL_SUCCESS);
    std::vector<float> host(8);
    EXPECT_ACL_ERROR(call.Run(call.device_in, host.data()), ACL_ERROR_OP_OUTPUT_NOT_MATCH,
                     "must be in device memory");
  }
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

TEST(TensorDescMemoryChild, HostInputsAreReadAtTheCall) {
  PORTACL_IN_CHILD(Environment{}, HostInputsAreReadAtTheCall());
}

TEST(TensorDescMemoryChild, HostInputsAreReadAtTheCallInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), HostInputsAreReadAtTheCall());
}

TEST_F(TensorDescMemory, OriginsAreReplaced) {
  const int64_t dims[] = {2, 3};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  const int64_t other[] = {7};
  EXPECT_EQ(aclSetTensorOriginFormat(desc, ACL_FORMAT_NC), ACL_SUCCESS);
  EXPECT_EQ(aclSetTensorOriginShape(desc, 1, other), ACL_SUCCESS);
  EXPECT_EQ(aclGetTensorDescFormat(desc), ACL_FORMAT_NC);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 7u);
  EXPECT_EQ(aclSetTensorShape(desc, 0, nullptr), ACL_SUCCESS);  // a scalar
  int64_t range[2][ACL_TENSOR_SHAPE_RANGE_NUM] = {{1, 4}, {2, 2}};
  EXPECT_EQ(aclSetTensorShapeRange(desc, 2, range), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclSetTensorShapeRange(desc, 1, nullptr), ACL_ERROR_INVALID_PARAM,
                   "dimsRange is null");
  EXPECT_ACL_ERROR(aclSetTensorShape(desc, 1, nullptr), ACL_ERROR_INVALID_PARAM, "numDims is 1");
  EXPECT_ACL_ERROR(aclSetTensorPlaceMent(desc, static_cast<aclMemType>(3)), ACL_ERROR_INVALID_PARAM,
                   "memType is 3");
  EXPECT_ACL_ERROR(aclSetTensorConst(desc, nullptr, 1), ACL_ERROR_INVALID_PARAM, "length is 1");
  aclDestroyTensorDesc(desc);
  EXPECT_ACL_ERROR(aclSetTensorFormat(desc, ACL_FORMAT_ND), ACL_ERROR_INVALID_PARAM,
                   "no live tensor description");
}

TEST_F(TensorDescMemory, AttributesOfDataTypesAndListsOfLists) {
  Call call;
  const int64_t first[] = {1, 2};
  const int64_t* const lists[] = {first, nullptr};
  const int counts[] = {2, 0};
  aclopAttr* attr = aclopCreateAttr();
  EXPECT_EQ(aclopSetAttrDataType(attr, "dtype", ACL_FLOAT16), ACL_SUCCESS);
  EXPECT_EQ(aclopSetAttrListListInt(attr, "lists", 2, counts, lists), ACL_SUCCESS);
  EXPECT_ACL_ERROR(aclopSetAttrListListInt(attr, "lists", 1, nullptr, lists),
                   ACL_ERROR_INVALID_PARAM, "numValues is null");
  EXPECT_ACL_ERROR(aclopSetAttrListListInt(attr, "lists", -1, counts, lists),
                   ACL_ERROR_INVALID_PARAM, "numLists is -1");
  aclopDestroyAttr(attr);
  // A kind of its own: no operator takes it for an integer or a list.
  EXPECT_EQ(aclopSetAttrDataType(call.attr, "input_size", ACL_FLOAT16), ACL_SUCCESS);
  EXPECT_ACL_ERROR(call.Run(call.device_in, call.device_out), ACL_ERROR_OP_ATTR_NOT_MATCH,
                   "input_size must be a list of 4 integers");
}

}  // namespace
}  // namespace portacl_test
