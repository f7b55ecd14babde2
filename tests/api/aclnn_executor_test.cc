// Executors and workspaces: what phase 2 accepts, and how often.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/grid_case.h"
#include "support/api/nearest_oracle.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

// A grid sampler call, which needs a workspace with the reference kernels, and its result.
class AclnnExecutor : public AclTest {
 protected:
  static GridCase RandomCase(uint64_t seed) {
    Random random(seed);
    GridCase c(Element::kFloat, 2, 3, 6, 5, 7, 4);
    return c.Fill(GridKind::kRandom, random);
  }
  AclnnExecutor() {
    portaclSetImpl("ref");
    call_.grad_output = grad_output_.args();
    call_.input = input_.args();
    call_.grid = grid_.args();
    call_.input_grad = input_grad_.args();
    call_.grid_grad = grid_grad_.args();
  }
  // Enqueues with a workspace of the planned size and waits.
  aclnnStatus RunPlanned(const Planned& planned) {
    const DeviceMemory workspace(planned.workspace_size);
    const aclnnStatus status =
        call_.Run(workspace.get(), planned.workspace_size, planned.executor, stream_);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), 0);
    return status;
  }
  void ExpectRightResult() {
    input_grad_.Download();
    const GridGradients want = GridBackward(case_.grad_output, case_.input, case_.grid, {});
    EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, input_grad_host_, want.input_grad));
    EXPECT_TRUE(input_grad_host_.GuardsIntact());
  }
  void ExpectMessage(const std::vector<std::string>& parts) {
    const std::string message = TakeMessage();
    for (const std::string& part : parts) EXPECT_THAT(message, testing::HasSubstr(part));
  }

  GridCase case_ = RandomCase(61);
  Tensor input_grad_host_{Element::kFloat, case_.input.shape()};
  Tensor grid_grad_host_{Element::kFloat, case_.grid.shape()};
  DeviceTensor grad_output_{&case_.grad_output};
  DeviceTensor input_{&case_.input};
  DeviceTensor grid_{&case_.grid};
  DeviceTensor input_grad_{&input_grad_host_};
  DeviceTensor grid_grad_{&grid_grad_host_};
  GridCall call_;
};

TEST_F(AclnnExecutor, AOneShotExecutorServesOnce) {
  const Planned planned = call_.Plan();
  ASSERT_EQ(planned.status, 0);
  EXPECT_EQ(RunPlanned(planned), 0) << TakeMessage();
  ExpectRightResult();
  EXPECT_EQ(RunPlanned(planned), ACLNN_ERR_PARAM_INVALID);
  ExpectMessage({call_.op(), "executor"});
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(AclnnExecutor, OfThreadsThatRunOneOneShotExecutorOneSucceeds) {
  for (int round = 0; round < 50; ++round) {
    const Planned planned = call_.Plan();
    const DeviceMemory workspace(planned.workspace_size);
    std::atomic<int> served{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        ASSERT_EQ(aclrtSetDevice(0), 0);
        const aclnnStatus status =
            call_.Run(workspace.get(), planned.workspace_size, planned.executor, stream_);
        if (status == 0) {
          ++served;
        } else {
          EXPECT_EQ(status, ACLNN_ERR_PARAM_INVALID);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(served, 1);
    EXPECT_EQ(aclrtSynchronizeStream(stream_), 0);
  }
}

TEST_F(AclnnExecutor, ARepeatableExecutorServesUntilItIsDestroyed) {
  const Planned planned = call_.Plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(RunPlanned(planned), 0) << TakeMessage();
    ExpectRightResult();
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), 0);
  EXPECT_EQ(RunPlanned(planned), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(AclnnExecutor, NullAndForeignExecutorsAreRefused) {
  EXPECT_EQ(call_.Run(nullptr, 0, nullptr, stream_), ACLNN_ERR_PARAM_NULLPTR);
  ExpectMessage({call_.op(), "executor", "null"});
  int nothing = 0;
  EXPECT_EQ(call_.Run(nullptr, 0, reinterpret_cast<aclOpExecutor*>(&nothing), stream_),
            ACLNN_ERR_PARAM_INVALID);
  ExpectMessage({call_.op(), "executor"});
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), 0);
}

TEST_F(AclnnExecutor, AnExecutorOfAnotherOperatorIsRefusedAndStaysUsable) {
  const Planned planned = call_.Plan();
  EXPECT_EQ(aclnnUpsampleNearestExact2dBackward(nullptr, 0, planned.executor, stream_),
            ACLNN_ERR_PARAM_INVALID);
  ExpectMessage({"aclnnUpsampleNearestExact2dBackward", "aclnnGridSampler2DBackward"});
  EXPECT_EQ(RunPlanned(planned), 0);
  ExpectRightResult();
}

TEST_F(AclnnExecutor, TheWorkspaceMustBeThereAndLargeEnough) {
  const Planned planned = call_.Plan();
  ASSERT_GT(planned.workspace_size, 0u);
  EXPECT_EQ(call_.Run(nullptr, planned.workspace_size, planned.executor, stream_),
            ACLNN_ERR_PARAM_NULLPTR);
  ExpectMessage({call_.op(), "workspace", std::to_string(planned.workspace_size)});
  const DeviceMemory workspace(planned.workspace_size);
  EXPECT_EQ(call_.Run(workspace.get(), planned.workspace_size - 1, planned.executor, stream_),
            ACLNN_ERR_PARAM_INVALID);
  ExpectMessage({call_.op(), "workspaceSize", std::to_string(planned.workspace_size)});
  // A known allocation that is smaller than the caller says.
  EXPECT_EQ(call_.Run(static_cast<char*>(workspace.get()) + 64, planned.workspace_size,
                      planned.executor, stream_),
            ACLNN_ERR_PARAM_INVALID);
  ExpectMessage({call_.op(), "workspace"});
  // None of these refusals used the executor up.
  EXPECT_EQ(RunPlanned(planned), 0);
  ExpectRightResult();
}

TEST_F(AclnnExecutor, AWorkspaceMayStartAnywhereAndIsNotLeft) {
  const Planned planned = call_.Plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), 0);
  for (const size_t shift : {0, 1, 4, 33, 63}) {
    Tensor host(Element::kFloat16, {static_cast<int64_t>(planned.workspace_size / 2 + 64)});
    DeviceTensor device(&host);
    ASSERT_EQ(call_.Run(static_cast<char*>(device.address()) + shift, planned.workspace_size,
                        planned.executor, stream_),
              0);
    ASSERT_EQ(aclrtSynchronizeStream(stream_), 0);
    device.Download();
    EXPECT_TRUE(host.GuardsIntact());
    ExpectRightResult();
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), 0);
}

TEST_F(AclnnExecutor, HandlesOfPhase1MayBeDestroyedBeforePhase2) {
  // Plan() destroys every tensor and array handle before it returns.
  const Planned planned = call_.Plan();
  EXPECT_EQ(RunPlanned(planned), 0);
  ExpectRightResult();
}

TEST_F(AclnnExecutor, ADestroyedOrForeignHandleIsRefusedInPhase1) {
  TensorHandle handle = call_.input.Make();
  const TensorHandle grad_output = call_.grad_output.Make();
  const TensorHandle grid = call_.grid.Make();
  const TensorHandle input_grad = call_.input_grad.Make();
  const TensorHandle grid_grad = call_.grid_grad.Make();
  const bool both[] = {true, true};
  const BoolArrayHandle mask(aclCreateBoolArray(both, 2));
  aclTensor* const dead = handle.get();
  handle.reset();  // last, so that no other handle gets its address
  uint64_t size = 7;
  aclOpExecutor* executor = reinterpret_cast<aclOpExecutor*>(8);
  EXPECT_EQ(aclnnGridSampler2DBackwardGetWorkspaceSize(grad_output.get(), dead, grid.get(), 0, 0,
                                                       false, mask.get(), input_grad.get(),
                                                       grid_grad.get(), &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(executor, nullptr);
  ExpectMessage({call_.op(), "input", "live"});
}

TEST_F(AclnnExecutor, AddressesAreUpdatedByIndexInSignatureOrder) {
  const Planned planned = call_.Plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), 0);
  GridCase other = RandomCase(62);
  Tensor other_input_grad(Element::kFloat, other.input.shape());
  Tensor other_grid_grad(Element::kFloat, other.grid.shape());
  const DeviceTensor grad_output(&other.grad_output);
  const DeviceTensor input(&other.input);
  const DeviceTensor grid(&other.grid);
  DeviceTensor input_grad(&other_input_grad);
  DeviceTensor grid_grad(&other_grid_grad);
  const TensorHandle handles[] = {call_.grad_output.Make(), call_.input.Make(), call_.grid.Make(),
                                  call_.input_grad.Make(), call_.grid_grad.Make()};
  EXPECT_EQ(aclSetInputTensorAddr(planned.executor, 0, handles[0].get(), grad_output.address()), 0);
  EXPECT_EQ(AclSetInputTensorAddr(planned.executor, 1, handles[1].get(), input.address()), 0);
  EXPECT_EQ(aclSetTensorAddr(planned.executor, 2, handles[2].get(), grid.address()), 0);
  EXPECT_EQ(aclSetOutputTensorAddr(planned.executor, 0, handles[3].get(), input_grad.address()), 0);
  EXPECT_EQ(AclSetTensorAddr(planned.executor, 4, handles[4].get(), grid_grad.address()), 0);
  void* now = nullptr;
  EXPECT_EQ(aclGetRawTensorAddr(handles[4].get(), &now), 0);
  EXPECT_EQ(now, grid_grad.address());

  EXPECT_EQ(RunPlanned(planned), 0) << TakeMessage();
  input_grad.Download();
  grid_grad.Download();
  const GridGradients want = GridBackward(other.grad_output, other.input, other.grid, {});
  EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, other_input_grad, want.input_grad));
  EXPECT_TRUE(WithinTolerance(Operator::kGridSamplerBackward, other_grid_grad, want.grid_grad));
  input_grad_.Download();
  EXPECT_TRUE(BitIdentical(input_grad_host_, Tensor(Element::kFloat, case_.input.shape())))
      << "the planned output must not be written";
  EXPECT_EQ(AclSetOutputTensorAddr(planned.executor, 1, handles[4].get(), grid_grad.address()), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), 0);
}

TEST_F(AclnnExecutor, AddressUpdatesAreCheckedLikeTheAddressesOfPhase1) {
  const Planned planned = call_.Plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), 0);
  const TensorHandle input = call_.input.Make();
  const TensorHandle output = call_.input_grad.Make();
  aclOpExecutor* const executor = planned.executor;
  const DeviceMemory small(16);
  // As `input`, but for one thing each.
  const auto other = [&](aclDataType dtype, bool turn, int64_t offset) {
    const std::vector<int64_t>& shape = case_.input.shape();
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    if (turn) std::swap(strides[2], strides[3]);
    const int64_t storage = 1 << 20;
    return TensorHandle(aclCreateTensor(shape.data(), shape.size(), dtype, strides.data(), offset,
                                        ACL_FORMAT_ND, &storage, 1, input_.address()));
  };
  const TensorHandle turned = other(ACL_FLOAT, true, 0), shifted = other(ACL_FLOAT, false, 1),
                     half = other(ACL_FLOAT16, false, 0);
  struct Case {
    std::function<aclnnStatus()> update;
    aclnnStatus code;
    std::string part;
  };
  const std::vector<Case> cases = {
      {[&] { return aclSetInputTensorAddr(executor, 3, input.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "index is 3"},
      {[&] { return aclSetOutputTensorAddr(executor, 2, input.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "index is 2"},
      {[&] { return aclSetTensorAddr(executor, 5, input.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "index is 5"},
      {[&] { return aclSetInputTensorAddr(nullptr, 0, input.get(), input_.address()); },
       ACLNN_ERR_PARAM_NULLPTR, "executor"},
      {[&] { return aclSetInputTensorAddr(executor, 1, nullptr, input_.address()); },
       ACLNN_ERR_PARAM_NULLPTR, "tensor"},
      {[&] { return aclSetInputTensorAddr(executor, 1, input.get(), nullptr); },
       ACLNN_ERR_PARAM_NULLPTR, "null"},
      {[&] { return aclSetInputTensorAddr(executor, 1, input.get(), small.get()); },
       ACLNN_ERR_PARAM_INVALID, "input"},
      {[&] { return aclSetInputTensorAddr(executor, 0, input.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "another layout than gradOutput had in phase 1: shape"},
      {[&] { return aclSetInputTensorAddr(executor, 1, turned.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "another layout than input had in phase 1: strides"},
      {[&] { return aclSetTensorAddr(executor, 1, shifted.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "another layout than input had in phase 1: offset 1, wanted 0"},
      {[&] { return aclSetOutputTensorAddr(executor, 0, half.get(), input_.address()); },
       ACLNN_ERR_PARAM_INVALID, "another layout than inputGrad had in phase 1: data type"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(c.update(), c.code) << c.part;
    ExpectMessage({c.part});
  }
  // None of them changed the executor.
  EXPECT_EQ(RunPlanned(planned), 0);
  ExpectRightResult();
  // An output on an input is found where both are known: in phase 2.
  EXPECT_EQ(aclSetOutputTensorAddr(executor, 0, output.get(), input_.address()), 0);
  EXPECT_EQ(RunPlanned(planned), ACLNN_ERR_PARAM_INVALID);
  ExpectMessage({call_.op(), "inputGrad", "overlap"});
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
}

TEST_F(AclnnExecutor, ARepeatableExecutorMayBeEnqueuedWhileItRuns) {
  const Planned planned = call_.Plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), 0);
  std::vector<DeviceMemory> workspaces;
  for (int i = 0; i < 8; ++i) workspaces.emplace_back(planned.workspace_size);
  for (const DeviceMemory& workspace : workspaces) {
    ASSERT_EQ(call_.Run(workspace.get(), planned.workspace_size, planned.executor, stream_), 0);
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), 0) << "enqueued work still runs";
  EXPECT_EQ(aclrtSynchronizeStream(stream_), 0);
  ExpectRightResult();
}

// A run keeps the addresses that it was enqueued with, whatever happens before its turn comes.
TEST_F(AclnnExecutor, AnUpdateDoesNotReachPendingRunsOnOtherStreams) {
  Random random(62);
  Tensor grad_output(Element::kFloat, {1, 2, 8, 6});
  grad_output.FillUniform(random, -1, 1);
  Tensor first(Element::kFloat, {1, 2, 4, 3});
  Tensor second = first;
  const LineBytes untouched = first.bytes();
  const Tensor want = NearestBackward(grad_output, first.shape());
  const DeviceTensor from(&grad_output);
  DeviceTensor to_first(&first);
  DeviceTensor to_second(&second);
  const NearestCall call = NearestCall::For(from.args(), to_first.args());
  const Planned planned = call.Plan();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(planned.executor), 0);
  const uint64_t size = planned.workspace_size;
  const DeviceMemory workspaces[] = {DeviceMemory(size), DeviceMemory(size)};
  const StreamHandle other;
  Blocker blocker;
  ASSERT_EQ(blocker.Launch(stream_), 0);
  ASSERT_EQ(call.Run(workspaces[0].get(), size, planned.executor, stream_), 0);
  const TensorHandle out = to_second.args().Make();
  ASSERT_EQ(aclSetOutputTensorAddr(planned.executor, 0, out.get(), to_second.args().data), 0);
  ASSERT_EQ(call.Run(workspaces[1].get(), size, planned.executor, other.get()), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(planned.executor), 0) << "enqueued work still runs";
  ASSERT_EQ(aclrtSynchronizeStream(other.get()), 0);
  to_second.Download();
  EXPECT_TRUE(BitIdentical(second, want));
  to_first.Download();
  EXPECT_EQ(first.bytes(), untouched) << "the first run still waits";
  blocker.Release();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), 0);
  to_first.Download();
  EXPECT_TRUE(BitIdentical(first, want));
}

TEST_F(AclnnExecutor, ThreadsWithTheirOwnExecutorsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), 0);
      Random random(70 + static_cast<uint64_t>(i));
      for (int round = 0; round < 20; ++round) {
        Tensor grad_output(Element::kFloat, {1, 2, 9, 11});
        grad_output.FillUniform(random, -1, 1);
        Tensor out(Element::kFloat, {1, 2, 4, 5});
        const DeviceTensor from(&grad_output);
        DeviceTensor to(&out);
        ASSERT_EQ(Execute(NearestCall::For(from.args(), to.args()), stream), 0);
        to.Download();
        ASSERT_TRUE(BitIdentical(out, NearestBackward(grad_output, out.shape())));
      }
      EXPECT_EQ(aclrtDestroyStream(stream), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AclnnExecutor, TheDefaultStreamServesToo) {
  const Planned planned = call_.Plan();
  const DeviceMemory workspace(planned.workspace_size);
  ASSERT_EQ(call_.Run(workspace.get(), planned.workspace_size, planned.executor, nullptr), 0);
  ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  ExpectRightResult();
}

TEST_F(AclnnExecutor, ADestroyedStreamIsRefused) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  ASSERT_EQ(aclrtDestroyStream(stream), 0);
  const Planned planned = call_.Plan();
  const DeviceMemory workspace(planned.workspace_size);
  EXPECT_NE(call_.Run(workspace.get(), planned.workspace_size, planned.executor, stream), 0);
  ExpectMessage({call_.op()});
  EXPECT_EQ(RunPlanned(planned), 0);
}

}  // namespace
}  // namespace portacl_test
