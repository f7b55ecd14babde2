// One loop over the elements of several strided views that broadcast to one shape.
#ifndef PORTACL_COMPANION_LOOP_H_
#define PORTACL_COMPANION_LOOP_H_

#include <array>
#include <cstdint>

#include "base/tensor_desc.h"
#include "companion/element.h"

namespace portacl::companion {

inline constexpr int kMaxOperands = 4;
inline constexpr int64_t kBlock = 512;    // elements that are converted and computed at a time
inline constexpr int64_t kGrain = 32768;  // elements that are worth a thread
inline constexpr int64_t kSmall = 16384;  // elements that the calling thread does at once

// Elements 0 to count - 1 in row-major order of `extent`; strides in bytes, 0 along axes that an
// operand is broadcast over.
class Loop {
 public:
  Loop() = default;
  explicit Loop(const base::Dims& shape);

  // The next operand: a view; its axes align with the last axes of the loop.
  void Add(const base::TensorDesc& view);
  // The axes in the order `order` names them.
  void Permute(const base::Dims& order);
  // The axes in descending order of the last operand's strides: neighbours in memory come together.
  void FollowLast();
  // Merges axes that are one for every operand. After the last Add.
  void Coalesce();

  int64_t count() const { return count_; }
  // The operand is one row: element i lies i * `stride` bytes behind the first.
  bool IsRow(int operand, int64_t stride) const;

  // body(offset, stride, n) for runs of `n` elements that lie `stride` bytes apart from `offset`
  // on: elements [start, start + count) of an operand, in order.
  template <class Body>
  void ForEachRun(int operand, int64_t start, int64_t count, Body&& body) const;

  // Elements [start, start + count) of an operand that begins at `first`, converted to `to`, or
  // from `from`.
  void Gather(int operand, const void* first, Loader load, Compute compute, int64_t start,
              int64_t count, void* to) const;
  void Scatter(int operand, void* first, Storer store, Compute compute, int64_t start,
               int64_t count, const void* from) const;

 private:
  int64_t stride(int operand, int axis) const {
    return stride_[static_cast<size_t>(operand)][axis];
  }

  int operands_ = 0;
  int64_t count_ = 0;
  base::Dims extent_;
  std::array<base::Dims, kMaxOperands> stride_;
};

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_LOOP_H_
