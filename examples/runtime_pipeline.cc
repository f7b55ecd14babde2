// Three streams in a pipeline: while one frame's gradient is computed, the next frame is uploaded
// and the one before is downloaded. Events order the streams; the host waits once, at the end.
//
//   upload   | frame 0 | frame 1 | frame 2 | ...
//   compute            | frame 0 | frame 1 | frame 2 | ...
//   download                     | frame 0 | frame 1 | frame 2 | ...
#include <acl/acl.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kFrames = 8;
constexpr int kBuffers = 2;  // frames that may be under way at a time
constexpr int64_t kSmall = 512;
constexpr int64_t kLarge = 2 * kSmall;
constexpr size_t kInBytes = kLarge * kLarge * sizeof(float);
constexpr size_t kOutBytes = kSmall * kSmall * sizeof(float);

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

// Enqueues the gradient of an enlargement from kSmall to kLarge.
void EnqueueGradient(void* grad_output, void* grad_input, void* workspace, uint64_t room,
                     aclrtStream stream) {
  const int64_t output_size[] = {kLarge, kLarge};
  const int64_t input_size[] = {1, 1, kSmall, kSmall};
  aclTensor* const from = MakeTensor(kLarge, grad_output);
  aclTensor* const to = MakeTensor(kSmall, grad_input);
  aclIntArray* const out_size = aclCreateIntArray(output_size, 2);
  aclIntArray* const in_size = aclCreateIntArray(input_size, 4);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  Check(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(from, out_size, in_size, 0.0, 0.0, to,
                                                            &size, &executor),
        "plan");
  Check(size <= room ? 0 : 1, "workspace");
  Check(aclnnUpsampleNearestExact2dBackward(workspace, room, executor, stream), "run");
  aclDestroyTensor(from);
  aclDestroyTensor(to);
  aclDestroyIntArray(out_size);
  aclDestroyIntArray(in_size);
}

// One of the sets of memory and events that frames use in turn.
struct Buffer {
  void* in = nullptr;
  void* out = nullptr;
  aclrtEvent uploaded = nullptr;
  aclrtEvent computed = nullptr;
  aclrtEvent downloaded = nullptr;

  void Create() {
    Check(aclrtMalloc(&in, kInBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    Check(aclrtMalloc(&out, kOutBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    for (aclrtEvent* event : {&uploaded, &computed, &downloaded}) {
      Check(aclrtCreateEventWithFlag(event, ACL_EVENT_SYNC), "create event");
    }
  }
  void Destroy() {
    for (aclrtEvent event : {uploaded, computed, downloaded}) {
      Check(aclrtDestroyEvent(event), "destroy event");
    }
    Check(aclrtFree(in), "free");
    Check(aclrtFree(out), "free");
  }
};

}  // namespace

int main() {
  Check(aclInit(nullptr), "init");
  Check(aclrtSetDevice(0), "set device");
  aclrtStream upload = nullptr;
  aclrtStream compute = nullptr;
  aclrtStream download = nullptr;
  for (aclrtStream* stream : {&upload, &compute, &download}) {
    Check(aclrtCreateStream(stream), "create stream");
  }
  Buffer buffers[kBuffers];
  for (Buffer& buffer : buffers) buffer.Create();
  constexpr uint64_t kWorkspace = 1 << 20;
  void* workspace = nullptr;
  Check(aclrtMalloc(&workspace, kWorkspace, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");

  // Frame f holds the value f + 1 everywhere; each gradient sums four of its pixels.
  std::vector<std::vector<float>> frames;
  for (int f = 0; f < kFrames; ++f) {
    frames.emplace_back(kLarge * kLarge, static_cast<float>(f + 1));
  }
  std::vector<std::vector<float>> gradients(kFrames, std::vector<float>(kSmall * kSmall));

  for (int f = 0; f < kFrames; ++f) {
    const Buffer& buffer = buffers[f % kBuffers];
    // The buffer's last frame must be out of the way; the first waits find no record and pass.
    Check(aclrtStreamWaitEvent(upload, buffer.computed), "wait");
    Check(aclrtMemcpyAsync(buffer.in, kInBytes, frames[f].data(), kInBytes,
                           ACL_MEMCPY_HOST_TO_DEVICE, upload),
          "upload");
    Check(aclrtRecordEvent(buffer.uploaded, upload), "record");

    Check(aclrtStreamWaitEvent(compute, buffer.uploaded), "wait");
    Check(aclrtStreamWaitEvent(compute, buffer.downloaded), "wait");
    EnqueueGradient(buffer.in, buffer.out, workspace, kWorkspace, compute);
    Check(aclrtRecordEvent(buffer.computed, compute), "record");

    Check(aclrtStreamWaitEvent(download, buffer.computed), "wait");
    Check(aclrtMemcpyAsync(gradients[f].data(), kOutBytes, buffer.out, kOutBytes,
                           ACL_MEMCPY_DEVICE_TO_HOST, download),
          "download");
    Check(aclrtRecordEvent(buffer.downloaded, download), "record");
  }
  Check(aclrtSynchronizeDevice(), "synchronise");

  for (int f = 0; f < kFrames; ++f) {
    int right = 0;
    for (const float value : gradients[f]) right += value == 4.0f * static_cast<float>(f + 1);
    std::printf("frame %d: gradient %.0f, %d of %d right\n", f, gradients[f][0], right,
                static_cast<int>(gradients[f].size()));
  }

  Check(aclrtFree(workspace), "free");
  for (Buffer& buffer : buffers) buffer.Destroy();
  for (aclrtStream stream : {upload, compute, download}) {
    Check(aclrtDestroyStream(stream), "destroy stream");
  }
  Check(aclrtResetDevice(0), "reset device");
  Check(aclFinalize(), "finalize");
  return 0;
}
