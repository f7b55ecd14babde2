// PyTorch's rules: the type in which a call computes, and the broadcast shape of its operands.
#ifndef PORTACL_COMPANION_PROMOTE_H_
#define PORTACL_COMPANION_PROMOTE_H_

#include "base/dtype.h"
#include "base/tensor_desc.h"

namespace portacl::companion {

// In ascending order: BOOL < integers < floating-point types.
enum class Category { kNone, kBool, kInteger, kFloating };
Category CategoryOf(base::DType dtype);

base::DType Promote(base::DType a, base::DType b);

// Returns true if a result of type `from` may be stored as `to`: no floating-point numbers in
// integers, and only BOOL in BOOL.
bool CanStore(base::DType from, base::DType to);

// Finds the common type of operands. Tensors with axes decide. Tensors without axes, and then
// scalars, count only if their category is higher.
class ResultType {
 public:
  void AddTensor(base::DType dtype, int rank);
  void AddScalar(base::DType dtype);
  base::DType Get() const;

 private:
  base::DType tensors_ = base::DType::kUndefined;
  base::DType zero_dim_ = base::DType::kUndefined;
  base::DType scalars_ = base::DType::kUndefined;
};

// Computes the broadcast shape. Aligned at the last axes, extents must be equal or 1; else false.
bool Broadcast(const base::Dims& a, const base::Dims& b, base::Dims* shape);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_PROMOTE_H_
