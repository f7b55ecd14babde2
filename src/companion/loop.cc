// The strided loop with broadcasting.
#include "companion/loop.h"

#include <algorithm>
#include <numeric>

namespace portacl::companion {

using base::Dims;

namespace {

// Wraps on overflow. Strides and extents of empty views, or of views that the checks on memory
// refuse, may have any product. Such products are not used.
int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

uint64_t Magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

}  // namespace

Loop::Loop(const Dims& shape) : extent_(shape) {
  base::TensorDesc all;
  all.shape = shape;
  count_ = all.NumElements();
}

void Loop::Add(const base::TensorDesc& view) {
  const int64_t size = base::DTypeSize(view.dtype);
  const int missing = extent_.rank() - view.shape.rank();
  Dims strides = extent_;
  for (int axis = 0; axis < extent_.rank(); ++axis) {
    const int own = axis - missing;
    strides[axis] = own < 0 || view.shape[own] == 1 ? 0 : Product(view.strides[own], size);
  }
  stride_[static_cast<size_t>(operands_++)] = strides;
}

void Loop::Permute(const Dims& order) {
  const Dims extent = extent_;
  const auto strides = stride_;
  for (int axis = 0; axis < extent.rank(); ++axis) {
    const auto from = static_cast<int>(order[axis]);
    extent_[axis] = extent[from];
    for (int k = 0; k < operands_; ++k) {
      stride_[static_cast<size_t>(k)][axis] = strides[static_cast<size_t>(k)][from];
    }
  }
}

void Loop::FollowLast() {
  std::array<int64_t, base::kMaxRank> order{};
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.begin() + extent_.rank(), [&](int64_t a, int64_t b) {
    return Magnitude(stride(operands_ - 1, static_cast<int>(a))) >
           Magnitude(stride(operands_ - 1, static_cast<int>(b)));
  });
  Permute(Dims(order.data(), extent_.rank()));
}

void Loop::Coalesce() {
  int kept = 0;  // axes [0, kept) are merged already
  const auto joins = [&](int axis) {
    for (int k = 0; k < operands_; ++k) {
      if (stride(k, kept - 1) != Product(stride(k, axis), extent_[axis])) return false;
    }
    return true;
  };
  for (int axis = 0; axis < extent_.rank(); ++axis) {
    if (extent_[axis] == 1) continue;
    const bool joined = kept > 0 && joins(axis);
    const int to = joined ? kept - 1 : kept++;
    extent_[to] = joined ? Product(extent_[to], extent_[axis]) : extent_[axis];
    for (int k = 0; k < operands_; ++k) stride_[static_cast<size_t>(k)][to] = stride(k, axis);
  }
  extent_ = Dims(extent_.data(), kept);
  for (int k = 0; k < operands_; ++k) {
    Dims& strides = stride_[static_cast<size_t>(k)];
    strides = Dims(strides.data(), kept);
  }
}

bool Loop::IsRow(int operand, int64_t stride_bytes) const {
  return extent_.rank() == 0 || (extent_.rank() == 1 && stride(operand, 0) == stride_bytes);
}

template <class Body>
void Loop::ForEachRun(int operand, int64_t start, int64_t count, Body&& body) const {
  const int rank = extent_.rank();
  if (rank == 0) {
    if (count > 0) body(int64_t{0}, int64_t{0}, count);
    return;
  }
  Dims at = extent_;
  int64_t rest = start;
  int64_t offset = 0;
  for (int axis = rank; axis-- > 0;) {
    at[axis] = rest % extent_[axis];
    rest /= extent_[axis];
    offset += at[axis] * stride(operand, axis);
  }
  const int last = rank - 1;
  while (count > 0) {
    const int64_t run = std::min(count, extent_[last] - at[last]);
    body(offset, stride(operand, last), run);
    count -= run;
    at[last] += run;
    offset += run * stride(operand, last);
    for (int axis = last; axis > 0 && at[axis] == extent_[axis]; --axis) {
      offset += stride(operand, axis - 1) - extent_[axis] * stride(operand, axis);
      at[axis] = 0;
      ++at[axis - 1];
    }
  }
}

void Loop::Gather(int operand, const void* first, Loader load, Compute compute, int64_t start,
                  int64_t count, void* to) const {
  auto* out = static_cast<char*>(to);
  ForEachRun(operand, start, count, [&](int64_t offset, int64_t stride, int64_t run) {
    load(static_cast<const char*>(first) + offset, stride, run, out);
    out += run * SizeOf(compute);
  });
}

void Loop::Scatter(int operand, void* first, Storer store, Compute compute, int64_t start,
                   int64_t count, const void* from) const {
  const auto* in = static_cast<const char*>(from);
  ForEachRun(operand, start, count, [&](int64_t offset, int64_t stride, int64_t run) {
    store(in, static_cast<char*>(first) + offset, stride, run);
    in += run * SizeOf(compute);
  });
}

}  // namespace portacl::companion
