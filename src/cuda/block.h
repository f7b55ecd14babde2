// Kernels whose threads work together. A Body has operator()(const Block&, int64_t number,
// Shared&); each number gets a block of threads. Members of Block do common steps; between these
// steps each thread works alone. With compilers other than nvcc, a kernel becomes loops.
#ifndef PORTACL_CUDA_BLOCK_H_
#define PORTACL_CUDA_BLOCK_H_

#include <cstdint>
#include <numeric>

#include "cuda/device.h"

namespace portacl::cuda {

class Block {
 public:
  static constexpr uint32_t kThreads = static_cast<uint32_t>(Threshold(256, 32));
  static constexpr uint32_t kRounds = 4;
  static constexpr uint32_t kMost = kRounds * kThreads;  // largest count of Select()

  // Shared memory for the members of Block.
  struct Scratch {
    uint32_t counts[32];
  };

  // One value per thread. Each thread sees only its own value.
  template <class T>
  class Own {
   public:
    PORTACL_DEVICE T& operator[]([[maybe_unused]] uint32_t thread) {
#if defined(__CUDA_ARCH__)
      return values_[0];
#else
      return values_[thread];
#endif
    }

   private:
#if defined(__CUDA_ARCH__)
    T values_[1] = {};
#else
    T values_[kThreads] = {};
#endif
  };

  // Calls f(thread) on each thread. Then all threads see all writes.
  template <class F>
  PORTACL_DEVICE void Each(const F& f) const {
#if defined(__CUDA_ARCH__)
    f(threadIdx.x);
    __syncthreads();
#else
    for (uint32_t thread = 0; thread < kThreads; ++thread) f(thread);
#endif
  }

  // For i = 0 to count - 1 (at most kMost), writes the values for which f(i, &value) is true to
  // `to`, in order. Returns how many there are.
  template <class F>
  PORTACL_DEVICE uint32_t Select(uint32_t count, uint32_t* to, Scratch* scratch, const F& f) const {
#if defined(__CUDA_ARCH__)
    constexpr uint32_t kWarps = kThreads / 32;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t warp = threadIdx.x / 32;
    uint32_t chosen[kRounds];
    uint32_t values[kRounds];
    PORTACL_UNROLL
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint32_t i = round * kThreads + threadIdx.x;
      chosen[round] = __ballot_sync(UINT32_MAX, i < count && f(i, &values[round]));
    }
    if (lane == 0) {
      PORTACL_UNROLL
      for (uint32_t round = 0; round < kRounds; ++round) {
        scratch->counts[round * kWarps + warp] = __popc(chosen[round]);
      }
    }
    __syncthreads();
    const uint32_t own = scratch->counts[lane];
    const uint32_t sum = SumTo(own, lane);
    PORTACL_UNROLL
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint32_t at = __shfl_sync(UINT32_MAX, sum - own, round * kWarps + warp);
      if ((chosen[round] >> lane & 1) == 0) continue;
      to[at + __popc(chosen[round] & ((1u << lane) - 1))] = values[round];
    }
    __syncthreads();
    return __shfl_sync(UINT32_MAX, sum, 31);
#else
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t value = 0;
      if (f(i, &value)) to[found++] = value;
    }
    static_cast<void>(scratch);
    return found;
#endif
  }

  // Replaces each of kThreads numbers by the sum of the numbers before it.
  PORTACL_DEVICE void Scan(uint32_t* numbers, Scratch* scratch) const {
#if defined(__CUDA_ARCH__)
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t own = numbers[threadIdx.x];
    uint32_t sum = SumTo(own, lane);
    if (lane == 31) scratch->counts[threadIdx.x / 32] = sum;
    __syncthreads();
    for (uint32_t warp = 0; warp < threadIdx.x / 32; ++warp) sum += scratch->counts[warp];
    numbers[threadIdx.x] = sum - own;
    __syncthreads();
#else
    std::exclusive_scan(numbers, numbers + kThreads, numbers, uint32_t{0});
    static_cast<void>(scratch);
#endif
  }

 private:
#if defined(__CUDA_ARCH__)
  // Returns the sum of a warp's numbers from lane 0 to this lane.
  static __device__ uint32_t SumTo(uint32_t number, uint32_t lane) {
    for (uint32_t apart = 1; apart < 32; apart *= 2) {
      const uint32_t before = __shfl_up_sync(UINT32_MAX, number, apart);
      if (lane >= apart) number += before;
    }
    return number;
  }
#endif
};

#if defined(__CUDACC__)

template <class Body>
__global__ void __launch_bounds__(Block::kThreads) RunBlocks(const Body body) {
  __shared__ typename Body::Shared shared;
  body(Block(), static_cast<int64_t>(blockIdx.x), shared);
}

template <class Body>
void LaunchBlocks(int64_t blocks, const Body& body) {
  if (blocks <= 0) return;
  RunBlocks<<<static_cast<unsigned>(blocks), Block::kThreads, 0, CurrentStream()>>>(body);
  Note(cudaGetLastError());
}

#else

template <class Body>
void LaunchBlocks(int64_t blocks, const Body& body) {
  typename Body::Shared shared;
  for (int64_t number = 0; number < blocks; ++number) body(Block(), number, shared);
}

#endif

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_BLOCK_H_
