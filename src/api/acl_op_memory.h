// How an operator by name uses a description's memory: its layout, and data on the host.
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

// The axes of a format, outermost first ("NCHW"); "" if the format is no order of axes. ND and
// undefined formats give `own`.
std::string_view AxesOf(base::Format format, std::string_view own);

// Gives a tensor that is dense in its description's format the strides of the described memory.
// `name` is "input 1" or the like. ACL_ERROR_FORMAT_NOT_MATCH for a layout that is no order of the
// same axes, `mismatch` for a shape that does not fit.
base::Status ApplyLayout(const std::string& name, int32_t mismatch, const aclTensorDesc& desc,
                         base::TensorDesc* tensor);

// Device memory with a copy of host data, alive as long as *memory.
base::Status FetchFromHost(const void* data, size_t bytes, std::shared_ptr<void>* memory);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_MEMORY_H_
