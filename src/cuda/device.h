// The device that kernels run on. A kernel is a loop over independent items: a Body with
// operator()(int64_t item). With nvcc it becomes a launch with a thread per item, with another
// compiler a plain loop. So tests run every kernel on machines without a GPU.
#ifndef PORTACL_CUDA_DEVICE_H_
#define PORTACL_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "base/device_math.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#define PORTACL_UNROLL _Pragma("unroll")
#define PORTACL_UNROLL_BY_4 _Pragma("unroll 4")
#else
#include <cstdlib>
#define PORTACL_UNROLL
#define PORTACL_UNROLL_BY_4
#endif

namespace portacl::cuda {

#if defined(__CUDACC__)

// The stream of this thread; and the note of its first error since enter() (backend.cu).
cudaStream_t CurrentStream();
void Note(cudaError_t error);

inline constexpr int kBlock = 256;  // threads

// A size that decides how a call is computed. In plain loops it is smaller, so that tests with
// small tensors use every way.
constexpr int64_t Threshold(int64_t on_gpu, int64_t /*in_loops*/) { return on_gpu; }

template <class Body>
__global__ void __launch_bounds__(kBlock) RunBody(const Body body, int64_t items) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (item < items) body(item);
}

template <class Body>
void Launch(int64_t items, const Body& body) {
  if (items <= 0) return;
  const auto blocks = static_cast<unsigned>((items + kBlock - 1) / kBlock);
  RunBody<<<blocks, kBlock, 0, CurrentStream()>>>(body, items);
  Note(cudaGetLastError());
}

// Memory of a plan. It is made on a separate stream, because plans may also be made while another
// stream is captured in a graph.
void* NewTable(const void* from, size_t bytes);
void DeleteTable(void* table);

#else

constexpr int64_t Threshold(int64_t /*on_gpu*/, int64_t in_loops) { return in_loops; }

template <class Body>
void Launch(int64_t items, const Body& body) {
  for (int64_t item = 0; item < items; ++item) body(item);
}

inline void* NewTable(const void* from, size_t bytes) {
  void* const made = std::malloc(bytes);
  if (made == nullptr) throw std::bad_alloc();
  std::memcpy(made, from, bytes);
  return made;
}
inline void DeleteTable(void* table) { std::free(table); }

#endif

// Rounds up the bytes of a part of a workspace, so that the next part is aligned for every type.
constexpr uint64_t Padded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// An array of a plan in the device's memory. The constructor may throw std::bad_alloc.
template <class T>
class Table {
 public:
  Table() = default;
  explicit Table(const std::vector<T>& values) {
    if (!values.empty()) {
      data_ = static_cast<T*>(NewTable(values.data(), values.size() * sizeof(T)));
    }
  }
  Table(Table&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  Table& operator=(Table&& other) noexcept {
    T* const mine = data_;
    data_ = other.data_;
    other.data_ = mine;
    return *this;
  }
  ~Table() {
    if (data_ != nullptr) DeleteTable(data_);
  }
  const T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_DEVICE_H_
