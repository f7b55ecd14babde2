// The grid sampler's gradients through the C API: results, masks, empty tensors, and every row of
// the table of checks, alone and in pairs.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/api/shared_rows.h"

namespace portacl_test {
namespace {

// A case in device memory, with both outputs.
class DeviceCase {
 public:
  DeviceCase(GridCase* c, const GridMode& mode, Layout layout = Layout::kContiguous)
      : input_grad(c->input.element(), c->input.shape(), layout),
        grid_grad(c->grid.element(), c->grid.shape(), layout),
        grad_output_(&c->grad_output),
        input_(&c->input),
        grid_(&c->grid),
        input_grad_(&input_grad),
        grid_grad_(&grid_grad) {
    call.grad_output = grad_output_.args();
    call.input = input_.args();
    call.grid = grid_.args();
    call.input_grad = input_grad_.args();
    call.grid_grad = grid_grad_.args();
    call.interpolation = mode.interpolation;
    call.padding = mode.padding;
    call.align_corners = mode.align_corners;
  }
  // Runs and fetches the outputs.
  aclnnStatus Run(aclrtStream stream) {
    const aclnnStatus status = Execute(call, stream);
    input_grad_.Download();
    grid_grad_.Download();
    return status;
  }

  Tensor input_grad;
  Tensor grid_grad;
  GridCall call;

 private:
  DeviceTensor grad_output_;
  DeviceTensor input_;
  DeviceTensor grid_;
  DeviceTensor input_grad_;
  DeviceTensor grid_grad_;
};

// ---- results -----------------------------------------------------------------------------------

class AclnnGridSampler : public AclTestOn<testing::TestWithParam<std::tuple<GridMode, Element>>> {
 protected:
  void SetUp() override {
    AclTestOn::SetUp();
    const bool extended = mode_.interpolation == kBicubic || mode_.padding == kReflection;
    if (extended) portaclSetProfile("open");
  }
  void Check(GridCase* c, Layout layout = Layout::kContiguous) {
    DeviceCase device(c, mode_, layout);
    ASSERT_EQ(device.Run(stream_), 0) << TakeMessage();
    const GridGradients want = GridBackward(c->grad_output, c->input, c->grid, mode_);
    EXPECT_TRUE(
        WithinTolerance(Operator::kGridSamplerBackward, device.input_grad, want.input_grad));
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, device.grid_grad, want.grid_grad));
    EXPECT_TRUE(device.input_grad.GuardsIntact());
    EXPECT_TRUE(device.grid_grad.GuardsIntact());
  }
  const GridMode mode_ = std::get<0>(GetParam());
  const Element element_ = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(, AclnnGridSampler,
                         testing::Combine(testing::ValuesIn(AllGridModes()),
                                          testing::ValuesIn(kElements)),
                         [](const auto& param) {
                           return NameOf(std::get<0>(param.param)) +
                                  NameOf(std::get<1>(param.param));
                         });

TEST_P(AclnnGridSampler, StaysWithinTheBoundOnEveryLayout) {
  Random random(51);
  for (const Layout layout : kInputLayouts) {
    SCOPED_TRACE(NameOf(layout));
    GridCase c(element_, 2, 17, 5, 6, 4, 7, layout);
    c.Fill(GridKind::kRandom, random);
    Check(&c, layout == Layout::kExpanded ? Layout::kContiguous : layout);
  }
}

TEST_P(AclnnGridSampler, StaysWithinTheBoundOnEveryGridKind) {
  Random random(52);
  for (const GridKind kind : {GridKind::kRandom, GridKind::kSmooth, GridKind::kOneCell}) {
    for (const int64_t channels : {1, 4, 32}) {
      GridCase c(element_, 1, channels, 9, 12, 10, 13);
      c.Fill(kind, random);
      Check(&c);
    }
  }
}

TEST_P(AclnnGridSampler, StrangeCoordinatesFollowTheContract) {
  const std::vector<double> values = StrangeCoordinates(element_);
  const auto count = static_cast<int64_t>(values.size());
  Random random(53);
  for (const int64_t channels : {1, 3, 20}) {
    GridCase c(element_, 1, channels, 4, 5, count, count);
    c.Fill(GridKind::kRandom, random);
    c.grid.Fill([&](int64_t i) {
      return values[static_cast<size_t>(i % 2 == 0 ? i / 2 % count : i / 2 / count)];
    });
    Check(&c);
  }
}

TEST_P(AclnnGridSampler, AnOutputThatIsNotSelectedKeepsItsBytes) {
  Random random(54);
  GridCase c(element_, 1, 3, 5, 4, 6, 3);
  c.Fill(GridKind::kRandom, random);
  DeviceCase both(&c, mode_);
  ASSERT_EQ(both.Run(stream_), 0) << TakeMessage();
  for (const bool want_input : {false, true}) {
    for (const bool want_grid : {false, true}) {
      DeviceCase device(&c, mode_);
      const Tensor input_before = device.input_grad;
      const Tensor grid_before = device.grid_grad;
      device.call.mask = {{want_input, want_grid}};
      ASSERT_EQ(device.Run(stream_), 0) << TakeMessage();
      EXPECT_TRUE(BitIdentical(device.input_grad, want_input ? both.input_grad : input_before));
      EXPECT_TRUE(BitIdentical(device.grid_grad, want_grid ? both.grid_grad : grid_before));
    }
  }
}

TEST_P(AclnnGridSampler, WithoutPointsOrChannelsTheSelectedOutputsAreZero) {
  struct Extents {
    int64_t n, c, oh, ow;
  };
  for (const Extents& e : {Extents{0, 2, 3, 4}, Extents{2, 0, 3, 4}, Extents{2, 2, 0, 4},
                           Extents{2, 2, 3, 0}, Extents{0, 0, 0, 0}}) {
    SCOPED_TRACE(ToString({e.n, e.c, e.oh, e.ow}));
    GridCase c(element_, e.n, e.c, 4, 5, e.oh, e.ow);
    c.grid.Fill(0.25);
    DeviceCase device(&c, mode_);
    ASSERT_EQ(device.Run(stream_), 0) << TakeMessage();
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("warning"));
    EXPECT_THAT(device.input_grad.Values(), testing::Each(0.0));
    EXPECT_THAT(device.grid_grad.Values(), testing::Each(0.0));
    EXPECT_TRUE(device.input_grad.GuardsIntact());
    EXPECT_TRUE(device.grid_grad.GuardsIntact());
  }
}

// ---- switches ----------------------------------------------------------------------------------

class AclnnGridSamplerOnce : public AclTest {
 protected:
  AclnnGridSamplerOnce() : case_(Element::kFloat, 1, 2, 3, 4, 5, 6) {
    Random random(55);
    case_.Fill(GridKind::kRandom, random);
  }
  GridCase case_;
};

TEST_F(AclnnGridSamplerOnce, BothMasksFalseIsASuccessWithoutWork) {
  DeviceCase device(&case_, {});
  device.call.mask = {{false, false}};
  const Planned planned = device.call.Plan();
  ASSERT_EQ(planned.status, 0) << TakeMessage();
  EXPECT_EQ(planned.workspace_size, 0u);
  EXPECT_EQ(device.call.Run(nullptr, 0, planned.executor, stream_), 0);
}

TEST_F(AclnnGridSamplerOnce, FormatNchwAndEmptyTensorsWarnAndAreRefusedWhenStrict) {
  DeviceCase device(&case_, {});
  const GridCall good = device.call;
  GridCase empty(Element::kFloat, 1, 2, 3, 4, 0, 6);
  DeviceCase empty_device(&empty, {});
  GridCall nchw = good;
  nchw.grid.format = ACL_FORMAT_NCHW;
  const std::vector<std::pair<GridCall, std::string>> warned = {{nchw, "NCHW"},
                                                                {empty_device.call, "empty"}};
  for (const auto& [call, part] : warned) {
    portaclSetStrict(0);
    EXPECT_EQ(Execute(call, stream_), 0);
    const std::string message = TakeMessage();
    EXPECT_THAT(message, testing::AllOf(testing::HasSubstr("warning"), testing::HasSubstr(part),
                                        testing::HasSubstr(call.op())));
    portaclSetStrict(1);
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {part, "PORTACL_STRICT"});
  }
  EXPECT_EQ(Execute(good, stream_), 0) << "strict refuses nothing else: " << TakeMessage();
}

TEST_F(AclnnGridSamplerOnce, EachProfileHasItsModesAndDtypes) {
  struct Expectation {
    const char* profile;
    bool all_dtypes;
    bool all_modes;
  };
  for (const Expectation& e :
       {Expectation{"atlas-a2", true, false}, Expectation{"atlas-a3", true, false},
        Expectation{"atlas-training", false, false}, Expectation{"open", true, true}}) {
    SCOPED_TRACE(e.profile);
    ASSERT_EQ(portaclSetProfile(e.profile), 0);
    for (const Element element : kElements) {
      GridCase c(element, 1, 1, 2, 2, 2, 2);
      c.grid.Fill(0.25);
      DeviceCase device(&c, {});
      const bool has = e.all_dtypes || element == Element::kFloat || element == Element::kFloat16;
      if (has) {
        EXPECT_EQ(device.Run(stream_), 0) << TakeMessage();
      } else {
        ExpectRefused(device.call, ACLNN_ERR_PARAM_INVALID, {"gradOutput", NameOf(element)});
      }
    }
    for (const GridMode& mode : AllGridModes()) {
      DeviceCase device(&case_, mode);
      const bool has =
          e.all_modes || (mode.interpolation != kBicubic && mode.padding != kReflection);
      if (has) {
        EXPECT_EQ(device.Run(stream_), 0) << NameOf(mode) << TakeMessage();
      } else {
        ExpectRefused(
            device.call, ACLNN_ERR_PARAM_INVALID,
            {mode.interpolation == kBicubic ? "interpolationMode is 2" : "paddingMode is 2"});
      }
    }
  }
}

TEST_F(AclnnGridSamplerOnce, InputsThatAModeDoesNotReadMayHoldAnything) {
  // Nearest: gridGrad is 0 whatever the inputs hold.
  case_.grad_output.Fill(std::nan(""));
  case_.input.Fill(std::nan(""));
  DeviceCase device(&case_, {kNearest, kZeros, false});
  ASSERT_EQ(device.Run(stream_), 0);
  EXPECT_THAT(device.grid_grad.Values(), testing::Each(0.0));
}

// ---- the table of checks -----------------------------------------------------------------------

using GridRow = CheckRow<GridCall>;

std::vector<GridRow> GridRows() {
  std::vector<GridRow> rows = {NullRow("gradOutput", &GridCall::grad_output),
                               NullRow("input", &GridCall::input),
                               NullRow("grid", &GridCall::grid),
                               NullRow("outputMask", &GridCall::mask),
                               NullRow("inputGrad", &GridCall::input_grad),
                               NullRow("gridGrad", &GridCall::grid_grad),
                               NullRow("workspaceSize", &GridCall::null_workspace_size),
                               NullRow("executor", &GridCall::null_executor)};
  AddTensorRows<GridCall>({{"gradOutput", &GridCall::grad_output},
                           {"input", &GridCall::input},
                           {"grid", &GridCall::grid},
                           {"inputGrad", &GridCall::input_grad},
                           {"gridGrad", &GridCall::grid_grad}},
                          {"DtypesDiffer",
                           ACLNN_ERR_PARAM_INVALID,
                           [](GridCall* c) { c->grid_grad.dtype = ACL_FLOAT16; },
                           {"gridGrad", "FLOAT16", "input", "FLOAT", "equal"}},
                          &rows);
  const std::vector<GridRow> own = {
      {"GradOutputFormat",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grad_output.format = ACL_FORMAT_NHWC; },
       {"gradOutput", "NHWC", "ND or NCHW"}},
      {"gridGrad format",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grid_grad.format = static_cast<aclFormat>(77); },
       {"gridGrad", "77", "ND or NCHW"}},
      {"InterpolationMode",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->interpolation = 2; },
       {"interpolationMode is 2", "bilinear", "nearest"}},
      {"PaddingMode",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->padding = -1; },
       {"paddingMode is -1", "zeros", "border"}},
      {"MaskLength",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->mask = std::vector<bool>{true}; },
       {"outputMask", "1", "2"}},
      {"BatchOfGrid",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grid.shape[0] = c->grid_grad.shape[0] = 2; },
       {"grid", "[2, 5, 6, 2]", "input", "[1, 2, 3, 4]", "N = 1"}},
      {"BatchOfGradOutput",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grad_output.shape[0] = 2; },
       {"gradOutput", "[2, 2, 5, 6]", "[1, 2, 5, 6]"}},
      {"Channels",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grad_output.shape[1] = 3; },
       {"gradOutput", "[1, 3, 5, 6]", "[1, 2, 5, 6]"}},
      {"RowsOfPoints",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grad_output.shape[2] = 4; },
       {"gradOutput", "[1, 2, 4, 6]", "[1, 2, 5, 6]"}},
      {"ColumnsOfPoints",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grad_output.shape[3] = 7; },
       {"gradOutput", "[1, 2, 5, 7]", "[1, 2, 5, 6]"}},
      {"InputHeight",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->input.shape[2] = c->input_grad.shape[2] = 0; },
       {"input", "[1, 2, 0, 4]", "at least 1"}},
      {"InputWidth",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->input.shape[3] = c->input_grad.shape[3] = 0; },
       {"input", "[1, 2, 3, 0]", "at least 1"}},
      {"GridExtent",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grid.shape[3] = c->grid_grad.shape[3] = 3; },
       {"grid", "[1, 5, 6, 3]", "2"}},
      {"inputGrad shape",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->input_grad.shape[1] = 1; },
       {"inputGrad", "[1, 1, 3, 4]", "input", "[1, 2, 3, 4]"}},
      {"gridGrad shape",
       ACLNN_ERR_PARAM_INVALID,
       [](GridCall* c) { c->grid_grad.shape[1] = 1; },
       {"gridGrad", "[1, 1, 6, 2]", "grid", "[1, 5, 6, 2]"}},
  };
  rows.insert(rows.end(), own.begin(), own.end());
  return rows;
}

TEST_F(AclnnGridSamplerOnce, EveryRowIsRefusedWithItsCodeAndAMessage) {
  DeviceCase device(&case_, {});
  ExpectEveryRowIsRefused(device.call, GridRows());
}

TEST_F(AclnnGridSamplerOnce, OfTwoBrokenRowsTheEarlierIsReported) {
  DeviceCase device(&case_, {});
  ExpectRowsAreCheckedInOrder(device.call, GridRows());
}

TEST_F(AclnnGridSamplerOnce, OutputsAreCheckedForDtypeAndShapeAlsoWhereTheMaskLeavesThemOut) {
  DeviceCase device(&case_, {});
  for (const GridRow& row : GridRows()) {
    const bool about_outputs = row.name.rfind("inputGrad", 0) == 0 ||
                               row.name.rfind("gridGrad", 0) == 0 || row.name == "DtypesDiffer";
    if (!about_outputs) continue;
    SCOPED_TRACE(row.name);
    GridCall call = device.call;
    call.mask = {{false, false}};
    row.spoil(&call);
    ExpectRefused(call, row.code, row.parts);
  }
  // Neither its address nor its strides matter.
  GridCall call = device.call;
  call.mask = {{true, false}};
  call.grid_grad.data = nullptr;
  call.grid_grad.strides = Shape{0, 0, 0, 0};
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
  call = device.call;
  call.mask = {{false, true}};
  call.input_grad.data = call.input.data;
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
}

TEST_F(AclnnGridSamplerOnce, ARefusedCallWritesToNoTensor) {
  for (const GridRow& row : GridRows()) {
    DeviceCase device(&case_, {});
    const Tensor input_before = device.input_grad;
    const Tensor grid_before = device.grid_grad;
    row.spoil(&device.call);
    EXPECT_NE(device.Run(stream_), 0);
    EXPECT_EQ(device.input_grad.bytes(), input_before.bytes()) << row.name;
    EXPECT_EQ(device.grid_grad.bytes(), grid_before.bytes()) << row.name;
  }
}

TEST_F(AclnnGridSamplerOnce, MessagesReadLikeTheExampleOfTheContract) {
  GridCase c(Element::kFloat, 2, 3, 4, 4, 8, 9);
  c.grid.Fill(0.0);
  DeviceCase device(&c, {});
  device.call.grad_output.shape = {2, 3, 8, 8};
  device.call.Plan();
  EXPECT_THAT(
      TakeMessage(),
      testing::AllOf(testing::StartsWith("aclnnGridSampler2DBackward: gradOutput has shape "
                                         "[2, 3, 8, 8], but "),
                     testing::HasSubstr("grid [2, 8, 9, 2]"), testing::HasSubstr("[2, 3, 8, 9]")));
}

}  // namespace
}  // namespace portacl_test
