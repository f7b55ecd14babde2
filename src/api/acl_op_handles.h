// The objects behind aclopAttr and aclopHandle.
#ifndef PORTACL_API_ACL_OP_HANDLES_H_
#define PORTACL_API_ACL_OP_HANDLES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl_op.h"
#include "api/handles.h"

namespace portacl::api {

// A data type is not an integer: an operator that wants one of the two refuses the other.
enum class DataTypeAttribute : int32_t {};

using AttributeValue = std::variant<bool, int64_t, float, std::string, std::vector<int64_t>,
                                    std::vector<float>, std::vector<bool>, DataTypeAttribute,
                                    std::vector<std::vector<int64_t>>, std::vector<std::string>>;

}  // namespace portacl::api

// Not synchronised: the interface leaves changes against other uses to the caller.
struct aclopAttr {
  // Shared with the copies that handles keep. Copying a variant is not safe everywhere if a copy
  // throws (GCC 12 destroys an object that was not made).
  std::map<std::string, std::shared_ptr<const portacl::api::AttributeValue>> values;
};

namespace portacl::api {

// An operator by name with everything but its data. A handle keeps this.
struct GraphOperator {
  std::string type;
  std::vector<aclTensorDesc> inputs;
  std::vector<aclTensorDesc> outputs;
  aclopAttr attributes;
};

}  // namespace portacl::api

struct aclopHandle {
  portacl::api::GraphOperator op;
};

#endif  // PORTACL_API_ACL_OP_HANDLES_H_
