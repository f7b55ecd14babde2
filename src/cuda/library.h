// NVIDIA GPUs for libportacl.so: loads libportacl_cuda.so when a program first asks for a GPU, and
// keeps the device for which each thread plans.
#ifndef PORTACL_CUDA_LIBRARY_H_
#define PORTACL_CUDA_LIBRARY_H_

#include <cstdint>
#include <string>

namespace portacl::cuda {

inline constexpr int32_t kCpu = -1;

// The name of all kernels for GPUs.
inline constexpr char kKernelName[] = "cuda";

// Returns how many GPUs can be used. If it is 0, WhyNone() says why.
int32_t DeviceCount();
std::string WhyNone();

// The GPU for which this thread plans calls of the native API. It is kCpu at first.
int32_t ThreadDevice();
void SetThreadDevice(int32_t device);

// During its life, this thread plans for `device` (which must exist) and runs on `stream` (a
// cudaStream_t).
class Scope {
 public:
  Scope(int32_t device, void* stream);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // Returns null, or why the scope could not be entered. Then nothing else may be called.
  const char* error() const { return error_; }
  // Allocates in the order of the stream. Null if there is no memory, and for 0 bytes. Leave()
  // frees the memory in the order of the stream.
  void* Allocate(uint64_t bytes);
  void Wait();
  // Ends the scope. Returns null, or CUDA's message for the first call that failed.
  const char* Leave();

 private:
  bool entered_ = true;
  const char* error_ = nullptr;
  void* memory_ = nullptr;
};

// Returns true if kernels of the device can reach the memory at `address`.
bool IsOnDevice(const void* address, int32_t device);

// Returns CUDA's message for this thread's last plan that failed; "" if the kernels just do not
// serve the call.
const char* PlanError();

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_LIBRARY_H_
