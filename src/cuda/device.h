// The machine under the kernels. A kernel is a loop whose items are independent: a Body with
// operator()(int64_t item), a thread an item. nvcc makes a launch of it, another compiler a plain
// loop: tests run every kernel on machines without a GPU.
#ifndef PORTACL_CUDA_DEVICE_H_
#define PORTACL_CUDA_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include <cub/device/device_radix_sort.cuh>
#define PORTACL_DEVICE __host__ __device__
#define PORTACL_UNROLL _Pragma("unroll")
#define PORTACL_UNROLL_BY_4 _Pragma("unroll 4")
#else
#include <algorithm>
#include <cstdlib>
#include <numeric>
#define PORTACL_DEVICE
#define PORTACL_UNROLL
#define PORTACL_UNROLL_BY_4
#endif

namespace portacl::cuda {

// Sorts by key; equal keys keep their order. The results lie in `keys` and `values`, or, if Sort
// returns true, in the spare arrays.
struct SortArrays {
  uint32_t* keys;
  uint32_t* values;
  uint32_t* spare_keys;
  uint32_t* spare_values;
  int64_t count;
  int bits;  // of the keys that count
};

#if defined(__CUDACC__)

// This thread's stream and the first error since it entered (backend.cu).
cudaStream_t CurrentStream();
void Note(cudaError_t error);

inline constexpr int kBlock = 256;  // threads

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

inline uint64_t SortScratch(int64_t count, int bits) {
  size_t bytes = 0;
  cub::DoubleBuffer<uint32_t> keys(nullptr, nullptr);
  cub::DoubleBuffer<uint32_t> values(nullptr, nullptr);
  Note(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, values, count, 0, bits,
                                       CurrentStream()));
  return bytes;
}

inline bool Sort(const SortArrays& a, void* scratch, uint64_t bytes) {
  cub::DoubleBuffer<uint32_t> keys(a.keys, a.spare_keys);
  cub::DoubleBuffer<uint32_t> values(a.values, a.spare_values);
  size_t size = bytes;
  Note(cub::DeviceRadixSort::SortPairs(scratch, size, keys, values, a.count, 0, a.bits,
                                       CurrentStream()));
  return keys.Current() == a.spare_keys;
}

// Memory that a plan keeps: made on a stream of its own, so that plans may also be made while
// another stream is being captured in a graph.
void* NewTable(const void* from, size_t bytes);
void DeleteTable(void* table);

#else

template <class Body>
void Launch(int64_t items, const Body& body) {
  for (int64_t item = 0; item < items; ++item) body(item);
}

inline uint64_t SortScratch(int64_t /*count*/, int /*bits*/) { return 0; }

inline bool Sort(const SortArrays& a, void* /*scratch*/, uint64_t /*bytes*/) {
  std::vector<int64_t> order(static_cast<size_t>(a.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return a.keys[i] < a.keys[j]; });
  for (int64_t i = 0; i < a.count; ++i) {
    a.spare_keys[i] = a.keys[order[static_cast<size_t>(i)]];
    a.spare_values[i] = a.values[order[static_cast<size_t>(i)]];
  }
  return true;
}

inline void* NewTable(const void* from, size_t bytes) {
  void* const made = std::malloc(bytes);
  if (made == nullptr) throw std::bad_alloc();
  std::memcpy(made, from, bytes);
  return made;
}
inline void DeleteTable(void* table) { std::free(table); }

#endif

// An array of a plan's in the device's memory. Throws std::bad_alloc.
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
