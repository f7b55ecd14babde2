// One call of an operator as it came through an API: arguments in the order of the signature, which
// an operator's own code asks for by kind.
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
#include "ops/surface.h"

namespace portacl::ops {

class Plan;

// Pointers are null where the caller gave null. Numbers: kDouble and kFloat are double, kMode and
// kFlag int64_t.
using Argument =
    std::variant<const base::TensorDesc*, const std::vector<int64_t>*, const std::vector<float>*,
                 const std::vector<bool>*, double, int64_t, const char*, std::array<double, 3>>;

// Refers to what the caller's handles stand for: lives no longer than they do.
class Call {
 public:
  // `op` opens every message.
  Call(const Signature& signature, Surface surface, const char* op)
      : signature_(&signature), surface_(surface), op_(op) {}

  // The argument of the next parameter; a null tensor keeps its place.
  void Add(Argument argument) { arguments_[size_++] = argument; }

  const Signature& signature() const { return *signature_; }
  Surface surface() const { return surface_; }
  const char* op() const { return op_; }
  // Spatial axes; the first tensor's if the signature leaves them open, 2 if that tensor is
  // no (N, C, L), (N, C, H, W) or (N, C, D, H, W).
  int axes() const;

  // The argument number `index` among the arguments of its kind, from 0. Null if the signature
  // has none of that kind, as where the caller gave null.
  const base::TensorDesc* input(size_t index) const;  // kInput and kGrid
  const base::TensorDesc* output(size_t index) const;
  const std::vector<int64_t>* ints(size_t index) const;  // kInts and kSizes
  const std::vector<float>* floats(size_t index) const;
  const std::vector<bool>* bools(size_t index) const;
  const char* word(size_t index) const;
  int64_t mode(size_t index) const;  // 0 where there is none
  bool flag(size_t index) const;
  bool has_flag(size_t index) const { return *flag_name(index) != '\0'; }
  bool antialias() const { return signature_->traits.antialias || flag(1); }
  // kDouble and kFloat in order, or kFloats, or kScales; 0 where there are fewer.
  std::array<double, 3> scales() const;

  // The names of these in the caller's API, "" where the signature has fewer.
  const char* input_name(size_t index) const;
  const char* output_name(size_t index) const;
  const char* ints_name(size_t index) const;
  const char* mode_name(size_t index) const;
  const char* flag_name(size_t index) const;
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
  // The position of a parameter; size() where there are fewer.
  template <class Wanted>
  size_t PositionOf(size_t index, Wanted wanted) const;
  template <class T, class Wanted>
  T Find(size_t index, Wanted wanted) const;
  template <class Wanted>
  const char* NameOf(size_t index, Wanted wanted) const;

  static constexpr size_t kMaxParameters = 12;

  const Signature* signature_;
  Surface surface_;
  const char* op_;
  size_t size_ = 0;
  std::array<Argument, kMaxParameters> arguments_;
};

// The checks of a call but for those on memory, in the order of the documents.
base::Status Check(const Call& call);
// The plan of a call that has passed Check().
base::Status PlanChecked(const Call& call, std::shared_ptr<const Plan>* plan);
// Both.
base::Status MakePlan(const Call& call, std::shared_ptr<const Plan>* plan);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_CALL_H_
