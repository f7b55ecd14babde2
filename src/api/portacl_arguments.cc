// Reads the values behind handles of aclnn/acl_meta.h, for operators outside this library.
#include <algorithm>
#include <cstring>

#include "api/handles.h"
#include "api/with_handle.h"
#include "portacl/portacl.h"

namespace {

using portacl::api::Invalid;
using portacl::api::Null;
using portacl::api::WithHandle;
using portacl::base::Status;

template <class Array, class Value>
int32_t CopyValues(const char* function, const char* name, const Array* array, Value* values,
                   uint64_t size) {
  return WithHandle(function, name, array, [&](const Array& found) -> Status {
    if (found.values.size() != size) {
      return Invalid("size is {}, but {} has {}", size, name, found.values.size());
    }
    if (values == nullptr && size > 0) return Null("the result pointer is null");
    std::copy(found.values.begin(), found.values.end(), values);
    return {};
  });
}

}  // namespace

extern "C" {

int32_t portaclGetIntArrayValues(const aclIntArray* array, int64_t* values, uint64_t size) {
  return CopyValues(__func__, "array", array, values, size);
}

int32_t portaclGetFloatArrayValues(const aclFloatArray* array, float* values, uint64_t size) {
  return CopyValues(__func__, "array", array, values, size);
}

int32_t portaclGetBoolArrayValues(const aclBoolArray* array, bool* values, uint64_t size) {
  return CopyValues(__func__, "array", array, values, size);
}

int32_t portaclGetTensorListMembers(const aclTensorList* list, const aclTensor** tensors,
                                    uint64_t size) {
  return CopyValues(__func__, "list", list, tensors, size);
}

int32_t portaclGetScalarValue(const aclScalar* scalar, int32_t* dataType, void* value,
                              uint64_t size) {
  return WithHandle(__func__, "scalar", scalar, [&](const aclScalar& found) -> Status {
    if (dataType == nullptr) return Null("dataType is null");
    const auto bytes = static_cast<uint64_t>(portacl::base::DTypeSize(found.dtype));
    if (value != nullptr && size < bytes) {
      return Invalid("size is {}, but a value of {} has {} bytes", size,
                     portacl::base::DTypeName(found.dtype), bytes);
    }
    *dataType = static_cast<int32_t>(found.dtype);
    if (value != nullptr) std::memcpy(value, found.value.data(), bytes);
    return {};
  });
}

}  // extern "C"
