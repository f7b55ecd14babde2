// Rows for every function of the list of operators: both phases in the aclnn API, and the planning
// functions of the native one.
#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "faults/calls.h"
#include "support/api/listed_call.h"

namespace portacl_test {
namespace {

using listed::Signature;
using portacl::ops::kAclnnFunctions;
using portacl::ops::kNativeFunctions;

// As much work as a stream takes over, in the memory that a World has.
const listed::Extents& Large() {
  static const listed::Extents extents = {{"N", 1},   {"C", 4},   {"L", 20},  {"D", 1},
                                          {"H", 20},  {"W", 20},  {"OL", 40}, {"OD", 2},
                                          {"OH", 40}, {"OW", 40}, {"J", 20}};
  return extents;
}

// ---- the aclnn API -----------------------------------------------------------------------------

// Arguments of function number I, made once for a row's process.
template <size_t I>
listed::Handles& HandlesOf(World& w) {
  static auto* const arguments = new std::vector<listed::Argument>(
      listed::GoodArguments(*kAclnnFunctions[I], Large(), w.device));
  static auto* const handles = new listed::Handles(*kAclnnFunctions[I], *arguments);
  return *handles;
}
template <size_t I>
void Prepare(World& w) {
  HandlesOf<I>(w);
}
template <size_t I>
int64_t PhaseOne(World& w) {
  return listed::kPhases[I].one(HandlesOf<I>(w), w.Out<uint64_t>(), w.Out<aclOpExecutor*>(8));
}
void DropExecutor(World& w) { aclDestroyAclOpExecutor(w.Get<aclOpExecutor*>(8)); }

// The executor in made[0], its workspace in made[1].
template <size_t I>
void Plan(World& w) {
  aclOpExecutor* executor = nullptr;
  listed::kPhases[I].one(HandlesOf<I>(w), &w.size, &executor);
  w.made[0] = executor;
  w.made[1] = nullptr;
  if (w.size > 0) aclrtMalloc(&w.made[1], w.size, ACL_MEM_MALLOC_HUGE_FIRST);
}
template <size_t I>
int64_t PhaseTwo(World& w) {
  return listed::kPhases[I].two(w.made[1], w.size, w.Made<aclOpExecutor>(), w.stream);
}
void FreeWorkspace(World& w) {
  if (w.made[1] != nullptr) aclrtFree(w.made[1]);
}

constexpr const char* kPhaseOneNames[] = {
#define PORTACL_ACLNN(function, ...) #function "GetWorkspaceSize",
#include "src/ops/operator_list.inc"
};

template <size_t... I>
std::vector<Row> AclnnRows(std::index_sequence<I...> /*indices*/) {
  std::vector<Row> rows;
  (rows.push_back({kPhaseOneNames[I], PhaseOne<I>, Prepare<I>, DropExecutor, {.nulls = 16}}), ...);
  (rows.push_back({kAclnnFunctions[I]->name, PhaseTwo<I>, Plan<I>, FreeWorkspace}), ...);
  return rows;
}

// ---- the native API ----------------------------------------------------------------------------

// The arguments of a planning function one behind the other; tensors lie in host memory.
class Arguments {
 public:
  Arguments(World& w, const Signature& function) : function_(function), next_(w.host) {}

  template <class T>
  T Next() {
    const size_t at = at_++;
    if constexpr (std::is_same_v<T, const portaclTensor*>) {
      return &views_[count_++];
    } else if constexpr (std::is_same_v<T, const int64_t*>) {
      return lists_[at].data();
    } else if constexpr (std::is_pointer_v<T>) {
      return nullptr;
    } else {
      return static_cast<T>(numbers_[at]);
    }
  }

  // Called before the first argument is asked for, so that a call with failing allocations makes
  // none for its arguments.
  void Make() {
    for (const listed::Parameter& parameter : function_.parameters) {
      if (listed::IsTensor(parameter.kind)) views_[count_++] = View(parameter);
      const std::vector<int64_t> extents = listed::ExtentsOf(parameter, Large());
      std::copy(extents.begin(), extents.end(), lists_[at_].begin());
      numbers_[at_++] = listed::NumberOf(parameter, extents);
    }
    count_ = 0;
    at_ = 0;
  }

 private:
  portaclTensor View(const listed::Parameter& parameter) {
    const std::vector<int64_t> shape = listed::ExtentsOf(parameter, Large());
    portaclTensor view{};
    view.data = next_;
    view.dtype =
        parameter.dtypes == nullptr ? int32_t{PORTACL_FLOAT32} : *parameter.dtypes->open.begin();
    view.rank = static_cast<int32_t>(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      view.shape[i] = shape[i];
      view.strides[i] = stride;
      stride *= shape[i];
    }
    next_ += stride * int64_t{sizeof(double)};
    return view;
  }

  const Signature& function_;
  char* next_;
  std::array<portaclTensor, Signature::kMaxParameters> views_{};
  std::array<double, Signature::kMaxParameters> numbers_{};
  std::array<std::array<int64_t, listed::Parameter::kMaxParts>, Signature::kMaxParameters> lists_{};
  size_t count_ = 0;
  size_t at_ = 0;
};

// A planning function's arguments, made once for a row's process.
template <size_t I>
Arguments& NativeArguments(World& w) {
  static Arguments* const arguments = [&] {
    auto* const made = new Arguments(w, *kNativeFunctions[I]);
    made->Make();
    return made;
  }();
  return *arguments;
}

// A parameter's type by its kind.
namespace native {
#define PORTACL_KIND(Kind, form, aclnn, native) using Kind = native;
PORTACL_KINDS(PORTACL_KIND)
#undef PORTACL_KIND
}  // namespace native

using PlanNative = int32_t (*)(Arguments from, portaclPlan** plan);
// The elements of a braced list are evaluated from the left to the right.
constexpr PlanNative kPlanNative[] = {
#define PORTACL_TAKE(Kind, ...) from.Next<native::Kind>(),
#define PORTACL_NATIVE(function, Name, traits, ...)                                            \
  [](Arguments from, portaclPlan** plan) {                                                     \
    return std::apply(function, std::tuple{PORTACL_FOR_EACH(PORTACL_TAKE, __VA_ARGS__) plan}); \
  },
#include "src/ops/operator_list.inc"
#undef PORTACL_TAKE
};

template <size_t I>
int64_t CallNative(World& w) {
  return kPlanNative[I](NativeArguments<I>(w), w.Out<portaclPlan*>());
}
template <size_t I>
void PrepareNative(World& w) {
  NativeArguments<I>(w);
}
void DestroyNew(World& w) { portaclPlanDestroy(w.Get<portaclPlan*>()); }

template <size_t... I>
std::vector<Row> NativeRows(std::index_sequence<I...> /*indices*/) {
  std::vector<Row> rows;
  (rows.push_back({kNativeFunctions[I]->name,
                   CallNative<I>,
                   PrepareNative<I>,
                   DestroyNew,
                   {.nulls = sizeof(portaclPlan*)}}),
   ...);
  return rows;
}

const Rows aclnn_rows(AclnnRows(std::make_index_sequence<std::size(kAclnnFunctions)>()));
const Rows native_rows(NativeRows(std::make_index_sequence<std::size(kNativeFunctions)>()));

}  // namespace
}  // namespace portacl_test
