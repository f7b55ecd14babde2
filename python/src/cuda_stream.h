// Which GPU and which of its streams this thread's calls of portacl._core use.
#ifndef PORTACL_PYTHON_CUDA_STREAM_H_
#define PORTACL_PYTHON_CUDA_STREAM_H_

#include <cstdint>

namespace portacl_python {

inline constexpr int32_t kCpu = -1;

struct CudaStream {
  int32_t device = kCpu;
  void* stream = nullptr;    // a cudaStream_t
  bool is_captured = false;  // in a graph, which needs its plans as long as it lives

  bool on_gpu() const { return device != kCpu; }
};

// This thread's: the CPU, as at first.
inline CudaStream& CurrentStream() {
  thread_local CudaStream stream;
  return stream;
}

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_CUDA_STREAM_H_
