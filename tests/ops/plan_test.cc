// Plans of calls whose sizes reach the ends of 64 bits.
#include "ops/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/operator_list.h"

namespace portacl::ops {
namespace {

base::TensorDesc ViewOf(const std::array<int64_t, 4>& shape, const std::array<int64_t, 4>& strides,
                        float* data) {
  base::TensorDesc view;
  view.dtype = base::DType::kFloat;
  view.shape = base::Dims(shape.data(), 4);
  view.strides = base::Dims(strides.data(), 4);
  view.has_storage = false;
  view.data = data;
  return view;
}

// The plan of a gradient from a repeated element to a single one.
void ExpectNotSmall(Surface surface, const std::array<int64_t, 4>& shape) {
  float repeated = 0, sum = 0;
  const base::TensorDesc grad_output = ViewOf(shape, {0, 0, 0, 0}, &repeated);
  const base::TensorDesc grad_input = ViewOf({1, 1, 1, 1}, {1, 1, 1, 1}, &sum);
  Call call(signatures::portaclPlanUpsampleNearestExactBackward, surface, "test");
  call.Add(&grad_output);
  call.Add(&grad_input);
  call.Add(std::array<double, 3>{});
  std::shared_ptr<const Plan> plan;
  const base::Status status = MakePlan(call, &plan);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(plan->small());
}

// Both tensors have 2^63 elements together.
TEST(Plan, IsNotSmallWhereElementsPassSixtyThreeBits) {
  constexpr int64_t kW = INT64_MAX / 7;
  static_assert(kW * 7 == INT64_MAX);
  ExpectNotSmall(Surface::kNative, {1, 1, 7, kW});
}

// The native API refuses so many.
TEST(Plan, IsNotSmallWhereATensorAlonePassesSixtyThreeBits) {
  constexpr int64_t kSide = int64_t{1} << 32;
  ExpectNotSmall(Surface::kAclnn, {1, 1, kSide, kSide});
}

}  // namespace
}  // namespace portacl::ops
