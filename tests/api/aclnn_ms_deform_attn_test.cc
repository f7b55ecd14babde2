// aclnnMultiScaleDeformableAttnFunction and aclnnMultiScaleDeformableAttentionGrad: the native
// API's bits, levels that do not fit, refusals in the page's order, signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "aclnnop/aclnn_multi_scale_deformable_attention_grad.h"
#include "aclnnop/aclnn_multi_scale_deformable_attn_function.h"
#include "portacl/portacl.h"
#include "support/api/abi.h"
#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/native.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

PORTACL_ABI_OF(aclnnMultiScaleDeformableAttnFunctionGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                           const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnMultiScaleDeformableAttnFunction,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnMultiScaleDeformableAttentionGradGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                           const aclTensor*, const aclTensor*, aclTensor*, aclTensor*, aclTensor*,
                           uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnMultiScaleDeformableAttentionGrad,
               aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));

PORTACL_ABI_OF(portaclPlanMsDeformAttn,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanMsDeformAttnBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       portaclPlan**));

constexpr int64_t kB = 2, kK = 16, kM = 2, kC = 20, kQ = 5, kL = 2, kP = 3;

// Indices in device memory.
template <class T>
class DeviceIndices {
 public:
  DeviceIndices(aclDataType dtype, Shape shape, const std::vector<T>& values)
      : memory_(values.size() * sizeof(T)), args_{std::move(shape), dtype} {
    args_.data = memory_.get();
    Set(values);
  }
  void Set(const std::vector<T>& values) {
    const size_t size = values.size() * sizeof(T);
    EXPECT_EQ(aclrtMemcpy(memory_.get(), size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
  }
  const TensorArgs& args() const { return args_; }

 private:
  DeviceMemory memory_;
  TensorArgs args_;
};

// Locations or weights as the native API has them: the points of all levels on one axis.
portacl::Tensor Joined(const Tensor& points) {
  const auto* const first = static_cast<const float*>(points.first());
  if (points.shape().size() == 5) return {first, {kB, kQ, kM, kL * kP}};
  return {first, {kB, kQ, kM, kL * kP, 2}};
}

class MsDeformAttn : public AclTest {
 protected:
  MsDeformAttn()
      : value_(Element::kFloat, {kB, kK, kM, kC}),
        location_(Element::kFloat, {kB, kQ, kM, kL, kP, 2}),
        weight_(Element::kFloat, {kB, kQ, kM, kL, kP}),
        output_(Element::kFloat, {kB, kQ, kM * kC}),
        grad_output_(Element::kFloat, {kB, kQ, kM, kC}) {
    Random random(61);
    value_.FillUniform(random, -1, 1);
    location_.FillUniform(random, -0.2, 1.2);
    weight_.FillUniform(random, 0, 1);
    grad_output_.FillUniform(random, -1, 1);
    for (DeviceTensor* const tensor :
         {&on_device_value_, &on_device_location_, &on_device_weight_, &on_device_grad_output_}) {
      tensor->Upload();
    }
  }

  // Value, shapes, starts, locations, weights, output.
  using Arguments = std::array<TensorArgs, 6>;
  Arguments Good() const {
    return {on_device_value_.args(),    shapes_.args(),           starts_.args(),
            on_device_location_.args(), on_device_weight_.args(), on_device_output_.args()};
  }

  aclnnStatus Run(const Arguments& args) {
    std::vector<TensorHandle> made;
    for (const TensorArgs& tensor : args) made.push_back(tensor.Make());
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = aclnnMultiScaleDeformableAttnFunctionGetWorkspaceSize(
        made[0].get(), made[1].get(), made[2].get(), made[3].get(), made[4].get(), made[5].get(),
        &size, &executor);
    if (status != ACLNN_SUCCESS) return status;
    const DeviceMemory workspace(size);
    EXPECT_EQ(aclnnMultiScaleDeformableAttnFunction(workspace.get(), size, executor, stream_),
              ACLNN_SUCCESS);
    return aclrtSynchronizeStream(stream_);
  }

  Tensor value_, location_, weight_, output_, grad_output_;
  DeviceTensor on_device_value_{&value_}, on_device_location_{&location_},
      on_device_weight_{&weight_}, on_device_output_{&output_},
      on_device_grad_output_{&grad_output_};
  DeviceIndices<int64_t> shapes_{ACL_INT64, {kL, 2}, {3, 4, 2, 2}};
  DeviceIndices<int32_t> starts_{ACL_INT32, {kL}, {0, 12}};
};

TEST_F(MsDeformAttn, HasTheNativeBits) {
  ASSERT_EQ(Run(Good()), ACL_SUCCESS) << TakeMessage();
  on_device_output_.Download();
  const int64_t shapes[] = {3, 4, 2, 2};
  const int64_t starts[] = {0, 12};
  Tensor native(Element::kFloat, output_.shape());
  const portacl::Status status = portacl::ms_deform_attn(
      View(value_), portacl::Tensor(shapes, portacl::DataType::kInt64, {kL, 2}),
      portacl::Tensor(starts, portacl::DataType::kInt64, {kL}), Joined(location_), Joined(weight_),
      View(native));
  ASSERT_TRUE(status.ok()) << portaclGetErrorMessage();
  EXPECT_TRUE(BitIdentical(output_, native));
}

// All keys of an image are its first key, so their number changes nothing.
TEST_F(MsDeformAttn, ReadsAViewWhoseElementsPassSixtyThreeBits) {
  std::vector<double> values[2];
  const int64_t keys[] = {kK, int64_t{1} << 61};
  for (size_t i = 0; i < 2; ++i) {
    output_.Fill(9);
    on_device_output_.Upload();
    Arguments args = Good();
    args[0].shape = {kB, keys[i], kM, kC};
    args[0].strides = Shape{kK * kM * kC, 0, kC, 1};
    ASSERT_EQ(Run(args), ACL_SUCCESS) << TakeMessage();
    on_device_output_.Download();
    values[i] = output_.Values();
  }
  EXPECT_EQ(values[0], values[1]);
}

// Each run reads all levels, also levels without memory of their own.
TEST_F(MsDeformAttn, RefusesMoreLevelsThanARunCanRead) {
  constexpr int64_t kLevels = int64_t{1} << 40;
  Arguments args = Good();
  args[1].storage = args[1].shape;
  args[1].shape = {kLevels, 2};
  args[1].strides = Shape{0, 1};
  args[2].storage = args[2].shape;
  args[2].shape = {kLevels};
  args[2].strides = Shape{0};
  args[3].shape = {kB, kQ, kM, kLevels, kP, 2};
  args[3].strides = Shape{kQ * kM * kL * kP * 2, kM * kL * kP * 2, kL * kP * 2, 0, 2, 1};
  args[4].shape = {kB, kQ, kM, kLevels, kP};
  args[4].strides = Shape{kQ * kM * kL * kP, kM * kL * kP, kL * kP, 0, 1};
  EXPECT_EQ(Run(args), ACLNN_ERR_INNER_FIND_KERNEL_ERROR);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("has 1099511627776 levels, wanted at most"));
}

TEST_F(MsDeformAttn, GradientsHaveTheNativeBitsWhateverWasThere) {
  std::vector<Tensor> grads = {value_, location_, weight_};
  std::vector<DeviceTensor> on_device;
  for (Tensor& grad : grads) on_device.emplace_back(&grad.Fill(9));
  const TensorHandle made[] = {
      on_device_value_.args().Make(),  shapes_.args().Make(),
      starts_.args().Make(),           on_device_location_.args().Make(),
      on_device_weight_.args().Make(), on_device_grad_output_.args().Make(),
      on_device[0].args().Make(),      on_device[1].args().Make(),
      on_device[2].args().Make()};
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnMultiScaleDeformableAttentionGradGetWorkspaceSize(
                made[0].get(), made[1].get(), made[2].get(), made[3].get(), made[4].get(),
                made[5].get(), made[6].get(), made[7].get(), made[8].get(), &size, &executor),
            ACLNN_SUCCESS)
      << TakeMessage();
  const DeviceMemory workspace(size);
  ASSERT_EQ(aclnnMultiScaleDeformableAttentionGrad(workspace.get(), size, executor, stream_),
            ACLNN_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  Tensor location_grad(Element::kFloat, {kB, kQ, kM, kL * kP, 2});
  Tensor weight_grad(Element::kFloat, {kB, kQ, kM, kL * kP});
  Tensor value_grad(Element::kFloat, value_.shape());
  const int64_t shapes[] = {3, 4, 2, 2};
  const int64_t starts[] = {0, 12};
  ASSERT_TRUE(portacl::ms_deform_attn_backward(
                  View(value_), portacl::Tensor(shapes, portacl::DataType::kInt64, {kL, 2}),
                  portacl::Tensor(starts, portacl::DataType::kInt64, {kL}), Joined(location_),
                  Joined(weight_), View(grad_output_), View(value_grad), View(location_grad),
                  View(weight_grad))
                  .ok())
      << portaclGetErrorMessage();
  const Tensor* const native[] = {&value_grad, &location_grad, &weight_grad};
  for (size_t i = 0; i < 3; ++i) {
    on_device[i].Download();
    EXPECT_EQ(grads[i].Values(), native[i]->Values()) << i;
  }
}

TEST_F(MsDeformAttn, ALevelThatDoesNotFitWarnsAndIsAnErrorOfTheStreamWhenStrict) {
  shapes_.Set({3, 4, 3, 2});
  portaclSetStrict(0);
  EXPECT_EQ(Run(Good()), ACL_SUCCESS);
  portaclSetStrict(1);
  EXPECT_EQ(Run(Good()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("gives level 1 3 x 2 pixels"));
}

TEST_F(MsDeformAttn, RefusalsComeInOrder) {
  const auto refused = [&](size_t which, const std::function<void(TensorArgs&)>& spoil,
                           const char* what) {
    Arguments args = Good();
    spoil(args[which]);
    EXPECT_EQ(Run(args), ACLNN_ERR_PARAM_INVALID) << what;
    EXPECT_THAT(TakeMessage(), HasSubstr(what));
  };
  refused(
      3, [](TensorArgs& t) { t.dtype = ACL_FLOAT16; }, "they must be equal");
  refused(
      1, [](TensorArgs& t) { t.dtype = ACL_FLOAT; }, "must be INT32 or INT64");
  refused(
      3,
      [](TensorArgs& t) {
        t.shape = {kB, kQ, kM, kL * kP, 2};
      },
      "must have rank 6");
  refused(
      5,
      [](TensorArgs& t) {
        t.shape = {kB * kQ, kM * kC};
      },
      "must have rank 3 or 4");
  refused(
      1,
      [](TensorArgs& t) {
        t.shape = {kL * 2, 1};
      },
      "(num_levels, 2)");
  refused(
      2, [](TensorArgs& t) { t.shape = {1}; }, "(num_levels)");
  refused(
      4,
      [](TensorArgs& t) {
        t.shape = {kB, kQ, kM, kP, kL};
      },
      "must be (bs, num_queries");
  refused(
      5,
      [](TensorArgs& t) {
        t.shape = {kB, kM * kC, kQ};
      },
      "num_heads * channels)");
}

}  // namespace
}  // namespace portacl_test
