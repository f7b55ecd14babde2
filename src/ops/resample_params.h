// Parameters of the kernels of linear, cubic and antialiased resizing. Forward and backward compute
// the same sums with one table per axis; a backward table is the transpose of the forward table.
#ifndef PORTACL_OPS_RESAMPLE_PARAMS_H_
#define PORTACL_OPS_RESAMPLE_PARAMS_H_

#include <array>
#include <cstdint>

#include "base/dtype.h"

namespace portacl::ops {

// The sums along one axis: destination o is the sum of weight[k] * element source[k], for k from
// start[o] to start[o + 1] - 1. Inside a destination, source[k + 1] is source[k] or source[k] + 1.
// From one destination to the next, neither the first nor the last source becomes smaller. A source
// may occur twice, and a weight may be zero (of either sign). A destination without taps is +0.
// Weights are finite.
struct ResampleAxis {
  int64_t from = 1;                 // the sources' extent, which is read
  int64_t to = 1;                   // the destinations' extent, which is written
  bool identity = true;             // each destination is its source, and the pointers are null
  int64_t most = 1;                 // taps of the destination with the most taps
  const int64_t* start = nullptr;   // to + 1 entries
  const int64_t* source = nullptr;  // one entry per tap
  // One entry per tap: a double for kDouble, an int32_t for kUInt8, else a float.
  const void* weight = nullptr;
  int32_t shift = 0;  // kUInt8 only: a weight's fraction bits, 1 to kMostShift

  int64_t Count(int64_t o) const { return identity ? 1 : start[o + 1] - start[o]; }
};

// A weight of bytes is a fixed-point number of two 16-bit parts, lower + upper * kUpperPart. Each
// destination has an even number of taps. Each pair of taps has two entries: the first has both
// lower parts, the second both upper parts, with the first tap in the lower bits. Upper parts are
// 0 unless `shift` is kMostShift.
inline constexpr int32_t kMostShift = 22;
inline constexpr int32_t kUpperPart = 4096;

inline int32_t FixedWeight(const int32_t* weight, int64_t tap) {
  const auto part = [&](int64_t entry) {
    return static_cast<int16_t>(static_cast<uint32_t>(weight[entry]) >> (tap % 2 * 16));
  };
  return part(tap & ~int64_t{1}) + part(tap | 1) * kUpperPart;
}

// Tensors are (N, C, D, H, W); operators of fewer axes have D = 1 and H = 1. Strides are in
// elements, of any sign; 0 only in the input. Forward adds up along W, then H, then D, from -0 (so
// that the first tap gives weight * value). Backward adds up along D, then H, then W, from +0. Sums
// along one axis stay in the compute type. Each sum is acc = fma(weight, value, acc), tap by tap.
//
// Bytes: each sum is 2^(shift - 1) + weight * value + ..., modulo 2^32, shifted right by `shift`
// bits and clamped to 0..255. Each axis gives bytes. `backward` only means the order D, H, W.
struct ResampleParams {
  base::DType dtype = base::DType::kFloat;
  bool backward = false;
  int64_t n = 0;
  int64_t c = 0;
  ResampleAxis d{};
  ResampleAxis h{};
  ResampleAxis w{};
  const void* input = nullptr;            // (n, c, d.from, h.from, w.from); backward: gradOutput
  void* output = nullptr;                 // (n, c, d.to, h.to, w.to); backward: gradInput
  std::array<int64_t, 5> input_stride{};  // of N, C, D, H, W
  std::array<int64_t, 5> output_stride{};
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_RESAMPLE_PARAMS_H_
