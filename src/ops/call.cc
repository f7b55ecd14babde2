// Arguments by kind, and the operator's own checks and plan by the list of operators.
#include "ops/call.h"

#include "ops/operators.h"

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

const Code& CodeOf(const Call& call) { return kCode[static_cast<size_t>(call.signature().op)]; }

}  // namespace

template <class T, class Wanted>
T Call::Find(size_t index, Wanted wanted) const {
  for (size_t at = 0; at < size_; ++at) {
    if (wanted(parameter(at).kind) && index-- == 0) return std::get<T>(arguments_[at]);
  }
  return T{};
}

int Call::axes() const {
  if (signature_->traits.axes != 0) return signature_->traits.axes;
  const base::TensorDesc* const first = input(0);
  const int rank = first == nullptr ? 4 : first->shape.rank();
  return rank == 3 || rank == 5 ? rank - 2 : 2;
}

const base::TensorDesc* Call::input(size_t index) const {
  return Find<const base::TensorDesc*>(
      index, [](Kind kind) { return kind == Kind::kInput || kind == Kind::kGrid; });
}
const base::TensorDesc* Call::output(size_t index) const {
  return Find<const base::TensorDesc*>(index, [](Kind kind) { return kind == Kind::kOutput; });
}
const std::vector<int64_t>* Call::ints(size_t index) const {
  return Find<const std::vector<int64_t>*>(index, [](Kind kind) { return kind == Kind::kInts; });
}
const std::vector<float>* Call::floats(size_t index) const {
  return Find<const std::vector<float>*>(index, [](Kind kind) { return kind == Kind::kFloats; });
}
const std::vector<bool>* Call::bools(size_t index) const {
  return Find<const std::vector<bool>*>(index, [](Kind kind) { return kind == Kind::kBools; });
}
const char* Call::word(size_t index) const {
  return Find<const char*>(index, [](Kind kind) { return kind == Kind::kWord; });
}
int64_t Call::mode(size_t index) const {
  return Find<int64_t>(index, [](Kind kind) { return kind == Kind::kMode; });
}
bool Call::flag(size_t index) const {
  return Find<int64_t>(index, [](Kind kind) { return kind == Kind::kFlag; }) != 0;
}

std::array<double, 3> Call::scales() const {
  std::array<double, 3> scales{};
  size_t axis = 0;
  for (size_t at = 0; at < size_; ++at) {
    const Kind kind = parameter(at).kind;
    if (kind == Kind::kScales) return std::get<std::array<double, 3>>(arguments_[at]);
    if (kind == Kind::kDouble || kind == Kind::kFloat) {
      scales[axis++] = std::get<double>(arguments_[at]);
    }
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
