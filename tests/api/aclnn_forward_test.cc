// The forward operators through their C API: results, and every row of their tables of checks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <limits>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/float_state.h"
#include "support/api/forward_call.h"
#include "support/api/nearest_oracle.h"
#include "support/api/shared_rows.h"

namespace portacl_test {
namespace {

class AclnnForward : public AclTest {};

// ---- nearest-exact -----------------------------------------------------------------------------

TEST_F(AclnnForward, NearestHasTheContractsBitsInEveryLayout) {
  struct Case {
    Shape in, out;
    std::vector<double> scales;
  };
  Random random(61);
  for (const Case& c :
       {Case{{2, 3, 4, 5}, {2, 3, 8, 10}, {}}, Case{{1, 2, 5, 3}, {1, 2, 7, 11}, {}},
        Case{{1, 3, 9, 17}, {1, 3, 4, 5}, {}}, Case{{2, 1, 6, 5}, {2, 1, 15, 8}, {2.5, 0}},
        Case{{2, 3, 7}, {2, 3, 31}, {}}, Case{{0, 3, 4, 5}, {0, 3, 8, 10}, {}}}) {
    for (const Element element : kNearestElements) {
      for (const Layout from : kInputLayouts) {
        for (const Layout to : kOutputLayouts) {
          SCOPED_TRACE(ToString(c.in) + ToString(c.out) + NameOf(element) + NameOf(from) +
                       NameOf(to));
          Tensor self(element, c.in, from);
          self.FillUniform(random, -1, 1);
          Tensor out(element, c.out, to);
          const DeviceTensor source(&self);
          DeviceTensor target(&out);
          ASSERT_EQ(
              Execute(NearestForwardCall::For(source.args(), target.args(), c.scales), stream_), 0)
              << TakeMessage();
          target.Download();
          EXPECT_TRUE(BitIdentical(out, NearestForward(self, c.out, c.scales)));
          EXPECT_TRUE(out.GuardsIntact());
        }
      }
    }
  }
}

// The documented rule in float, which is also the gradient's. It counts even if PyTorch's CPU
// forward function rounds the index differently.
TEST_F(AclnnForward, EverySizePairFollowsTheIndexRuleInFloat) {
  const int64_t largest = ByRunLength(96, 24);
  for (int64_t in = 1; in <= largest; ++in) {
    Tensor self(Element::kFloat, {1, 1, in});
    self.Fill([](int64_t i) { return static_cast<double>(i); });
    const DeviceTensor source(&self);
    for (int64_t extent = 1; extent <= largest; ++extent) {
      Tensor out(Element::kFloat, {1, 1, extent});
      DeviceTensor target(&out);
      ASSERT_EQ(Execute(NearestForwardCall::For(source.args(), target.args()), stream_), 0);
      target.Download();
      const float ratio = static_cast<float>(in) / static_cast<float>(extent);
      for (int64_t o = 0; o < extent; ++o) {
        const float index = std::floor((static_cast<float>(o) + 0.5f) * ratio);
        ASSERT_EQ(out.Get(o), std::min(static_cast<double>(index), static_cast<double>(in - 1)))
            << in << " -> " << extent << " at " << o;
      }
    }
  }
}

TEST_F(AclnnForward, NearestReadsFormatNhwcAsItsAxesLie) {
  Tensor self(Element::kFloat, {2, 4, 5, 3});
  self.Fill([](int64_t i) { return static_cast<double>(i); });
  Tensor out(Element::kFloat, {2, 8, 7, 3});
  const DeviceTensor source(&self);
  DeviceTensor target(&out);
  NearestForwardCall call =
      NearestForwardCall::For(source.args(ACL_FORMAT_NHWC), target.args(ACL_FORMAT_NHWC));
  call.output_size = Shape{8, 7};
  ASSERT_EQ(Execute(call, stream_), 0) << TakeMessage();
  target.Download();
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t c = i % 3;
    const int64_t w = NearestSource(i / 3 % 7, 5, 7, 0);
    const int64_t h = NearestSource(i / 21 % 8, 4, 8, 0);
    ASSERT_EQ(out.Get(i), self.Get(((i / 168 * 4 + h) * 5 + w) * 3 + c)) << i;
  }
}

TEST_F(AclnnForward, NearestRefusesEachRowWithItsCodeAndInOrder) {
  const DeviceMemory memory(8192);
  NearestForwardCall good;
  good.self = {{2, 3, 4, 5}, ACL_FLOAT, ACL_FORMAT_NCHW, memory.get()};
  good.out = {{2, 3, 8, 9}, ACL_FLOAT, ACL_FORMAT_NCHW, static_cast<char*>(memory.get()) + 4096};
  good.output_size = Shape{8, 9};
  good.scales = {0, 0};
  using Row = CheckRow<NearestForwardCall>;
  std::vector<Row> rows = {NullRow("self", &NearestForwardCall::self),
                           NullRow("outputSize", &NearestForwardCall::output_size),
                           NullRow("out", &NearestForwardCall::out),
                           NullRow("workspaceSize", &NearestForwardCall::null_workspace_size),
                           NullRow("executor", &NearestForwardCall::null_executor)};
  AddTensorRows<NearestForwardCall>(
      {{"self", &NearestForwardCall::self}, {"out", &NearestForwardCall::out}},
      {"DtypesDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->out.dtype = ACL_FLOAT16; },
       {"must be equal"}},
      &rows);
  const std::vector<Row> own = {
      {"Format",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->self.format = ACL_FORMAT_NC1HWC0; },
       {"self has format NC1HWC0"}},
      {"FormatsDiffer",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->out.format = ACL_FORMAT_ND; },
       {"must be equal"}},
      {"SizeLength",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->output_size = Shape{8}; },
       {"has 1 elements"}},
      {"Size",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->output_size = Shape{8, 0};
       },
       {"outputSize[1] is 0"}},
      {"Scale", ACLNN_ERR_PARAM_INVALID, [](auto* c) { c->scales[1] = kNaN; }, {"scalesW is nan"}},
      {"Shape",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->out.shape = {2, 3, 8, 8};
       },
       {"out has shape [2, 3, 8, 8]", "[2, 3, 8, 9]"}},
      {"NullData",
       ACLNN_ERR_PARAM_NULLPTR,
       [](auto* c) { c->self.data = nullptr; },
       {"data address null"}},
  };
  rows.insert(rows.end(), own.begin(), own.end());
  EXPECT_EQ(good.Plan().status, 0) << TakeMessage();
  ExpectEveryRowIsRefused(good, rows);
  {
    const FloatState state(FE_UPWARD, true, true);  // of the caller: the checks do not see it
    ExpectEveryRowIsRefused(good, rows);
  }
  ExpectRowsAreCheckedInOrder(good, rows);
  portaclSetProfile("atlas-training");
  ExpectRefused(good, ACLNN_ERR_PARAM_INVALID,
                {"the profile atlas-training does not have this operator"});
}

// An expanded tensor may say any extent; its table of indices does not fit in any memory.
TEST_F(AclnnForward, ATableBeyondAllMemoryIsAFailedAllocation) {
  const DeviceMemory from(4);
  const DeviceMemory to(8 * 4);
  TensorArgs self{{1, 1, int64_t{1} << 62}, ACL_FLOAT, ACL_FORMAT_ND, from.get(), Shape{0, 0, 0}};
  self.storage = Shape{1};
  const TensorArgs out{{1, 1, 8}, ACL_FLOAT, ACL_FORMAT_ND, to.get()};
  EXPECT_EQ(NearestForwardCall::For(self, out).Plan().status, ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("out of memory"));
}

// ---- grid sampler ------------------------------------------------------------------------------

TEST_F(AclnnForward, GridSamplerStaysWithinTheBoundInEveryModeProfileAndLayout) {
  Random random(62);
  for (const char* profile : {"atlas-a2", "atlas-a3", "open"}) {
    portaclSetProfile(profile);
    for (const Element element : kElements) {
      for (const GridMode& mode : AllGridModes()) {
        for (const Layout layout : kOutputLayouts) {
          SCOPED_TRACE(std::string(profile) + NameOf(element) + NameOf(mode) + NameOf(layout));
          Tensor input(element, {2, 3, 5, 6}, layout);
          Tensor grid(element, {2, 4, 7, 2}, layout);
          input.FillUniform(random, -1, 1);
          grid.FillUniform(random, -1.3, 1.3);
          Tensor out(element, {2, 3, 4, 7}, layout);
          const DeviceTensor image(&input);
          const DeviceTensor points(&grid);
          DeviceTensor target(&out);
          GridForwardCall call;
          call.input = image.args();
          call.grid = points.args(ACL_FORMAT_NCHW);  // as torch_npu gives a grid's format
          call.out = target.args();
          call.interpolation = mode.interpolation;
          call.padding = mode.padding;
          call.align_corners = mode.align_corners;
          ASSERT_EQ(Execute(call, stream_), 0) << TakeMessage();
          target.Download();
          EXPECT_TRUE(WithinTolerance(Operator::kGridSampler, out, GridForward(input, grid, mode)));
          EXPECT_TRUE(out.GuardsIntact());
        }
      }
    }
  }
}

TEST_F(AclnnForward, GridSamplerRefusesEachRowWithItsCodeAndInOrder) {
  const DeviceMemory memory(8192);
  auto* const bytes = static_cast<char*>(memory.get());
  GridForwardCall good;
  good.input = {{2, 3, 4, 5}, ACL_FLOAT, ACL_FORMAT_ND, bytes};
  good.grid = {{2, 6, 7, 2}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 2048};
  good.out = {{2, 3, 6, 7}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 4096};
  using Row = CheckRow<GridForwardCall>;
  std::vector<Row> rows = {NullRow("input", &GridForwardCall::input),
                           NullRow("grid", &GridForwardCall::grid),
                           NullRow("out", &GridForwardCall::out),
                           NullRow("workspaceSize", &GridForwardCall::null_workspace_size),
                           NullRow("executor", &GridForwardCall::null_executor)};
  AddTensorRows<GridForwardCall>({{"input", &GridForwardCall::input},
                                  {"grid", &GridForwardCall::grid},
                                  {"out", &GridForwardCall::out}},
                                 {"DtypesDiffer",
                                  ACLNN_ERR_PARAM_INVALID,
                                  [](auto* c) { c->out.dtype = ACL_FLOAT16; },
                                  {"must be equal"}},
                                 &rows);
  const std::vector<Row> own = {
      {"Format",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->input.format = ACL_FORMAT_NHWC; },
       {"input has format NHWC"}},
      {"Interpolation",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) { c->interpolation = 3; },
       {"interpolationMode is 3"}},
      {"Padding", ACLNN_ERR_PARAM_INVALID, [](auto* c) { c->padding = -1; }, {"paddingMode is -1"}},
      {"Batch",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->grid.shape = {1, 6, 7, 2};
       },
       {"asks for N = 2"}},
      {"Out",
       ACLNN_ERR_PARAM_INVALID,
       [](auto* c) {
         c->out.shape = {2, 3, 7, 6};
       },
       {"[2, 3, 6, 7]"}},
      {"NullData",
       ACLNN_ERR_PARAM_NULLPTR,
       [](auto* c) { c->grid.data = nullptr; },
       {"data address null"}},
  };
  rows.insert(rows.end(), own.begin(), own.end());
  EXPECT_EQ(good.Plan().status, 0) << TakeMessage();
  ExpectEveryRowIsRefused(good, rows);
  ExpectRowsAreCheckedInOrder(good, rows);
}

}  // namespace
}  // namespace portacl_test
