// What the Google Benchmark programs share: tensors of any dtype and memory format.
#ifndef PORTACL_BENCH_BENCH_TENSOR_H_
#define PORTACL_BENCH_BENCH_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "portacl/portacl.h"

namespace portacl_bench {

inline size_t SizeOf(int32_t dtype) {
  return dtype == PORTACL_FLOAT64 ? 8 : (dtype == PORTACL_FLOAT32 ? 4 : 2);
}

// A number in the element type, rounded towards zero in the 16-bit types: only its size matters.
inline void Store(int32_t dtype, double value, unsigned char* to) {
  if (dtype == PORTACL_FLOAT64) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const auto single = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof bits);
  if (dtype == PORTACL_FLOAT32) {
    std::memcpy(to, &bits, sizeof bits);
    return;
  }
  auto half = static_cast<uint16_t>(bits >> 16);
  if (dtype == PORTACL_FLOAT16) {
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    const uint32_t scaled = magnitude < 0x38800000u ? 0 : (magnitude - 0x38000000u) >> 13;
    half = static_cast<uint16_t>(((bits >> 16) & 0x8000u) | scaled);
  }
  std::memcpy(to, &half, sizeof half);
}

// The dtype of a row of bench/shapes.json.
inline int32_t DTypeOf(const std::string& name) {
  return name == "FLOAT16"  ? PORTACL_FLOAT16
         : name == "BF16"   ? PORTACL_BFLOAT16
         : name == "DOUBLE" ? PORTACL_FLOAT64
                            : PORTACL_FLOAT32;
}

// A tensor of rank 4 with memory of its own.
struct Tensor {
  portaclTensor view{};
  std::vector<unsigned char> bytes;

  Tensor(int32_t dtype, const std::vector<int64_t>& shape, bool channels_last) {
    const int64_t c = shape[1];
    const int64_t h = shape[2];
    const int64_t w = shape[3];
    const std::vector<int64_t> strides = channels_last
                                             ? std::vector<int64_t>{c * h * w, 1, w * c, c}
                                             : std::vector<int64_t>{c * h * w, h * w, w, 1};
    view.dtype = dtype;
    view.rank = 4;
    for (size_t i = 0; i < 4; ++i) {
      view.shape[i] = shape[i];
      view.strides[i] = strides[i];
    }
    bytes.resize(static_cast<size_t>(shape[0] * c * h * w) * SizeOf(dtype));
    view.data = bytes.data();
  }

  template <class Value>
  void Fill(const Value& value) {
    const size_t size = SizeOf(view.dtype);
    for (size_t i = 0; i < bytes.size() / size; ++i) {
      Store(view.dtype, value(static_cast<int64_t>(i)), bytes.data() + i * size);
    }
  }
};

}  // namespace portacl_bench

#endif  // PORTACL_BENCH_BENCH_TENSOR_H_
