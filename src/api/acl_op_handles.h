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

// A data type as attribute. It is not an integer: an operator that wants an integer refuses it.
enum class DataTypeAttribute : int32_t {};

using AttributeValue = std::variant<bool, int64_t, float, std::string, std::vector<int64_t>,
                                    std::vector<float>, std::vector<bool>, DataTypeAttribute,
                                    std::vector<std::vector<int64_t>>, std::vector<std::string>>;

}  // namespace portacl::api

// Not synchronised: the caller must order changes and other uses.
struct aclopAttr {
  // The values are shared with copies in handles. They are not copied, because copying a variant is
  // unsafe with GCC 12 if a copy throws (it destroys an object that was not made).
  std::map<std::string, std::shared_ptr<const portacl::api::AttributeValue>> values;
};

namespace portacl::api {

// An operator by name with its descriptions and attributes, but without data. Handles keep it.
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
