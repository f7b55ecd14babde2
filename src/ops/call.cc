// Arguments by kind, and the operator's own checks and plan by the list of operators.
#include "ops/call.h"

#include <fmt/format.h>

#include <algorithm>

namespace portacl::ops {

#define PORTACL_OPERATOR(Name, name, Checks, Params) \
  base::Status Check##Checks(const Call& call);      \
  base::Status PlanChecked##Checks(const Call& call, std::shared_ptr<const Plan>* plan);
#include "ops/operator_list.inc"

namespace {

struct Code {
  base::Status (*check)(const Call& call);
  base::Status (*plan)(const Call& call, std::shared_ptr<const Plan>* plan);
};

constexpr Code kCode[] = {
#define PORTACL_OPERATOR(Name, name, Checks, Params) {Check##Checks, PlanChecked##Checks},
#include "ops/operator_list.inc"
};

template <Kind kKind>
bool Is(Kind kind) {
  return kind == kKind;
}
bool IsRead(Kind kind) { return kind == Kind::kInput || kind == Kind::kGrid; }
bool IsInts(Kind kind) { return kind == Kind::kInts || kind == Kind::kSizes; }
bool IsScale(Kind kind) { return kind == Kind::kDouble || kind == Kind::kFloat; }

// Zeros where there are fewer, or null.
std::array<double, 3> FirstOf(const std::vector<float>* values) {
  std::array<double, 3> first{};
  if (values == nullptr) return first;
  std::copy_n(values->begin(), std::min(values->size(), first.size()), first.begin());
  return first;
}

const Code& CodeOf(const Call& call) { return kCode[static_cast<size_t>(call.signature().op)]; }

}  // namespace

template <class Wanted>
size_t Call::PositionOf(size_t index, Wanted wanted) const {
  for (size_t at = 0; at < size_; ++at) {
    if (wanted(parameter(at).kind) && index-- == 0) return at;
  }
  return size_;
}

template <class T, class Wanted>
T Call::Find(size_t index, Wanted wanted) const {
  const size_t at = PositionOf(index, wanted);
  return at == size_ ? T{} : std::get<T>(arguments_[at]);
}

template <class Wanted>
const char* Call::NameOf(size_t index, Wanted wanted) const {
  const size_t at = PositionOf(index, wanted);
  return at == size_ ? "" : parameter(at).name;
}

int Call::axes() const {
  if (signature_->traits.axes != 0) return signature_->traits.axes;
  const base::TensorDesc* const first = input(0);
  const int rank = first == nullptr ? 4 : first->shape.rank();
  return rank == 3 || rank == 5 ? rank - 2 : 2;
}

const base::TensorDesc* Call::input(size_t index) const {
  return Find<const base::TensorDesc*>(index, IsRead);
}
const base::TensorDesc* Call::output(size_t index) const {
  return Find<const base::TensorDesc*>(index, Is<Kind::kOutput>);
}
const std::vector<int64_t>* Call::ints(size_t index) const {
  return Find<const std::vector<int64_t>*>(index, IsInts);
}
const std::vector<float>* Call::floats(size_t index) const {
  return Find<const std::vector<float>*>(index, Is<Kind::kFloats>);
}
const std::vector<bool>* Call::bools(size_t index) const {
  return Find<const std::vector<bool>*>(index, Is<Kind::kBools>);
}
const char* Call::word(size_t index) const { return Find<const char*>(index, Is<Kind::kWord>); }
int64_t Call::mode(size_t index) const { return Find<int64_t>(index, Is<Kind::kMode>); }
bool Call::flag(size_t index) const { return Find<int64_t>(index, Is<Kind::kFlag>) != 0; }

const char* Call::input_name(size_t index) const { return NameOf(index, IsRead); }
const char* Call::output_name(size_t index) const { return NameOf(index, Is<Kind::kOutput>); }
const char* Call::ints_name(size_t index) const { return NameOf(index, IsInts); }
const char* Call::mode_name(size_t index) const { return NameOf(index, Is<Kind::kMode>); }
const char* Call::flag_name(size_t index) const { return NameOf(index, Is<Kind::kFlag>); }

std::string_view Call::mode_word(size_t index, size_t value) const {
  return PartOf(parameter(PositionOf(index, Is<Kind::kMode>)), value);
}

std::string Call::scale_name(size_t axis) const {
  const size_t list =
      PositionOf(0, [](Kind kind) { return kind == Kind::kScales || kind == Kind::kFloats; });
  if (list != size_) return fmt::format("{}[{}]", parameter(list).name, axis);
  return NameOf(axis, IsScale);
}

std::array<double, 3> Call::scales() const {
  std::array<double, 3> scales{};
  size_t axis = 0;
  for (size_t at = 0; at < size_; ++at) {
    const Kind kind = parameter(at).kind;
    if (kind == Kind::kScales) return std::get<std::array<double, 3>>(arguments_[at]);
    if (kind == Kind::kFloats) return FirstOf(std::get<const std::vector<float>*>(arguments_[at]));
    if (IsScale(kind)) scales[axis++] = std::get<double>(arguments_[at]);
  }
  return scales;
}

base::Status Check(const Call& call) { return CodeOf(call).check(call); }

base::Status PlanChecked(const Call& call, std::shared_ptr<const Plan>* plan) {
  return CodeOf(call).plan(call, plan);
}

base::Status MakePlan(const Call& call, std::shared_ptr<const Plan>* plan) {
  PORTACL_RETURN_IF_ERROR(Check(call));
  return PlanChecked(call, plan);
}

}  // namespace portacl::ops
