// The threads of a host that lives in the same process (PyTorch), lent to the library.
#ifndef PORTACL_PYTHON_HOST_THREADS_H_
#define PORTACL_PYTHON_HOST_THREADS_H_

#include <cstdint>
#include <string>

namespace portacl_python {

// Lends the threads of the GNU OpenMP that the loaded shared library `user` calls. OpenMP's workers
// spin for a while after each loop of the host. If they are lent, they do our work instead of
// taking CPUs from it. Loads and links nothing. Returns "", or the reason of a failure (`user` has
// another OpenMP, or none); then the library's pool stays as it was.
std::string LendOpenMpThreads(const std::string& user, const std::string& name);

// Leaves loops on the library's own threads, as many as each call says. `name` is what
// portaclGetInfo calls that pool. Returns a PORTACL_... code.
int32_t LendNumberOfThreads(const std::string& name);

// During its lifetime, calls of this thread use this number of threads, unless the process asked
// for another number. 0: as many as the lent pool, or the library, has.
class ThreadsOfCall {
 public:
  explicit ThreadsOfCall(int32_t threads);
  ~ThreadsOfCall();
  ThreadsOfCall(const ThreadsOfCall&) = delete;
  ThreadsOfCall& operator=(const ThreadsOfCall&) = delete;

 private:
  const int32_t outer_;
};

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_HOST_THREADS_H_
