// The library's own list of operators (portaclGetInfo), name by name: a fixture for each, which
// runs its smallest good call; the part of phase 2 that all share; the profiles.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "aclnnop/aclnn_affine_grid.h"
#include "support/api/acl_fixture.h"
#include "support/api/forward_call.h"
#include "support/api/grid_on_device.h"
#include "support/api/native.h"
#include "support/api/resize_call.h"

namespace portacl_test {
namespace {

using PhaseTwo = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// ---- fixtures ----------------------------------------------------------------------------------

// Runs a small call of the operator on a stream to its end.
using Fixture = std::function<aclnnStatus(aclrtStream)>;

aclnnStatus RunNearestBackward(const Shape& large, const Shape& small, aclrtStream stream) {
  Tensor grad_output(Element::kFloat, large);
  Tensor out(Element::kFloat, small);
  const DeviceTensor from(&grad_output);
  const DeviceTensor to(&out);
  return Execute(NearestCall::For(from.args(), to.args()), stream);
}

aclnnStatus RunGridBackward(GridCase c, aclrtStream stream) {
  Random random(7);
  c.Fill(GridKind::kRandom, random);
  const GridOnDevice device(&c);
  GridCall call;
  call.volume = c.input.shape().size() == 5;
  call.grad_output = device.grad_output.args();
  call.input = device.input.args();
  call.grid = device.grid.args();
  call.input_grad = device.to_input.args();
  call.grid_grad = device.to_grid.args();
  return Execute(call, stream);
}

aclnnStatus RunNearest(const Shape& small, const Shape& large, aclrtStream stream) {
  Tensor self(Element::kFloat, small);
  Tensor out(Element::kFloat, large);
  const DeviceTensor from(&self);
  const DeviceTensor to(&out);
  return Execute(NearestForwardCall::For(from.args(), to.args()), stream);
}

aclnnStatus RunGrid(const Shape& image, const Shape& points, const Shape& output,
                    aclrtStream stream) {
  Tensor from(Element::kFloat, image);
  Tensor at(Element::kFloat, points);
  Tensor out(Element::kFloat, output);
  const DeviceTensor input(&from);
  const DeviceTensor grid(&at);
  const DeviceTensor to(&out);
  GridForwardCall call;
  call.volume = image.size() == 5;
  call.input = input.args();
  call.grid = grid.args();
  call.out = to.args();
  return Execute(call, stream);
}

aclnnStatus RunResize(const ResizeFunction& function, aclrtStream stream) {
  const Shape small[] = {{1, 2, 3}, {1, 2, 2, 3}, {1, 2, 1, 2, 3}};
  const Shape large[] = {{1, 2, 6}, {1, 2, 4, 6}, {1, 2, 2, 4, 6}};
  const size_t at = function.spatial - 1;
  const bool training = std::string(portaclGetProfile()) == "atlas-training";
  // FLOAT16: what every function takes that the profile has.
  Tensor from(training ? Element::kFloat16 : Element::kFloat,
              function.backward ? large[at] : small[at]);
  Tensor to(from.element(), function.backward ? small[at] : large[at]);
  const DeviceTensor read(&from);
  const DeviceTensor written(&to);
  constexpr aclFormat kFormats[] = {ACL_FORMAT_NCL, ACL_FORMAT_NCHW, ACL_FORMAT_NCDHW};
  return Execute(ResizeCall::For(function, read.args(kFormats[at]), written.args(kFormats[at])),
                 stream);
}

aclnnStatus RunAffineGrid(aclrtStream stream) {
  Tensor theta(Element::kFloat, {1, 2, 3});
  Tensor grid(Element::kFloat, {1, 4, 5, 2});
  const DeviceTensor from(&theta);
  const DeviceTensor to(&grid);
  const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
  const IntArrayHandle size = MakeInts(Shape{1, 3, 4, 5});
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus status = aclnnAffineGridGetWorkspaceSize(handles[0].get(), size.get(), false,
                                                             handles[1].get(), &bytes, &executor);
  if (status != ACLNN_SUCCESS) return status;
  const DeviceMemory workspace(bytes);
  const aclnnStatus run = aclnnAffineGrid(workspace.get(), bytes, executor, stream);
  return run != ACLNN_SUCCESS ? run : aclrtSynchronizeStream(stream);
}

std::map<std::string, Fixture> MakeAclnnFixtures() {
  std::map<std::string, Fixture> fixtures = {
      {"aclnnUpsampleNearestExact1d",
       [](aclrtStream stream) {
         return RunNearest({1, 2, 3}, {1, 2, 6}, stream);
       }},
      {"aclnnUpsampleNearestExact2d",
       [](aclrtStream stream) {
         return RunNearest({1, 2, 2, 3}, {1, 2, 4, 6}, stream);
       }},
      {"aclnnUpsampleNearestExact3d",
       [](aclrtStream stream) {
         return RunNearest({1, 2, 2, 2, 3}, {1, 2, 3, 4, 6}, stream);
       }},
      {"aclnnGridSampler2D",
       [](aclrtStream stream) {
         return RunGrid({1, 2, 3, 4}, {1, 2, 3, 2}, {1, 2, 2, 3}, stream);
       }},
      {"aclnnGridSampler3D",
       [](aclrtStream stream) {
         return RunGrid({1, 2, 2, 3, 4}, {1, 3, 2, 3, 3}, {1, 2, 3, 2, 3}, stream);
       }},
      {"aclnnUpsampleNearestExact1dBackward",
       [](aclrtStream stream) {
         return RunNearestBackward({1, 2, 6}, {1, 2, 3}, stream);
       }},
      {"aclnnUpsampleNearestExact2dBackward",
       [](aclrtStream stream) {
         return RunNearestBackward({1, 2, 4, 6}, {1, 2, 2, 3}, stream);
       }},
      {"aclnnUpsampleNearestExact3dBackward",
       [](aclrtStream stream) {
         return RunNearestBackward({1, 2, 3, 4, 6}, {1, 2, 2, 2, 3}, stream);
       }},
      {"aclnnGridSampler2DBackward",
       [](aclrtStream stream) {
         return RunGridBackward(GridCase(Element::kFloat, 1, 2, 3, 4, 2, 3), stream);
       }},
      {"aclnnGridSampler3DBackward",
       [](aclrtStream stream) {
         return RunGridBackward(GridCase(Element::kFloat, 1, 2, {2, 3, 4}, {3, 2, 3}), stream);
       }},
      {"aclnnAffineGrid", RunAffineGrid},
  };
  for (const ResizeFunction& function : kResizeFunctions) {
    fixtures[function.name] = [&function](aclrtStream stream) {
      return RunResize(function, stream);
    };
  }
  return fixtures;
}

const std::map<std::string, Fixture>& AclnnFixtures() {
  static const std::map<std::string, Fixture> fixtures = MakeAclnnFixtures();
  return fixtures;
}

// ---- tests -------------------------------------------------------------------------------------

class OperatorList : public AclTest {};

TEST_F(OperatorList, EveryAclnnFunctionHasAFixtureThatRuns) {
  std::vector<std::string> fixtures;
  for (const auto& [name, run] : AclnnFixtures()) {
    fixtures.push_back(name);
    EXPECT_EQ(run(stream_), ACLNN_SUCCESS) << name << ": " << TakeMessage();
  }
  EXPECT_EQ(fixtures, ListedNames("aclnn")) << "a name of src/ops/operators.h has no fixture above";
}

TEST_F(OperatorList, PhaseTwoWithoutAnExecutorAnswers) {
  for (const std::string& name : ListedNames("aclnn")) {
    const auto phase_two = reinterpret_cast<PhaseTwo>(dlsym(RTLD_DEFAULT, name.c_str()));
    ASSERT_NE(phase_two, nullptr) << name;
    EXPECT_EQ(phase_two(nullptr, 0, nullptr, stream_), ACLNN_ERR_PARAM_NULLPTR) << name;
    EXPECT_EQ(TakeMessage(), name + ": executor is null");
  }
}

TEST_F(OperatorList, AProfileWithoutAnOperatorSaysWhichHaveIt) {
  portaclSetProfile("atlas-training");
  for (const auto& [name, run] : AclnnFixtures()) {
    const bool lacks = name.find("UpsampleNearestExact") != std::string::npos ||
                       name.find("2dAA") != std::string::npos;
    EXPECT_EQ(run(stream_), lacks ? ACLNN_ERR_PARAM_INVALID : ACLNN_SUCCESS) << name;
    if (!lacks) continue;
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("atlas-a2, atlas-a3, open"));
  }
}

TEST_F(OperatorList, EveryNameIsListedOnce) {
  for (const char* kind : {"aclnn", "graph", "native"}) {
    const std::vector<std::string> names = ListedNames(kind);
    EXPECT_FALSE(names.empty()) << kind;
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << kind;
  }
}

}  // namespace
}  // namespace portacl_test
