// The table that libportacl.so loads, and each thread's device, stream and first error.
#include "cuda/backend.h"

#include <cstdlib>
#include <new>

#include "cuda/device.h"
#include "cuda/operators.h"
#include "portacl/export.h"
#include "portacl/version.h"

namespace portacl::cuda {
namespace {

#if defined(__CUDACC__)

struct State {
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaSuccess;
  int device_before = -1;
};
thread_local State state;

const char* TextOf(cudaError_t error) {
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

// Returns true if the library has code for the GPU.
bool IsServed(int device) {
  int major = 0;
  return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         major >= 8;
}

int32_t DeviceCount() {
  int all = 0;
  int served = 0;
  if (cudaGetDeviceCount(&all) == cudaSuccess) {
    while (served < all && IsServed(served)) ++served;
  }
  static_cast<void>(cudaGetLastError());  // clears the error, so that no later call finds it
  return served;
}

const char* Unavailable() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());
  if (error == cudaSuccess && count > 0) return "the first GPU's compute capability is below 8.0";
  return TextOf(error);
}

const char* Enter(int32_t device, void* stream) {
  state = State{};
  state.stream = static_cast<cudaStream_t>(stream);
  static_cast<void>(cudaGetLastError());  // clears errors of other code
  int before = 0;
  cudaError_t error = cudaGetDevice(&before);
  if (error == cudaSuccess && before != device) {
    error = cudaSetDevice(device);
    state.device_before = before;
  }
  return TextOf(error);
}

const char* Leave() {
  if (state.device_before >= 0) Note(cudaSetDevice(state.device_before));
  const char* const text = TextOf(state.error);
  state = State{};
  return text;
}

bool IsOnDevice(const void* address, int32_t device) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  return attributes.devicePointer != nullptr &&
         (attributes.type != cudaMemoryTypeDevice || attributes.device == device);
}

// Makes the device's pool keep freed memory, as PyTorch's allocator does.
void KeepFreedMemory() {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  uint64_t all = UINT64_MAX;
  if (cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess) {
    static_cast<void>(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  }
}

void* Allocate(uint64_t bytes) {
  thread_local int kept = -1;
  int device = 0;
  if (cudaGetDevice(&device) == cudaSuccess && device != kept) {
    KeepFreedMemory();
    kept = device;
  }
  void* memory = nullptr;
  const cudaError_t error = cudaMallocAsync(&memory, bytes, state.stream);
  if (error == cudaSuccess) return memory;
  static_cast<void>(cudaGetLastError());
  if (error != cudaErrorMemoryAllocation) Note(error);
  return nullptr;
}

void Free(void* memory) { Note(cudaFreeAsync(memory, state.stream)); }

void Wait() { Note(cudaStreamSynchronize(state.stream)); }

// During its life, this thread may make calls that a capture of another stream forbids.
class BesideCaptures {
 public:
  BesideCaptures() { Note(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ~BesideCaptures() { Note(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

#else

int32_t DeviceCount() { return 1; }
const char* Unavailable() { return nullptr; }
const char* Enter(int32_t, void*) { return nullptr; }
const char* Leave() { return nullptr; }
bool IsOnDevice(const void*, int32_t) { return true; }
void* Allocate(uint64_t bytes) { return std::malloc(bytes); }
void Free(void* memory) { std::free(memory); }
void Wait() {}

#endif

}  // namespace

#if defined(__CUDACC__)

cudaStream_t CurrentStream() { return state.stream; }

void Note(cudaError_t error) {
  if (error != cudaSuccess && state.error == cudaSuccess) state.error = error;
}

void* NewTable(const void* from, size_t bytes) {
  const BesideCaptures beside;
  void* table = nullptr;
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess) error = cudaMalloc(&table, bytes);
  if (error == cudaSuccess) {
    error = cudaMemcpyAsync(table, from, bytes, cudaMemcpyHostToDevice, stream);
  }
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  if (error == cudaSuccess) return table;
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaFree(table));
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  Note(error);
  return nullptr;
}

void DeleteTable(void* table) {
  const BesideCaptures beside;
  static_cast<void>(cudaFree(table));  // waits for kernels that read the table
  static_cast<void>(cudaGetLastError());
}

#endif

extern "C" PORTACL_API const Backend* portaclCudaBackend() {
  static const Backend backend = {PORTACL_VERSION_STRING,
                                  DeviceCount,
                                  Unavailable,
                                  Enter,
                                  Leave,
                                  IsOnDevice,
                                  Allocate,
                                  Free,
                                  Wait,
#define PORTACL_CUDA_TAKE(Params, function) operators::function,
                                  PORTACL_CUDA_OPERATORS(PORTACL_CUDA_TAKE)
#undef PORTACL_CUDA_TAKE
  };
  return &backend;
}

}  // namespace portacl::cuda
