// libcust_opapi.so, loaded as programs load it: DrivingSDK's names give the bits of the aclnn and
// native functions, and refuse in their own names.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "aclnnop/aclnn_multi_scale_deformable_attention_grad.h"
#include "aclnnop/aclnn_multi_scale_deformable_attn_function.h"
#include "portacl/portacl.h"
#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "test_paths.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using PhaseTwo = aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream);
using Attend = aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                           const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
using AttendGrad = aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*,
                               const aclTensor*, const aclTensor*, const aclTensor*, aclTensor*,
                               aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
using Rotate = aclnnStatus(const aclTensor*, const aclTensor*, double, int, int, int, bool, bool,
                           aclTensor*, uint64_t*, aclOpExecutor**);
using RotateGrad = aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, int, int,
                               double, int, bool, bool, aclTensor*, uint64_t*, aclOpExecutor**);

constexpr const char* kAttend = "aclnnMultiScaleDeformableAttn";
constexpr const char* kAttendGrad = "aclnnMultiScaleDeformableAttnGrad";
constexpr const char* kRotate = "aclnnRoiAlignRotatedV2";
constexpr const char* kRotateGrad = "aclnnRoiAlignRotatedGradV2";

void* Library() {
  static void* const library =
      dlopen(PORTACL_LIBRARY_DIR "/libcust_opapi.so", RTLD_NOW | RTLD_LOCAL);
  return library;
}

template <class Function>
Function* Symbol(const std::string& name) {
  return reinterpret_cast<Function*>(dlsym(Library(), name.c_str()));
}

// INT32 in device memory.
class Indices {
 public:
  Indices(Shape shape, const std::vector<int32_t>& values)
      : memory_(values.size() * sizeof(int32_t)), args_{std::move(shape), ACL_INT32} {
    args_.data = memory_.get();
    EXPECT_EQ(aclrtMemcpy(memory_.get(), memory_.size(), values.data(), memory_.size(),
                          ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
  }
  TensorHandle Make() const { return args_.Make(); }

 private:
  DeviceMemory memory_;
  TensorArgs args_;
};

// A test tensor and its copy in device memory.
struct Mirrored {
  explicit Mirrored(const Shape& shape) : host(Element::kFloat, shape), device(&host) {}
  Mirrored(const Mirrored&) = delete;
  Mirrored& operator=(const Mirrored&) = delete;
  void Fill(Random& random, double low, double high) {
    host.FillUniform(random, low, high);
    device.Upload();
  }
  TensorHandle Make() const { return device.args().Make(); }

  Tensor host;
  DeviceTensor device;
};

class CustOpApi : public AclTest {
 protected:
  void SetUp() override { ASSERT_NE(Library(), nullptr) << dlerror(); }

  // Both phases of a function. `plan(phase one, size, executor)` calls the first.
  template <class PhaseOne, class Plan>
  aclnnStatus Execute(PhaseOne* phase_one, PhaseTwo* phase_two, const Plan& plan) {
    uint64_t size = 12345;
    aclOpExecutor* executor = nullptr;
    if (phase_one == nullptr || phase_two == nullptr) return -1;
    const aclnnStatus status = plan(phase_one, &size, &executor);
    if (status != ACLNN_SUCCESS) return status;
    const DeviceMemory workspace(size);
    const aclnnStatus run = phase_two(workspace.get(), size, executor, stream_);
    return run != ACLNN_SUCCESS ? run : aclrtSynchronizeStream(stream_);
  }
  template <class PhaseOne, class Plan>
  aclnnStatus ExecuteCustom(const std::string& name, const Plan& plan) {
    return Execute(Symbol<PhaseOne>(name + "GetWorkspaceSize"), Symbol<PhaseTwo>(name), plan);
  }
};

class CustOpApiAttention : public CustOpApi {
 protected:
  CustOpApiAttention() {
    Random random(71);
    value_.Fill(random, -1, 1);
    location_.Fill(random, -0.2, 1.2);
    weight_.Fill(random, 0, 1);
    grad_.Fill(random, -1, 1);
  }
  auto Plan(Mirrored* output) const {
    return [this, output](Attend* phase_one, uint64_t* size, aclOpExecutor** executor) {
      const TensorHandle t[] = {value_.Make(),    shapes_.Make(), starts_.Make(),
                                location_.Make(), weight_.Make(), output->Make()};
      return phase_one(t[0].get(), t[1].get(), t[2].get(), t[3].get(), t[4].get(), t[5].get(), size,
                       executor);
    };
  }
  using Grads = std::array<Mirrored, 3>;
  auto PlanGrad(Grads* grads) const {
    return [this, grads](AttendGrad* phase_one, uint64_t* size, aclOpExecutor** executor) {
      const TensorHandle t[] = {value_.Make(),      shapes_.Make(),     starts_.Make(),
                                location_.Make(),   weight_.Make(),     grad_.Make(),
                                (*grads)[0].Make(), (*grads)[1].Make(), (*grads)[2].Make()};
      return phase_one(t[0].get(), t[1].get(), t[2].get(), t[3].get(), t[4].get(), t[5].get(),
                       t[6].get(), t[7].get(), t[8].get(), size, executor);
    };
  }
  Grads MakeGrads() const {
    return {Mirrored(value_.host.shape()), Mirrored(location_.host.shape()),
            Mirrored(weight_.host.shape())};
  }

  Mirrored value_{{2, 16, 4, 20}}, location_{{2, 5, 4, 2, 3, 2}}, weight_{{2, 5, 4, 2, 3}},
      grad_{{2, 5, 80}};
  Indices shapes_{{2, 2}, {3, 4, 2, 2}}, starts_{{2}, {0, 12}};
};

TEST_F(CustOpApiAttention, HasTheBitsOfTheAclnnFunction) {
  Mirrored ours({2, 5, 80}), theirs({2, 5, 80});
  ASSERT_EQ(ExecuteCustom<Attend>(kAttend, Plan(&ours)), ACLNN_SUCCESS) << TakeMessage();
  ASSERT_EQ(Execute(&aclnnMultiScaleDeformableAttnFunctionGetWorkspaceSize,
                    &aclnnMultiScaleDeformableAttnFunction, Plan(&theirs)),
            ACLNN_SUCCESS);
  ours.device.Download();
  theirs.device.Download();
  EXPECT_TRUE(BitIdentical(ours.host, theirs.host));
  EXPECT_NE(ours.host.Values(), Tensor(Element::kFloat, {2, 5, 80}).Values());
}

TEST_F(CustOpApiAttention, GradientsHaveTheBitsOfTheAclnnFunction) {
  Grads ours = MakeGrads(), theirs = MakeGrads();
  ASSERT_EQ(ExecuteCustom<AttendGrad>(kAttendGrad, PlanGrad(&ours)), ACLNN_SUCCESS)
      << TakeMessage();
  ASSERT_EQ(Execute(&aclnnMultiScaleDeformableAttentionGradGetWorkspaceSize,
                    &aclnnMultiScaleDeformableAttentionGrad, PlanGrad(&theirs)),
            ACLNN_SUCCESS);
  for (size_t i = 0; i < ours.size(); ++i) {
    ours[i].device.Download();
    theirs[i].device.Download();
    EXPECT_TRUE(BitIdentical(ours[i].host, theirs[i].host)) << i;
  }
}

TEST_F(CustOpApiAttention, RefusesInItsOwnName) {
  Mirrored narrow({2, 5, 79});
  EXPECT_EQ(ExecuteCustom<Attend>(kAttend, Plan(&narrow)), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), StartsWith(std::string(kAttend) + ": output has shape"));
  const auto nothing = [](Attend* phase_one, uint64_t* size, aclOpExecutor** executor) {
    return phase_one(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, size, executor);
  };
  EXPECT_EQ(ExecuteCustom<Attend>(kAttend, nothing), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), HasSubstr("value is null"));
  portaclSetProfile("atlas-training");
  Mirrored output({2, 5, 80});
  EXPECT_EQ(ExecuteCustom<Attend>(kAttend, Plan(&output)), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(CustOpApiAttention, AnExecutorServesTheFunctionThatMadeIt) {
  Mirrored output({2, 5, 80});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(
      Plan(&output)(Symbol<Attend>(std::string(kAttend) + "GetWorkspaceSize"), &size, &executor),
      ACLNN_SUCCESS);
  const DeviceMemory workspace(size);
  EXPECT_NE(aclnnMultiScaleDeformableAttnFunction(workspace.get(), size, executor, stream_),
            ACLNN_SUCCESS);
  EXPECT_THAT(TakeMessage(), HasSubstr("made by aclnnMultiScaleDeformableAttnGetWorkspaceSize"));
  EXPECT_EQ(Symbol<PhaseTwo>(kAttend)(workspace.get(), size, executor, stream_), ACLNN_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

class CustOpApiRotated : public CustOpApi {
 protected:
  static constexpr int64_t kN = 2, kC = 5, kH = 9, kW = 7, kK = 4, kPH = 3, kPW = 2;

  CustOpApiRotated() {
    Random random(72);
    image_.Fill(random, -1, 1);
    pooled_.Fill(random, -1, 1);
    const std::vector<double> columns = {0,   1,    1,   0,    // images
                                         3,   4.5,  0,   6,    // centres
                                         5,   2,    8,   4.5,  //
                                         4,   6.5,  3,   9,    // widths, heights
                                         5,   3,    2.5, 8,    //
                                         0.3, -1.2, 3,   0};   // angles
    rois_.host.Fill(columns);
    rois_.device.Upload();
  }

  // The same numbers by the native API: views of the tensors with channels first, a roi a row.
  static portacl::Tensor ChannelsFirst(Tensor& t, int64_t n, int64_t h, int64_t w) {
    return {t.first(), portacl::DataType::kFloat32, {n, kC, h, w}, {h * w * kC, 1, w * kC, kC}};
  }
  portacl::Tensor RoisAsRows() {
    return {rois_.host.first(), portacl::DataType::kFloat32, {kK, 6}, {1, kK}};
  }
  portacl::RoiAlign Options(bool aligned, bool clockwise) const {
    return {.spatial_scale = 0.75, .sampling_ratio = 2, .aligned = aligned, .clockwise = clockwise};
  }

  Mirrored image_{{kN, kH, kW, kC}}, rois_{{6, kK}}, pooled_{{kK, kPH, kPW, kC}};
};

TEST_F(CustOpApiRotated, HasTheNativeBits) {
  for (const bool aligned : {false, true}) {
    for (const bool clockwise : {false, true}) {
      Mirrored output({kK, kPH, kPW, kC});
      const auto plan = [&](Rotate* phase_one, uint64_t* size, aclOpExecutor** executor) {
        const TensorHandle t[] = {image_.Make(), rois_.Make(), output.Make()};
        return phase_one(t[0].get(), t[1].get(), 0.75, 2, kPH, kPW, aligned, clockwise, t[2].get(),
                         size, executor);
      };
      ASSERT_EQ(ExecuteCustom<Rotate>(kRotate, plan), ACLNN_SUCCESS) << TakeMessage();
      output.device.Download();
      Tensor native(Element::kFloat, {kK, kPH, kPW, kC});
      ASSERT_TRUE(portacl::roi_align_rotated(ChannelsFirst(image_.host, kN, kH, kW), RoisAsRows(),
                                             ChannelsFirst(native, kK, kPH, kPW),
                                             Options(aligned, clockwise))
                      .ok())
          << portaclGetErrorMessage();
      EXPECT_TRUE(BitIdentical(output.host, native)) << aligned << clockwise;
    }
  }
}

TEST_F(CustOpApiRotated, TheGradientHasTheNativeBitsWhateverWasThere) {
  const Mirrored like({kN, kC, kH, kW});
  Mirrored grad({kN, kH, kW, kC});
  grad.host.Fill(9);
  grad.device.Upload();
  const auto plan = [&](RotateGrad* phase_one, uint64_t* size, aclOpExecutor** executor) {
    const TensorHandle t[] = {like.Make(), rois_.Make(), pooled_.Make(), grad.Make()};
    return phase_one(t[0].get(), t[1].get(), t[2].get(), kPH, kPW, 0.75, 2, true, false, t[3].get(),
                     size, executor);
  };
  ASSERT_EQ(ExecuteCustom<RotateGrad>(kRotateGrad, plan), ACLNN_SUCCESS) << TakeMessage();
  grad.device.Download();
  Tensor native(Element::kFloat, {kN, kH, kW, kC});
  ASSERT_TRUE(portacl::roi_align_rotated_backward(ChannelsFirst(pooled_.host, kK, kPH, kPW),
                                                  RoisAsRows(), ChannelsFirst(native, kN, kH, kW),
                                                  Options(true, false))
                  .ok())
      << portaclGetErrorMessage();
  EXPECT_TRUE(BitIdentical(grad.host, native));
}

TEST_F(CustOpApiRotated, RefusesWhatDoesNotFit) {
  Mirrored output({kK, kPH, kPW, kC}), grad({kN, kH, kW, kC});
  const auto pool = [&](int height) {
    return [&, height](Rotate* phase_one, uint64_t* size, aclOpExecutor** executor) {
      const TensorHandle t[] = {image_.Make(), rois_.Make(), output.Make()};
      return phase_one(t[0].get(), t[1].get(), 0.75, 2, height, kPW, true, false, t[2].get(), size,
                       executor);
    };
  };
  EXPECT_EQ(ExecuteCustom<Rotate>(kRotate, pool(0)), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), std::string(kRotate) + ": pooledHeight is 0, but must be at least 1");
  EXPECT_EQ(ExecuteCustom<Rotate>(kRotate, pool(4)), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("output has shape"));
  const auto spread = [&](const Mirrored* like) {
    return [&, like](RotateGrad* phase_one, uint64_t* size, aclOpExecutor** executor) {
      const TensorHandle t[] = {like == nullptr ? nullptr : like->Make(), rois_.Make(),
                                pooled_.Make(), grad.Make()};
      return phase_one(t[0].get(), t[1].get(), t[2].get(), kPH, kPW, 0.75, 2, true, false,
                       t[3].get(), size, executor);
    };
  };
  const Mirrored wide({kN, kC, kH, kW + 1});
  EXPECT_EQ(ExecuteCustom<RotateGrad>(kRotateGrad, spread(&wide)), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), StartsWith(std::string(kRotateGrad) + ": input is"));
  for (const Shape& shape : {Shape{kN, kC, kH}, Shape{kN, kC, kH, kW, 1}, Shape{kN}}) {
    const Mirrored other(shape);
    EXPECT_EQ(ExecuteCustom<RotateGrad>(kRotateGrad, spread(&other)), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(TakeMessage(), std::string(kRotateGrad) + ": input has " +
                                 std::to_string(shape.size()) + " elements, but must have 4");
  }
  EXPECT_EQ(ExecuteCustom<RotateGrad>(kRotateGrad, spread(nullptr)), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), HasSubstr("input is null"));
}

TEST_F(CustOpApi, LibopapiHasNoneOfTheNames) {
  void* const opapi = dlopen(PORTACL_LIBRARY_DIR "/libportacl.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(opapi, nullptr) << dlerror();
  for (const char* const name : {kAttend, kAttendGrad, kRotate, kRotateGrad}) {
    EXPECT_EQ(dlsym(opapi, name), nullptr) << name;
    EXPECT_NE(dlsym(Library(), name), nullptr) << name;
  }
  EXPECT_EQ(dlsym(Library(), "aclnnDeformableConv2d"), dlsym(opapi, "aclnnDeformableConv2d"));
  dlclose(opapi);
}

}  // namespace
}  // namespace portacl_test
