// Converts the number of an item to its place in a tensor.
#ifndef PORTACL_CUDA_INDEX_H_
#define PORTACL_CUDA_INDEX_H_

#include <array>
#include <cstdint>

#include "cuda/device.h"
#include "cuda/element.h"

namespace portacl::cuda {

// Divides numbers below 2^31 by a constant, without a division.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t by) : by_(by) {
    if (by <= 1 || by >= int64_t{1} << 31) return;
    int log = 0;
    while ((int64_t{1} << log) < by) ++log;
    const auto divisor = static_cast<uint64_t>(by);
    factor_ = static_cast<uint32_t>(((uint64_t{1} << (31 + log)) + divisor - 1) / divisor);
    shift_ = static_cast<uint32_t>(log - 1);
  }
  // Returns the quotient; writes the remainder to `rest`.
  PORTACL_DEVICE int64_t Split(int64_t number, bool small, int64_t* rest) const {
    if (!small) {
      const int64_t quotient = number / by_;
      *rest = number - quotient * by_;
      return quotient;
    }
    const auto of = static_cast<uint32_t>(number);
    const uint32_t quotient = factor_ == 0 ? of : MulHigh(of, factor_) >> shift_;
    *rest = of - quotient * static_cast<uint32_t>(by_);
    return quotient;
  }

 private:
  PORTACL_DEVICE static uint32_t MulHigh(uint32_t a, uint32_t b) {
#if defined(__CUDA_ARCH__)
    return __umulhi(a, b);
#else
    return static_cast<uint32_t>(uint64_t{a} * b >> 32);
#endif
  }

  int64_t by_ = 1;
  uint32_t factor_ = 0;  // 0: divides by 1
  uint32_t shift_ = 0;
};

struct Place {
  int64_t n, c, d, h, w;
};

// Visits each item of (n, c, d, h, w) once. w is fastest, or c if the tensor's channels lie side by
// side.
class Items {
 public:
  Items() = default;
  Items(const Place& extents, bool channels_fastest)
      : channels_fastest_(channels_fastest),
        count_(extents.n * extents.c * extents.d * extents.h * extents.w),
        small_(count_ < Threshold(int64_t{1} << 31, 5000)),
        c_(extents.c),
        d_(extents.d),
        h_(extents.h),
        w_(extents.w) {}
  int64_t count() const { return count_; }

  PORTACL_DEVICE Place At(int64_t item) const {
    Place at{};
    if (channels_fastest_) item = c_.Split(item, small_, &at.c);
    item = w_.Split(item, small_, &at.w);
    item = h_.Split(item, small_, &at.h);
    item = d_.Split(item, small_, &at.d);
    if (!channels_fastest_) item = c_.Split(item, small_, &at.c);
    at.n = item;
    return at;
  }

 private:
  bool channels_fastest_ = false;
  int64_t count_ = 0;
  bool small_ = true;
  Divisor c_, d_, h_, w_;
};

// The strides of (n, c, d, h, w), in elements.
struct Strides {
  int64_t n, c, d, h, w;
  PORTACL_DEVICE int64_t operator()(const Place& at) const {
    return at.n * n + at.c * c + at.d * d + at.h * h + at.w * w;
  }
};

// Makes Strides from the strides of (n, c, h, w) or of (n, c, d, h, w).
inline Strides StridesOf(const std::array<int64_t, 4>& s) { return {s[0], s[1], 0, s[2], s[3]}; }
inline Strides StridesOf(const std::array<int64_t, 5>& s) { return {s[0], s[1], s[2], s[3], s[4]}; }

// Returns true if rows of `width` elements at `address` can be read or written in packs of kCount
// elements.
template <class T, int kCount = kPack<T>>
bool PacksFit(const void* address, const Strides& strides, int64_t width) {
  constexpr uintptr_t kBytes = kCount * sizeof(T);
  if (strides.w != 1 || reinterpret_cast<uintptr_t>(address) % kBytes != 0) return false;
  for (const int64_t whole : {width, strides.n, strides.c, strides.d, strides.h}) {
    if (whole % kCount != 0) return false;
  }
  return true;
}

// Returns true if channels lie side by side within a pixel, and pixels follow each other.
inline bool ChannelsFastest(const Strides& strides, int64_t channels) {
  return channels > 1 && strides.c == 1 && strides.w != 1;
}

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_INDEX_H_
