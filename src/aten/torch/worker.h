// Runs PyTorch's kernels: on the calling thread alone, or on a worker thread with PyTorch's own
// threads.
#ifndef PORTACL_ATEN_TORCH_WORKER_H_
#define PORTACL_ATEN_TORCH_WORKER_H_

#include <functional>

namespace portacl::aten {

// Calls work() and waits for its end. With threads == 1, or in a child of fork(), the calling
// thread computes alone.
void RunWithThreads(int threads, const std::function<void()>& work);

}  // namespace portacl::aten

#endif  // PORTACL_ATEN_TORCH_WORKER_H_
