// The resizing functions of the aclnn API and aclnnAffineGrid: the native API's bits, the pages'
// examples, refusals in the pages' order, limits and warnings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "aclnnop/aclnn_affine_grid.h"
#include "portacl/portacl.h"
#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/resize_call.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

constexpr aclFormat kFormats[] = {ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};

Shape SmallShape(size_t spatial) {
  const Shape shapes[] = {{2, 3, 5}, {2, 3, 4, 5}, {2, 3, 2, 4, 5}};
  return shapes[spatial - 1];
}
Shape LargeShape(size_t spatial) {
  const Shape shapes[] = {{2, 3, 8}, {2, 3, 7, 8}, {2, 3, 3, 7, 8}};
  return shapes[spatial - 1];
}

portacl::Status PlanNative(portacl::Plan* plan, const ResizeFunction& f, const Tensor& from,
                           Tensor* to, bool align, const double* scales) {
  const portacl::Tensor a = View(from);
  const portacl::Tensor b = View(*to);
  switch (f.kind) {
    case ResizeFunction::kNearest:
      return f.backward ? plan->upsample_nearest_backward(a, b, scales)
                        : plan->upsample_nearest(a, b, scales);
    case ResizeFunction::kLinear:
      return f.backward ? plan->upsample_linear_backward(a, b, align, f.antialias, scales)
                        : plan->upsample_linear(a, b, align, f.antialias, scales);
    default:
      return f.backward ? plan->upsample_cubic_backward(a, b, align, f.antialias, scales)
                        : plan->upsample_cubic(a, b, align, f.antialias, scales);
  }
}

Tensor NativeResult(const ResizeFunction& f, const Tensor& from, const Shape& shape, bool align,
                    const double* scales) {
  Tensor to(from.element(), shape);
  portacl::Plan plan;
  EXPECT_TRUE(Succeeds(PlanNative(&plan, f, from, &to, align, scales)));
  EXPECT_TRUE(Succeeds(plan.run()));
  return to;
}

class Upsample : public AclTest {
 protected:
  // A good call of a function, on tensors that live as long as the test.
  ResizeCall Good(const ResizeFunction& f, Element element = Element::kFloat16) {
    const Shape small = SmallShape(f.spatial);
    const Shape large = LargeShape(f.spatial);
    return On(f, element, f.backward ? large : small, f.backward ? small : large);
  }
  ResizeCall On(const ResizeFunction& f, Element element, const Shape& from, const Shape& to) {
    const aclFormat format = kFormats[f.spatial - 1];
    return ResizeCall::For(f, Args(element, from, format), Args(element, to, format));
  }

 private:
  TensorArgs Args(Element element, const Shape& shape, aclFormat format) {
    tensors_.push_back(std::make_unique<Tensor>(element, shape));
    on_device_.push_back(std::make_unique<DeviceTensor>(tensors_.back().get()));
    return on_device_.back()->args(format);
  }
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::unique_ptr<DeviceTensor>> on_device_;
};

TEST_F(Upsample, EveryFunctionHasTheNativeBitsInEveryLayoutThatItTakes) {
  Random random(51);
  const double scales[] = {1.5, 1.75, 1.6};
  for (const ResizeFunction& f : kResizeFunctions) {
    for (const Element element : {Element::kFloat, Element::kFloat16}) {
      for (const Layout layout : {Layout::kContiguous, Layout::kOddPadding, Layout::kNegative}) {
        for (const bool scaled : {false, true}) {
          for (const bool align : {false, true}) {
            SCOPED_TRACE(testing::Message() << f.name << element << layout << scaled << align);
            const Shape small = SmallShape(f.spatial);
            const Shape large = LargeShape(f.spatial);
            Tensor from(element, f.backward ? large : small, layout);
            from.FillUniform(random, -1, 1);
            Tensor to(element, f.backward ? small : large, layout);
            const DeviceTensor read(&from);
            DeviceTensor written(&to);
            const aclFormat format = kFormats[f.spatial - 1];
            ResizeCall call = ResizeCall::For(f, read.args(format), written.args(format));
            call.align_corners = align;
            double used[3] = {};
            for (size_t axis = 0; scaled && axis < f.scales; ++axis) {
              call.scales[axis] = scales[axis];
              const bool narrow = std::string(f.name).find("V2") != std::string::npos &&
                                  f.kind == ResizeFunction::kNearest;
              used[axis] =
                  narrow ? static_cast<double>(static_cast<float>(scales[axis])) : scales[axis];
            }
            if (std::string(f.name) == "aclnnUpsampleLinear1dBackward") used[0] = 0;  // 5 * 1.5
            ASSERT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << TakeMessage();
            written.Download();
            EXPECT_TRUE(to.GuardsIntact());
            EXPECT_TRUE(
                BitIdentical(to, NativeResult(f, from, to.shape(),
                                              align && f.kind != ResizeFunction::kNearest, used)));
          }
        }
      }
    }
  }
}

TEST_F(Upsample, ChannelsLastFormatsAreTheSameNumbers) {
  Random random(52);
  for (const char* name :
       {"aclnnUpsampleBilinear2d", "aclnnUpsampleBilinear2dBackward", "aclnnUpsampleNearest2d",
        "aclnnUpsampleNearest2dBackward", "aclnnUpsampleTrilinear3d", "aclnnUpsampleNearest3d"}) {
    SCOPED_TRACE(name);
    const ResizeFunction& f = ResizeFunctionOf(name);
    const Shape small = SmallShape(f.spatial);
    const Shape large = LargeShape(f.spatial);
    // (N, C, ...) in memory as (N, ..., C).
    Tensor from(Element::kFloat, f.backward ? large : small, Layout::kChannelsLast);
    from.FillUniform(random, -1, 1);
    Tensor to(Element::kFloat, f.backward ? small : large, Layout::kChannelsLast);
    const DeviceTensor read(&from);
    DeviceTensor written(&to);
    const auto last = [&](TensorArgs args) {
      args.format = f.spatial == 2 ? ACL_FORMAT_NHWC : ACL_FORMAT_NDHWC;
      for (Shape* dims : {&args.shape, &*args.strides}) {
        dims->push_back((*dims)[1]);
        dims->erase(dims->begin() + 1);
      }
      return args;
    };
    ResizeCall call = ResizeCall::For(f, read.args(), written.args());
    if (std::string(name) == "aclnnUpsampleNearest2dBackward") call.input_size = {{2, 4, 5, 3}};
    call.from = last(call.from);
    call.to = last(call.to);
    ASSERT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << TakeMessage();
    written.Download();
    EXPECT_TRUE(BitIdentical(to, NativeResult(f, from, to.shape(), false, nullptr)));
  }
}

// Pages differ in the order of inputSize for tensors with C last. If the result tells which order
// is meant, the other order is taken too, with a warning; refusals name the order.
TEST_F(Upsample, InputSizeOfChannelsLastFormatsMayHaveEitherOrder) {
  const Shape first = {2, 3, 4, 5};
  const Shape last = {2, 4, 5, 3};
  for (const char* name : {"aclnnUpsampleBilinear2dBackward", "aclnnUpsampleBilinear2dBackwardV2",
                           "aclnnUpsampleNearest2dBackward"}) {
    SCOPED_TRACE(name);
    const bool nearest = std::string(name) == "aclnnUpsampleNearest2dBackward";
    const ResizeFunction& f = ResizeFunctionOf(name);
    const auto plan = [&](const Shape& input_size, const Shape& out) {
      DeviceMemory read(2 * 8 * 10 * 3 * sizeof(float));
      DeviceMemory written(1024);
      ResizeCall call = ResizeCall::For(f, {{2, 3, 8, 10}, ACL_FLOAT, ACL_FORMAT_NCHW, read.get()},
                                        {{2, 3, 4, 5}, ACL_FLOAT, ACL_FORMAT_NCHW, written.get()});
      call.from = {{2, 8, 10, 3}, ACL_FLOAT, ACL_FORMAT_NHWC, read.get()};
      call.to = {out, ACL_FLOAT, ACL_FORMAT_NHWC, written.get()};
      call.input_size = input_size;
      TakeMessage();
      return call.Plan().status;
    };
    const std::string orders[] = {"(N, C, H, W)", "(N, H, W, C)"};
    EXPECT_EQ(plan(nearest ? last : first, last), ACLNN_SUCCESS);
    EXPECT_EQ(TakeMessage(), "");
    EXPECT_EQ(plan(nearest ? first : last, last), ACLNN_SUCCESS);
    EXPECT_THAT(TakeMessage(), HasSubstr("inputSize is " + orders[nearest ? 0 : 1] +
                                         ", but this function's page has " + orders[nearest]));
    portaclSetStrict(1);
    EXPECT_EQ(plan(nearest ? first : last, last), ACLNN_ERR_PARAM_INVALID);
    portaclSetStrict(0);
    EXPECT_EQ(plan({2, 6, 6, 6}, last), ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(TakeMessage(), HasSubstr("inputSize " + orders[nearest] + " says C = 6"));
  }
}

TEST_F(Upsample, ExamplesOfThePagesRun) {
  const auto run = [&](const char* name, const Shape& from_shape, std::vector<double> values,
                       const Shape& to_shape, bool align, std::vector<double> scales) {
    const ResizeFunction& f = ResizeFunctionOf(name);
    Tensor from = Tensor(Element::kFloat, from_shape).Fill(values);
    Tensor to(Element::kFloat, to_shape);
    const DeviceTensor read(&from);
    DeviceTensor written(&to);
    const aclFormat format = kFormats[f.spatial - 1];
    ResizeCall call = ResizeCall::For(f, read.args(format), written.args(format));
    call.align_corners = align;
    scales.resize(3);
    call.scales = scales;
    EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << name << TakeMessage();
    written.Download();
    return to;
  };
  const std::vector<double> eight = {0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor large =
      run("aclnnUpsampleBilinear2d", {1, 1, 4, 2}, eight, {1, 1, 8, 4}, true, {0.5, 0.5});
  EXPECT_EQ(large.Get(0), 0);
  EXPECT_EQ(large.Get(31), 7);
  EXPECT_NEAR(large.Get(1), 1.0 / 3, 1e-6);
  const Tensor nearest =
      run("aclnnUpsampleNearest1dBackward", {1, 1, 2}, {1, 4.1}, {1, 1, 3}, false, {1.1});
  EXPECT_FLOAT_EQ(static_cast<float>(nearest.Get(0)), 1.0f + 4.1f);
  EXPECT_EQ(nearest.Get(1), 0);
  EXPECT_EQ(nearest.Get(2), 0);
  const Tensor line = run("aclnnUpsampleLinear1d", {1, 1, 2}, {0, 1}, {1, 1, 4}, false, {-1});
  EXPECT_EQ(line.Get(1), 0.25);
  const Tensor grad =
      run("aclnnUpsampleBicubic2dAAGrad", {1, 1, 4, 2}, eight, {1, 1, 8, 4}, true, {2, 2});
  EXPECT_TRUE(std::isfinite(grad.Get(0)));
}

struct UpsampleRow {
  const char* what;
  std::function<void(ResizeCall*)> spoil;
  int64_t code;
};

// In the order of the pages: each row also has the faults of all rows behind it.
TEST_F(Upsample, RefusalsComeInThePagesOrder) {
  for (const ResizeFunction& f : kResizeFunctions) {
    const std::vector<UpsampleRow> rows = {
        {f.from, [](ResizeCall* c) { c->from.null = true; }, ACLNN_ERR_PARAM_NULLPTR},
        {"outputSize is null", [](ResizeCall* c) { c->output_size.reset(); },
         ACLNN_ERR_PARAM_NULLPTR},
        {"workspaceSize is null", [](ResizeCall* c) { c->null_workspace_size = true; },
         ACLNN_ERR_PARAM_NULLPTR},
        {"dtype INT8", [](ResizeCall* c) { c->from.dtype = ACL_INT8; }, ACLNN_ERR_PARAM_INVALID},
        {"they must be equal", [](ResizeCall* c) { c->to.dtype = ACL_FLOAT; },
         ACLNN_ERR_PARAM_INVALID},
        {"rank", [](ResizeCall* c) { c->to.shape.push_back(1); }, ACLNN_ERR_PARAM_INVALID},
        {"format FRACTAL_NZ", [](ResizeCall* c) { c->from.format = ACL_FORMAT_FRACTAL_NZ; },
         ACLNN_ERR_PARAM_INVALID},
        {"outputSize has", [](ResizeCall* c) { c->output_size->push_back(1); },
         ACLNN_ERR_PARAM_INVALID},
        {"outputSize[0] is 0", [](ResizeCall* c) { (*c->output_size)[0] = 0; },
         ACLNN_ERR_PARAM_INVALID},
    };
    // One fault, and two of them: the earlier one is told.
    for (size_t first = 0; first < rows.size(); ++first) {
      for (size_t second = first; second < rows.size(); ++second) {
        // The second must not undo the first.
        const bool same_member = first != second && ((first == 1) || (first == 7 && second == 8));
        if (same_member) continue;
        SCOPED_TRACE(testing::Message()
                     << f.name << ": " << rows[first].what << " before " << rows[second].what);
        ResizeCall call = Good(f);
        rows[second].spoil(&call);
        if (first != second) rows[first].spoil(&call);
        const Planned planned = call.Plan();
        EXPECT_EQ(planned.status, rows[first].code);
        const std::string message = TakeMessage();
        EXPECT_THAT(message, HasSubstr(rows[first].what));
        EXPECT_THAT(message, testing::StartsWith(std::string(f.name) + ": "));
        if (!call.null_workspace_size) {
          EXPECT_EQ(planned.workspace_size, 0u);
        }
        EXPECT_EQ(planned.executor, nullptr);
      }
    }
  }
}

TEST_F(Upsample, ShapesMustFollowTheSizes) {
  for (const ResizeFunction& f : kResizeFunctions) {
    SCOPED_TRACE(f.name);
    const auto refused = [&](const std::function<void(ResizeCall*)>& spoil, const char* what) {
      ResizeCall call = Good(f);
      spoil(&call);
      EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_INVALID);
      EXPECT_THAT(TakeMessage(), HasSubstr(what));
    };
    refused([](ResizeCall* c) { (*c->output_size)[0] += 1; }, "outputSize asks for");
    refused(
        [&](ResizeCall* c) {
          c->to = Good(f).to;
          c->to.shape[1] = 2;
          c->to.storage = Shape{1000};
          if (c->input_size) (*c->input_size)[1] = 2;
        },
        "C");
    if (!f.backward) continue;
    refused([](ResizeCall* c) { c->input_size->pop_back(); }, "inputSize has");
    refused([](ResizeCall* c) { c->input_size->back() = 0; }, "inputSize[");
    refused([](ResizeCall* c) { c->input_size->back() += 1; }, "inputSize asks for");
    refused([](ResizeCall* c) { (*c->input_size)[0] += 1; }, "inputSize says N");
    ResizeCall call = Good(f);
    call.input_size.reset();
    call.output_size->push_back(2);  // a later row
    EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_THAT(TakeMessage(), HasSubstr("inputSize is null"));
  }
}

TEST_F(Upsample, ScalesBelowZeroCountAsNoneWhereNoPageRefusesThem) {
  const std::set<std::string> refuse = {"aclnnUpsampleBilinear2d", "aclnnUpsampleBilinear2dAA",
                                        "aclnnUpsampleBicubic2dAAGrad"};
  for (const ResizeFunction& f : kResizeFunctions) {
    if (f.scales == 0) continue;
    SCOPED_TRACE(f.name);
    ResizeCall call = Good(f);
    call.scales[f.scales - 1] = -1;
    const bool refused = refuse.count(f.name) > 0;
    EXPECT_EQ(Execute(call, stream_), refused ? ACLNN_ERR_PARAM_INVALID : ACLNN_SUCCESS);
    if (refused) {
      EXPECT_THAT(TakeMessage(), HasSubstr("is -1"));
    }
    call.scales[0] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(TakeMessage(), HasSubstr("is nan"));
  }
}

TEST_F(Upsample, AScaleThatDoesNotFitWarnsAndStrictRefusesIt) {
  const ResizeFunction& f = ResizeFunctionOf("aclnnUpsampleBicubic2d");
  ResizeCall call = Good(f);
  call.scales = {0, 3, 0};
  EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS);
  EXPECT_THAT(TakeMessage(), HasSubstr("scalesW is 3, with which W = 5 becomes 15, not 8"));
  portaclSetStrict(1);
  EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_INVALID);
  call.align_corners = true;  // scales do not count
  EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS);
}

TEST_F(Upsample, RatiosBeyondThePagesLimitsAreRefusedButInOpen) {
  struct Limit {
    const char* name;
    Shape from, at_limit, beyond;
  };
  const Limit limits[] = {
      {"aclnnUpsampleLinear1dBackward", {1, 1, 501}, {1, 1, 2}, {1, 1, 1}},
      {"aclnnUpsampleBilinear2dAA", {1, 1, 51, 2}, {1, 1, 2, 2}, {1, 1, 1, 2}},
      {"aclnnUpsampleBicubic2dAA", {1, 1, 2, 51}, {1, 1, 2, 2}, {1, 1, 2, 1}},
      {"aclnnUpsampleBilinear2dAABackward", {1, 1, 51, 2}, {1, 1, 2, 2}, {1, 1, 1, 2}},
      {"aclnnUpsampleBicubic2dAAGrad", {1, 1, 2, 51}, {1, 1, 2, 2}, {1, 1, 2, 1}},
      {"aclnnUpsampleTrilinear3d", {1, 1, 51, 1, 1}, {1, 1, 2, 1, 1}, {1, 1, 1, 1, 1}}};
  for (const Limit& limit : limits) {
    SCOPED_TRACE(limit.name);
    const ResizeFunction& f = ResizeFunctionOf(limit.name);
    EXPECT_EQ(Execute(On(f, Element::kFloat, limit.from, limit.at_limit), stream_), ACLNN_SUCCESS)
        << TakeMessage();
    const ResizeCall call = On(f, Element::kFloat, limit.from, limit.beyond);
    EXPECT_EQ(call.Plan().status, ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(TakeMessage(), HasSubstr("must be at most"));
    portaclSetProfile("open");
    EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << TakeMessage();
    portaclSetProfile("atlas-a2");
  }
}

TEST_F(Upsample, EmptyTensorsWhereThePagesAllowThem) {
  const std::set<std::string> allow = {"aclnnUpsampleNearest2dV2", "aclnnUpsampleNearest1dBackward",
                                       "aclnnUpsampleNearest2dBackward",
                                       "aclnnUpsampleBicubic2dAA"};
  for (const ResizeFunction& f : kResizeFunctions) {
    SCOPED_TRACE(f.name);
    Shape from = f.backward ? LargeShape(f.spatial) : SmallShape(f.spatial);
    Shape to = f.backward ? SmallShape(f.spatial) : LargeShape(f.spatial);
    from[1] = to[1] = 0;
    const ResizeCall call = On(f, Element::kFloat16, from, to);
    const Planned planned = call.Plan();
    EXPECT_EQ(planned.status, allow.count(f.name) > 0 ? ACLNN_SUCCESS : ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(planned.workspace_size, 0u);
    if (planned.executor != nullptr) aclDestroyAclOpExecutor(planned.executor);
    portaclSetProfile("open");
    EXPECT_EQ(Execute(call, stream_), ACLNN_SUCCESS) << TakeMessage();
    portaclSetProfile("atlas-a2");
  }
}

TEST_F(Upsample, DTypesFollowTheProfileAndTheFormat) {
  const ResizeFunction& bilinear = ResizeFunctionOf("aclnnUpsampleBilinear2d");
  EXPECT_EQ(Good(bilinear, Element::kDouble).Plan().status, ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("must be NHWC"));
  const ResizeFunction& line = ResizeFunctionOf("aclnnUpsampleLinear1dBackward");
  EXPECT_EQ(Good(line, Element::kBFloat16).Plan().status, ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("BF16"));
  EXPECT_EQ(Execute(On(line, Element::kBFloat16, {1, 1, 4}, {1, 1, 4}), stream_), ACLNN_SUCCESS);
  const ResizeFunction& nearest = ResizeFunctionOf("aclnnUpsampleNearest2d");
  portaclSetProfile("atlas-training");
  EXPECT_EQ(Good(nearest, Element::kFloat).Plan().status, ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(Execute(Good(nearest, Element::kFloat16), stream_), ACLNN_SUCCESS);
  EXPECT_EQ(Good(ResizeFunctionOf("aclnnUpsampleBilinear2dAA")).Plan().status,
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("does not have this operator"));
}

TEST_F(Upsample, PicturesOfBytesAreCopied) {
  for (const char* name :
       {"aclnnUpsampleNearest1d", "aclnnUpsampleNearest1dV2", "aclnnUpsampleNearest2d",
        "aclnnUpsampleNearest2dV2", "aclnnUpsampleNearest3d"}) {
    SCOPED_TRACE(name);
    const ResizeFunction& f = ResizeFunctionOf(name);
    portaclSetProfile(f.spatial == 3 ? "ascend-950" : "atlas-a2");  // the page of volumes
    Tensor from(Element::kUInt8, SmallShape(f.spatial));
    from.Fill([](int64_t i) { return static_cast<double>(i * 37 % 256); });
    Tensor to(Element::kUInt8, LargeShape(f.spatial));
    const DeviceTensor read(&from);
    DeviceTensor written(&to);
    const aclFormat format = kFormats[f.spatial - 1];
    ASSERT_EQ(Execute(ResizeCall::For(f, read.args(format), written.args(format)), stream_),
              ACLNN_SUCCESS)
        << TakeMessage();
    written.Download();
    Tensor wide(Element::kFloat, from.shape());
    wide.Fill([&](int64_t i) { return from.Get(i); });
    const Tensor want = NativeResult(f, wide, to.shape(), false, nullptr);
    for (int64_t i = 0; i < to.size(); ++i) ASSERT_EQ(to.Get(i), want.Get(i)) << i;
  }
}

// ---- affine grid -------------------------------------------------------------------------------

class AffineGrid : public AclTest {
 protected:
  aclnnStatus Plan(const TensorArgs& theta, const IntList& size, const TensorArgs& out) {
    const TensorHandle from = theta.Make();
    const TensorHandle to = out.Make();
    const IntArrayHandle sizes = MakeInts(size);
    uint64_t bytes = 1;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status =
        aclnnAffineGridGetWorkspaceSize(from.get(), sizes.get(), true, to.get(), &bytes, &executor);
    if (executor != nullptr) aclDestroyAclOpExecutor(executor);
    return status;
  }
};

TEST_F(AffineGrid, RefusalsComeInThePagesOrder) {
  Tensor theta(Element::kFloat, {2, 2, 3});
  Tensor grid(Element::kFloat, {2, 4, 5, 2});
  const DeviceTensor from(&theta);
  const DeviceTensor to(&grid);
  const Shape size = {2, 1, 4, 5};
  EXPECT_EQ(Plan(from.args(), size, to.args()), ACLNN_SUCCESS) << TakeMessage();
  const auto refused = [&](const TensorArgs& a, const IntList& s, const TensorArgs& b,
                           const char* what) {
    EXPECT_EQ(Plan(a, s, b), s ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR) << what;
    EXPECT_THAT(TakeMessage(), HasSubstr(what));
  };
  TensorArgs theta_args = from.args();
  refused(theta_args, std::nullopt, to.args(), "size is null");
  theta_args.dtype = ACL_INT8;
  refused(theta_args, size, to.args(), "dtype INT8");
  theta_args = from.args(ACL_FORMAT_NHWC);
  refused(theta_args, size, to.args(), "format NHWC");
  theta_args = from.args();
  theta_args.shape = {2, 6};
  refused(theta_args, size, to.args(), "must have rank 3");
  refused(from.args(), Shape{2, 1, 4}, to.args(), "must have 4 or 5");
  refused(from.args(), Shape{2, 1, 3, 4, 5}, to.args(), "3, 4");
  refused(from.args(), Shape{2, 1, 4, 6}, to.args(), "asks for (N, H, W, 2)");
  refused(from.args(), Shape{2, 0, 4, 5}, to.args(), "size[1] is 0");
}

TEST_F(AffineGrid, TakesTheFormatsThatPyTorchsPluginGivesByRank) {
  Tensor theta(Element::kFloat, {2, 2, 3});
  Tensor grid(Element::kFloat, {2, 4, 5, 2});
  const DeviceTensor from(&theta);
  const DeviceTensor to(&grid);
  EXPECT_EQ(Plan(from.args(ACL_FORMAT_NCL), Shape{2, 1, 4, 5}, to.args(ACL_FORMAT_NCHW)),
            ACLNN_SUCCESS)
      << TakeMessage();
  Tensor volumes_theta(Element::kFloat, {2, 3, 4});
  Tensor volumes(Element::kFloat, {2, 4, 5, 6, 3});
  const DeviceTensor volumes_from(&volumes_theta);
  const DeviceTensor volumes_to(&volumes);
  EXPECT_EQ(Plan(volumes_from.args(ACL_FORMAT_NCL), Shape{2, 1, 4, 5, 6},
                 volumes_to.args(ACL_FORMAT_NCDHW)),
            ACLNN_SUCCESS)
      << TakeMessage();
}

}  // namespace
}  // namespace portacl_test
