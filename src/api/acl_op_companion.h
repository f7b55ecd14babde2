// Copies by graph name: Identity, Cast to another data type, and TransData between formats with the
// same axes in another order.
#ifndef PORTACL_API_ACL_OP_COMPANION_H_
#define PORTACL_API_ACL_OP_COMPANION_H_

#include <memory>
#include <string_view>

#include "api/acl_op_registry.h"
#include "base/status.h"

namespace portacl::api {

inline constexpr const char* kIdentity = "Identity";
inline constexpr const char* kCast = "Cast";
inline constexpr const char* kTransData = "TransData";

base::Status ReadIdentity(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                          std::unique_ptr<GraphCall>* call);
base::Status ReadCast(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                      std::unique_ptr<GraphCall>* call);
base::Status ReadTransData(const GraphOperator& op, const Tensors& tensors, const HostLists& lists,
                           std::unique_ptr<GraphCall>* call);

// Returns true if the aclnn API has the companion operator aclnn<name>.
bool IsCompanion(std::string_view name);

}  // namespace portacl::api

#endif  // PORTACL_API_ACL_OP_COMPANION_H_
