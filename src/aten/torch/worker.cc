// OpenMP keeps a pool of threads for each thread that begins a region. So work of several threads
// runs on one worker thread, one piece at a time, whatever its stream.
#include "aten/torch/worker.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace portacl::aten {
namespace {

// The OpenMP that PyTorch has loaded; null functions if there is none.
struct OpenMp {
  int (*get)() = nullptr;
  void (*set)(int) = nullptr;

  OpenMp() {
    Dl_info torch;
    if (dladdr(reinterpret_cast<const void*>(&at::set_num_threads), &torch) == 0) return;
    void* const library = dlopen(torch.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    get = reinterpret_cast<int (*)()>(dlsym(library, "omp_get_max_threads"));
    set = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  }
};

const OpenMp& Omp() {
  static const auto& omp = *new OpenMp;
  return omp;
}

// Sets PyTorch's number of threads on the calling thread, and restores it in the destructor.
class ThreadCount {
 public:
  explicit ThreadCount(int count) {
    at::internal::lazy_init_num_threads();  // sets its own number, once per thread
    if (Omp().get == nullptr || Omp().set == nullptr) return;
    before_ = Omp().get();
    if (before_ != count) Omp().set(count);
  }
  ~ThreadCount() {
    if (before_ > 0) Omp().set(before_);
  }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_ = 0;
};

class Worker {
 public:
  Worker() {
    std::thread([this] { Serve(); }).detach();
  }

  void Run(int threads, const std::function<void()>& work) {
    const std::lock_guard turn(turn_);
    std::unique_lock lock(mutex_);
    threads_ = threads;
    work_ = &work;
    changed_.notify_all();
    changed_.wait(lock, [this] { return work_ == nullptr; });
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void Serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return work_ != nullptr; });
      lock.unlock();
      std::exception_ptr error;
      try {
        const ThreadCount count(threads_);
        (*work_)();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      work_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int threads_ = 1;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr error_;
};

// A child of fork() has neither OpenMP's threads nor the worker.
const pid_t loaded_by = getpid();

}  // namespace

void RunWithThreads(int threads, const std::function<void()>& work) {
  if (threads > 1 && getpid() == loaded_by) {
    static auto& worker = *new Worker;
    return worker.Run(threads, work);
  }
  const ThreadCount count(1);
  work();
}

}  // namespace portacl::aten
