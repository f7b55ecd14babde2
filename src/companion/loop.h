// One loop over the elements of several strided views that broadcast to one shape.
#ifndef PORTACL_COMPANION_LOOP_H_
#define PORTACL_COMPANION_LOOP_H_

#include <array>
#include <cstdint>

#include "base/tensor_desc.h"
#include "companion/element.h"

namespace portacl::companion {

inline constexpr int kMaxOperands = 4;
inline constexpr int64_t kBlock = 512;    // elements that are converted and computed together
inline constexpr int64_t kGrain = 32768;  // elements that are worth another thread
inline constexpr int64_t kSmall = 16384;  // at most so many elements run on the calling thread

// A loop over elements 0 to count - 1 in row-major order of `extent`. Strides are in bytes; they
// are 0 along axes over which an operand is broadcast.
class Loop {
 public:
  Loop() = default;
  explicit Loop(const base::Dims& shape);

  // Adds the next operand. The view's axes align with the last axes of the loop.
  void Add(const base::TensorDesc& view);
  // Puts the axes into the order that `order` gives.
  void Permute(const base::Dims& order);
  // Sorts the axes by the last operand's strides, descending, so that the loop follows its memory.
  void FollowLast();
  // Merges axes that every operand can treat as one. Call it after the last Add().
  void Coalesce();

  int64_t count() const { return count_; }
  // Returns true if the operand is one row: element i lies i * `stride` bytes after element 0.
  bool IsRow(int operand, int64_t stride) const;

  // Visits elements [start, start + count) of an operand, in order. Calls body(offset, stride, n)
  // for each run of n elements: the first lies at byte `offset`, the others `stride` bytes apart.
  template <class Body>
  void ForEachRun(int operand, int64_t start, int64_t count, Body&& body) const;

  // Convert elements [start, start + count) of an operand, which begins at `first`, to the dense
  // row `to` or from the dense row `from`.
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
