// NVIDIA GPUs for libportacl.so: libportacl_cuda.so, loaded when a program first asks for a GPU,
// and the device for which a thread plans.
#ifndef PORTACL_CUDA_LIBRARY_H_
#define PORTACL_CUDA_LIBRARY_H_

#include <cstdint>
#include <string>

namespace portacl::cuda {

inline constexpr int32_t kCpu = -1;

// The name of the kernels of GPUs.
inline constexpr char kKernelName[] = "cuda";

// How many GPUs can be used. If it is 0, WhyNone() says why.
int32_t DeviceCount();
std::string WhyNone();

// The GPU for which this thread plans calls of the native API, or kCpu, as at first.
int32_t ThreadDevice();
void SetThreadDevice(int32_t device);

// During its lifetime this thread plans for `device` (which exists), and runs on `stream` (a
// cudaStream_t).
class Scope {
 public:
  Scope(int32_t device, void* stream);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Null, or why the scope could not be entered: then nothing else may be called.
  const char* error() const { return error_; }
  // Memory in the order of the stream: null if there is none, and for 0 bytes. Leave() frees it, in
  // the order of the stream.
  void* Allocate(uint64_t bytes);
  void Wait();
  // Ends the scope. Null, or CUDA's message for the first call that failed.
  const char* Leave();

 private:
  bool entered_ = true;
  const char* error_ = nullptr;
  void* memory_ = nullptr;
};

// Whether kernels of the device can reach the memory at `address`.
bool IsOnDevice(const void* address, int32_t device);

// CUDA's message for this thread's last plan that failed. "" if the kernels do not serve the
// call.
const char* PlanError();

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_LIBRARY_H_
