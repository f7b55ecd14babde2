// Plans of calls whose sizes reach the ends of 64 bits.
#include "ops/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/operator_list.h"
#include "ops/settings.h"

namespace portacl::ops {
namespace {

base::TensorDesc ViewOf(const std::array<int64_t, 4>& shape, const std::array<int64_t, 4>& strides,
                        float* data) {
  base::TensorDesc view;
  view.dtype = base::DType::kFloat;
  view.format = base::Format::kND;
  view.shape = base::Dims(shape.data(), 4);
  view.strides = base::Dims(strides.data(), 4);
  view.has_storage = false;
  view.data = data;
  return view;
}

void ExpectNotSmall(const Call& call) {
  std::shared_ptr<const Plan> plan;
  const base::Status status = MakePlan(call, &plan);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(plan->small());
}

// Both tensors have 2^63 elements together.
TEST(Plan, IsNotSmallWhereElementsPassSixtyThreeBits) {
  float repeated = 0, sum = 0;
  constexpr int64_t kW = INT64_MAX / 7;
  static_assert(kW * 7 == INT64_MAX);
  const base::TensorDesc grad_output = ViewOf({1, 1, 7, kW}, {0, 0, 0, 0}, &repeated);
  const base::TensorDesc grad_input = ViewOf({1, 1, 1, 1}, {1, 1, 1, 1}, &sum);
  Call call(signatures::portaclPlanUpsampleNearestExactBackward, Surface::kNative, "test");
  call.Add(&grad_output);
  call.Add(&grad_input);
  call.Add(std::array<double, 3>{});
  ExpectNotSmall(call);
}

// One tensor alone has 2^64 elements. The native API refuses so many.
TEST(Plan, IsNotSmallWhereATensorAlonePassesSixtyThreeBits) {
  float repeated = 0, sum = 0;
  constexpr int64_t kSide = int64_t{1} << 32;
  const base::TensorDesc grad_output = ViewOf({1, 1, kSide, kSide}, {0, 0, 0, 0}, &repeated);
  const base::TensorDesc out = ViewOf({1, 1, 1, 1}, {1, 1, 1, 1}, &sum);
  const std::vector<int64_t> output_size = {kSide, kSide};
  const std::vector<int64_t> input_size = {1, 1, 1, 1};
  Call call(signatures::aclnnUpsampleNearestExact2dBackward, Surface::kAclnn, "test");
  call.Add(&grad_output);
  call.Add(&output_size);
  call.Add(&input_size);
  call.Add(0.0);
  call.Add(0.0);
  call.Add(&out);
  const Profile before = CurrentProfile();
  SetProfile(Profile::kOpen);  // others limit how far an axis shrinks
  ExpectNotSmall(call);
  SetProfile(before);
}

}  // namespace
}  // namespace portacl::ops
