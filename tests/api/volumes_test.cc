// The operators on volumes (rank 5) through the aclnn and the native API: results, what is taken,
// and the code and order of every refusal.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/forward_call.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/api/native.h"
#include "support/api/nearest_oracle.h"

namespace portacl_test {
namespace {

class Volumes : public AclTest {};

// ---- nearest-exact -----------------------------------------------------------------------------

struct NearestVolume {
  Shape small, large;
  std::vector<double> scales;
};
const NearestVolume kNearestVolumes[] = {
    {{2, 3, 2, 3, 4}, {2, 3, 4, 6, 8}, {}},
    {{1, 2, 3, 5, 4}, {1, 2, 7, 5, 9}, {}},
    {{1, 2, 1, 4, 3}, {1, 2, 1, 8, 6}, {1, 2, 2}},
    {{2, 1, 5, 4, 7}, {2, 1, 3, 2, 4}, {}},
    {{1, 1, 3, 3, 3}, {1, 1, 60, 3, 4}, {0, 1.3, 0}},
    {{1, 2, 4, 5, 6}, {1, 2, 6, 8, 9}, {1.3, 1.7, 1.2}},
};

TEST_F(Volumes, NearestHasTheBitsOfTheRuleInBothDirections) {
  Random random(71);
  for (const Element element : {Element::kFloat, Element::kFloat16, Element::kBFloat16}) {
    for (const NearestVolume& shape : kNearestVolumes) {
      for (const Layout layout : kOutputLayouts) {
        SCOPED_TRACE(std::string(NameOf(element)) + ToString(shape.large) + NameOf(layout));
        Tensor large(element, shape.large, layout);
        Tensor small(element, shape.small, layout);
        large.FillUniform(random, -1, 1);
        const DeviceTensor from(&large);
        DeviceTensor to(&small);
        ASSERT_EQ(Execute(NearestCall::For(from.args(), to.args(), shape.scales), stream_), 0)
            << TakeMessage();
        to.Download();
        EXPECT_TRUE(BitIdentical(small, NearestBackward(large, shape.small, shape.scales)));
        EXPECT_TRUE(small.GuardsIntact());

        Tensor again(element, shape.large, layout);
        DeviceTensor up(&again);
        ASSERT_EQ(Execute(NearestForwardCall::For(to.args(), up.args(), shape.scales), stream_), 0)
            << TakeMessage();
        up.Download();
        EXPECT_TRUE(BitIdentical(again, NearestForward(small, shape.large, shape.scales)));
        EXPECT_TRUE(again.GuardsIntact());
      }
    }
  }
}

TEST_F(Volumes, NearestOfDoublesIsServedByTheNativeApi) {
  Random random(72);
  Tensor large(Element::kDouble, {1, 2, 5, 6, 7});
  large.FillUniform(random, -1, 1);
  Tensor small(Element::kDouble, {1, 2, 2, 4, 3});
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(large), View(small))));
  EXPECT_TRUE(BitIdentical(small, NearestBackward(large, small.shape())));
  ASSERT_TRUE(Succeeds(portacl::upsample_nearest_exact(View(small), View(large))));
  EXPECT_TRUE(BitIdentical(large, NearestForward(small, large.shape())));
}

TEST_F(Volumes, NearestBackwardRefusesEachRowWithItsCodeAndInOrder) {
  const DeviceMemory memory(8192);
  auto* const bytes = static_cast<char*>(memory.get());
  const NearestCall good =
      NearestCall::For({{1, 2, 4, 3, 5}, ACL_FLOAT, ACL_FORMAT_NCDHW, bytes},
                       {{1, 2, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_NCDHW, bytes + 4096});
  using Row = CheckRow<NearestCall>;
  const std::vector<Row> rows = {
      {"Null",
       ACLNN_ERR_PARAM_NULLPTR,
       [](auto* c) { c->grad_output.null = true; },
       {"gradOutput is null"}},
      {"Dtype",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->grad_output.dtype = ACL_DOUBLE; },
       {"gradOutput has dtype DOUBLE"}},
      {"Rank",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->grad_output.shape = {1, 2, 4, 3};
       },
       {"must have rank 5 (N, C, D, H, W)"}},
      {"Extent",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->out.shape = {1, 2, 0, 3, 4};
       },
       {"out", "D must be at least 1"}},
      {"Format",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->out.format = ACL_FORMAT_NCHW; },
       {"out has format NCHW, but must be NCDHW or ND"}},
      {"FormatsDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->out.format = ACL_FORMAT_ND; },
       {"must be equal"}},
      {"OutputSize",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->output_size = Shape{4, 3};
       },
       {"outputSize has 2 elements, but must have 3"}},
      {"InputSize",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->input_size = Shape{1, 2, 2, 3};
       },
       {"inputSize has 4 elements, but must have 5"}},
      {"Scale", ACLNN_ERR_PARAM_INVALID, [](auto* c) { c->scales[0] = -1; }, {"scalesD is -1"}},
      {"SizesDisagree",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->output_size = Shape{9, 3, 5};
       },
       {"outputSize[0] is 9", "scalesD is 0"}},
  };
  EXPECT_EQ(good.Plan().status, 0) << TakeMessage();
  ExpectEveryRowIsRefused(good, rows);
  ExpectRowsAreCheckedInOrder(good, rows);
}

// ---- grid sampler ------------------------------------------------------------------------------

// Device copies of a case and its results, as calls.
class GridRun {
 public:
  GridRun(GridCase* c, const GridMode& mode, Layout layout)
      : input_grad(c->input.element(), c->input.shape(), layout),
        grid_grad(c->input.element(), c->grid.shape(), layout),
        output(c->input.element(), c->grad_output.shape(), layout),
        grad_output_(&c->grad_output),
        input_(&c->input),
        grid_(&c->grid),
        to_input_(&input_grad),
        to_grid_(&grid_grad),
        to_output_(&output) {
    backward.volume = forward.volume = true;
    backward.grad_output = grad_output_.args(ACL_FORMAT_NCDHW);
    backward.input = forward.input = input_.args(ACL_FORMAT_NCDHW);
    backward.grid = forward.grid = grid_.args();
    backward.input_grad = to_input_.args(ACL_FORMAT_NCDHW);
    backward.grid_grad = to_grid_.args();
    forward.out = to_output_.args(ACL_FORMAT_NCDHW);
    backward.interpolation = forward.interpolation = mode.interpolation;
    backward.padding = forward.padding = mode.padding;
    backward.align_corners = forward.align_corners = mode.align_corners;
  }

  void Run(aclrtStream stream) {
    ASSERT_EQ(Execute(backward, stream), 0) << TakeMessage();
    ASSERT_EQ(Execute(forward, stream), 0) << TakeMessage();
    to_input_.Download();
    to_grid_.Download();
    to_output_.Download();
  }

  Tensor input_grad;
  Tensor grid_grad;
  Tensor output;
  GridCall backward;
  GridForwardCall forward;

 private:
  DeviceTensor grad_output_, input_, grid_, to_input_, to_grid_, to_output_;
};

TEST_F(Volumes, GridSamplerStaysWithinTheBoundInEveryModeTypeAndLayout) {
  Random random(73);
  for (const Element element : kElements) {
    for (const GridMode& mode : AllGridModes()) {
      const bool documented = element != Element::kBFloat16 && mode.interpolation != kBicubic;
      portaclSetProfile(documented ? "atlas-a2" : "open");
      for (const Layout layout : kOutputLayouts) {
        SCOPED_TRACE(std::string(NameOf(element)) + NameOf(mode) + NameOf(layout));
        GridCase c(element, 2, 3, {3, 4, 5}, {2, 3, 4}, layout);
        c.Fill(GridKind::kRandom, random);
        GridRun run(&c, mode, layout);
        run.Run(stream_);
        const GridGradients want = GridBackward(c.grad_output, c.input, c.grid, mode);
        EXPECT_TRUE(
            WithinTolerance(Operator::kGridSamplerBackward, run.input_grad, want.input_grad));
        EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, run.grid_grad, want.grid_grad));
        EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, run.output,
                                    GridForward(c.input, c.grid, mode)));
        EXPECT_TRUE(run.input_grad.GuardsIntact() && run.grid_grad.GuardsIntact() &&
                    run.output.GuardsIntact());
      }
    }
  }
}

// A dense copy of an (N, C, D, H, W) tensor with its axes as (N, D, H, W, C).
Tensor ChannelsLast(const Tensor& from) {
  const Shape& s = from.shape();
  const int64_t volume = s[2] * s[3] * s[4];
  return Tensor(from.element(), {s[0], s[2], s[3], s[4], s[1]}).Fill([&](int64_t i) {
    const int64_t n = i / (volume * s[1]);
    return from.Get((n * s[1] + i % s[1]) * volume + i / s[1] % volume);
  });
}

TEST_F(Volumes, FormatNdhwcIsReadAsItsAxesLie) {
  Random random(74);
  const GridMode mode;
  GridCase c(Element::kFloat, 2, 3, {3, 4, 5}, {2, 3, 4});
  c.Fill(GridKind::kRandom, random);
  GridRun want(&c, mode, Layout::kContiguous);
  want.Run(stream_);

  GridCase last = c;
  last.input = ChannelsLast(c.input);
  last.grad_output = ChannelsLast(c.grad_output);
  GridRun got(&last, mode, Layout::kContiguous);
  for (TensorArgs* tensor : {&got.backward.input, &got.backward.grad_output,
                             &got.backward.input_grad, &got.forward.input, &got.forward.out}) {
    tensor->format = ACL_FORMAT_NDHWC;
  }
  got.Run(stream_);
  EXPECT_TRUE(BitIdentical(got.input_grad, ChannelsLast(want.input_grad)));
  EXPECT_TRUE(BitIdentical(got.grid_grad, want.grid_grad));
  EXPECT_TRUE(BitIdentical(got.output, ChannelsLast(want.output)));
}

TEST_F(Volumes, TheNativeApiHasTheBitsOfTheAclnnApi) {
  Random random(75);
  GridCase c(Element::kFloat, 1, 5, {3, 4, 5}, {2, 3, 4});
  c.Fill(GridKind::kRandom, random);
  GridRun want(&c, {}, Layout::kContiguous);
  want.Run(stream_);
  Tensor input_grad(Element::kFloat, c.input.shape());
  Tensor grid_grad(Element::kFloat, c.grid.shape());
  ASSERT_TRUE(Succeeds(portacl::grid_sampler_3d_backward(
      View(c.grad_output), View(c.input), View(c.grid), View(input_grad), View(grid_grad))));
  EXPECT_TRUE(BitIdentical(input_grad, want.input_grad));
  EXPECT_TRUE(BitIdentical(grid_grad, want.grid_grad));
  Tensor output(Element::kFloat, c.grad_output.shape());
  ASSERT_TRUE(Succeeds(portacl::grid_sampler_3d(View(c.input), View(c.grid), View(output))));
  EXPECT_TRUE(BitIdentical(output, want.output));
}

// Nearest mode's gridGrad is 0 whatever the inputs hold: a run has no addresses of them.
TEST_F(Volumes, GridGradAloneInNearestModeOfSeveralVolumesIsZero) {
  Random random(76);
  for (const Element element : kElements) {
    for (const int64_t channels : {1, 3, 20}) {
      GridCase c(element, 3, channels, {3, 4, 5}, {2, 3, 4});
      c.Fill(GridKind::kRandom, random);
      Tensor grid_grad(element, c.grid.shape());
      ASSERT_TRUE(Succeeds(portacl::grid_sampler_3d_backward(
          View(c.grad_output), View(c.input), View(c.grid), portacl::Tensor(), View(grid_grad),
          portacl::Interpolation::kNearest)));
      EXPECT_THAT(grid_grad.Values(), testing::Each(0.0)) << NameOf(element) << channels;
    }
  }
}

TEST_F(Volumes, EmptyTensorsAreFine) {
  for (const auto& [n, c, points] : {std::tuple{0, 2, 3}, {1, 0, 3}, {1, 2, 0}}) {
    GridCase empty(Element::kFloat, n, c, {2, 3, 4}, {points, 2, 2});
    GridRun run(&empty, {}, Layout::kContiguous);
    run.Run(stream_);
    for (int64_t i = 0; i < run.input_grad.size(); ++i) ASSERT_EQ(run.input_grad.Get(i), 0);
    for (int64_t i = 0; i < run.grid_grad.size(); ++i) ASSERT_EQ(run.grid_grad.Get(i), 0);
  }
}

TEST_F(Volumes, GridSamplerBackwardRefusesEachRowWithItsCodeAndInOrder) {
  const DeviceMemory memory(1 << 16);
  auto* const bytes = static_cast<char*>(memory.get());
  GridCall good;
  good.volume = true;
  good.grad_output = {{1, 2, 4, 3, 5}, ACL_FLOAT, ACL_FORMAT_NCDHW, bytes};
  good.input = {{1, 2, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 8192};
  good.grid = {{1, 4, 3, 5, 3}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 16384};
  good.input_grad = {{1, 2, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 24576};
  good.grid_grad = {{1, 4, 3, 5, 3}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 32768};
  using Row = CheckRow<GridCall>;
  const std::vector<Row> rows = {
      {"Null", ACLNN_ERR_PARAM_NULLPTR, [](auto* c) { c->mask.reset(); }, {"outputMask is null"}},
      {"Dtype",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->input.dtype = ACL_BF16; },
       {"input has dtype BF16, but must be FLOAT, FLOAT16 or DOUBLE"}},
      {"DtypesDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->grid.dtype = ACL_DOUBLE; },
       {"must be equal"}},
      {"Rank",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->grid.shape = {1, 3, 5, 3};
       },
       {"must have rank 5"}},
      {"Format",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->input.format = ACL_FORMAT_NCHW; },
       {"input has format NCHW, but must be ND, NCDHW or NDHWC"}},
      {"Interpolation",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->interpolation = 2; },
       {"interpolationMode is 2", "profile open"}},
      {"Padding",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->padding = 3; },
       {"paddingMode is 3, but must be 0 (zeros), 1 (border) or 2 (reflection)"}},
      {"Mask",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->mask = {true, true, false};
       },
       {"outputMask has 3 elements"}},
      {"Points",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->grad_output.shape = {1, 2, 5, 3, 5};
       },
       {"gradOutput", "[1, 2, 4, 3, 5]"}},
      {"Xyz",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->grid.shape = {1, 4, 3, 5, 2};
       },
       {"its last extent must be 3 (x, y, z)"}},
      {"Like",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->input_grad.shape = {1, 2, 2, 3, 5};
       },
       {"inputGrad", "must be like input: [1, 2, 2, 3, 4]"}},
  };
  EXPECT_EQ(good.Plan().status, 0) << TakeMessage();
  ExpectEveryRowIsRefused(good, rows);
  ExpectRowsAreCheckedInOrder(good, rows);
}

// One tensor of format NDHWC may be both the volume and, with its axes as they lie, the points.
TEST_F(Volumes, OneHandleMayBeInputAndGrid) {
  const DeviceMemory memory(1 << 14);
  auto* const bytes = static_cast<char*>(memory.get());
  const TensorHandle both = TensorArgs{{1, 4, 4, 4, 3}, ACL_FLOAT, ACL_FORMAT_NDHWC, bytes}.Make();
  const TensorHandle grad_output =
      TensorArgs{{1, 3, 4, 4, 4}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 1024}.Make();
  const TensorHandle input_grad =
      TensorArgs{{1, 4, 4, 4, 3}, ACL_FLOAT, ACL_FORMAT_NDHWC, bytes + 2048}.Make();
  const bool mask[] = {true, true};
  const BoolArrayHandle masks(aclCreateBoolArray(mask, 2));
  const std::pair<Shape, aclnnStatus> rows[] = {{{1, 4, 4, 4, 3}, ACLNN_SUCCESS},
                                                {{1, 3, 4, 4, 4}, ACLNN_ERR_PARAM_INVALID}};
  for (const auto& [shape, status] : rows) {
    const TensorHandle grid_grad = TensorArgs{shape, ACL_FLOAT, ACL_FORMAT_ND, bytes + 3072}.Make();
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnGridSampler3DBackwardGetWorkspaceSize(grad_output.get(), both.get(), both.get(),
                                                         0, 0, false, masks.get(), input_grad.get(),
                                                         grid_grad.get(), &size, &executor),
              status)
        << TakeMessage();
    aclDestroyAclOpExecutor(executor);
  }
}

TEST_F(Volumes, AnyImplementationOfThisMachineCanBeForced) {
  Tensor input(Element::kFloat, {1, 2, 3, 4, 5});
  Tensor grid(Element::kFloat, {1, 2, 2, 2, 3});
  Tensor output(Element::kFloat, {1, 2, 2, 2, 2});
  const std::vector<std::string> impls = AvailableImpls();
  ASSERT_FALSE(impls.empty());
  for (const std::string& impl : impls) {
    portaclSetImpl(impl.c_str());
    EXPECT_TRUE(Succeeds(portacl::grid_sampler_3d(View(input), View(grid), View(output)))) << impl;
  }
  portaclSetImpl("sse9");
  EXPECT_FALSE(portacl::grid_sampler_3d(View(input), View(grid), View(output)).ok());
  portaclSetImpl(nullptr);
}

TEST_F(Volumes, GridSamplerRefusesEachRowWithItsCodeAndInOrder) {
  const DeviceMemory memory(1 << 14);
  auto* const bytes = static_cast<char*>(memory.get());
  GridForwardCall good;
  good.volume = true;
  good.input = {{1, 2, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, bytes};
  good.grid = {{1, 4, 3, 5, 3}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 4096};
  good.out = {{1, 2, 4, 3, 5}, ACL_FLOAT, ACL_FORMAT_NCDHW, bytes + 8192};
  using Row = CheckRow<GridForwardCall>;
  const std::vector<Row> rows = {
      {"Null", ACLNN_ERR_PARAM_NULLPTR, [](auto* c) { c->out.null = true; }, {"out is null"}},
      {"Dtype",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->grid.dtype = ACL_BF16; },
       {"grid has dtype BF16"}},
      {"Rank",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->input.shape = {1, 2, 3, 4};
       },
       {"input", "must have rank 5"}},
      {"Format",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->out.format = ACL_FORMAT_NHWC; },
       {"out has format NHWC, but must be ND, NCDHW or NDHWC"}},
      {"Interpolation",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->interpolation = 2; },
       {"interpolationMode is 2", "profile open"}},
      {"Padding", ACLNN_ERR_PARAM_INVALID, [](auto* c) { c->padding = -1; }, {"paddingMode is -1"}},
      {"Out",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->out.shape = {1, 2, 4, 5, 3};
       },
       {"out has shape [1, 2, 4, 5, 3]", "[1, 2, 4, 3, 5]"}},
  };
  EXPECT_EQ(good.Plan().status, 0) << TakeMessage();
  ExpectEveryRowIsRefused(good, rows);
  ExpectRowsAreCheckedInOrder(good, rows);
}

TEST_F(Volumes, NearestRefusesEachRowWithItsCodeAndInOrder) {
  const DeviceMemory memory(1 << 14);
  auto* const bytes = static_cast<char*>(memory.get());
  const NearestForwardCall good =
      NearestForwardCall::For({{1, 2, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_NCDHW, bytes},
                              {{1, 2, 4, 3, 5}, ACL_FLOAT, ACL_FORMAT_NCDHW, bytes + 4096});
  using Row = CheckRow<NearestForwardCall>;
  const std::vector<Row> rows = {
      {"Null", ACLNN_ERR_PARAM_NULLPTR, [](auto* c) { c->self.null = true; }, {"self is null"}},
      {"Dtype",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->self.dtype = ACL_DOUBLE; },
       {"self has dtype DOUBLE"}},
      {"Rank",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->out.shape = {1, 2, 3, 5};
       },
       {"must have rank 5"}},
      {"Format",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->self.format = ACL_FORMAT_NHWC; },
       {"self has format NHWC, but must be NCDHW or ND"}},
      {"Size",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->output_size = Shape{4, 3};
       },
       {"outputSize has 2 elements, but must have 3"}},
      {"Scale", ACLNN_ERR_PARAM_INVALID, [](auto* c) { c->scales[0] = kNaN; }, {"scalesD is nan"}},
      {"Out",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->out.shape = {1, 2, 4, 3, 6};
       },
       {"out has shape [1, 2, 4, 3, 6]"}},
  };
  EXPECT_EQ(good.Plan().status, 0) << TakeMessage();
  ExpectEveryRowIsRefused(good, rows);
  ExpectRowsAreCheckedInOrder(good, rows);
}

}  // namespace
}  // namespace portacl_test
