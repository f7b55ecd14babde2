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
  explicit Arguments(const Call& call) : call_(call), scales_(call.scales()) {}

  const portaclTensor* Input() { return View(Next(Role::kInput)); }
  const portaclTensor* Grid() { return Input(); }
  const portaclTensor* Output() { return View(Next(Role::kOutput)); }
  int32_t Mode() { return static_cast<int32_t>(Argument(Next(Role::kMode)).integers.at(0)); }
  // antialias is a flag of this API and a function of its own in the other.
  int32_t Flag() {
    if (used_.at(static_cast<size_t>(Role::kFlag)) == call_.With(Role::kFlag).size()) {
      return call_.op->traits->antialias ? 1 : 0;
    }
    return static_cast<int32_t>(Argument(Next(Role::kFlag)).integers.at(0));
  }
  const double* Scales() const { return scales_.data(); }

 private:
  size_t Next(Role role) { return call_.With(role).at(used_.at(static_cast<size_t>(role))++); }
  const CallArgument& Argument(size_t i) const { return call_.arguments.at(i); }

  // This API has channels first always.
  const portaclTensor* View(size_t i) {
    const CallArgument& argument = Argument(i);
    if (!argument.wanted) return nullptr;
    const ViewTensor& t = argument.tensor;
    Shape shape = t.shape(), strides = t.strides();
    if (IsChannelsLast(call_.source, i)) {
      for (Shape* const values : {&shape, &strides}) {
        std::rotate(values->begin() + 1, values->end() - 1, values->end());
      }
    }
    return views_
        .emplace_back(t.first(), static_cast<DataType>(t.dtype()), shape.size(), shape.data(),
                      strides.data())
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
