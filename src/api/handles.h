// The objects behind aclDataBuffer and aclTensorDesc, and the tables of the live ones.
#ifndef PORTACL_API_HANDLES_H_
#define PORTACL_API_HANDLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "base/dtype.h"
#include "base/handle_table.h"

// Not synchronised: the interface leaves changes against other uses to the caller.
struct aclDataBuffer {
  void* data = nullptr;  // the caller's; may be null
  size_t size = 0;       // bytes
};

struct aclTensorDesc {
  portacl::base::DType dtype = portacl::base::DType::kUndefined;
  portacl::base::Format format = portacl::base::Format::kUndefined;
  std::vector<int64_t> dims;  // outermost first, any rank
  std::string name;
  // How the memory is laid out, where that was said; otherwise as above.
  std::optional<portacl::base::Format> storage_format = {};
  std::optional<std::vector<int64_t>> storage_dims = {};
  bool host = false;                      // the buffer is host memory
  std::vector<std::byte> constant = {};   // takes the place of the buffer; empty: none
  std::vector<int64_t> shape_range = {};  // least and greatest of each extent, or empty
};

namespace portacl::api {

// Look a handle up here before touching it: Find() is null for one that is null, foreign or
// destroyed.
base::HandleTable<aclDataBuffer>& DataBuffers();
base::HandleTable<aclTensorDesc>& TensorDescs();

}  // namespace portacl::api

#endif  // PORTACL_API_HANDLES_H_
