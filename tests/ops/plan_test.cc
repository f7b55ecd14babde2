// Plans of calls whose sizes reach the ends of 64 bits.
#include "ops/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/tensor_desc.h"
#include "ops/call.h"
#include "ops/operator_list.h"
#include "ops/settings.h"
#include "ops/tensor_params.h"

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

// The gradient by the grid reads an image of 2^64 elements, whose products wrap.
TEST(Plan, IsNotSmallWhereAnImagePassesSixtyThreeBits) {
  std::array<float, 8> data{};
  constexpr int64_t kSide = int64_t{1} << 32;
  const base::TensorDesc grad_output = ViewOf({1, 1, 1, 1}, {1, 1, 1, 1}, &data[0]);
  const base::TensorDesc image = ViewOf({1, 1, kSide, kSide}, {0, 0, 0, 0}, &data[1]);
  const base::TensorDesc grid = ViewOf({1, 1, 1, 2}, {2, 2, 2, 1}, &data[2]);
  const base::TensorDesc grid_grad = ViewOf({1, 1, 1, 2}, {2, 2, 2, 1}, &data[4]);
  const std::vector<bool> mask = {false, true};
  Call call(signatures::aclnnGridSampler2DBackward, Surface::kAclnn, "test");
  for (const base::TensorDesc* const read : {&grad_output, &image, &grid}) call.Add(read);
  for (const int64_t number : {0, 0, 0}) call.Add(number);  // bilinear, zeros, no corners
  call.Add(&mask);
  call.Add(&image);  // not written
  call.Add(&grid_grad);
  const Profile before = CurrentProfile();
  SetProfile(Profile::kOpen);
  ExpectNotSmall(call);
  SetProfile(before);
}

// The bytes of the table are 2,568 modulo 2^64.
TEST(Plan, HasNoTableWhoseBytesPassSixtyFourBits) {
  constexpr int64_t kW = 329406144173384896;
  const auto at = [](uintptr_t address) { return reinterpret_cast<float*>(address); };
  const base::TensorDesc input = ViewOf({1, 1, 1, 1}, {1, 1, 1, 1}, at(4096));
  const base::TensorDesc output = ViewOf({1, 1, 1, kW}, {kW, kW, kW, 1}, at(8192));
  Call call(signatures::portaclPlanUpsampleCubic, Surface::kNative, "test");
  call.Add(&input);
  call.Add(&output);
  for (const int64_t flag : {0, 0}) call.Add(flag);
  call.Add(std::array<double, 3>{});
  std::shared_ptr<const Plan> plan;
  EXPECT_THROW(static_cast<void>(MakePlan(call, &plan)), std::bad_alloc);
}

TEST(TensorParams, LeavesOutTheStridesOfEmptyTensorsAlone) {
  float data = 0;
  ReadTensor<4> empty, huge;
  empty.Describe(ViewOf({2, 0, 3, 4}, {12, 12, 4, 1}, &data));
  huge.Describe(ViewOf({1, int64_t{1} << 61, 1, 8}, {8, 0, 8, 1}, &data));
  EXPECT_EQ(empty.stride, (std::array<int64_t, 4>{0, 0, 0, 0}));
  EXPECT_EQ(huge.stride, (std::array<int64_t, 4>{8, 0, 8, 1}));
}

TEST(ChannelsFirst, LeavesATensorWithoutAxes) { EXPECT_FALSE(HasChannelsLast(base::TensorDesc())); }

}  // namespace
}  // namespace portacl::ops
