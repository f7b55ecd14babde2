// Geometry of strided views.
#include "base/tensor_desc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/checked.h"

namespace portacl::base {
namespace {

// For byte addresses of views: the extents alone may fill 64 bits.
__extension__ using Wide = __int128;

// Returns the byte address of element (0, 0, ...).
Wide FirstByte(const TensorDesc& tensor, const void* data) {
  return static_cast<Wide>(reinterpret_cast<uintptr_t>(data)) +
         static_cast<Wide>(tensor.offset) * DTypeSize(tensor.dtype);
}

// Returns true if the view's last byte lies before `address`.
bool EndsBefore(Wide first, const ElementRange& range, int64_t size, Wide address) {
  return first + (static_cast<Wide>(range.highest) + 1) * size <= address;
}

struct Axis {
  int64_t extent;
  int64_t stride;  // absolute value
};

// Writes the axes with more than one index, smallest |stride| first. Returns their number, or -1 if
// a stride has no absolute value.
int SortedAxes(const TensorDesc& tensor, std::array<Axis, kMaxRank>* axes) {
  int count = 0;
  for (int i = tensor.shape.rank(); i-- > 0;) {  // most tensors are in this order
    if (tensor.shape[i] <= 1) continue;
    if (tensor.strides[i] == INT64_MIN) return -1;
    const Axis axis = {tensor.shape[i], std::abs(tensor.strides[i])};
    int at = count++;
    for (; at > 0 && axis.stride < (*axes)[static_cast<size_t>(at - 1)].stride; --at) {
      (*axes)[static_cast<size_t>(at)] = (*axes)[static_cast<size_t>(at - 1)];
    }
    (*axes)[static_cast<size_t>(at)] = axis;
  }
  return count;
}

// Can `distance` be written as sum of k_i * stride_i with |k_i| < extent_i? Axes are sorted and
// each stride exceeds the reach of the smaller ones, so at most two k_i have to be tried per axis.
bool Reachable(const Axis* axes, const int64_t* reach_below, int count, int64_t distance) {
  if (count == 0) return distance == 0;
  const Axis& axis = axes[count - 1];
  const int64_t below = reach_below[count - 1];
  const int64_t nearest = distance / axis.stride;
  for (int64_t k = nearest - 1; k <= nearest + 1; ++k) {
    if (k <= -axis.extent || k >= axis.extent) continue;
    int64_t rest = 0;
    if (!CheckedSub(distance, k * axis.stride, &rest)) continue;
    if (rest < -below || rest > below) continue;
    if (Reachable(axes, reach_below, count - 1, rest)) return true;
  }
  return false;
}

}  // namespace

std::string Dims::ToString() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string((*this)[i]);
  }
  return text + "]";
}

Dims ContiguousStrides(const Dims& shape) {
  Dims strides = shape;
  uint64_t next = 1;
  for (int i = shape.rank(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(next);
    next *= static_cast<uint64_t>(shape[i]);
  }
  return strides;
}

int64_t TensorDesc::NumElements() const {
  int64_t product = 1;
  bool overflow = false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) return 0;
    overflow = overflow || !CheckedMul(product, shape[i], &product);
  }
  return overflow ? -1 : product;
}

ElementRange ReachOf(const TensorDesc& tensor) {
  ElementRange range{true, 0, 0};
  for (int i = 0; i < tensor.shape.rank(); ++i) {
    int64_t extent = 0;
    if (!CheckedMul(tensor.shape[i] - 1, tensor.strides[i], &extent)) return {};
    int64_t* end = extent < 0 ? &range.lowest : &range.highest;
    if (!CheckedAdd(*end, extent, end)) return {};
  }
  return range;
}

std::string LayoutDifference(const TensorDesc& a, const TensorDesc& b) {
  if (a.dtype != b.dtype) {
    return fmt::format("data type {}, wanted {}", DTypeName(b.dtype), DTypeName(a.dtype));
  }
  if (a.shape != b.shape) {
    return fmt::format("shape {}, wanted {}", b.shape.ToString(), a.shape.ToString());
  }
  if (a.NumElements() == 0) return "";
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] == 1 || a.strides[i] == b.strides[i]) continue;
    return fmt::format("strides {}, wanted {}", b.strides.ToString(), a.strides.ToString());
  }
  if (a.offset != b.offset) return fmt::format("offset {}, wanted {}", b.offset, a.offset);
  return "";
}

bool OverlapsItself(const TensorDesc& tensor) {
  if (tensor.NumElements() == 0) return false;
  std::array<Axis, kMaxRank> axes;
  const int count = SortedAxes(tensor, &axes);
  if (count < 0) return true;
  int64_t reach = 0;
  for (int i = 0; i < count; ++i) {
    const Axis& axis = axes[static_cast<size_t>(i)];
    if (axis.stride <= reach) return true;
    int64_t span = 0;
    if (!CheckedMul(axis.extent - 1, axis.stride, &span) || !CheckedAdd(reach, span, &reach)) {
      return true;
    }
  }
  return false;
}

bool MayOverlap(const TensorDesc& a, const void* a_data, const TensorDesc& b, const void* b_data) {
  if (a.NumElements() == 0 || b.NumElements() == 0) return false;
  const ElementRange a_range = ReachOf(a);
  const ElementRange b_range = ReachOf(b);
  if (!a_range.valid || !b_range.valid) return true;
  const int64_t a_size = DTypeSize(a.dtype);
  const int64_t b_size = DTypeSize(b.dtype);
  const Wide a_first = FirstByte(a, a_data);
  const Wide b_first = FirstByte(b, b_data);
  const Wide a_begin = a_first + static_cast<Wide>(a_range.lowest) * a_size;
  const Wide b_begin = b_first + static_cast<Wide>(b_range.lowest) * b_size;
  if (EndsBefore(a_first, a_range, a_size, b_begin)) return false;
  if (EndsBefore(b_first, b_range, b_size, a_begin)) return false;

  // The byte ranges intersect. With equal strides the views meet only if their distance is a sum of
  // strides within the extents.
  if (a_size != b_size || a_size == 0 || !(a.strides == b.strides)) return true;
  if ((b_first - a_first) % a_size != 0) return true;
  const Wide distance = (b_first - a_first) / a_size;
  if (distance < INT64_MIN || distance > INT64_MAX) return true;
  TensorDesc both = a;
  for (int i = 0; i < a.shape.rank(); ++i) both.shape[i] = std::max(a.shape[i], b.shape[i]);
  if (OverlapsItself(both)) return true;
  std::array<Axis, kMaxRank> axes;
  const int count = SortedAxes(both, &axes);
  std::array<int64_t, kMaxRank> reach_below{};
  int64_t reach = 0;
  for (int i = 0; i < count; ++i) {
    reach_below[static_cast<size_t>(i)] = reach;
    reach += (axes[static_cast<size_t>(i)].extent - 1) * axes[static_cast<size_t>(i)].stride;
  }
  return Reachable(axes.data(), reach_below.data(), count, static_cast<int64_t>(distance));
}

}  // namespace portacl::base
