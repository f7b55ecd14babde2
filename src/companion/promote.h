// PyTorch's rules on which type a call computes in and which shape its operands broadcast to.
#ifndef PORTACL_COMPANION_PROMOTE_H_
#define PORTACL_COMPANION_PROMOTE_H_

#include "base/dtype.h"
#include "base/tensor_desc.h"

namespace portacl::companion {

// BOOL < integers < floating-point types.
enum class Category { kNone, kBool, kInteger, kFloating };
Category CategoryOf(base::DType dtype);

base::DType Promote(base::DType a, base::DType b);

// Whether a result may be stored in `to`: floating-point numbers not in integers, and only BOOL in
// BOOL.
bool CanStore(base::DType from, base::DType to);

// Collects operands. Tensors with axes decide; tensors without axes, and then scalars, count only
// if their category is higher.
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

// Aligned at the last axes, extents agree or are 1. Returns false if they do not.
bool Broadcast(const base::Dims& a, const base::Dims& b, base::Dims* shape);

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_PROMOTE_H_
