// A server: client threads put requests into a queue. Each worker thread has a stream of its own
// and answers with the gradient of an image. Everything is created once, per worker.
#include <acl/acl.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace {

constexpr int kWorkers = 4;
constexpr int kClients = 3;
constexpr int kRequestsPerClient = 50;
constexpr int64_t kSmall = 16;
constexpr int64_t kLarge = 48;

void Check(int code, const char* what) {
  if (code == 0) return;
  const char* message = aclGetRecentErrMsg();
  std::printf("%s failed with %d: %s\n", what, code, message != nullptr ? message : "");
  std::exit(1);
}

using Image = std::vector<float>;

struct Request {
  Image grad_output;
  std::promise<Image> answer;
};

class Queue {
 public:
  void Put(Request request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
    changed_.notify_one();
  }
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // None when the queue is closed and empty.
  std::optional<Request> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ || !requests_.empty(); });
    if (requests_.empty()) return std::nullopt;
    Request request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;
  bool closed_ = false;
};

class Worker {
 public:
  Worker() {
    Check(aclrtSetDevice(0), "set device");  // per thread
    Check(aclrtCreateStream(&stream_), "create stream");
    Check(aclrtMalloc(&in_, kInBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    Check(aclrtMalloc(&out_, kOutBytes, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    from_ = MakeTensor(kLarge, in_);
    to_ = MakeTensor(kSmall, out_);
    const int64_t output_size[] = {kLarge, kLarge};
    const int64_t input_size[] = {1, 1, kSmall, kSmall};
    output_size_ = aclCreateIntArray(output_size, 2);
    input_size_ = aclCreateIntArray(input_size, 4);
  }
  ~Worker() {
    aclDestroyTensor(from_);
    aclDestroyTensor(to_);
    aclDestroyIntArray(output_size_);
    aclDestroyIntArray(input_size_);
    if (workspace_ != nullptr) Check(aclrtFree(workspace_), "free");
    Check(aclrtFree(in_), "free");
    Check(aclrtFree(out_), "free");
    Check(aclrtDestroyStream(stream_), "destroy stream");
    Check(aclrtResetDevice(0), "reset device");
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Image Answer(const Image& grad_output) {
    Image answer(kSmall * kSmall);
    Check(aclrtMemcpyAsync(in_, kInBytes, grad_output.data(), kInBytes, ACL_MEMCPY_HOST_TO_DEVICE,
                           stream_),
          "upload");
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    Check(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(from_, output_size_, input_size_, 0.0,
                                                              0.0, to_, &size, &executor),
          "plan");
    Reserve(size);
    Check(aclnnUpsampleNearestExact2dBackward(workspace_, size, executor, stream_), "run");
    Check(aclrtMemcpyAsync(answer.data(), kOutBytes, out_, kOutBytes, ACL_MEMCPY_DEVICE_TO_HOST,
                           stream_),
          "download");
    Check(aclrtSynchronizeStream(stream_), "synchronise");
    return answer;
  }

 private:
  static constexpr size_t kInBytes = kLarge * kLarge * sizeof(float);
  static constexpr size_t kOutBytes = kSmall * kSmall * sizeof(float);

  static aclTensor* MakeTensor(int64_t extent, void* data) {
    const int64_t shape[] = {1, 1, extent, extent};
    return aclCreateTensor(shape, 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_NCHW, shape, 4, data);
  }
  void Reserve(uint64_t size) {
    if (size <= room_) return;
    if (workspace_ != nullptr) Check(aclrtFree(workspace_), "free");
    Check(aclrtMalloc(&workspace_, size, ACL_MEM_MALLOC_HUGE_FIRST), "malloc");
    room_ = size;
  }

  aclrtStream stream_ = nullptr;
  void* in_ = nullptr;
  void* out_ = nullptr;
  void* workspace_ = nullptr;
  uint64_t room_ = 0;
  aclTensor* from_ = nullptr;
  aclTensor* to_ = nullptr;
  aclIntArray* output_size_ = nullptr;
  aclIntArray* input_size_ = nullptr;
};

void Serve(Queue& queue) {
  Worker worker;
  while (std::optional<Request> request = queue.Take()) {
    request->answer.set_value(worker.Answer(request->grad_output));
  }
}

// Asks for images of one value each; every gradient sums 3 x 3 pixels. Returns the right answers.
int Ask(Queue& queue, int client) {
  int right = 0;
  for (int i = 0; i < kRequestsPerClient; ++i) {
    const auto value = static_cast<float>(client * kRequestsPerClient + i);
    Request request{Image(kLarge * kLarge, value), {}};
    std::future<Image> answer = request.answer.get_future();
    queue.Put(std::move(request));
    right += answer.get() == Image(kSmall * kSmall, 9.0f * value);
  }
  return right;
}

}  // namespace

int main() {
  Check(aclInit(nullptr), "init");
  Queue queue;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back([&] { Serve(queue); });
  std::vector<std::future<int>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::async(std::launch::async, [&queue, i] { return Ask(queue, i); }));
  }
  for (int i = 0; i < kClients; ++i) {
    std::printf("client %d: %d of %d answers right\n", i, clients[i].get(), kRequestsPerClient);
  }
  queue.Close();
  for (std::thread& worker : workers) worker.join();
  Check(aclFinalize(), "finalize");
  return 0;
}
