// The refusals that all operators share, made from the list of operators, in the documents' order:
// also what the current profile accepts of each function (whether it exists, dtypes and formats).
// An operator calls them before, between and behind its own checks.
#ifndef PORTACL_OPS_SHARED_CHECKS_H_
#define PORTACL_OPS_SHARED_CHECKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "ops/call.h"

namespace portacl::ops {

class SharedChecks {
 public:
  explicit SharedChecks(const Call& call);

  // Refuses null arguments, and functions that the profile does not have.
  base::Status Arguments() const;
  base::Status DTypes() const;
  base::Status Ranks() const;
  // Arguments(), DTypes() and Ranks(), in this order.
  base::Status Tensors() const;
  // Refuses formats outside the list, and different formats. Not in the native API.
  base::Status Formats() const;
  // Refuses lists of wrong length, and list elements below 1 (N, C and padding: below 0).
  base::Status Lists() const;
  // Tensors(), Formats() and Lists(), for operators with no other rule between them.
  base::Status All() const;

 private:
  struct NamedTensor {
    const Parameter* parameter;
    const base::TensorDesc* desc;
    const char* name() const { return parameter->name; }
  };
  std::span<const NamedTensor> tensors() const { return {tensors_.data(), count_}; }
  base::Status Nulls() const;
  base::Status List(const Parameter& parameter, const std::vector<int64_t>& values) const;
  base::Status Mask(const Parameter& parameter, const std::vector<bool>& values) const;

  const Call& call_;
  const Refusals refusals_;
  // The first argument that must not be null and is; null if there is none.
  const char* missing_ = nullptr;
  uint32_t lists_ = 0;  // bit i: argument i is a list of integers or flags, and not null
  // The call's tensors that are not null, in the order of the signature.
  std::array<NamedTensor, Signature::kMaxParameters> tensors_;
  size_t count_ = 0;
  // Other tensors' dtypes and formats are compared with this tensor: the first tensor on the side
  // that is not resized, without dtypes of its own.
  NamedTensor reference_{};
};

// Refuses a function that the current profile does not have.
base::Status CheckAvailable(const Refusals& refusals, const Signature& signature);

// Returns the formats that a call through the aclnn or graph API may have now.
const FormatWords& FormatsOf(const Signature& signature);

// Returns the rule that a wrong tensor breaks.
inline Rule SideOf(Kind kind) { return kind == Kind::kOutput ? Rule::kOutput : Rule::kInput; }

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SHARED_CHECKS_H_
