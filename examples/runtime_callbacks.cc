// Callbacks: a thread of the program's own is told of each batch when its copy is done. A host
// function prepares the next batch in the stream's order.
#include <acl/acl.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int kBatches = 5;
constexpr size_t kValues = 1000;
constexpr size_t kBytes = kValues * sizeof(int);

void Check(int code, const char* what) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, code, message != nullptr ? message : "");
  std::exit(1);
}

struct Batch {
  int number = 0;
  std::vector<int> prepared = std::vector<int>(kValues);
  std::vector<int> received = std::vector<int>(kValues);
};

// On a thread of the library, after all work before it on the stream.
void Prepare(void* argument) {
  auto* const batch = static_cast<Batch*>(argument);
  for (size_t i = 0; i < kValues; ++i) batch->prepared[i] = batch->number;
}

// On the thread that calls aclrtProcessReport.
void Receive(void* argument) {
  const auto* const batch = static_cast<const Batch*>(argument);
  int sum = 0;
  for (const int value : batch->received) sum += value;
  std::printf("batch %d has arrived, its values add up to %d\n", batch->number, sum);
}

}  // namespace

int main() {
  Check(aclInit(nullptr), "init");
  Check(aclrtSetDevice(0), "set device");
  aclrtStream stream = nullptr;
  Check(aclrtCreateStream(&stream), "create stream");
  void* device = nullptr;
  Check(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");

  std::atomic<bool> done{false};
  std::thread reports([&] {
    constexpr int32_t kMilliseconds = 10;
    // ACL_ERROR_RT_WAIT_TIMEOUT when none came: look again.
    while (!done) aclrtProcessReport(kMilliseconds);
  });
  const auto report_thread = static_cast<uint64_t>(reports.native_handle());
  Check(aclrtSubscribeReport(report_thread, stream), "subscribe");

  std::vector<Batch> batches(kBatches);
  for (int b = 0; b < kBatches; ++b) {
    Batch& batch = batches[b];
    batch.number = b;
    Check(aclrtLaunchHostFunc(stream, Prepare, &batch), "host function");
    Check(aclrtMemcpyAsync(device, kBytes, batch.prepared.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE,
                           stream),
          "upload");
    Check(aclrtMemcpyAsync(batch.received.data(), kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST,
                           stream),
          "download");
    Check(aclrtLaunchCallback(Receive, &batch, ACL_CALLBACK_BLOCK, stream), "callback");
  }
  Check(aclrtSynchronizeStream(stream), "synchronise");

  Check(aclrtUnSubscribeReport(report_thread, stream), "unsubscribe");
  done = true;
  reports.join();
  Check(aclrtFree(device), "free");
  Check(aclrtDestroyStream(stream), "destroy stream");
  Check(aclrtResetDevice(0), "reset device");
  Check(aclFinalize(), "finalize");
  std::printf("all %d batches done\n", kBatches);
  return 0;
}
