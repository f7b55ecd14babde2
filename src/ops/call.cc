// Finds a call's arguments by kind, and the operator's checks and plan in the list of operators.
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

// Returns the first three values; 0 for each missing value.
std::array<double, 3> FirstOf(const std::vector<float>* values) {
  std::array<double, 3> first{};
  if (values == nullptr) return first;
  std::copy_n(values->begin(), std::min(values->size(), first.size()), first.begin());
  return first;
}

const Code& CodeOf(const Call& call) { return kCode[static_cast<size_t>(call.signature().op)]; }

}  // namespace

template <class T>
T Call::Find(Form form, size_t index) const {
  const size_t at = PositionOf(form, index);
  return at == size_ ? T{} : std::get<T>(arguments_[at]);
}

void Call::FindAxes(const Argument& first) {
  const auto* const desc = std::get<const base::TensorDesc*>(first);
  if (signature_->traits.axes != 0 || desc == nullptr) return;
  const int rank = desc->shape.rank();
  if (rank == 3 || rank == 5) axes_ = rank - 2;
}

const base::TensorDesc* Call::input(size_t index) const {
  return Find<const base::TensorDesc*>(Form::kRead, index);
}
const base::TensorDesc* Call::output(size_t index) const {
  return Find<const base::TensorDesc*>(Form::kWritten, index);
}
const std::vector<int64_t>* Call::ints(size_t index) const {
  return Find<const std::vector<int64_t>*>(Form::kInts, index);
}
const std::vector<float>* Call::floats(size_t index) const {
  return Find<const std::vector<float>*>(Form::kFloats, index);
}
const std::vector<bool>* Call::bools(size_t index) const {
  return Find<const std::vector<bool>*>(Form::kBools, index);
}
double Call::real(size_t index) const { return Find<double>(Form::kReal, index); }
int64_t Call::integer(size_t index) const { return Find<int64_t>(Form::kInteger, index); }
int64_t Call::flag_value(size_t index) const { return Find<int64_t>(Form::kFlag, index); }
bool Call::flag(size_t index) const { return flag_value(index) != 0; }

const char* Call::word(size_t index) const {
  const size_t at = PositionOf(Form::kChoice, index);
  const char* const* const word = at == size_ ? nullptr : std::get_if<const char*>(&arguments_[at]);
  return word == nullptr ? nullptr : *word;
}

int64_t Call::mode(size_t index) const {
  const size_t at = PositionOf(Form::kChoice, index);
  if (at == size_) return 0;
  if (const auto* const position = std::get_if<int64_t>(&arguments_[at])) return *position;
  const char* const word = std::get<const char*>(arguments_[at]);
  for (size_t i = 0; word != nullptr && i < PartsOf(parameter(at)); ++i) {
    if (PartOf(parameter(at), i) == word) return static_cast<int64_t>(i);
  }
  return -1;
}

std::string_view Call::mode_word(size_t index, size_t value) const {
  return PartOf(parameter(PositionOf(Form::kChoice, index)), value);
}

std::string Call::scale_name(size_t axis) const {
  for (const Form form : {Form::kReals, Form::kFloats}) {
    if (PositionOf(form, 0) != size_) return fmt::format("{}[{}]", NameOf(form, 0), axis);
  }
  return NameOf(Form::kReal, axis);
}

std::array<double, 3> Call::scales() const {
  const size_t list = PositionOf(Form::kReals, 0);
  if (list != size_) return std::get<std::array<double, 3>>(arguments_[list]);
  if (PositionOf(Form::kFloats, 0) != size_) return FirstOf(floats(0));
  return {real(0), real(1), real(2)};
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
