// aclnnResize: the bits of the functions that it stands for, refusals in the page's order,
// profiles.
#include "aclnnop/aclnn_resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/native.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

struct FreeFloats {
  void operator()(aclFloatArray* array) const { aclDestroyFloatArray(array); }
};

// A call that a test may spoil.
struct Call {
  TensorArgs self;
  TensorArgs out;
  std::vector<float> scales;
  const char* mode;
  bool null_scales = false;
  bool null_workspace_size = false;

  const char* op() const { return "aclnnResize"; }
  Planned Plan() const {
    const TensorHandle read = self.Make();
    const TensorHandle written = out.Make();
    const std::unique_ptr<aclFloatArray, FreeFloats> array(
        null_scales ? nullptr : aclCreateFloatArray(scales.data(), scales.size()));
    Planned planned;
    planned.status = aclnnResizeGetWorkspaceSize(
        read.get(), array.get(), mode, written.get(),
        null_workspace_size ? nullptr : &planned.workspace_size, &planned.executor);
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    return aclnnResize(workspace, size, executor, stream);
  }
};

class Resize : public AclTest {
 protected:
  Resize()
      : small_(Element::kFloat16, {2, 3, 4, 5}),
        large_(Element::kFloat16, {2, 3, 10, 12}),
        read_(&small_),
        written_(&large_) {}
  Call Good() const {
    return {
        read_.args(ACL_FORMAT_NCHW), written_.args(ACL_FORMAT_NCHW), {1, 1, 2.5, 2.5}, "nearest"};
  }
  void ExpectRefused(const std::function<void(Call*)>& spoil, const char* what) const {
    Call call = Good();
    spoil(&call);
    EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_INVALID) << what;
    EXPECT_THAT(TakeMessage(),
                testing::AllOf(testing::StartsWith("aclnnResize: "), HasSubstr(what)));
  }

 private:
  Tensor small_;
  Tensor large_;
  DeviceTensor read_;
  DeviceTensor written_;
};

// The scale decides the ratio, not the extents: 4 * 2.6 is 10 here.
TEST_F(Resize, HasTheBitsOfTheFunctionThatItsModeNames) {
  Random random(61);
  const std::vector<float> scales = {1, 1, 2.6f, 0.7f};
  const double used[] = {static_cast<double>(2.6f), static_cast<double>(0.7f)};
  portaclSetProfile("open");
  for (const Element element : {Element::kFloat, Element::kFloat16, Element::kDouble}) {
    for (const bool last : {false, true}) {
      for (const char* const mode : {"nearest", "bilinear"}) {
        SCOPED_TRACE(testing::Message() << element << last << mode);
        const Layout layout = last ? Layout::kChannelsLast : Layout::kOddPadding;
        Tensor from(element, {2, 3, 4, 5}, layout);
        from.FillUniform(random, -1, 1);
        Tensor to(element, {2, 3, 10, 3}, layout);
        const DeviceTensor read(&from);
        DeviceTensor written(&to);
        Call call{read.args(ACL_FORMAT_NCHW), written.args(ACL_FORMAT_NCHW), scales, mode};
        if (last) {
          call.scales = {1, scales[2], scales[3], 1};
          for (TensorArgs* const args : {&call.self, &call.out}) {
            args->format = ACL_FORMAT_NHWC;
            for (Shape* dims : {&args->shape, &*args->strides}) {
              dims->push_back((*dims)[1]);
              dims->erase(dims->begin() + 1);
            }
          }
        }
        ASSERT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << TakeMessage();
        written.Download();
        EXPECT_TRUE(to.GuardsIntact());
        Tensor want(element, to.shape());
        portacl::Plan plan;
        EXPECT_TRUE(
            Succeeds(std::string(mode) == "nearest"
                         ? plan.upsample_nearest(View(from), View(want), used)
                         : plan.upsample_linear(View(from), View(want), false, false, used)));
        EXPECT_TRUE(Succeeds(plan.run()));
        EXPECT_TRUE(BitIdentical(to, want));
      }
    }
  }
}

TEST_F(Resize, RefusalsComeInThePagesOrder) {
  struct Row {
    const char* what;
    std::function<void(Call*)> spoil;
    aclnnStatus code = ACLNN_ERR_PARAM_INVALID;
  };
  const Row rows[] = {
      {"self is null", [](Call* c) { c->self.null = true; }, ACLNN_ERR_PARAM_NULLPTR},
      {"scales is null", [](Call* c) { c->null_scales = true; }, ACLNN_ERR_PARAM_NULLPTR},
      {"workspaceSize is null", [](Call* c) { c->null_workspace_size = true; },
       ACLNN_ERR_PARAM_NULLPTR},
      {"mode is \"cubic\"", [](Call* c) { c->mode = "cubic"; }},
      {"dtype INT8", [](Call* c) { c->self.dtype = ACL_INT8; }},
      {"format NHWC", [](Call* c) { c->out.format = ACL_FORMAT_NHWC; }},
      {"rank", [](Call* c) { c->self.shape.push_back(1); }},
      {"asks for H = 8", [](Call* c) { c->scales[2] = 2; }},
  };
  for (const Row& first : rows) {
    for (const Row* second = &first; second != std::end(rows); ++second) {
      SCOPED_TRACE(testing::Message() << first.what << " before " << second->what);
      Call call = Good();
      second->spoil(&call);
      if (&first != second) first.spoil(&call);
      const Planned planned = call.Plan();
      EXPECT_EQ(planned.status, first.code);
      EXPECT_EQ(planned.executor, nullptr);
      EXPECT_THAT(TakeMessage(), HasSubstr(first.what));
    }
  }
  Call call = Good();
  call.mode = nullptr;
  EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(TakeMessage(), "aclnnResize: mode is null");
}

TEST_F(Resize, ScalesMustHaveFourElementsAndLeaveNAndC) {
  ExpectRefused([](Call* c) { c->scales.push_back(1); }, "scales has 5 elements, but must have 4");
  ExpectRefused([](Call* c) { c->scales.clear(); }, "scales has 0 elements");
  ExpectRefused([](Call* c) { c->scales[0] = 1.25f; }, "scales[0] is 1.25, but must be 1");
  ExpectRefused([](Call* c) { c->scales[1] = 2; }, "scales[1] = 2 asks for C = 6");
  ExpectRefused([](Call* c) { c->scales[3] = std::numeric_limits<float>::quiet_NaN(); },
                "scales[3] = nan");
  ExpectRefused([](Call* c) { c->scales[2] = -2.5f; }, "scales[2] = -2.5");
  ExpectRefused([](Call* c) { c->out.shape[2] = 0; }, "H must be at least 1");
}

TEST_F(Resize, ProfilesHaveTheirDtypesFormatsAndEmptyTensors) {
  const auto narrow = [](Call* c) { c->self.dtype = c->out.dtype = ACL_BF16; };
  const auto empty = [](Call* c) { c->self.shape[1] = c->out.shape[1] = 0; };
  ExpectRefused(narrow, "has dtype BF16, but must be FLOAT or FLOAT16");
  ExpectRefused(empty, "C must be at least 1");
  EXPECT_EQ(Execute(Good(), stream_), ACLNN_SUCCESS) << TakeMessage();
  portaclSetProfile("open");
  for (const auto& change : {std::function<void(Call*)>(narrow), {empty}}) {
    Call call = Good();
    change(&call);
    EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << TakeMessage();
  }
}

}  // namespace
}  // namespace portacl_test
