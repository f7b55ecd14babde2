// A tensor as kernels see it: a part of their parameters.
#ifndef PORTACL_OPS_TENSOR_PARAMS_H_
#define PORTACL_OPS_TENSOR_PARAMS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/tensor_desc.h"

namespace portacl::ops {

// Strides in elements, any sign; 0 only in tensors that are read. Null: not given, or not wanted.
template <class Pointer, size_t kRank>
struct TensorParams {
  Pointer data = nullptr;
  std::array<int64_t, kRank> stride{};
  bool has = false;  // known when the kernel plans, unlike the address

  template <class T>
  using Element = std::conditional_t<std::is_same_v<Pointer, void*>, T, const T>;
  // The element at some first indices; the other indices are 0.
  template <class T, class... Index>
  Element<T>* At(Index... index) const {
    auto* element = static_cast<Element<T>*>(data);
    size_t axis = 0;
    ((element += index * stride[axis++]), ...);
    return element;
  }

  // Kernels step from no address of a tensor without elements.
  void Describe(const base::TensorDesc& desc) {
    has = true;
    if (desc.NumElements() > 0) {
      std::copy_n(desc.strides.data(), desc.strides.rank(), stride.begin());
    }
  }
};
template <size_t kRank>
using ReadTensor = TensorParams<const void*, kRank>;
template <size_t kRank>
using WrittenTensor = TensorParams<void*, kRank>;

}  // namespace portacl::ops

#endif  // PORTACL_OPS_TENSOR_PARAMS_H_
