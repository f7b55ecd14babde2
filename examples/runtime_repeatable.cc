// One plan, many runs: a repeatable executor on two streams. Its addresses change from run to run.
// Each run keeps the addresses that were set when it was enqueued.
#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kRuns = 6;
constexpr int kStreams = 2;
constexpr int64_t kSmall = 3;
constexpr int64_t kLarge = 9;

void Check(int code, const char* what) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, code, message != nullptr ? message : "");
  std::exit(1);
}

aclTensor* MakeTensor(int64_t extent, void* data) {
  const int64_t shape[] = {1, 1, extent, extent};
  return aclCreateTensor(shape, 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, shape, 4, data);
}

void* Allocate(size_t floats) {
  void* memory = nullptr;
  Check(aclrtMalloc(&memory, floats * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
  return memory;
}

}  // namespace

int main() {
  constexpr size_t kIn = kLarge * kLarge;
  constexpr size_t kOut = kSmall * kSmall;
  Check(aclInit(nullptr), "init");
  Check(aclrtSetDevice(0), "set device");
  aclrtStream streams[kStreams];
  for (aclrtStream& stream : streams) Check(aclrtCreateStream(&stream), "create stream");

  std::vector<void*> ins;
  std::vector<void*> outs;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<float> values(kIn, static_cast<float>(run));
    ins.push_back(Allocate(kIn));
    outs.push_back(Allocate(kOut));
    Check(aclrtMemcpy(ins[run], kIn * sizeof(float), values.data(), kIn * sizeof(float),
                      ACL_MEMCPY_HOST_TO_DEVICE),
          "upload");
  }

  const int64_t output_size[] = {kLarge, kLarge};
  const int64_t input_size[] = {1, 1, kSmall, kSmall};
  aclTensor* const grad_output = MakeTensor(kLarge, ins[0]);
  aclTensor* const grad_input = MakeTensor(kSmall, outs[0]);
  aclIntArray* const out_size = aclCreateIntArray(output_size, 2);
  aclIntArray* const in_size = aclCreateIntArray(input_size, 4);
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  Check(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
            grad_output, out_size, in_size, 0.0, 0.0, grad_input, &workspace_size, &executor),
        "plan");
  Check(aclSetAclOpExecutorRepeatable(executor), "make repeatable");

  // Runs on different streams may overlap, so each stream has a workspace of its own.
  void* workspaces[kStreams] = {};
  for (void*& workspace : workspaces) {
    if (workspace_size > 0) workspace = Allocate(workspace_size / sizeof(float) + 1);
  }
  for (int run = 0; run < kRuns; ++run) {
    Check(aclSetInputTensorAddr(executor, 0, grad_output, ins[run]), "set input");
    Check(aclSetOutputTensorAddr(executor, 0, grad_input, outs[run]), "set output");
    Check(aclnnUpsampleNearestExact2dBackward(workspaces[run % kStreams], workspace_size, executor,
                                              streams[run % kStreams]),
          "run");
  }
  // Waits for nothing: the pending runs keep what they need.
  Check(aclDestroyAclOpExecutor(executor), "destroy executor");
  Check(aclrtSynchronizeDevice(), "synchronise");

  for (int run = 0; run < kRuns; ++run) {
    std::vector<float> sums(kOut);
    Check(aclrtMemcpy(sums.data(), kOut * sizeof(float), outs[run], kOut * sizeof(float),
                      ACL_MEMCPY_DEVICE_TO_HOST),
          "download");
    std::printf("run %d: gradients %.0f ... %.0f\n", run, sums.front(), sums.back());
  }

  aclDestroyTensor(grad_output);
  aclDestroyTensor(grad_input);
  aclDestroyIntArray(out_size);
  aclDestroyIntArray(in_size);
  for (void* workspace : workspaces) {
    if (workspace != nullptr) Check(aclrtFree(workspace), "free");
  }
  for (int run = 0; run < kRuns; ++run) {
    Check(aclrtFree(ins[run]), "free");
    Check(aclrtFree(outs[run]), "free");
  }
  for (aclrtStream stream : streams) Check(aclrtDestroyStream(stream), "destroy stream");
  Check(aclrtResetDevice(0), "reset device");
  Check(aclFinalize(), "finalize");
  return 0;
}
