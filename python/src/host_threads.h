// The threads of a host that lives in the same process (PyTorch), lent to the library.
#ifndef PORTACL_PYTHON_HOST_THREADS_H_
#define PORTACL_PYTHON_HOST_THREADS_H_

#include <cstdint>
#include <string>

namespace portacl_python {

// Lends the threads of the GNU OpenMP that the shared library `user`, loaded already, calls. Its
// workers spin for a while after each of the host's loops. Lent, they do our work instead of taking
// the CPUs from it. Nothing is loaded or linked for it. Returns "", or why it cannot be done (if
// `user` has another OpenMP, or none); the library's pool is as before then.
std::string LendOpenMpThreads(const std::string& user, const std::string& name);

// Leaves loops on the library's own threads, as many as each call says. `name` is what
// portaclGetInfo calls that pool. Returns a PORTACL_... code.
int32_t LendNumberOfThreads(const std::string& name);

// While it lives, calls of this thread use that number of threads, unless the process asked for
// another one. 0: as many as the lent pool, or the library, has.
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
