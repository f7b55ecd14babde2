// Many threads, streams and kinds of work at a time; every value is checked at the end. Meant for
// the sanitizers as much as for the checks.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"
#include "support/api/random.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

constexpr int kThreads = 16;
constexpr int kStreams = 4;
constexpr size_t kCells = 64;       // bytes of one thread's device memory
constexpr size_t kBigCopy = 70000;  // more than what runs on the calling thread

struct Report {
  std::atomic<bool> stop{false};
  std::thread thread;
};

// An operator call whose addresses change from run to run: ones (1, 1, 4, 4) -> fours (1, 1, 2, 2).
class RepeatableGradient {
 public:
  static constexpr size_t kOut = 4;

  RepeatableGradient() {
    const int64_t sizes[] = {4, 4, 1, 1, 2, 2};  // outputSize, inputSize
    Allocate(&ones_, 16);
    for (void*& out : outs_) Allocate(&out, kOut);
    const std::vector<float> ones(16, 1.0f);
    EXPECT_EQ(aclrtMemcpy(ones_, 64, ones.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), 0);
    grad_output_ = Tensor(4, ones_);
    out_ = Tensor(2, outs_[0]);
    aclIntArray* const output_size = aclCreateIntArray(sizes, 2);
    aclIntArray* const input_size = aclCreateIntArray(sizes + 2, 4);
    EXPECT_EQ(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
                  grad_output_, output_size, input_size, 0, 0, out_, &workspace_size_, &executor_),
              0);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor_), 0);
    EXPECT_EQ(aclrtMalloc(&workspace_, workspace_size_ + 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    aclDestroyIntArray(output_size);
    aclDestroyIntArray(input_size);
  }
  ~RepeatableGradient() {
    EXPECT_EQ(aclDestroyAclOpExecutor(executor_), 0);
    aclDestroyTensor(grad_output_);
    aclDestroyTensor(out_);
    aclrtFree(ones_);
    aclrtFree(workspace_);
    for (void* const out : outs_) aclrtFree(out);
  }
  RepeatableGradient(const RepeatableGradient&) = delete;
  RepeatableGradient& operator=(const RepeatableGradient&) = delete;

  // Always on one stream: runs share the workspace.
  void Enqueue(size_t target, aclrtStream stream) {
    ASSERT_EQ(aclSetOutputTensorAddr(executor_, 0, out_, outs_[target]), 0) << NewestMessage();
    ASSERT_EQ(aclnnUpsampleNearestExact2dBackward(workspace_, workspace_size_, executor_, stream),
              0)
        << NewestMessage();
    used_[target] = true;
  }
  // The stream is synchronised.
  void Check() {
    for (size_t i = 0; i < outs_.size(); ++i) {
      if (!used_[i]) continue;
      std::array<float, kOut> values{};
      ASSERT_EQ(aclrtMemcpy(values.data(), 16, outs_[i], 16, ACL_MEMCPY_DEVICE_TO_HOST), 0);
      for (const float value : values) ASSERT_EQ(value, 4.0f);
    }
  }
  size_t targets() const { return outs_.size(); }

 private:
  static void Allocate(void** memory, size_t floats) {
    EXPECT_EQ(aclrtMalloc(memory, floats * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  }
  static aclTensor* Tensor(int64_t extent, void* data) {
    const int64_t shape[] = {1, 1, extent, extent};
    return aclCreateTensor(shape, 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 4, data);
  }

  void* ones_ = nullptr;
  void* workspace_ = nullptr;
  std::array<void*, 3> outs_{};
  std::array<bool, 3> used_{};
  aclTensor* grad_output_ = nullptr;
  aclTensor* out_ = nullptr;
  uint64_t workspace_size_ = 0;
  aclOpExecutor* executor_ = nullptr;
};

// One thread's streams, events, memory and counters.
class Worker {
 public:
  Worker(aclrtContext context, uint64_t report_thread, uint64_t seed)
      : report_thread_(report_thread), random_(seed) {
    EXPECT_EQ(aclrtSetCurrentContext(context), 0);
    for (aclrtStream& stream : streams_) {
      EXPECT_EQ(aclrtCreateStream(&stream), 0);
      EXPECT_EQ(aclrtSubscribeReport(report_thread_, stream), 0);
    }
    for (aclrtEvent& event : events_) EXPECT_EQ(aclrtCreateEvent(&event), 0);
    EXPECT_EQ(aclrtMalloc(&cells_, kCells, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    EXPECT_EQ(aclrtMemset(cells_, kCells, 0, kCells), 0);
    EXPECT_EQ(aclrtMalloc(&big_, kBigCopy, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    gradient_ = std::make_unique<RepeatableGradient>();
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) Step();
    Finish();
  }

 private:
  void Step() {
    const size_t at = Pick(kStreams);
    const aclrtStream stream = streams_[at];
    switch (random_.Integer(0, 9)) {
      case 0:
        return SetCell(at);
      case 1:
        return CountOnHost(stream);
      case 2:
        return CountInCallback(stream);
      case 3:
        return Chain();
      case 4:
        ASSERT_EQ(aclrtMemsetAsync(big_, kBigCopy, static_cast<int>(at), kBigCopy, streams_[0]), 0);
        return;
      case 5:
        return gradient_->Enqueue(Pick(gradient_->targets()), streams_[1]);
      case 6:
        return ReplaceEvent();
      case 7: {
        aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
        ASSERT_EQ(aclrtStreamQuery(stream, &status), 0);
        ASSERT_NE(status, ACL_STREAM_STATUS_RESERVED);
        return;
      }
      case 8:
        if (Pick(8) != 0) return;
        ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << NewestMessage();
        return;
      default:
        if (Pick(20) == 0) ReplaceStream(at);
        return;
    }
  }

  // Each cell belongs to one stream: the last value enqueued is the value at the end.
  void SetCell(size_t stream) {
    const size_t cell = Pick(kCells / kStreams) * kStreams + stream;
    const auto value = static_cast<char>(random_.Integer(1, 100));
    wanted_[cell] = value;
    ASSERT_EQ(aclrtMemsetAsync(static_cast<char*>(cells_) + cell, 1, value, 1, streams_[stream]),
              0);
  }
  void CountOnHost(aclrtStream stream) {
    ++wanted_host_;
    ASSERT_EQ(aclrtLaunchHostFunc(stream, &Increment, &host_), 0);
  }
  void CountInCallback(aclrtStream stream) {
    ++wanted_callbacks_;
    const auto block = random_.Coin() ? ACL_CALLBACK_BLOCK : ACL_CALLBACK_NO_BLOCK;
    ASSERT_EQ(aclrtLaunchCallback(&Increment, &callbacks_, block, stream), 0) << NewestMessage();
  }
  // A plain counter that two streams touch, ordered by an event: the sanitizer sees a lost order.
  void Chain() {
    const aclrtEvent event = events_[Pick(events_.size())];
    ASSERT_EQ(aclrtLaunchHostFunc(streams_[2], &IncrementPlain, &chained_), 0);
    ASSERT_EQ(aclrtRecordEvent(event, streams_[2]), 0);
    ASSERT_EQ(aclrtStreamWaitEvent(streams_[3], event), 0);
    ASSERT_EQ(aclrtLaunchHostFunc(streams_[3], &IncrementPlain, &chained_), 0);
    ASSERT_EQ(aclrtRecordEvent(event, streams_[3]), 0);
    ASSERT_EQ(aclrtStreamWaitEvent(streams_[2], event), 0);
    wanted_chained_ += 2;
  }
  void ReplaceEvent() {
    aclrtEvent& event = events_[Pick(events_.size())];
    ASSERT_EQ(aclrtRecordEvent(event, streams_[Pick(kStreams)]), 0);
    ASSERT_EQ(aclrtDestroyEvent(event), 0) << "while it may be pending";
    ASSERT_EQ(aclrtCreateEvent(&event), 0);
  }
  // Destroying waits for the stream's work; only of streams that nobody orders himself by.
  void ReplaceStream(size_t at) {
    if (at > 1) return;
    ASSERT_EQ(aclrtDestroyStream(streams_[at]), 0);
    ASSERT_EQ(aclrtCreateStream(&streams_[at]), 0);
    ASSERT_EQ(aclrtSubscribeReport(report_thread_, streams_[at]), 0);
  }

  void Finish() {
    for (const aclrtStream stream : streams_) ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
    while (callbacks_ < wanted_callbacks_ && !testing::Test::HasFatalFailure()) {
      std::this_thread::yield();  // those that did not block
    }
    EXPECT_EQ(host_, wanted_host_);
    EXPECT_EQ(callbacks_, wanted_callbacks_);
    EXPECT_EQ(chained_, wanted_chained_);
    std::array<char, kCells> cells{};
    ASSERT_EQ(aclrtMemcpy(cells.data(), kCells, cells_, kCells, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    EXPECT_EQ(cells, wanted_);
    gradient_->Check();
    for (const aclrtStream stream : streams_) {
      EXPECT_EQ(aclrtUnSubscribeReport(report_thread_, stream), 0);
      EXPECT_EQ(aclrtDestroyStream(stream), 0);
    }
    for (const aclrtEvent event : events_) EXPECT_EQ(aclrtDestroyEvent(event), 0);
    gradient_.reset();
    EXPECT_EQ(aclrtFree(cells_), 0);
    EXPECT_EQ(aclrtFree(big_), 0);
  }

  static void Increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }
  static void IncrementPlain(void* counter) { ++*static_cast<int*>(counter); }
  size_t Pick(size_t count) {
    return static_cast<size_t>(random_.Integer(0, static_cast<int64_t>(count) - 1));
  }

  const uint64_t report_thread_;
  Random random_;
  std::array<aclrtStream, kStreams> streams_{};
  std::array<aclrtEvent, 6> events_{};
  void* cells_ = nullptr;
  void* big_ = nullptr;
  std::unique_ptr<RepeatableGradient> gradient_;
  std::array<char, kCells> wanted_{};
  std::atomic<int> host_{0};
  std::atomic<int> callbacks_{0};
  int chained_ = 0;
  int wanted_host_ = 0;
  int wanted_callbacks_ = 0;
  int wanted_chained_ = 0;
};

using RuntimeStress = RuntimeTest;

TEST_F(RuntimeStress, MixedWorkOfManyThreadsAndStreams) {
  const uint64_t seed = FreshSeed();
  SCOPED_TRACE("PORTACL_TEST_SEED=" + std::to_string(seed));
  const auto operations = static_cast<int>(ByRunLength(2000, 300)) * kStreams;
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&context), 0);
  Report report;
  report.thread = std::thread([&] {
    while (!report.stop) aclrtProcessReport(20);
  });
  const auto report_id = static_cast<uint64_t>(report.thread.native_handle());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back(
        [&, t] { Worker(context, report_id, seed * kThreads + t).Run(operations); });
  }
  for (std::thread& thread : threads) thread.join();
  report.stop = true;
  report.thread.join();
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
}

}  // namespace
}  // namespace portacl_test
