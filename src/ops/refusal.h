// The code of a refused call and the beginning of its message. The rest of each message is where
// Refuse() is called (`git grep 'has dtype'`).
#ifndef PORTACL_OPS_REFUSAL_H_
#define PORTACL_OPS_REFUSAL_H_

#include <fmt/format.h>

#include <string>
#include <utility>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"
#include "base/log.h"
#include "base/status.h"
#include "ops/settings.h"

namespace portacl::ops {

// The API that a call came through. APIs differ in accepted arguments and in error codes.
enum class Surface {
  kAclnn,   // two-phase C API, under the current profile
  kGraph,   // by operator name, under the current profile, aclError codes
  kNative,  // portacl.h: every extension, no profile
};

// The kind of rule that a call broke. kNoKernel and kNoMemory: a right call cannot be served.
enum class Rule {
  kNull,
  kUnknownOperator,
  kDType,
  kFormat,
  kInput,
  kOutput,
  kAttribute,
  kOther,
  kNoKernel,
  kNoMemory
};

// Returns the code of a broken rule. The native API has aclnn's codes.
inline int32_t CodeOf(Rule rule, Surface surface) {
  const bool graph = surface == Surface::kGraph;
  switch (rule) {
    case Rule::kNull:
      return graph ? ACL_ERROR_INVALID_PARAM : ACLNN_ERR_PARAM_NULLPTR;
    case Rule::kUnknownOperator:
      return graph ? ACL_ERROR_OP_NOT_FOUND : ACLNN_ERR_PARAM_INVALID;
    case Rule::kDType:
      return graph ? ACL_ERROR_UNSUPPORTED_DATA_TYPE : ACLNN_ERR_PARAM_INVALID;
    case Rule::kFormat:
      return graph ? ACL_ERROR_FORMAT_NOT_MATCH : ACLNN_ERR_PARAM_INVALID;
    case Rule::kInput:
      return graph ? ACL_ERROR_OP_INPUT_NOT_MATCH : ACLNN_ERR_PARAM_INVALID;
    case Rule::kOutput:
      return graph ? ACL_ERROR_OP_OUTPUT_NOT_MATCH : ACLNN_ERR_PARAM_INVALID;
    case Rule::kAttribute:
      return graph ? ACL_ERROR_OP_ATTR_NOT_MATCH : ACLNN_ERR_PARAM_INVALID;
    case Rule::kNoKernel:
      return graph ? ACL_ERROR_KERNEL_NOT_FOUND : ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
    case Rule::kNoMemory:
      return graph ? ACL_ERROR_BAD_ALLOC : ACLNN_ERR_RUNTIME_ERROR;
    case Rule::kOther:
      break;
  }
  return graph ? ACL_ERROR_INVALID_PARAM : ACLNN_ERR_PARAM_INVALID;
}

// Converts a code of the runtime to a code of the surface. In aclnn, a handle that is no stream is
// a wrong parameter.
inline int32_t RuntimeCodeOf(int32_t code, Surface surface) {
  if (surface == Surface::kGraph) return code;
  return code == ACL_ERROR_RT_INVALID_HANDLE ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_RUNTIME_ERROR;
}

// Makes the refusals of one call. `op` is the first word of every message and must outlive them.
class Refusals {
 public:
  Refusals(const char* op, Surface surface) : op_(op), surface_(surface) {}
  const char* op() const { return op_; }
  Surface surface() const { return surface_; }

  template <class... Args>
  base::Status Refuse(Rule rule, fmt::format_string<Args...> text, Args&&... args) const {
    return {CodeOf(rule, surface_),
            fmt::format("{}: {}", op_, fmt::format(text, std::forward<Args>(args)...))};
  }

  // Converts a status of the runtime to a status of this call; success stays success.
  base::Status FromRuntime(const base::Status& status) const {
    if (status.ok()) return {};
    return {RuntimeCodeOf(status.code(), surface_), fmt::format("{}: {}", op_, status.message())};
  }

  // Refuses every call while PORTACL_PROFILE or PORTACL_EDITION has an unknown value.
  base::Status CheckProfile() const {
    if (KnowsProfileAndEdition()) return {};
    if (const std::string wrong = UnknownProfile(); !wrong.empty()) {
      return Refuse(Rule::kOther, "PORTACL_PROFILE is \"{}\", but must be one of {}", wrong,
                    ProfileChoices());
    }
    if (const std::string wrong = UnknownEdition(); !wrong.empty()) {
      return Refuse(Rule::kOther, "PORTACL_EDITION is \"{}\", but must be one of {}", wrong,
                    EditionChoices());
    }
    return {};
  }

  // For rules that the documents state without an error code. Refuses in strict mode, else warns in
  // the log and in the thread's message. The native API does not warn.
  base::Status Warn(Rule rule, std::string text) const {
    if (surface_ == Surface::kNative) return {};
    if (Strict()) return Refuse(rule, "{} (refused because of PORTACL_STRICT)", text);
    std::string message = fmt::format("{}: warning: {}", op_, text);
    base::Log(base::LogLevel::kWarn, message);
    base::SetWarningMessage(std::move(message));
    return {};
  }

 private:
  const char* op_;
  Surface surface_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_REFUSAL_H_
