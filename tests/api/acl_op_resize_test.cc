// Resizing and affine grids by graph name: sizes in host memory, the coordinates that attributes
// choose, and the refusals of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/op_call.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;
using Place = Argument::Place;

// A list of sizes that a call may keep in each of its places.
class Sizes {
 public:
  explicit Sizes(const Shape& values) : narrow_(values.begin(), values.end()) {}
  Argument At(Place place) {
    return {{static_cast<int64_t>(narrow_.size())}, ACL_INT32, ACL_FORMAT_ND, narrow_.data(),
            narrow_.size() * sizeof(int32_t),       {},        place};
  }

 private:
  std::vector<int32_t> narrow_;
};

// One call on tensors (N, C, H, W).
class AclOpResize : public AclTestOn<testing::TestWithParam<Way>> {
 protected:
  // Fills and sends `from`; the result of `type` in a tensor of shape `to`.
  Tensor Run(const char* type, const Tensor& from, const Shape& to, const Shape& sizes,
             std::map<std::string, Attribute> attributes, Place place = Place::kHost) {
    Tensor copy = from;
    Tensor result(from.element(), to);
    const DeviceTensor read(&copy);
    DeviceTensor written(&result);
    Sizes list(sizes);
    OpCall call;
    call.type = type;
    call.inputs = {ArgumentOf(from, read), list.At(place)};
    call.outputs = {ArgumentOf(result, written)};
    call.attributes = std::move(attributes);
    EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << type << TakeMessage();
    written.Download();
    EXPECT_TRUE(result.GuardsIntact());
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(, AclOpResize,
                         testing::Values(Way::kCompileAndExecute, Way::kCompileAndExecuteV2,
                                         Way::kExecuteV2, Way::kHandle),
                         [](const auto& param) { return NameOf(param.param); });

enum class Centers { kTopLeft, kHalfPixel, kCorners };
constexpr Centers kCenters[] = {Centers::kTopLeft, Centers::kHalfPixel, Centers::kCorners};
std::map<std::string, Attribute> AttributesOf(Centers centers) {
  switch (centers) {
    case Centers::kTopLeft:
      return {};
    case Centers::kHalfPixel:
      return {{"half_pixel_centers", true}};
    default:
      return {{"align_corners", true}};
  }
}

// Where output o lies among the inputs, as the pages write it. Exact for the sizes of these tests.
double PlaceOf(Centers centers, int64_t o, int64_t in, int64_t out) {
  const auto at = static_cast<double>(o);
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  switch (centers) {
    case Centers::kTopLeft:
      return at * ratio;
    case Centers::kHalfPixel:
      return (at + 0.5) * ratio - 0.5;
    default:
      return out > 1 ? at * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  }
}
int64_t NearestOf(Centers centers, int64_t o, int64_t in, int64_t out) {
  const double place = PlaceOf(centers, o, in, out);
  const double index = centers == Centers::kTopLeft ? std::floor(place) : std::floor(place + 0.5);
  return std::min(static_cast<int64_t>(index), in - 1);
}

TEST_P(AclOpResize, NearestFollowsTheRuleThatItsAttributesChoose) {
  Random random(171);
  for (const Shape& sizes : {Shape{8, 5}, Shape{4, 16}, Shape{1, 3}, Shape{16, 1}}) {
    Tensor from(Element::kFloat, {1, 2, 4, 8});
    from.FillUniform(random, -1, 1);
    for (const Centers centers : kCenters) {
      SCOPED_TRACE(testing::Message() << ToString(sizes) << static_cast<int>(centers));
      const Shape shape = {1, 2, sizes[0], sizes[1]};
      const Tensor got = Run("ResizeNearestNeighborV2", from, shape, sizes, AttributesOf(centers));
      Tensor sum(Element::kDouble, from.shape());
      sum.Fill(0.0);
      for (int64_t at = 0; at < got.size(); ++at) {
        const int64_t w = NearestOf(centers, at % sizes[1], 8, sizes[1]);
        const int64_t h = NearestOf(centers, at / sizes[1] % sizes[0], 4, sizes[0]);
        const int64_t source = (at / (sizes[0] * sizes[1]) * 4 + h) * 8 + w;
        ASSERT_EQ(got.Get(at), from.Get(source)) << at;
        sum.Set(source, sum.Get(source) + got.Get(at));
      }
      const Tensor gradient =
          Run("ResizeNearestNeighborV2Grad", got, from.shape(), {4, 8}, AttributesOf(centers));
      for (int64_t at = 0; at < sum.size(); ++at) {
        ASSERT_NEAR(gradient.Get(at), sum.Get(at), 1e-5) << at;
      }
    }
  }
}

TEST_P(AclOpResize, BilinearFollowsTheRuleThatItsAttributesChoose) {
  Random random(172);
  const Shape sizes = {9, 4};
  Tensor from(Element::kFloat, {1, 2, 4, 8});
  from.FillUniform(random, -1, 1);
  const auto along = [](Centers centers, int64_t o, int64_t in, int64_t out) {
    const double place = std::max(PlaceOf(centers, o, in, out), 0.0);
    const int64_t first = std::min(static_cast<int64_t>(place), in - 1);
    return std::tuple(first, std::min(first + 1, in - 1), place - static_cast<double>(first));
  };
  for (const Centers centers : kCenters) {
    const Tensor got =
        Run("ResizeBilinearV2", from, {1, 2, 9, 4}, sizes, AttributesOf(centers), Place::kConstant);
    for (int64_t at = 0; at < got.size(); ++at) {
      const auto [left, right, x] = along(centers, at % 4, 8, 4);
      const auto [top, bottom, y] = along(centers, at / 4 % 9, 4, 9);
      const int64_t plane = at / 36 * 32;
      const double upper =
          from.Get(plane + top * 8 + left) * (1 - x) + from.Get(plane + top * 8 + right) * x;
      const double lower =
          from.Get(plane + bottom * 8 + left) * (1 - x) + from.Get(plane + bottom * 8 + right) * x;
      ASSERT_NEAR(got.Get(at), upper * (1 - y) + lower * y, 1e-5) << static_cast<int>(centers);
    }
  }
}

TEST_P(AclOpResize, TheGradientOfBilinearIsTheTransposeForTheShapeOfItsImage) {
  Random random(173);
  for (const Centers centers : kCenters) {
    Tensor from(Element::kFloat, {1, 1, 4, 8});
    from.FillUniform(random, -1, 1);
    const Tensor large = Run("ResizeBilinearV2", from, {1, 1, 9, 4}, {9, 4}, AttributesOf(centers));
    Tensor grads = large;
    grads.FillUniform(random, -1, 1);
    Tensor gradient(Element::kFloat, from.shape());
    const DeviceTensor read(&grads);
    const DeviceTensor image(&from);
    DeviceTensor written(&gradient);
    OpCall call;
    call.type = "ResizeBilinearV2Grad";
    call.inputs = {ArgumentOf(grads, read), ArgumentOf(from, image)};
    call.outputs = {ArgumentOf(gradient, written)};
    call.attributes = AttributesOf(centers);
    ASSERT_EQ(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << TakeMessage();
    written.Download();
    double forward = 0;
    double backward = 0;
    for (int64_t i = 0; i < large.size(); ++i) forward += large.Get(i) * grads.Get(i);
    for (int64_t i = 0; i < from.size(); ++i) backward += from.Get(i) * gradient.Get(i);
    EXPECT_NEAR(forward, backward, 1e-5);
    call.inputs[1].shape = {1, 1, 8, 4};
    EXPECT_EQ(RunOp(call, GetParam(), stream_), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
    EXPECT_THAT(TakeMessage(), HasSubstr("must be like original_image [1, 1, 8, 4]"));
  }
}

TEST_P(AclOpResize, ReadmeNamesHaveTheNativeBits) {
  Random random(174);
  Tensor from(Element::kFloat16, {2, 2, 4, 5});
  from.FillUniform(random, -1, 1);
  const auto native = [&](const Shape& shape, auto plan_it) {
    Tensor want(Element::kFloat16, shape);
    portacl::Plan plan;
    EXPECT_TRUE(Succeeds(plan_it(&plan, View(want))));
    EXPECT_TRUE(Succeeds(plan.run()));
    return want;
  };
  EXPECT_TRUE(
      BitIdentical(Run("UpsampleBilinear2d", from, {2, 2, 7, 3}, {7, 3}, {{"align_corners", true}}),
                   native({2, 2, 7, 3}, [&](portacl::Plan* plan, const portacl::Tensor& to) {
                     return plan->upsample_linear(View(from), to, true);
                   })));
  Tensor line(Element::kFloat16, {2, 2, 5});
  line.FillUniform(random, -1, 1);
  const double scale[] = {static_cast<double>(1.7f)};
  EXPECT_TRUE(BitIdentical(Run("UpsampleLinear1d", line, {2, 2, 8}, {8}, {{"scales", 1.7f}}),
                           native({2, 2, 8}, [&](portacl::Plan* plan, const portacl::Tensor& to) {
                             return plan->upsample_linear(View(line), to, false, false, scale);
                           })));
  Tensor theta(Element::kFloat16, {2, 2, 3});
  theta.FillUniform(random, -1, 1);
  EXPECT_TRUE(
      BitIdentical(Run("AffineGrid", theta, {2, 4, 5, 2}, {2, 3, 4, 5}, {{"align_corners", true}}),
                   native({2, 4, 5, 2}, [&](portacl::Plan* plan, const portacl::Tensor& to) {
                     return plan->affine_grid(View(theta), to, true);
                   })));
}

TEST_P(AclOpResize, TheListScalesOfAVolumeCount) {
  Random random(175);
  Tensor from(Element::kFloat, {1, 1, 2, 3, 4});
  from.FillUniform(random, -1, 1);
  Tensor got(Element::kFloat, {1, 1, 5, 7, 9});
  const DeviceTensor read(&from);
  DeviceTensor written(&got);
  OpCall call;
  call.type = "UpsampleNearest3d";
  call.inputs = {ArgumentOf(from, read)};
  call.outputs = {ArgumentOf(got, written)};
  call.attributes = {{"output_size", Ints{5, 7, 9}}, {"scales", Floats{2.9f, 2.4f, 2.1f}}};
  ASSERT_EQ(RunOp(call, GetParam(), stream_), ACL_SUCCESS) << TakeMessage();
  written.Download();
  const double scales[] = {static_cast<double>(2.9f), static_cast<double>(2.4f),
                           static_cast<double>(2.1f)};
  Tensor want(Element::kFloat, got.shape());
  portacl::Plan plan;
  EXPECT_TRUE(Succeeds(plan.upsample_nearest(View(from), View(want), scales)));
  EXPECT_TRUE(Succeeds(plan.run()));
  EXPECT_TRUE(BitIdentical(got, want));
}

TEST_P(AclOpResize, EveryRefusalOfAListHasItsCodeAndAMessage) {
  const DeviceMemory memory(4096);
  Sizes list({4, 6});
  Sizes longer({4, 6, 8});
  Sizes other({4, 7});
  OpCall good;
  good.type = "ResizeNearestNeighborV2";
  good.inputs = {{{1, 1, 2, 3}, ACL_FLOAT, ACL_FORMAT_NCHW, memory.get(), 24},
                 list.At(Place::kHost)};
  good.outputs = {
      {{1, 1, 4, 6}, ACL_FLOAT, ACL_FORMAT_NCHW, static_cast<char*>(memory.get()) + 1024, 96}};
  EXPECT_EQ(RunOp(good, GetParam(), stream_), ACL_SUCCESS) << TakeMessage();
  struct Row {
    std::function<void(OpCall*)> spoil;
    aclError code;
    const char* what;
  };
  const Row rows[] = {
      {[](OpCall* c) { c->inputs[1].place = Place::kDevice; }, ACL_ERROR_OP_INPUT_NOT_MATCH,
       "size (input 1) is in device memory"},
      {[](OpCall* c) { c->inputs[1].dtype = ACL_FLOAT; }, ACL_ERROR_UNSUPPORTED_DATA_TYPE,
       "size has dtype FLOAT, but must be INT32 or INT64"},
      {[](OpCall* c) {
         c->inputs[1].shape = {1, 2};
       },
       ACL_ERROR_OP_INPUT_NOT_MATCH, "size has shape [1, 2], but must be a list"},
      {[](OpCall* c) { c->inputs[1].bytes = 7; }, ACL_ERROR_OP_INPUT_NOT_MATCH,
       "size (input 1) has 7 bytes, but needs 8"},
      {[](OpCall* c) { c->inputs[1].data = nullptr; }, ACL_ERROR_INVALID_PARAM,
       "size (input 1) has no data"},
      {[](OpCall* c) { c->inputs[1].null_buffer = true; }, ACL_ERROR_INVALID_PARAM,
       "inputs[1] is null"},
      {[&](OpCall* c) { c->inputs[1] = longer.At(Place::kHost); }, ACL_ERROR_OP_ATTR_NOT_MATCH,
       "size has 3 elements, but must have 2"},
      {[&](OpCall* c) { c->inputs[1] = other.At(Place::kConstant); }, ACL_ERROR_OP_OUTPUT_NOT_MATCH,
       "y has shape [1, 1, 4, 6], but size asks for W = 7"},
      {[](OpCall* c) {
         c->attributes = {{"align_corners", true}, {"half_pixel_centers", true}};
       },
       ACL_ERROR_OP_ATTR_NOT_MATCH, "align_corners and half_pixel_centers are both true"},
  };
  for (const Row& row : rows) {
    OpCall call = good;
    row.spoil(&call);
    EXPECT_EQ(RunOp(call, GetParam(), stream_), row.code) << row.what;
    EXPECT_THAT(TakeMessage(), HasSubstr(row.what));
  }
}

// A handle knows the values of constants alone: a list in host memory may have others each time.
using AclOpResizeOnce = AclTest;
TEST_F(AclOpResizeOnce, AHandleReadsTheListOfEachExecution) {
  const DeviceMemory memory(4096);
  Sizes good({4, 6});
  Sizes bad({4, 5});
  const std::vector<Argument> images = {
      {{1, 1, 2, 3}, ACL_FLOAT, ACL_FORMAT_NCHW, memory.get(), 24}, good.At(Place::kHost)};
  OpSide in(images);
  OpSide out(
      {{{1, 1, 4, 6}, ACL_FLOAT, ACL_FORMAT_NCHW, static_cast<char*>(memory.get()) + 1024, 96}});
  aclopHandle* handle = nullptr;
  ASSERT_EQ(aclopCreateHandle("ResizeNearestNeighborV2", 2, in.descs.data(), 1, out.descs.data(),
                              nullptr, &handle),
            ACL_SUCCESS)
      << TakeMessage();
  const Owned<aclopHandle> owned(handle);
  const auto run = [&](Sizes* list) {
    const Argument argument = list->At(Place::kHost);
    const Owned<aclDataBuffer> buffer(aclCreateDataBuffer(argument.data, argument.bytes));
    const aclDataBuffer* const inputs[] = {in.buffers[0], buffer.get()};
    return aclopExecWithHandle(handle, 2, inputs, 1, out.buffers.data(), stream_);
  };
  EXPECT_EQ(run(&good), ACL_SUCCESS) << TakeMessage();
  EXPECT_EQ(run(&bad), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  EXPECT_THAT(TakeMessage(), HasSubstr("size asks for W = 5"));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

}  // namespace
}  // namespace portacl_test
