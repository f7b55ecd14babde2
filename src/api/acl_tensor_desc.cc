// acl_base.h: descriptions of tensors, and the layout of a tensor's memory.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "acl/acl_base.h"
#include "api/handles.h"
#include "api/shim.h"
#include "base/checked.h"
#include "runtime/error.h"

namespace base = portacl::base;
using portacl::api::Ask;
using portacl::api::CheckLive;
using portacl::api::Guarded;
using portacl::api::Handles;
using portacl::api::RawValue;
using portacl::api::With;
using portacl::base::Status;
using portacl::runtime::Error;

namespace {

// Returns the product of the extents; 0 if it overflows or an extent is unknown (negative).
size_t CountElements(const aclTensorDesc& desc) {
  size_t count = 1;
  for (const int64_t dim : desc.dims) {
    if (dim < 0 || !base::CheckedMul(count, static_cast<size_t>(dim), &count)) return 0;
  }
  return count;
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

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                   aclFormat format) {
  aclTensorDesc* handle = nullptr;
  Guarded(__func__, [&]() -> Status {
    auto desc = std::make_shared<aclTensorDesc>();
    PORTACL_RETURN_IF_ERROR(ReadDims(numDims, dims, &desc->dims));
    desc->dtype = static_cast<base::DType>(RawValue(dataType));
    desc->format = static_cast<base::Format>(RawValue(format));
    handle = Handles<aclTensorDesc>().Add(std::move(desc));
    return {};
  });
  return handle;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) {
  Guarded(__func__, [&]() -> Status {
    return desc == nullptr ? Status() : CheckLive(Handles<aclTensorDesc>().Take(desc));
  });
}

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return Ask(__func__, desc, ACL_DT_UNDEFINED,
             [](const aclTensorDesc& found) { return static_cast<aclDataType>(found.dtype); });
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return Ask(__func__, desc, ACL_FORMAT_UNDEFINED,
             [](const aclTensorDesc& found) { return static_cast<aclFormat>(found.format); });
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return Ask(__func__, desc, size_t{0}, [](const aclTensorDesc& found) -> size_t {
    size_t bytes = 0;
    const auto element = static_cast<size_t>(base::DTypeSize(found.dtype));
    return base::CheckedMul(CountElements(found), element, &bytes) ? bytes : 0;
  });
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  return Ask(__func__, desc, size_t{0}, CountElements);
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return Ask(__func__, desc, size_t{0},
             [](const aclTensorDesc& found) { return found.dims.size(); });
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  int64_t dim = -1;
  return aclGetTensorDescDimV2(desc, index, &dim) == ACL_SUCCESS ? dim : -1;
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return With(__func__, desc, [&](const aclTensorDesc& found) -> Status {
    if (dimSize == nullptr) return Error(ACL_ERROR_INVALID_PARAM, "dimSize is null");
    if (index >= found.dims.size()) {
      return Error(ACL_ERROR_INVALID_PARAM, "index is {}, but the tensor has {} axes", index,
                   found.dims.size());
    }
    *dimSize = found.dims[index];
    return {};
  });
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  With(__func__, desc, [&](aclTensorDesc& found) -> Status {
    if (name == nullptr) return Error(ACL_ERROR_INVALID_PARAM, "name is null");
    found.name = name;
    return {};
  });
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return Ask(__func__, desc, "", [](const aclTensorDesc& found) { return found.name.c_str(); });
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return SetStorageFormat(__func__, desc, format);
}

aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) {
  return SetStorageFormat(__func__, desc, format);
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetStorageShape(__func__, desc, numDims, dims);
}

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return SetStorageShape(__func__, desc, numDims, dims);
}

aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  return With(__func__, desc, [&](aclTensorDesc& found) -> Status {
    found.format = static_cast<base::Format>(RawValue(format));
    return {};
  });
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return With(__func__, desc,
              [&](aclTensorDesc& found) { return ReadDims(numDims, dims, &found.dims); });
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  return With(__func__, desc, [&](aclTensorDesc& found) -> Status {
    const int32_t type = RawValue(memType);
    if (type < ACL_MEMTYPE_DEVICE || type > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT) {
      return Error(ACL_ERROR_INVALID_PARAM, "memType is {}, which is no aclMemType", type);
    }
    found.host = type != ACL_MEMTYPE_DEVICE;
    return {};
  });
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return With(__func__, desc, [&](aclTensorDesc& found) -> Status {
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
  return With(__func__, desc, [&](aclTensorDesc& found) -> Status {
    if (dimsCount > 0 && dimsRange == nullptr) {
      return Error(ACL_ERROR_INVALID_PARAM, "dimsRange is null, but dimsCount {}", dimsCount);
    }
    const int64_t* const first = dimsCount > 0 ? dimsRange[0] : nullptr;
    found.shape_range.assign(first, first + dimsCount * ACL_TENSOR_SHAPE_RANGE_NUM);
    return {};
  });
}

}  // extern "C"
