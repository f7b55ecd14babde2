// One call of an operator, as an API received it, and how it is refused. The arguments are in the
// order of the signature; the operator's code asks for them by kind. A refusal has a code and a
// message. This file has the code and the message's beginning; the rest of each message is where
// Refuse() is called (`git grep 'has dtype'`).
#ifndef PORTACL_OPS_CALL_H_
#define PORTACL_OPS_CALL_H_

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "acl/acl_base.h"
#include "aclnn/aclnn_base.h"
#include "base/log.h"
#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/operator_list.h"
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

class Plan;

// One argument. A pointer is null if the caller gave null. Reals are double; whole numbers, flags
// and positions of words are int64_t.
using Argument =
    std::variant<const base::TensorDesc*, const std::vector<int64_t>*, const std::vector<float>*,
                 const std::vector<bool>*, double, int64_t, const char*, std::array<double, 3>>;

// Points to the objects behind the caller's handles, so it must not outlive them.
class Call {
 public:
  // `op` is the first word of every message.
  Call(const Signature& signature, Surface surface, const char* op)
      : signature_(&signature),
        surface_(surface),
        op_(op),
        axes_(signature.traits.axes == 0 ? 2 : signature.traits.axes) {}

  // Adds the argument of the next parameter. A null tensor must be added, too.
  void Add(Argument argument) {
    if (size_ == PositionOf(Form::kRead, 0)) FindAxes(argument);
    arguments_[size_++] = argument;
  }

  const Signature& signature() const { return *signature_; }
  Surface surface() const { return surface_; }
  const char* op() const { return op_; }
  // The number of spatial axes. If the signature leaves it open, the first tensor's rank decides:
  // 1 for rank 3, 3 for rank 5, else 2.
  int axes() const { return axes_; }

  // Return argument number `index` (from 0) of a form. Null or 0 if the signature has no such
  // argument, or if the caller gave null.
  const base::TensorDesc* input(size_t index) const;
  const base::TensorDesc* output(size_t index) const;
  const std::vector<int64_t>* ints(size_t index) const;
  const std::vector<float>* floats(size_t index) const;
  const std::vector<bool>* bools(size_t index) const;
  double real(size_t index) const;
  int64_t integer(size_t index) const;
  // A choice: word() is the caller's word (null if the API takes a position). mode() is its
  // position, or -1 for an unknown word.
  const char* word(size_t index) const;
  int64_t mode(size_t index) const;
  bool flag(size_t index) const;
  int64_t flag_value(size_t index) const;  // the caller's number, which may be neither 0 nor 1
  bool has_flag(size_t index) const { return *flag_name(index) != '\0'; }
  bool antialias() const { return signature_->traits.antialias || flag(1); }
  // The scales, from single arguments or from a list; 0 for each missing scale.
  std::array<double, 3> scales() const;

  // The name of an argument in the caller's API; "" if the signature has no such argument.
  const char* input_name(size_t index) const { return NameOf(Form::kRead, index); }
  const char* output_name(size_t index) const { return NameOf(Form::kWritten, index); }
  const char* ints_name(size_t index) const { return NameOf(Form::kInts, index); }
  const char* real_name(size_t index) const { return NameOf(Form::kReal, index); }
  const char* integer_name(size_t index) const { return NameOf(Form::kInteger, index); }
  const char* mode_name(size_t index) const { return NameOf(Form::kChoice, index); }
  const char* flag_name(size_t index) const { return NameOf(Form::kFlag, index); }
  std::string_view mode_word(size_t index, size_t value) const;
  std::string scale_name(size_t axis) const;  // "scalesH", "scales[0]"

  // All arguments, one for each parameter.
  size_t size() const { return size_; }
  const Parameter& parameter(size_t at) const { return signature_->parameters[at]; }
  const Argument& argument(size_t at) const { return arguments_[at]; }

  // False if the caller of aclnn's phase 1 gave null for the pointer to the result.
  bool has_workspace_size = true;
  bool has_executor = true;

 private:
  // Returns size() if there are fewer arguments of this form.
  size_t PositionOf(Form form, size_t index) const { return signature_->PositionOf(form, index); }
  template <class T>
  T Find(Form form, size_t index) const;
  void FindAxes(const Argument& first);
  const char* NameOf(Form form, size_t index) const {
    const size_t at = PositionOf(form, index);
    return at == size_ ? "" : parameter(at).name;
  }

  const Signature* signature_;
  Surface surface_;
  const char* op_;
  int axes_;
  size_t size_ = 0;
  std::array<Argument, Signature::kMaxParameters> arguments_;
};

// Makes all checks of a call except the checks on memory, in the order of the documents.
base::Status Check(const Call& call);
// Makes the plan of a call that has passed Check().
base::Status PlanChecked(const Call& call, std::shared_ptr<const Plan>* plan);
// Check(), then PlanChecked().
base::Status MakePlan(const Call& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_H_
