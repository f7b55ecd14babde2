// The two-phase functions of the operators, made from ops/operator_list.inc. A function does not
// compile if no header of aclnnop/ declares it, or if a header declares it otherwise.
#include "api/aclnn_call.h"
#include "every_aclnnop.h"
#include "ops/operator_list.h"

namespace {

// A parameter's type by its kind.
#define PORTACL_KIND(Kind, form, aclnn, native) using Kind = aclnn;
PORTACL_KINDS(PORTACL_KIND)

}  // namespace

extern "C" {

#define PORTACL_DECLARE(Kind, name, ...) Kind name,
#define PORTACL_READ(Kind, name, ...) reader.Add(name);

#define PORTACL_ACLNN(function, Name, case_name, traits, ...)                                  \
  static_assert(sizeof(&function##GetWorkspaceSize) == sizeof(&function));                     \
  aclnnStatus function##GetWorkspaceSize(PORTACL_FOR_EACH(PORTACL_DECLARE, __VA_ARGS__)        \
                                             uint64_t* workspaceSize,                          \
                                         aclOpExecutor** executor) {                           \
    return portacl::api::PhaseOne(portacl::ops::signatures::function, workspaceSize, executor, \
                                  [&](portacl::api::ArgumentReader& reader) {                  \
                                    PORTACL_FOR_EACH(PORTACL_READ, __VA_ARGS__)                \
                                  });                                                          \
  }                                                                                            \
  aclnnStatus function(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,       \
                       aclrtStream stream) {                                                   \
    return portacl::api::PhaseTwo(#function, workspace, workspaceSize, executor, stream);      \
  }
#include "ops/operator_list.inc"

}  // extern "C"
