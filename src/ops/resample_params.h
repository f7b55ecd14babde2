// Parameters of the kernels of linear, cubic and antialiased resizing. Forward and backward are the
// same sums over a table per axis: the backward tables are the transposed ones.
#ifndef PORTACL_OPS_RESAMPLE_PARAMS_H_
#define PORTACL_OPS_RESAMPLE_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// The sums of one axis: destination o is the sum of weight[k] * element source[k], start[o] <= k <
// start[o + 1]. The sources of a destination never decrease, and all elements between them are its
// sources too. From one destination to the next, the first and the last source do not decrease
// either. A source may occur twice, and a weight may be zero (of either sign). A destination
// without taps is +0. Weights are finite.
struct ResampleAxis {
  int64_t from = 1;      // sources: the extent that is read
  int64_t to = 1;        // destinations: the extent that is written
  bool identity = true;  // each destination is its source; the pointers are null then
  int64_t most = 1;      // taps of the destination that has most: up to `from`, or twice that
  const int64_t* start = nullptr;   // to + 1 entries
  const int64_t* source = nullptr;  // one entry a tap
  // One entry a tap: of float; of double if dtype is kDouble; of int32_t if it is kUInt8.
  const void* weight = nullptr;
  int32_t shift = 0;  // of kUInt8: a weight's fraction bits, 1 to kMostShift

  int64_t Count(int64_t o) const { return identity ? 1 : start[o + 1] - start[o]; }
};

// Weights of bytes are fixed-point numbers of two parts with 16 bits, lower + upper * kUpperPart. A
// destination has an even number of taps; each pair of taps has two entries. The first entry holds
// both lower parts, the second both upper parts; the first tap is in the lower bits. Upper parts
// are 0 unless `shift` is kMostShift.
inline constexpr int32_t kMostShift = 22;
inline constexpr int32_t kUpperPart = 4096;

inline int32_t FixedWeight(const int32_t* weight, int64_t tap) {
  const auto part = [&](int64_t entry) {
    return static_cast<int16_t>(static_cast<uint32_t>(weight[entry]) >> (tap % 2 * 16));
  };
  return part(tap & ~int64_t{1}) + part(tap | 1) * kUpperPart;
}

// (N, C, D, H, W); operators of fewer axes have D = 1 and H = 1. Strides in elements, any sign; 0
// only in the input. Forward adds up along W, then H, then D, from -0 (so that the first tap is
// weight * value). Backward along D, then H, then W, from +0. Results between the axes stay in the
// compute type. Each sum is acc = fma(weight, value, acc) in the order of its taps.
//
// Bytes: each sum is 2^(shift - 1) + weight * value + ..., modulo 2^32, shifted right by `shift`
// bits and clamped to 0..255. Results between the axes are bytes. `backward` says the axes' order.
struct ResampleParams {
  base::DType dtype = base::DType::kFloat;
  bool backward = false;
  int64_t n = 0;
  int64_t c = 0;
  ResampleAxis d{};
  ResampleAxis h{};
  ResampleAxis w{};
  const void* input = nullptr;            // (n, c, d.from, h.from, w.from): backward, gradOutput
  void* output = nullptr;                 // (n, c, d.to, h.to, w.to): backward, gradInput
  std::array<int64_t, 5> input_stride{};  // of N, C, D, H, W
  std::array<int64_t, 5> output_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RESAMPLE_PARAMS_H_
