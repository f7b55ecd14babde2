// A tensor in the parameters of kernels.
#ifndef PORTACL_OPS_TENSOR_PARAMS_H_
#define PORTACL_OPS_TENSOR_PARAMS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "base/tensor_desc.h"

namespace portacl::ops {

// Strides are in elements, of any sign; 0 only in read tensors. Null: not given, or not wanted.
template <class Pointer, size_t kRank>
struct TensorParams {
  Pointer data = nullptr;
  std::array<int64_t, kRank> stride{};
  bool has = false;  // the call has the tensor; known before `data`

  template <class T>
  using Element = std::conditional_t<std::is_same_v<Pointer, void*>, T, const T>;
  // Returns the element at the given first indices; all other indices are 0.
  template <class T, class... Index>
  Element<T>* At(Index... index) const {
    static_assert(sizeof...(Index) <= kRank);
    auto* element = static_cast<Element<T>*>(data);
    size_t axis = 0;
    ((element += index * stride[axis++]), ...);
    return element;
  }

  // Leaves the strides of an empty tensor 0, because kernels must not step from its address.
  void Describe(const base::TensorDesc& desc) {
    has = true;
    if (desc.NumElements() != 0) {  // -1: a view of more than 2^63 elements
      std::copy_n(desc.strides.data(), desc.strides.rank(), stride.begin());
    }
  }
};
template <size_t kRank>
using ReadTensor = TensorParams<const void*, kRank>;
template <size_t kRank>
using WrittenTensor = TensorParams<void*, kRank>;

// Returns an element of a tensor of INT32 or INT64.
template <class Tensor, class... Index>
int64_t IndexAt(const Tensor& tensor, base::DType dtype, Index... index) {
  if (dtype == base::DType::kInt32) return *tensor.template At<int32_t>(index...);
  return *tensor.template At<int64_t>(index...);
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_TENSOR_PARAMS_H_
