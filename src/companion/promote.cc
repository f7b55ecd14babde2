// Computes common types and broadcast shapes.
#include "companion/promote.h"

#include "companion/element.h"

namespace portacl::companion {
namespace {

using base::DType;

// Returns `low` if its category is higher than `high`'s category, else `high`.
DType Combine(DType high, DType low) { return CategoryOf(low) > CategoryOf(high) ? low : high; }

DType PromoteOrOther(DType a, DType b) { return a == DType::kUndefined ? b : Promote(a, b); }

}  // namespace

Category CategoryOf(DType dtype) {
  if (dtype == DType::kUndefined) return Category::kNone;
  if (IsFloating(dtype)) return Category::kFloating;
  return dtype == DType::kBool ? Category::kBool : Category::kInteger;
}

DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (CategoryOf(a) != CategoryOf(b)) return CategoryOf(a) > CategoryOf(b) ? a : b;
  if (base::DTypeSize(a) != base::DTypeSize(b)) {
    return base::DTypeSize(a) > base::DTypeSize(b) ? a : b;
  }
  return IsFloating(a) ? DType::kFloat : DType::kInt16;  // FLOAT16 and BF16; INT8 and UINT8
}

bool CanStore(DType from, DType to) { return CategoryOf(from) <= CategoryOf(to); }

void ResultType::AddTensor(DType dtype, int rank) {
  DType& kind = rank > 0 ? tensors_ : zero_dim_;
  kind = PromoteOrOther(kind, dtype);
}

void ResultType::AddScalar(DType dtype) {
  const DType standard = CategoryOf(dtype) == Category::kFloating  ? DType::kFloat
                         : CategoryOf(dtype) == Category::kInteger ? DType::kInt64
                                                                   : dtype;
  scalars_ = PromoteOrOther(scalars_, standard);
}

DType ResultType::Get() const { return Combine(Combine(tensors_, zero_dim_), scalars_); }

bool Broadcast(const base::Dims& a, const base::Dims& b, base::Dims* shape) {
  const base::Dims& longer = a.rank() >= b.rank() ? a : b;
  const base::Dims& shorter = a.rank() >= b.rank() ? b : a;
  const int missing = longer.rank() - shorter.rank();
  *shape = longer;
  for (int axis = 0; axis < shorter.rank(); ++axis) {
    const int64_t one = shorter[axis];
    int64_t& extent = (*shape)[axis + missing];
    if (extent != one && extent != 1 && one != 1) return false;
    if (extent == 1) extent = one;
  }
  return true;
}

}  // namespace portacl::companion
