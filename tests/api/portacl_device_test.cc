// The device of the native API's plans: its names and refusals. python/tests/test_cuda.py tests the
// kernels of GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/api/native.h"

namespace portacl_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class NativeDevice : public NativeTest {
 protected:
  ~NativeDevice() override { portaclSetDevice("cpu"); }
};

TEST_F(NativeDevice, IsTheCpuAtFirstAndAfterRefusals) {
  EXPECT_STREQ(portaclGetDevice(), "cpu");
  EXPECT_EQ(portaclSetDevice("cpu"), PORTACL_OK);
  for (const char* const name : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999"}) {
    EXPECT_EQ(portaclSetDevice(name), PORTACL_ERROR_INVALID) << name;
    EXPECT_EQ(portaclGetErrorMessage(), "portaclSetDevice: name is \"" + std::string(name) +
                                            "\", but must be cpu, cuda or cuda:N");
  }
  EXPECT_EQ(portaclSetDevice(nullptr), PORTACL_ERROR_NULL);
  EXPECT_STREQ(portaclGetDevice(), "cpu");
}

TEST_F(NativeDevice, AGpuThatIsNotThereIsRefusedWithTheReason) {
  EXPECT_EQ(portaclSetDevice("cuda:65535"), PORTACL_ERROR_NO_KERNEL);
  EXPECT_THAT(portaclGetErrorMessage(),
              AnyOf(HasSubstr("no GPU can be used: "), HasSubstr("but CUDA has ")));
  EXPECT_STREQ(portaclGetDevice(), "cpu");
}

TEST_F(NativeDevice, InfoSaysHowManyThereAreAndWhyNone) {
  const std::string info = portaclGetInfo();
  EXPECT_THAT(info, HasSubstr(R"("cuda":{"devices":)"));
  EXPECT_THAT(info, HasSubstr(R"("why_none":)"));
}

TEST_F(NativeDevice, PlansOfTheCpuHaveNoStreams) {
  float value = 0;
  float result = 0;
  portacl::Plan plan;
  ASSERT_TRUE(plan.upsample_nearest({&value, {1, 1, 1}}, {&result, {1, 1, 1}}).ok());
  const portacl::Status refused = plan.enqueue(nullptr);
  EXPECT_EQ(refused.code(), PORTACL_ERROR_INVALID);
  EXPECT_THAT(refused.message(), HasSubstr("plan was made for the CPU"));
  EXPECT_EQ(portaclPlanEnqueue(nullptr, nullptr, nullptr, 0, nullptr), PORTACL_ERROR_NULL);
}

}  // namespace
}  // namespace portacl_test
