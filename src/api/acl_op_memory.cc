// Computes layouts from the letters of formats.
#include "api/acl_op_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "acl/acl_base.h"
#include "base/checked.h"
#include "runtime/error.h"
#include "runtime/memory.h"

namespace portacl::api {
namespace {

using base::Status;

// Letters for a tensor's axes, if its format names none.
constexpr std::string_view kUnnamed = "abcdefghijklmnop";

// Returns true if memory of shape `said` can hold a tensor of shape `dims`. If the memory has the
// tensor's order of axes (`dense`), the number of elements alone must be equal.
bool Holds(const std::vector<int64_t>& said, const base::Dims& dims, bool dense) {
  const std::vector<int64_t> wanted(dims.data(), dims.data() + dims.rank());
  if (said == wanted) return true;
  int64_t said_elements = 1;
  int64_t elements = 1;
  for (const int64_t extent : said) {
    if (!base::CheckedMul(said_elements, extent, &said_elements)) return false;
  }
  for (const int64_t extent : wanted) {
    if (!base::CheckedMul(elements, extent, &elements)) return false;
  }
  return dense && said_elements == elements;
}

}  // namespace

std::string_view AxesOf(base::Format format, std::string_view own) {
  switch (static_cast<int32_t>(format)) {
    case ACL_FORMAT_UNDEFINED:
    case ACL_FORMAT_ND:
      return own;
    case ACL_FORMAT_NCHW:
      return "NCHW";
    case ACL_FORMAT_NHWC:
      return "NHWC";
    case ACL_FORMAT_HWCN:
      return "HWCN";
    case ACL_FORMAT_NCDHW:
      return "NCDHW";
    case ACL_FORMAT_NDHWC:
      return "NDHWC";
    case ACL_FORMAT_NCL:
      return "NCL";
    default:
      return "";
  }
}

Status ApplyLayout(const std::string& name, int32_t mismatch, const aclTensorDesc& desc,
                   base::TensorDesc* tensor) {
  if (!desc.storage_format && !desc.storage_dims) return {};
  const auto rank = static_cast<size_t>(tensor->shape.rank());
  const std::string_view unnamed = kUnnamed.substr(0, rank);
  std::string_view own = AxesOf(desc.format, unnamed);
  std::string_view storage = AxesOf(desc.storage_format.value_or(desc.format), own);
  // If the format is for another rank, it names no axes of this tensor: the order does not change.
  if (own.size() != rank) own = unnamed;
  if (own == unnamed || desc.storage_format == desc.format) storage = own;
  if (storage.size() != rank || storage.find_first_not_of(own) != std::string_view::npos) {
    return runtime::Error(ACL_ERROR_FORMAT_NOT_MATCH,
                          "{} has format {} and rank {}, but its memory format {}: portacl knows "
                          "memory that is an order of the same axes",
                          name, base::FormatName(desc.format), rank,
                          base::FormatName(desc.storage_format.value_or(desc.format)));
  }
  base::Dims dims = tensor->shape;
  for (size_t at = 0; at < rank; ++at) {
    dims[static_cast<int>(at)] = tensor->shape[static_cast<int>(own.find(storage[at]))];
  }
  const base::Dims strides = base::ContiguousStrides(dims);
  for (size_t at = 0; at < rank; ++at) {
    tensor->strides[static_cast<int>(own.find(storage[at]))] = strides[static_cast<int>(at)];
  }
  tensor->storage_shape = dims;
  const bool fits = !desc.storage_dims || Holds(*desc.storage_dims, dims, storage == own);
  if (fits) return {};
  return runtime::Error(mismatch, "{} has memory of shape [{}], but its shape {} needs {}", name,
                        fmt::join(*desc.storage_dims, ", "), tensor->shape.ToString(),
                        dims.ToString());
}

Status FetchFromHost(const void* data, size_t bytes, std::shared_ptr<void>* memory) {
  if (bytes == 0) return {};
  if (data == nullptr) return runtime::Error(ACL_ERROR_INVALID_PARAM, "host data is null");
  PORTACL_RETURN_IF_ERROR(runtime::BorrowDeviceMemory(bytes, memory));
  runtime::AllocationInfo info;
  runtime::FindAllocation(memory->get(), &info);
  std::memcpy(info.kernel_base, data, bytes);
  return {};
}

}  // namespace portacl::api
