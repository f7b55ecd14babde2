// A tensor of the ACL interface: a view (shape, strides, offset) of a storage.
#ifndef PORTACL_BASE_TENSOR_DESC_H_
#define PORTACL_BASE_TENSOR_DESC_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/dtype.h"

namespace portacl::base {

inline constexpr int kMaxRank = 16;

// Extents or strides of up to kMaxRank axes, without a heap allocation.
class Dims {
 public:
  Dims() { std::fill_n(values_.begin(), kUsual, 0); }
  Dims(const int64_t* values, int rank) : Dims() {
    rank_ = rank;
    for (int i = 0; i < rank; ++i) values_[static_cast<size_t>(i)] = values[i];
  }
  Dims(const Dims& other) : rank_(other.rank_) { CopyValues(other); }
  Dims& operator=(const Dims& other) {
    rank_ = other.rank_;
    CopyValues(other);
    return *this;
  }
  int rank() const { return rank_; }
  const int64_t* data() const { return values_.data(); }
  int64_t operator[](int i) const { return values_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return values_[static_cast<size_t>(i)]; }
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  // "[2, 3, 8, 8]"
  std::string ToString() const;

 private:
  static constexpr int kUsual = 6;  // few tensors have more axes, and a call copies many shapes

  void CopyValues(const Dims& other) {  // a call of memmove would cost more
    std::array<int64_t, kUsual> usual;
    std::memcpy(usual.data(), other.values_.data(), sizeof usual);
    std::memcpy(values_.data(), usual.data(), sizeof usual);
    if (rank_ > kUsual) std::copy_n(other.values_.data(), rank_, values_.data());
  }

  std::array<int64_t, kMaxRank> values_;  // undefined behind the last axis
  int rank_ = 0;
};

// Returns the strides of a contiguous tensor, last axis fastest. Products of huge shapes wrap; the
// storage check refuses these shapes.
Dims ContiguousStrides(const Dims& shape);

struct TensorDesc {
  DType dtype = DType::kUndefined;
  Format format = Format::kUndefined;
  Dims shape;
  Dims strides;             // in elements
  int64_t offset = 0;       // in elements, from `data` to element (0, 0, ...)
  Dims storage_shape;       // `data` holds as many elements as the product of these extents
  bool has_storage = true;  // false: a view of the caller's memory, size unknown
  void* data = nullptr;     // start of the storage

  // Returns the number of elements of the view: 0 if an extent is 0, -1 if the product overflows.
  int64_t NumElements() const;
};

// The elements that a view reaches, [lowest, highest], counted from element (0, 0, ...). `valid`:
// computed without overflow. Only for views with at least one element.
struct ElementRange {
  bool valid = false;
  int64_t lowest = 0;
  int64_t highest = 0;
};
ElementRange ReachOf(const TensorDesc& tensor);

// Says how the layout of `b` differs from `a`: "strides [6, 1], wanted [1, 2]". Returns "" if dtype
// and places of elements are equal. Ignores strides along an extent of 1.
std::string LayoutDifference(const TensorDesc& a, const TensorDesc& b);

// Returns true if two indices of the view may name one element. Returns false only if, sorted by
// |stride|, each stride exceeds the sum of the smaller (extent - 1) * |stride|.
bool OverlapsItself(const TensorDesc& tensor);

// Returns true if two views may share a byte: their byte ranges intersect. The exception: equal
// strides and their distance show that they interleave without meeting. `_data`: storage addresses.
bool MayOverlap(const TensorDesc& a, const void* a_data, const TensorDesc& b, const void* b_data);

// ---- formats with the channels last -------------------------------------------------------------

// Moves extents or strides from (N, ..., C) to (N, C, ...).
inline Dims ChannelsFirst(const Dims& dims) {
  Dims moved = dims;
  const int last = dims.rank() - 1;
  moved[1] = dims[last];
  for (int axis = 1; axis < last; ++axis) moved[axis + 1] = dims[axis];
  return moved;
}

// Returns true if a tensor has format NHWC or NDHWC, and the rank of its format.
inline bool HasChannelsLast(const TensorDesc& tensor) {
  const int rank = tensor.format == Format::kNHWC ? 4 : tensor.format == Format::kNDHWC ? 5 : -1;
  return tensor.shape.rank() == rank;
}

// Returns the tensor as (N, C, ...). Tensors of other formats stay as they are.
inline TensorDesc ChannelsFirst(const TensorDesc& tensor) {
  TensorDesc moved = tensor;
  if (!HasChannelsLast(tensor)) return moved;
  moved.shape = ChannelsFirst(tensor.shape);
  moved.strides = ChannelsFirst(tensor.strides);
  return moved;
}

// Return only the shape or only the strides, which costs less.
inline Dims ChannelsFirstShape(const TensorDesc& tensor) {
  return HasChannelsLast(tensor) ? ChannelsFirst(tensor.shape) : tensor.shape;
}
inline Dims ChannelsFirstStrides(const TensorDesc& tensor) {
  return HasChannelsLast(tensor) ? ChannelsFirst(tensor.strides) : tensor.strides;
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_TENSOR_DESC_H_
