// acl_base.h: float16 and data types.
#include "acl/acl_base.h"

#include "api/shim.h"
#include "base/dtype.h"
#include "base/half.h"

namespace base = portacl::base;
using portacl::api::RawValue;

extern "C" {

float aclFloat16ToFloat(aclFloat16 value) { return base::ToFloat(base::Float16{value}); }

aclFloat16 aclFloatToFloat16(float value) { return base::ToFloat16(value).bits; }

size_t aclDataTypeSize(aclDataType dataType) {
  return static_cast<size_t>(base::DTypeSize(static_cast<base::DType>(RawValue(dataType))));
}

}  // extern "C"
