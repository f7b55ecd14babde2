// A call that equals an earlier small call reuses its plan with new addresses. This must not change
// results, refusals or warnings, even after a change of settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "portacl/portacl.h"
#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/forward_call.h"
#include "support/api/nearest_oracle.h"
#include "support/api/pick.h"
#include "support/api/random.h"
#include "support/api/resize_call.h"

namespace portacl_test {
namespace {

// A small gradient in device memory of its own.
struct Gradient {
  Gradient(const Shape& from, const Shape& to, Layout layout = Layout::kContiguous)
      : grad_output(Element::kFloat, from, layout),
        grad_input(Element::kFloat, to),
        to_device(&grad_output),
        result(&grad_input) {}

  NearestCall Call() { return NearestCall::For(to_device.args(), result.args()); }
  bool IsRight(const std::vector<double>& scales = {}) {
    result.Download();
    return static_cast<bool>(
        BitIdentical(grad_input, NearestBackward(grad_output, grad_input.shape(), scales)));
  }
  void Fill(Random& random) {
    grad_output.FillUniform(random, -1, 1);
    to_device.Upload();
  }

  Tensor grad_output;
  Tensor grad_input;
  DeviceTensor to_device;
  DeviceTensor result;
};

class RecentPlans : public AclTest {
 protected:
  // Such a call is kept from here on.
  static NearestCall Kept(Gradient* gradient, aclrtStream stream) {
    const NearestCall call = gradient->Call();
    for (int time = 0; time < 2; ++time) {
      EXPECT_EQ(Execute(call, stream), 0) << TakeMessage();
      EXPECT_TRUE(gradient->IsRight());
    }
    return call;
  }
};

// Each argument has few values: most calls come again, and most differ from others in one argument.
// Memory and threads vary, so that addresses and moments differ, too.
void RunRandomCalls(uint64_t seed, aclrtStream stream) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int64_t i = 0; i < ByRunLength(1500, 200); ++i) {
    const Shape from{1, random.Integer(2, 3), random.Integer(4, 5), random.Integer(4, 5)};
    const Shape to{1, from[1], random.Integer(2, 3), 3};
    constexpr Layout kLayouts[] = {Layout::kContiguous, Layout::kOffset, Layout::kTransposed};
    Gradient gradient(from, to, PickOf(random, kLayouts));
    gradient.Fill(random);
    NearestCall call = gradient.Call();
    if (random.Coin()) call.scales[0] = 1.5;
    ASSERT_EQ(Execute(call, stream), 0) << TakeMessage();
    ASSERT_TRUE(gradient.IsRight(call.scales)) << "call " << i;
  }
}

TEST_F(RecentPlans, EachOfManyCallsThatDifferALittleHasItsOwnResult) {
  RunRandomCalls(FreshSeed(), stream_);
}

// The result of a call that may take a kept plan, and of a call that takes none: with a forced
// implementation each call is planned anew.
template <class Call>
void ExpectOwnResult(const Call& call, Tensor* to, DeviceTensor* written, aclrtStream stream) {
  ASSERT_EQ(Execute(call, stream), 0) << TakeMessage();
  written->Download();
  const Tensor got = to->Dense();
  ASSERT_EQ(portaclSetImpl("ref"), 0);
  const aclnnStatus again = Execute(call, stream);
  ASSERT_EQ(portaclSetImpl(""), 0);
  ASSERT_EQ(again, 0) << TakeMessage();
  written->Download();
  ASSERT_TRUE(BitIdentical(got, to->Dense()));
}

constexpr Element kElements[] = {Element::kFloat, Element::kFloat16, Element::kBFloat16,
                                 Element::kDouble};

// (1, 1 or 2, few values for each other extent).
Shape RandomShape(Random& random, size_t spatial) {
  Shape shape{1, random.Integer(1, 2)};
  for (size_t axis = 0; axis < spatial; ++axis) shape.push_back(random.Integer(3, 4));
  return shape;
}

void RunRandomResizing(Random& random, aclrtStream stream) {
  const ResizeFunction& f = PickOf(random, kResizeFunctions);
  const Element element = PickOf(random, kElements);
  const Shape shape = RandomShape(random, f.spatial);
  Shape other = RandomShape(random, f.spatial);
  other[1] = shape[1];
  Tensor from(element, shape, random.Coin() ? Layout::kContiguous : Layout::kTransposed);
  Tensor to(element, other);
  from.FillUniform(random, -1, 1);
  const DeviceTensor read(&from);
  DeviceTensor written(&to);
  constexpr aclFormat kFormats[] = {ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
  const aclFormat format = kFormats[f.spatial - 1];
  ResizeCall call = ResizeCall::For(f, read.args(format), written.args(format));
  call.align_corners = random.Coin();
  if (random.Coin()) call.scales[0] = 1.25;
  SCOPED_TRACE(testing::Message() << f.name << " " << element);
  ExpectOwnResult(call, &to, &written, stream);
}

void RunRandomSampling(Random& random, aclrtStream stream) {
  const Element element = PickOf(random, kElements);
  Tensor input(element, RandomShape(random, 2));
  Tensor grid(element, {1, random.Integer(2, 3), 3, 2});
  Tensor out(element, {1, input.shape()[1], grid.shape()[1], 3});
  input.FillUniform(random, -1, 1);
  grid.FillUniform(random, -1.2, 1.2);
  const DeviceTensor image(&input), points(&grid);
  DeviceTensor written(&out);
  const GridForwardCall call{.input = image.args(),
                             .grid = points.args(),
                             .interpolation = random.Integer(0, 2),
                             .padding = random.Integer(0, 2),
                             .align_corners = random.Coin(),
                             .out = written.args()};
  SCOPED_TRACE(testing::Message() << "grid sampler " << element);
  ExpectOwnResult(call, &out, &written, stream);
}

TEST_F(RecentPlans, CallsOfAllFunctionsAndTypesHaveTheirOwnResults) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  ASSERT_EQ(portaclSetProfile("open"), 0);  // all types
  for (int64_t i = 0; i < ByRunLength(4000, 300); ++i) {
    SCOPED_TRACE("call " + std::to_string(i));
    if (random.Integer(0, 3) == 0) {
      RunRandomSampling(random, stream_);
    } else {
      RunRandomResizing(random, stream_);
    }
    if (HasFatalFailure()) return;
  }
}

TEST_F(RecentPlans, ThreadsShareThem) {
  const uint64_t seed = FreshSeed();
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) {
    threads.emplace_back([=] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      RunRandomCalls(seed + i, stream);
      EXPECT_EQ(aclrtDestroyStream(stream), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RecentPlans, AddressesOfEachCallAreChecked) {
  Gradient gradient({1, 2, 4, 4}, {1, 2, 2, 2});
  const NearestCall good = Kept(&gradient, stream_);
  NearestCall call = good;
  call.out.data = nullptr;
  ExpectRefused(call, ACLNN_ERR_PARAM_NULLPTR, {"data address null"});
  call = good;
  call.grad_output.data = static_cast<char*>(good.grad_output.data) + 1;
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"not aligned"});
  call = good;
  call.out.data = good.grad_output.data;
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"overlaps"});
  EXPECT_EQ(Execute(good, stream_), 0) << TakeMessage();
}

TEST_F(RecentPlans, AnExecutorKeepsTheAddressesOfItsCall) {
  Random random(1);
  Gradient first({1, 2, 4, 4}, {1, 2, 2, 2});
  Gradient second({1, 2, 4, 4}, {1, 2, 2, 2});
  first.Fill(random);
  second.Fill(random);
  const NearestCall calls[] = {first.Call(), second.Call()};
  const Planned planned[] = {calls[0].Plan(), calls[1].Plan()};
  for (const size_t i : {1u, 0u}) {
    ASSERT_EQ(calls[i].Run(nullptr, 0, planned[i].executor, stream_), 0) << TakeMessage();
  }
  ASSERT_EQ(aclrtSynchronizeStream(stream_), 0);
  EXPECT_TRUE(first.IsRight());
  EXPECT_TRUE(second.IsRight());
}

TEST_F(RecentPlans, ASettingCountsFromItsChangeOn) {
  Gradient gradient({1, 2, 4, 4}, {1, 2, 2, 2});
  const NearestCall call = Kept(&gradient, stream_);
  ASSERT_EQ(portaclSetProfile("atlas-training"), 0);
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"atlas-training"});
  ASSERT_EQ(portaclSetProfile("atlas-a2"), 0);
  ASSERT_EQ(portaclSetImpl("ref:none"), 0);
  EXPECT_NE(call.Plan().status, 0);
  ASSERT_EQ(portaclSetImpl(""), 0);
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
}

TEST_F(RecentPlans, AWarningIsRepeated) {
  Gradient gradient({1, 1, 4, 4}, {1, 1, 2, 2});
  NearestCall call = gradient.Call();
  call.input_size = std::vector<int64_t>{1, 1, 3, 2};
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Execute(call, stream_), 0);
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("warning"));
  }
}

}  // namespace
}  // namespace portacl_test
