// acl_base.h: how the memory of a described tensor really lies.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "acl/acl_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "runtime/error.h"

namespace base = portacl::base;
using portacl::api::Guarded;
using portacl::api::RawValue;
using portacl::api::TensorDescs;
using portacl::base::Status;
using portacl::runtime::Error;

namespace {

// Calls change(description) on the live description behind a handle.
template <class Change>
aclError With(const char* function, const aclTensorDesc* desc, Change&& change) {
  return Guarded(function, [&]() -> Status {
    const auto found = TensorDescs().Find(desc);
    if (found != nullptr) return change(*found);
    return Error(ACL_ERROR_INVALID_PARAM, "desc is null or no live tensor description");
  });
}

aclError SetStorageFormat(const char* function, aclTensorDesc* desc, aclFormat format) {
  return With(function, desc, [&](aclTensorDesc& found) -> Status {
    found.storage_format = static_cast<base::Format>(RawValue(format));
    return {};
  });
}

Status ReadDims(int count, const int64_t* dims, std::vector<int64_t>* copy) {
  if (count < 0 || (count > 0 && dims == nullptr)) {
    return Error(ACL_ERROR_INVALID_PARAM, "numDims is {} and dims is {}", count,
                 static_cast<const void*>(dims));
  }
  copy->assign(dims, dims + count);
  return {};
}

aclError SetStorageShape(const char* function, aclTensorDesc* desc, int count,
                         const int64_t* dims) {
  return With(function, desc, [&](aclTensorDesc& found) -> Status {
    std::vector<int64_t> copy;
    PORTACL_RETURN_IF_ERROR(ReadDims(count, dims, &copy));
    found.storage_dims = std::move(copy);
    return {};
  });
}

}  // namespace

extern "C" {

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return SetStorageFormat("aclSetTensorFormat", desc, format);
}

aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) {
  return SetStorageFormat("aclSetTensorStorageFormat", desc, format);
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetStorageShape("aclSetTensorShape", desc, numDims, dims);
}

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetStorageShape("aclSetTensorStorageShape", desc, numDims, dims);
}

aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  return With("aclSetTensorOriginFormat", desc, [&](aclTensorDesc& found) -> Status {
    found.format = static_cast<base::Format>(RawValue(format));
    return {};
  });
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return With("aclSetTensorOriginShape", desc,
              [&](aclTensorDesc& found) { return ReadDims(numDims, dims, &found.dims); });
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  return With("aclSetTensorPlaceMent", desc, [&](aclTensorDesc& found) -> Status {
    const int32_t type = RawValue(memType);
    if (type < ACL_MEMTYPE_DEVICE || type > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT) {
      return Error(ACL_ERROR_INVALID_PARAM, "memType is {}, which is no aclMemType", type);
    }
    found.host = type != ACL_MEMTYPE_DEVICE;
    return {};
  });
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return With("aclSetTensorConst", desc, [&](aclTensorDesc& found) -> Status {
    if (dataBuffer == nullptr || length == 0) {
      return Error(ACL_ERROR_INVALID_PARAM, "dataBuffer is {} and length is {}", dataBuffer,
                   length);
    }
    const auto* bytes = static_cast<const std::byte*>(dataBuffer);
    found.constant.assign(bytes, bytes + length);
    return {};
  });
}

aclError aclSetTensorShapeRange(aclTensorDesc* desc, size_t dimsCount,
                                int64_t dimsRange[][ACL_TENSOR_SHAPE_RANGE_NUM]) {
  return With("aclSetTensorShapeRange", desc, [&](aclTensorDesc& found) -> Status {
    if (dimsCount > 0 && dimsRange == nullptr) {
      return Error(ACL_ERROR_INVALID_PARAM, "dimsRange is null, but dimsCount {}", dimsCount);
    }
    const int64_t* const first = dimsCount > 0 ? dimsRange[0] : nullptr;
    found.shape_range.assign(first, first + dimsCount * ACL_TENSOR_SHAPE_RANGE_NUM);
    return {};
  });
}

}  // extern "C"
