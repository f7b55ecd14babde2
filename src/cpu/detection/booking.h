// Books the parts of a workspace one behind the other, each from a cache line on.
#ifndef PORTACL_CPU_DETECTION_BOOKING_H_
#define PORTACL_CPU_DETECTION_BOOKING_H_

#include <cstdint>

#include "base/checked.h"
#include "base/dtype.h"

namespace portacl::cpu {

inline constexpr int64_t kPointLanes = 16;     // most points of a vector
inline constexpr int64_t kArraysOfPoint = 20;  // arrays of PointTile, in points-inl.h

// Bytes of a sum.
inline int64_t SumBytes(base::DType dtype) { return dtype == base::DType::kDouble ? 8 : 4; }

// A part of a workspace. Copies of it, for example one for each slot, are `bytes` apart.
struct Part {
  int64_t begin = 0;
  int64_t bytes = 0;

  template <class F>
  F* In(void* workspace, int64_t copy = 0) const {
    return reinterpret_cast<F*>(static_cast<char*>(workspace) + begin + copy * bytes);
  }
};

class Booking {
 public:
  // Books `copies` copies of `count` elements of `size` bytes.
  Part Take(int64_t count, int64_t size, int64_t copies = 1) {
    constexpr int64_t kLine = 64;
    const int64_t begin = end_;
    int64_t bytes = 0, all = 0;
    fits_ = fits_ && base::CheckedMul(count, size, &bytes) &&
            base::CheckedAdd(bytes, kLine - 1, &bytes);
    bytes = bytes / kLine * kLine;
    fits_ = fits_ && base::CheckedMul(bytes, copies, &all) && base::CheckedAdd(end_, all, &end_);
    return {begin, bytes};
  }
  bool fits() const { return fits_; }
  uint64_t size() const { return static_cast<uint64_t>(end_); }

 private:
  int64_t end_ = 0;
  bool fits_ = true;
};

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_DETECTION_BOOKING_H_
