// A destroyed handle stays an error while new objects of its kind are made. malloc would reuse its
// address soon; the library does not.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/api/acl_fixture.h"

namespace portacl_test {
namespace {

constexpr int kNewObjects = 64;

class HandleReuse : public AclTest {
 protected:
  template <class Handle>
  static void Check(const std::function<Handle()>& make, const std::function<int(Handle)>& destroy,
                    int dead_code) {
    const Handle dead = make();
    ASSERT_NE(dead, nullptr) << TakeMessage();
    ASSERT_EQ(destroy(dead), 0);
    for (int i = 0; i < kNewObjects; ++i) {
      const Handle other = make();
      ASSERT_EQ(destroy(dead), dead_code) << "after " << i << " more objects";
      ASSERT_EQ(destroy(other), 0) << TakeMessage();
    }
  }
};

TEST_F(HandleReuse, Tensors) {
  Check<aclTensor*>(
      [] {
        return TensorArgs{{2, 3}}.Make().release();
      },
      aclDestroyTensor, ACLNN_ERR_PARAM_INVALID);
}

TEST_F(HandleReuse, ArraysAndScalars) {
  Check<aclIntArray*>(
      [] {
        return MakeInts(Shape{1, 2}).release();
      },
      aclDestroyIntArray, ACLNN_ERR_PARAM_INVALID);
  float value = 1;
  Check<aclScalar*>([&] { return aclCreateScalar(&value, ACL_FLOAT); }, aclDestroyScalar,
                    ACLNN_ERR_PARAM_INVALID);
}

TEST_F(HandleReuse, ListsAndTheirMembers) {
  const aclTensor* member = nullptr;
  const auto make = [&] {
    member = TensorArgs{{2}}.Make().release();
    return aclCreateTensorList(&member, 1);
  };
  Check<aclTensorList*>(make, aclDestroyTensorList, ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensor(member), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(HandleReuse, DataBuffers) {
  Check<aclDataBuffer*>([] { return aclCreateDataBuffer(nullptr, 0); }, aclDestroyDataBuffer,
                        ACL_ERROR_INVALID_PARAM);
}

TEST_F(HandleReuse, ExecutorsThatWereDestroyedOrUsed) {
  Tensor grad_output(Element::kFloat, {1, 1, 4, 4});
  Tensor grad_input(Element::kFloat, {1, 1, 2, 2});
  const DeviceTensor from(&grad_output);
  const DeviceTensor to(&grad_input);
  const NearestCall call = NearestCall::For(from.args(), to.args());
  const auto make = [&] { return call.Plan().executor; };
  Check<aclOpExecutor*>(make, aclDestroyAclOpExecutor, ACLNN_ERR_PARAM_INVALID);
  const auto use = [&](aclOpExecutor* executor) { return call.Run(nullptr, 0, executor, stream_); };
  Check<aclOpExecutor*>(make, use, ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), 0);
}

TEST_F(HandleReuse, Streams) {
  const auto make = [] {
    aclrtStream stream = nullptr;
    aclrtCreateStream(&stream);
    return stream;
  };
  Check<aclrtStream>(make, aclrtDestroyStream, ACL_ERROR_RT_INVALID_HANDLE);
  Check<aclrtStream>(make, aclrtDestroyStreamForce, ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(HandleReuse, Events) {
  const auto make = [] {
    aclrtEvent event = nullptr;
    aclrtCreateEvent(&event);
    return event;
  };
  Check<aclrtEvent>(make, aclrtDestroyEvent, ACL_ERROR_RT_INVALID_HANDLE);
}

TEST_F(HandleReuse, Contexts) {
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&own), 0);
  const auto make = [&] {
    aclrtContext context = nullptr;
    aclrtCreateContext(&context, 0);
    aclrtSetCurrentContext(own);
    return context;
  };
  Check<aclrtContext>(make, aclrtDestroyContext, ACL_ERROR_RT_INVALID_HANDLE);
}

}  // namespace
}  // namespace portacl_test
