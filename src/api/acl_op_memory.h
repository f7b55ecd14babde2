// How an operator called by name uses a description's memory: its layout, and data on the host.
#ifndef PORTACL_API_ACL_OP_MEMORY_H_
#define PORTACL_API_ACL_OP_MEMORY_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "api/handles.h"
#include "base/status.h"
#include "base/tensor_desc.h"

namespace portacl::api {

// Returns the axes of a format, outermost first ("NCHW"); `own` for ND and undefined formats; ""
// for formats that are no order of axes.
std::string_view AxesOf(base::Format format, std::string_view own);

// Sets the tensor's strides to the layout of the described memory. The tensor must be dense in its
// description's format. `name` is for messages ("input 1"). Returns ACL_ERROR_FORMAT_NOT_MATCH if
// the layout has other axes, `mismatch` if the shape does not fit.
base::Status ApplyLayout(const std::string& name, int32_t mismatch, const aclTensorDesc& desc,
                         base::TensorDesc* tensor);

// Copies host data to device memory, which lives as long as *memory.
base::Status FetchFromHost(const void* data, size_t bytes, std::shared_ptr<void>* memory);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_MEMORY_H_
