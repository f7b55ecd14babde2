// Element types of the companion operators. Conversions between them are exact, or rounded once.
#ifndef PORTACL_COMPANION_ELEMENT_H_
#define PORTACL_COMPANION_ELEMENT_H_

#include <cstdint>

#include "acl/acl_base.h"
#include "base/dtype.h"

namespace portacl::companion {

// The type in which a call computes: FLOAT for FLOAT, FLOAT16 and BF16; DOUBLE for DOUBLE; INT64
// for integers and BOOL; UINT64 for UINT64, which is only copied.
enum class Compute { kFloat, kDouble, kInteger, kUnsigned };

// Types for conversions only.
inline constexpr auto kUInt16 = static_cast<base::DType>(ACL_UINT16);
inline constexpr auto kUInt32 = static_cast<base::DType>(ACL_UINT32);
inline constexpr auto kUInt64 = static_cast<base::DType>(ACL_UINT64);

// True for FLOAT, FLOAT16, BF16, DOUBLE, INT8, UINT8, INT16, INT32, INT64 and BOOL.
bool IsElement(base::DType dtype);
// True for the types of IsElement(), UINT16, UINT32 and UINT64.
bool IsConvertible(base::DType dtype);
bool IsFloating(base::DType dtype);
Compute ComputeOf(base::DType dtype);

// Convert `count` elements that are `stride` bytes apart, from or to a dense row of the compute
// type. A floating-point value is truncated to an integer, saturated to INT64; NaN becomes 0.
// Smaller integer types keep the low bits of the INT64 (UINT64 holds values up to 2^64 - 1). BOOL
// is "not 0". FLOAT16 and BF16 are rounded once, also from DOUBLE, INT64 and UINT64.
using Loader = void (*)(const void* from, int64_t stride, int64_t count, void* to);
using Storer = void (*)(const void* from, void* to, int64_t stride, int64_t count);
Loader LoaderOf(base::DType from, Compute to);
Storer StorerOf(Compute from, base::DType to);

// Returns the integer type of the same size (for 16 bytes: of 8). A copy as this type keeps all
// bits, even of a signalling NaN.
base::DType BitsOf(base::DType dtype);

// Returns the bytes of one element of a compute type.
inline int64_t SizeOf(Compute compute) { return compute == Compute::kFloat ? 4 : 8; }

}  // namespace portacl::companion

#endif  // PORTACL_COMPANION_ELEMENT_H_
