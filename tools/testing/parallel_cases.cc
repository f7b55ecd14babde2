// Threads that take the next number.
#include "tools/testing/parallel_cases.h"

#include <portacl/portacl.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace portacl::golden {

void ForEachCase(size_t count, int jobs, const std::function<void(int)>& on_done,
                 const std::function<void(size_t)>& task) {
  const int threads_of_an_operator = portaclGetNumThreads();
  const auto wanted = static_cast<size_t>(jobs > 0 ? jobs : threads_of_an_operator);
  const size_t threads = std::min(wanted, count);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  int done = 0;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
      const std::lock_guard lock(mutex);
      ++done;
      if (on_done) on_done(done);
    }
  };
  if (threads > 1) static_cast<void>(portaclSetNumThreads(1));
  std::vector<std::thread> workers;
  for (size_t i = 1; i < threads; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (threads > 1) static_cast<void>(portaclSetNumThreads(threads_of_an_operator));
  if (failure) std::rethrow_exception(failure);
}

}  // namespace portacl::golden
