// A call's arguments by the parameters of the native API's planning function.
#include "tools/testing/call_native.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <memory>
#include <tuple>

#include "tools/cli_error.h"

namespace portacl::golden {
namespace {

// Gives the arguments one behind the other: what means the same stands in the same order in both
// APIs, kind by kind.
class Arguments {
 public:
  explicit Arguments(const Call& call) : call_(call), scales_(call.reals()) {}

  const portaclTensor* Input() { return View(Next(Role::kInput)); }
  const portaclTensor* Grid() { return Input(); }
  const portaclTensor* Output() { return View(Next(Role::kOutput)); }
  int32_t Mode() { return static_cast<int32_t>(Next(Role::kMode).integers.at(0)); }
  int32_t Flag() { return static_cast<int32_t>(Next(Role::kFlag).integers.at(0)); }
  const double* Scales() const { return scales_.data(); }

 private:
  const CallArgument& Next(Role role) {
    return call_.arguments.at(call_.With(role).at(used_.at(static_cast<size_t>(role))++));
  }

  const portaclTensor* View(const CallArgument& argument) {
    if (!argument.wanted) return nullptr;
    const ViewTensor& t = argument.tensor;
    return views_
        .emplace_back(t.first(), static_cast<DataType>(t.dtype()), t.shape().size(),
                      t.shape().data(), t.strides().data())
        .c_tensor();
  }

  const Call& call_;
  const std::vector<double> scales_;
  std::array<size_t, 8> used_{};  // by role
  std::deque<Tensor> views_;
};

int32_t MakePlan(const Call& call, portaclPlan** plan) {
  Arguments arguments(call);
  using Make = int32_t (*)(Arguments&, portaclPlan**);
  // The elements of a braced list are evaluated from the left to the right.
  static constexpr Make kMake[] = {
#define PORTACL_TAKE(Kind, ...) from.Kind(),
#define PORTACL_NATIVE(function, Name, traits, ...)                                            \
  [](Arguments& from, portaclPlan** made) {                                                    \
    return std::apply(function, std::tuple{PORTACL_FOR_EACH(PORTACL_TAKE, __VA_ARGS__) made}); \
  },
#include "src/ops/operator_list.inc"
#undef PORTACL_TAKE
  };
  const auto* const row =
      std::find_if(std::begin(ops::kNativeFunctions), std::end(ops::kNativeFunctions),
                   [&](const ops::Signature* function) { return function->op == call.op->op; });
  return kMake[row - std::begin(ops::kNativeFunctions)](arguments, plan);
}

struct DestroyPlan {
  void operator()(portaclPlan* plan) const { portaclPlanDestroy(plan); }
};

}  // namespace

std::string KernelOf(const Call& call) {
  portaclPlan* made = nullptr;
  const int32_t code = MakePlan(call, &made);
  const std::unique_ptr<portaclPlan, DestroyPlan> plan(made);
  return code == PORTACL_OK ? portaclPlanGetKernel(made) : "";
}

void RunNative(Call& call) {
  portaclPlan* made = nullptr;
  int32_t code = MakePlan(call, &made);
  const std::unique_ptr<portaclPlan, DestroyPlan> plan(made);
  if (code == PORTACL_OK) code = portaclPlanRun(plan.get(), nullptr, nullptr, 0);
  const Status status(code);
  cli::ThrowOnStatus(status.code(), call.op->name,
                     fmt::format("case '{}': {}", ToString(call.source), status.message()));
}

}  // namespace portacl::golden
