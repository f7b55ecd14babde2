// Allocation, strides and element access of host tensors.
#include "tools/tensor/host_tensor.h"

#include <algorithm>
#include <cstring>

namespace portacl::cli {

HostTensor::HostTensor(DataType dtype, Shape shape, const std::string& what, bool fortran_order)
    : dtype_(dtype), shape_(std::move(shape)) {
  const size_t size = CountBytes(shape_, ElementSize(dtype), what);
  count_ = CountElements(shape_, what);
  strides_ = DenseStrides(shape_, fortran_order);
  row_major_ = strides_ == DenseStrides(shape_);
  data_ = std::make_unique_for_overwrite<std::byte[]>(std::max<size_t>(size, 1));
}

int64_t HostTensor::Offset(int64_t index) const {
  if (row_major_) return index;
  int64_t offset = 0;
  for (size_t axis = shape_.size(); axis-- > 0;) {
    offset += index % shape_[axis] * strides_[axis];
    index /= shape_[axis];
  }
  return offset;
}

const std::byte* HostTensor::At(int64_t index) const {
  return data_.get() + static_cast<size_t>(Offset(index)) * ElementSize(dtype_);
}

std::byte* HostTensor::At(int64_t index) {
  return data_.get() + static_cast<size_t>(Offset(index)) * ElementSize(dtype_);
}

void HostTensor::FillWithNaN() { std::memset(data_.get(), 0xFF, bytes()); }

HostTensor HostTensor::ConvertedTo(DataType dtype, const std::string& what) const {
  HostTensor result(dtype, shape_, what);
  for (int64_t i = 0; i < count_; ++i) result.Set(i, Get(i));
  return result;
}

Tensor HostTensor::View() const {
  return Tensor(data_.get(), dtype_, shape_.size(), shape_.data(), strides_.data());
}

int64_t FirstDifference(const HostTensor& a, const HostTensor& b) {
  for (int64_t i = 0; i < a.count(); ++i) {
    if (CanonicalBits(a.dtype(), a.At(i)) != CanonicalBits(b.dtype(), b.At(i))) return i;
  }
  return -1;
}

}  // namespace portacl::cli
