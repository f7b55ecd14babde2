// Calls a generic lambda with the C++ type of a floating-point DType.
#ifndef PORTACL_BASE_DISPATCH_H_
#define PORTACL_BASE_DISPATCH_H_

#include <utility>

#include "base/dtype.h"
#include "base/half.h"

namespace portacl::base {

template <class T>
struct TypeTag {
  using type = T;
};

// Calls f(TypeTag<T>{}). `dtype` must be one of the four floating-point types; the operators'
// checks make sure of it.
template <class F>
decltype(auto) DispatchFloating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat16:
      return f(TypeTag<Float16>{});
    case DType::kBFloat16:
      return f(TypeTag<BFloat16>{});
    case DType::kDouble:
      return f(TypeTag<double>{});
    default:
      return f(TypeTag<float>{});
  }
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_DISPATCH_H_
