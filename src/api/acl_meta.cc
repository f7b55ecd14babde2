// aclnn/acl_meta.h: tensors, scalars, arrays and lists.
#include "aclnn/acl_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "api/with_handle.h"

namespace {

using portacl::api::Destroy;
using portacl::api::GuardedNn;
using portacl::api::Handles;
using portacl::api::Invalid;
using portacl::api::Null;
using portacl::api::WithHandle;
using portacl::base::Dims;
using portacl::base::kMaxRank;
using portacl::base::Status;

// ---- tensors -----------------------------------------------------------------------------------

struct TensorArguments {
  const int64_t* view_dims;
  uint64_t view_rank;
  aclDataType dtype;
  const int64_t* strides;
  int64_t offset;
  aclFormat format;
  const int64_t* storage_dims;
  uint64_t storage_rank;
  void* data;
};

Status ReadDims(const char* name, const int64_t* values, uint64_t rank, Dims* dims) {
  if (values == nullptr && rank > 0) return Null("{} is null, but {}Num is {}", name, name, rank);
  if (rank > static_cast<uint64_t>(kMaxRank)) {
    return Invalid("{}Num is {}, but must be at most {}", name, rank, kMaxRank);
  }
  *dims = Dims(values, static_cast<int>(rank));
  for (int i = 0; i < dims->rank(); ++i) {
    if ((*dims)[i] >= 0) continue;
    return Invalid("{} is {}, but extents must be at least 0", name, dims->ToString());
  }
  return {};
}

bool HasNegative(const int64_t* values, uint64_t rank) {
  return values != nullptr && rank <= static_cast<uint64_t>(kMaxRank) &&
         std::any_of(values, values + rank, [](int64_t value) { return value < 0; });
}

Status ReadTensor(const TensorArguments& from, portacl::base::TensorDesc* desc) {
  portacl::base::TensorDesc made;
  PORTACL_RETURN_IF_ERROR(ReadDims("viewDims", from.view_dims, from.view_rank, &made.shape));
  if (made.NumElements() == 0 && HasNegative(from.storage_dims, from.storage_rank)) {
    made.storage_shape = made.shape;  // programs may compute negative extents for it
  } else {
    PORTACL_RETURN_IF_ERROR(
        ReadDims("storageDims", from.storage_dims, from.storage_rank, &made.storage_shape));
  }
  made.dtype = static_cast<portacl::base::DType>(from.dtype);
  made.format = static_cast<portacl::base::Format>(from.format);
  made.strides = from.strides != nullptr ? Dims(from.strides, made.shape.rank())
                                         : portacl::base::ContiguousStrides(made.shape);
  made.offset = from.offset;
  made.data = from.data;
  *desc = made;
  return {};
}

// Copies extents or strides into an array that the caller frees with delete[].
aclnnStatus GetDims(const char* function, const aclTensor* tensor, int64_t** dims, uint64_t* num,
                    const Dims& (*pick)(const portacl::base::TensorDesc&)) {
  return WithHandle(function, "tensor", tensor, [&](const aclTensor& found) -> Status {
    if (dims == nullptr || num == nullptr) return Null("a result pointer is null");
    const Dims& picked = pick(found.desc);
    auto values = std::make_unique<int64_t[]>(static_cast<size_t>(picked.rank()));
    std::copy_n(picked.data(), picked.rank(), values.get());
    *num = static_cast<uint64_t>(picked.rank());
    *dims = values.release();
    return {};
  });
}

// Writes a property of a tensor to *result.
template <class Result, class Pick>
aclnnStatus GetProperty(const char* function, const aclTensor* tensor, Result* result, Pick pick) {
  return WithHandle(function, "tensor", tensor, [&](const aclTensor& found) -> Status {
    if (result == nullptr) return Null("the result pointer is null");
    *result = static_cast<Result>(pick(found.desc));
    return {};
  });
}

// ---- arrays and lists --------------------------------------------------------------------------

// Returns a handle to a copy of `size` values. For bad arguments: null, and a message.
template <class Array, class Value>
Array* CreateArray(const char* function, const Value* values, uint64_t size) {
  Array* handle = nullptr;
  GuardedNn(function, [&]() -> Status {
    if (values == nullptr && size > 0) return Null("value is null, but size is {}", size);
    auto made = std::make_shared<Array>();
    if (size > 0) made->values.assign(values, values + size);
    handle = Handles<Array>().Add(std::move(made));
    return {};
  });
  return handle;
}

template <class Array>
aclnnStatus GetArraySize(const char* function, const Array* array, uint64_t* size) {
  return WithHandle(function, "array", array, [&](const Array& found) -> Status {
    if (size == nullptr) return Null("size is null");
    *size = found.values.size();
    return {};
  });
}

// Destroys a list and its members that are still live.
template <class Member, class List>
aclnnStatus DestroyList(const char* function, const List* handle) {
  return GuardedNn(function, [&]() -> Status {
    if (handle == nullptr) return {};
    const std::shared_ptr<List> list = Handles<List>().Take(handle);
    if (list == nullptr) {
      return Invalid("array is not a live handle: destroyed already, or never created");
    }
    for (const Member* member : list->values) Handles<Member>().Take(member);
    return {};
  });
}

}  // namespace

extern "C" {

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  aclTensor* handle = nullptr;
  GuardedNn(__func__, [&]() -> Status {
    auto made = std::make_shared<aclTensor>();
    PORTACL_RETURN_IF_ERROR(ReadTensor({viewDims, viewDimsNum, dataType, stride, offset, format,
                                        storageDims, storageDimsNum, tensorData},
                                       &made->desc));
    handle = Handles<aclTensor>().Add(std::move(made));
    return {};
  });
  return handle;
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset,
                          aclFormat format, const int64_t* storageDims, uint64_t storageDimsNum,
                          void* tensorData) {
  return WithHandle(__func__, "tensor", tensor, [&](aclTensor& found) {
    return ReadTensor({viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                       storageDimsNum, tensorData},
                      &found.desc);
  });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return Destroy(__func__, "tensor", tensor);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return GetDims(__func__, tensor, viewDims, viewDimsNum,
                 [](const portacl::base::TensorDesc& d) -> const Dims& { return d.shape; });
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                               uint64_t* storageDimsNum) {
  return GetDims(__func__, tensor, storageDims, storageDimsNum,
                 [](const portacl::base::TensorDesc& d) -> const Dims& { return d.storage_shape; });
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                              uint64_t* stridesNum) {
  return GetDims(__func__, tensor, stridesValue, stridesNum,
                 [](const portacl::base::TensorDesc& d) -> const Dims& { return d.strides; });
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return GetProperty(__func__, tensor, offset, [](const auto& desc) { return desc.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return GetProperty(__func__, tensor, format, [](const auto& desc) { return desc.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return GetProperty(__func__, tensor, dataType, [](const auto& desc) { return desc.dtype; });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  return WithHandle(__func__, "tensor", tensor, [&](aclTensor& found) -> Status {
    found.desc.data = addr;
    return {};
  });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return GetProperty(__func__, tensor, addr, [](const auto& desc) { return desc.data; });
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  aclScalar* handle = nullptr;
  GuardedNn(__func__, [&]() -> Status {
    const auto dtype = static_cast<portacl::base::DType>(dataType);
    const int64_t size = portacl::base::DTypeSize(dtype);
    if (value == nullptr) return Null("value is null");
    if (size == 0) {
      return Invalid("dataType is {}, which has no scalar", portacl::base::DTypeName(dtype));
    }
    auto made = std::make_shared<aclScalar>();
    made->dtype = dtype;
    std::memcpy(made->value.data(), value, static_cast<size_t>(size));
    handle = Handles<aclScalar>().Add(std::move(made));
    return {};
  });
  return handle;
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return CreateArray<aclIntArray>(__func__, value, size);
}
aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return CreateArray<aclFloatArray>(__func__, value, size);
}
aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return CreateArray<aclBoolArray>(__func__, value, size);
}
aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  return CreateArray<aclTensorList>(__func__, value, size);
}
aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  return CreateArray<aclScalarList>(__func__, value, size);
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return Destroy(__func__, "scalar", scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return Destroy(__func__, "array", array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return Destroy(__func__, "array", array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return Destroy(__func__, "array", array);
}
aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  return DestroyList<aclTensor>(__func__, array);
}
aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  return DestroyList<aclScalar>(__func__, array);
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return GetArraySize(__func__, array, size);
}
aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return GetArraySize(__func__, array, size);
}
aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return GetArraySize(__func__, array, size);
}
aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return GetArraySize(__func__, tensorList, size);
}
aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return GetArraySize(__func__, scalarList, size);
}

}  // extern "C"
