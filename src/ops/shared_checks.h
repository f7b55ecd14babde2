// The refusals that all operators share, by the list of operators and in the documents' order. An
// operator's own checks stand between and behind them.
#ifndef PORTACL_OPS_SHARED_CHECKS_H_
#define PORTACL_OPS_SHARED_CHECKS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "ops/call.h"
#include "ops/refusal.h"

namespace portacl::ops {

class SharedChecks {
 public:
  explicit SharedChecks(const Call& call);

  // A null argument, a profile without the function.
  base::Status Arguments() const;
  base::Status DTypes() const;
  base::Status Ranks() const;
  // These three in order.
  base::Status Tensors() const;
  // Formats outside the list, and different ones. The native API has none.
  base::Status Formats() const;
  // The lengths of lists, and elements below 1 (N, C and padding: below 0).
  base::Status Lists() const;
  // All of these, if no other rule stands between them.
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
  // The first argument that is null and must not be, or null.
  const char* missing_ = nullptr;
  uint32_t lists_ = 0;  // bit i: argument i is a list of whole numbers or flags, and not null
  // The tensors that the call has, in the order of the signature.
  std::array<NamedTensor, Signature::kMaxParameters> tensors_;
  size_t count_ = 0;
  // The tensor with which dtypes and formats of others are compared: the first tensor on the side
  // that is not resized, without dtypes of its own.
  NamedTensor reference_{};
};

// Where the rule on a tensor is broken.
inline Rule SideOf(Kind kind) { return kind == Kind::kOutput ? Rule::kOutput : Rule::kInput; }

}  // namespace portacl::ops

#endif  // PORTACL_OPS_SHARED_CHECKS_H_
