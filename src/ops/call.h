// One call of an operator as it came through an API. Its arguments are in the order of the
// signature; an operator's own code asks for them by kind.
#ifndef PORTACL_OPS_CALL_H_
#define PORTACL_OPS_CALL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/tensor_desc.h"
#include "ops/operator_list.h"
#include "ops/refusal.h"

namespace portacl::ops {

class Plan;

// Pointers are null if the caller gave null. Numbers: reals are double; whole numbers, flags and
// positions of words are int64_t.
using Argument =
    std::variant<const base::TensorDesc*, const std::vector<int64_t>*, const std::vector<float>*,
                 const std::vector<bool>*, double, int64_t, const char*, std::array<double, 3>>;

// Refers to the objects behind the caller's handles: lives no longer than they do.
class Call {
 public:
  // `op` opens every message.
  Call(const Signature& signature, Surface surface, const char* op)
      : signature_(&signature),
        surface_(surface),
        op_(op),
        axes_(signature.traits.axes == 0 ? 2 : signature.traits.axes) {}

  // The argument of the next parameter; a null tensor keeps its place.
  void Add(Argument argument) {
    if (size_ == PositionOf(Form::kRead, 0)) FindAxes(argument);
    arguments_[size_++] = argument;
  }

  const Signature& signature() const { return *signature_; }
  Surface surface() const { return surface_; }
  const char* op() const { return op_; }
  // The number of spatial axes. If the signature leaves it open, the first tensor decides: 2 if
  // that tensor is not (N, C, L), (N, C, H, W) or (N, C, D, H, W).
  int axes() const { return axes_; }

  // Argument number `index`, from 0, among the arguments of its form. Null or 0 if the signature
  // has no such argument, or if the caller gave null.
  const base::TensorDesc* input(size_t index) const;
  const base::TensorDesc* output(size_t index) const;
  const std::vector<int64_t>* ints(size_t index) const;
  const std::vector<float>* floats(size_t index) const;
  const std::vector<bool>* bools(size_t index) const;
  double real(size_t index) const;
  int64_t integer(size_t index) const;
  // A choice: the caller's word (null if the API takes a position), and its position (-1 for an
  // unknown word).
  const char* word(size_t index) const;
  int64_t mode(size_t index) const;
  bool flag(size_t index) const;
  int64_t flag_value(size_t index) const;  // as the caller gave it
  bool has_flag(size_t index) const { return *flag_name(index) != '\0'; }
  bool antialias() const { return signature_->traits.antialias || flag(1); }
  // Reals in order, or a list of them; 0 if there are fewer.
  std::array<double, 3> scales() const;

  // The names of these in the caller's API, "" if the signature has fewer.
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

  // The two result pointers of an aclnn phase 1: only whether they are null matters.
  bool has_workspace_size = true;
  bool has_executor = true;

 private:
  // size() if there are fewer.
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

// The checks of a call, except the checks on memory, in the order of the documents.
base::Status Check(const Call& call);
// The plan of a call that has passed Check().
base::Status PlanChecked(const Call& call, std::shared_ptr<const Plan>* plan);
// Both.
base::Status MakePlan(const Call& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_H_
