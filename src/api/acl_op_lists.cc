// Reads the values of lists from constants and from host memory.
#include "api/acl_op_lists.h"

#include <cstddef>
#include <cstring>

#include "api/handles.h"
#include "base/dtype.h"
#include "ops/call.h"

namespace portacl::api {
namespace {

using base::DType;
using base::Status;
using ops::Refusals;
using ops::Rule;

// No operator has a longer list.
constexpr int64_t kLongest = 16;

Status CheckDesc(const Refusals& refusals, const char* name, const aclTensorDesc& desc) {
  if (desc.dtype != DType::kInt32 && desc.dtype != DType::kInt64) {
    return refusals.Refuse(Rule::kDType, "{} has dtype {}, but must be INT32 or INT64", name,
                           base::DTypeName(desc.dtype));
  }
  if (desc.dims.size() == 1 && desc.dims[0] >= 0 && desc.dims[0] <= kLongest) return {};
  return refusals.Refuse(
      Rule::kInput, "{} has shape {}, but must be a list of at most {} integers", name,
      base::Dims(desc.dims.data(), static_cast<int>(desc.dims.size())).ToString(), kLongest);
}

// Finds the bytes of input `index` in its constant or buffer; null if the call is only compiled.
Status FindBytes(const Refusals& refusals, const char* name, size_t index,
                 const aclTensorDesc& desc, const aclDataBuffer* const inputs[], size_t bytes,
                 const void** data) {
  *data = nullptr;
  size_t size = desc.constant.size();
  if (size > 0) {
    *data = desc.constant.data();
  } else if (inputs == nullptr) {
    return {};
  } else if (!desc.host) {
    return refusals.Refuse(Rule::kInput,
                           "{} (input {}) is in device memory, but must be a constant or in host "
                           "memory: aclSetTensorConst, aclSetTensorPlaceMent",
                           name, index);
  } else {
    if (inputs[index] == nullptr) {
      return refusals.Refuse(Rule::kNull, "inputs[{}] is null", index);
    }
    const auto buffer = Handles<aclDataBuffer>().Find(inputs[index]);
    if (buffer == nullptr) {
      return refusals.Refuse(Rule::kInput, "inputs[{}] is not a live handle", index);
    }
    if (buffer->data == nullptr && bytes > 0) {
      return refusals.Refuse(Rule::kNull, "{} (input {}) has no data", name, index);
    }
    *data = buffer->data;
    size = buffer->size;
  }
  if (size >= bytes) return {};
  return refusals.Refuse(Rule::kInput, "{} (input {}) has {} bytes, but needs {}", name, index,
                         size, bytes);
}

std::vector<int64_t> ValuesOf(const aclTensorDesc& desc, const void* data) {
  std::vector<int64_t> values(static_cast<size_t>(desc.dims[0]));
  for (size_t i = 0; i < values.size(); ++i) {
    if (desc.dtype == DType::kInt64) {
      std::memcpy(&values[i], static_cast<const std::byte*>(data) + i * sizeof(int64_t),
                  sizeof(int64_t));
    } else {
      int32_t value = 0;
      std::memcpy(&value, static_cast<const std::byte*>(data) + i * sizeof(value), sizeof(value));
      values[i] = value;
    }
  }
  return values;
}

}  // namespace

Status ReadHostLists(const GraphOperator& op, const GraphRow& row,
                     const aclDataBuffer* const inputs[], HostLists* lists) {
  const Refusals refusals(row.type, ops::Surface::kGraph);
  lists->assign(op.inputs.size(), std::nullopt);
  for (size_t i = 0; i < op.inputs.size() && i < row.lists.size(); ++i) {
    if (row.lists[i] == nullptr) continue;
    const aclTensorDesc& desc = op.inputs[i];
    PORTACL_RETURN_IF_ERROR(CheckDesc(refusals, row.lists[i], desc));
    const auto bytes = static_cast<size_t>(desc.dims[0] * base::DTypeSize(desc.dtype));
    const void* data = nullptr;
    PORTACL_RETURN_IF_ERROR(FindBytes(refusals, row.lists[i], i, desc, inputs, bytes, &data));
    if (data != nullptr || (bytes == 0 && inputs != nullptr)) {
      (*lists)[i] = ValuesOf(desc, data);
    }
  }
  return {};
}

}  // namespace portacl::api
