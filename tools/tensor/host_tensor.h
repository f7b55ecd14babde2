// A tensor in host memory that owns its elements; the CLI's currency between files and operators.
#ifndef PORTACL_TOOLS_TENSOR_HOST_TENSOR_H_
#define PORTACL_TOOLS_TENSOR_HOST_TENSOR_H_

#include <portacl/portacl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/tensor/checked_size.h"
#include "tools/tensor/element.h"

namespace portacl::cli {

class HostTensor {
 public:
  HostTensor() = default;

  // Dense and not initialised. Throws BadInput ("WHAT: ...") if the shape is too large.
  HostTensor(DataType dtype, Shape shape, const std::string& what, bool fortran_order = false);

  bool empty() const { return data_ == nullptr; }  // default-constructed: no tensor at all
  DataType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  int64_t extent(size_t axis) const { return shape_[axis]; }
  int64_t count() const { return count_; }
  size_t bytes() const { return static_cast<size_t>(count_) * ElementSize(dtype_); }
  bool row_major() const { return row_major_; }

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }

  // Address of the `index`-th element in row-major order of the axes, whatever the strides.
  const std::byte* At(int64_t index) const;
  std::byte* At(int64_t index);

  double Get(int64_t index) const { return LoadElement(dtype_, At(index)); }
  void Set(int64_t index, double value) { StoreElement(dtype_, value, At(index)); }

  // Every element's bits set: a NaN in each dtype, so that an element nobody wrote shows.
  void FillWithNaN();

  // The same values in another dtype (rounded once), row-major.
  HostTensor ConvertedTo(DataType dtype, const std::string& what) const;

  // A view for the library, which refuses ranks above PORTACL_MAX_RANK.
  Tensor View() const;

 private:
  int64_t Offset(int64_t index) const;

  DataType dtype_ = DataType::kFloat32;
  Shape shape_;
  std::vector<int64_t> strides_;
  int64_t count_ = 0;
  bool row_major_ = true;
  std::unique_ptr<std::byte[]> data_;
};

// Index of the first element with different bits (NaN equals NaN), or -1. Shapes and dtypes must be
// equal.
int64_t FirstDifference(const HostTensor& a, const HostTensor& b);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_HOST_TENSOR_H_
