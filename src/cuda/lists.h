// Puts entries into lists: counts entries, sums the counts, and sorts entries that were placed in
// any order.
#ifndef PORTACL_CUDA_LISTS_H_
#define PORTACL_CUDA_LISTS_H_

#include <cstddef>
#include <cstdint>

#include "cuda/device.h"

#if defined(__CUDACC__)
#include <cub/device/device_scan.cuh>
#else
#include <algorithm>
#include <numeric>
#endif

namespace portacl::cuda {

// Adds 1 and returns the old value. The order of threads is open, so results must not depend on it.
PORTACL_DEVICE inline uint32_t AddOne(uint32_t* to) {
#if defined(__CUDA_ARCH__)
  return atomicAdd(to, 1u);
#else
  return (*to)++;
#endif
}

// Sorts entries[begin] to entries[end - 1]. Fast for few entries or entries nearly in order.
template <class T>
PORTACL_DEVICE void SortInOrder(T* entries, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin + 1; i < end; ++i) {
    const T entry = entries[i];
    uint32_t at = i;
    for (; at > begin && entries[at - 1] > entry; --at) entries[at] = entries[at - 1];
    entries[at] = entry;
  }
}

#if defined(__CUDACC__)

// Scan() makes each result the sum of all counts before it. ScanScratch(): the bytes it needs.
inline uint64_t ScanScratch(int64_t count) {
  size_t bytes = 0;
  uint32_t* const none = nullptr;
  Note(cub::DeviceScan::ExclusiveSum(nullptr, bytes, none, none, count, CurrentStream()));
  return bytes;
}
inline void Scan(const uint32_t* from, uint32_t* to, int64_t count, void* scratch, uint64_t bytes) {
  size_t size = bytes;
  Note(cub::DeviceScan::ExclusiveSum(scratch, size, from, to, count, CurrentStream()));
}

inline constexpr int kSortBlock = 512;  // threads

// Each block sorts one list at a time by Batcher's network, in which all comparisons ascend. So
// padding behind the list's end stays there.
static __global__ void __launch_bounds__(kSortBlock)
    SortLists(const uint32_t* lists, const uint32_t* number, const uint32_t* starts,
              uint32_t* entries) {
  for (uint32_t at = blockIdx.x; at < *number; at += gridDim.x) {
    uint32_t* const list = entries + starts[lists[at]];
    const uint32_t size = starts[lists[at] + 1] - starts[lists[at]];
    const auto pass = [&](uint32_t mask, uint32_t half) {
      // A pair is (low, low ^ mask). The bit `half` tells low from high.
      for (uint32_t pair = threadIdx.x; pair < size; pair += kSortBlock) {
        const uint32_t high = pair ^ mask;
        if ((pair & half) != 0 || high >= size || list[pair] <= list[high]) continue;
        const uint32_t kept = list[pair];
        list[pair] = list[high];
        list[high] = kept;
      }
      __syncthreads();
    };
    for (uint32_t run = 2; run / 2 < size; run *= 2) {
      pass(run - 1, run / 2);
      for (uint32_t half = run / 4; half > 0; half /= 2) pass(half, half);
    }
  }
}

// Sorts the lists with the numbers lists[0] to lists[*number - 1]. List i has the entries starts[i]
// to starts[i + 1] - 1.
inline void SortListed(const uint32_t* lists, const uint32_t* number, const uint32_t* starts,
                       uint32_t* entries) {
  constexpr unsigned kBlocks = 264;
  SortLists<<<kBlocks, kSortBlock, 0, CurrentStream()>>>(lists, number, starts, entries);
  Note(cudaGetLastError());
}

#else

inline uint64_t ScanScratch(int64_t /*count*/) { return 0; }
inline void Scan(const uint32_t* from, uint32_t* to, int64_t count, void* /*scratch*/,
                 uint64_t /*bytes*/) {
  std::exclusive_scan(from, from + count, to, uint32_t{0});
}

inline void SortListed(const uint32_t* lists, const uint32_t* number, const uint32_t* starts,
                       uint32_t* entries) {
  for (uint32_t i = 0; i < *number; ++i) {
    std::sort(entries + starts[lists[i]], entries + starts[lists[i] + 1]);
  }
}

#endif

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_LISTS_H_
