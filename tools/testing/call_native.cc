// A call's arguments by the parameters of the native API's planning function.
#include "tools/testing/call_native.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "tools/cli_error.h"
#include "tools/tensor/checked_size.h"

namespace portacl::golden {
namespace {

// A parameter's type by its kind.
namespace native {
#define PORTACL_KIND(Kind, form, aclnn, native) using Kind = native;
PORTACL_KINDS(PORTACL_KIND)
#undef PORTACL_KIND
}  // namespace native

// Makes axes 3 and 4, levels and points, one; false if the strides cannot say it.
bool JoinPoints(Shape& shape, Shape& strides) {
  const int64_t points = shape[4];
  if (shape[3] > 1 && points > 1 && strides[3] != points * strides[4]) return false;
  if (points > 1) strides[3] = strides[4];
  shape[3] *= points;
  for (Shape* const values : {&shape, &strides}) values->erase(values->begin() + 4);
  return true;
}

// Gives the arguments one after the other. Form by form, arguments of the same meaning have the
// same order in both APIs.
class Arguments {
 public:
  Arguments(const Call& call, std::deque<PackedTensor>& packed)
      : call_(call), scales_(call.scales()), packed_(packed) {}

  template <class T>
  T Next(ops::Kind kind) {
    const Role role = RoleOf(kind);
    // An argument that the aclnn function lacks is null, or follows from which function it is.
    const bool lacks = used_.at(static_cast<size_t>(role)) == call_.With(role).size();
    if constexpr (std::is_same_v<T, const portaclTensor*>) {
      return lacks ? nullptr : View(Next(role));
    } else if constexpr (std::is_same_v<T, const double*>) {
      return scales_.data();
    } else if constexpr (std::is_same_v<T, const int64_t*>) {
      // N and C, along which nothing moves, are of the other API alone.
      const size_t i = Next(role);
      const bool all_axes = std::string_view(call_.op->parameters[i].pattern).starts_with("1,1,");
      return Argument(i).integers.data() + (all_axes ? 2 : 0);
    } else if constexpr (std::is_same_v<T, double>) {
      const size_t i = Next(role);
      const double real = Argument(i).real;
      return call_.op->parameters[i].narrow ? static_cast<double>(static_cast<float>(real)) : real;
    } else {
      // antialias is a flag of this API and a function of its own in the other.
      if (lacks && role == Role::kFlag && call_.pillow != 0) return call_.pillow;
      if (lacks) return role == Role::kFlag && call_.op->traits->antialias ? 1 : 0;
      return static_cast<T>(Argument(Next(role)).integers.at(0));
    }
  }

 private:
  size_t Next(Role role) { return call_.With(role).at(used_.at(static_cast<size_t>(role))++); }
  const CallArgument& Argument(size_t i) const { return call_.arguments.at(i); }

  // This API has channels first always, and the points of all levels on one axis.
  const portaclTensor* View(size_t i) {
    const CallArgument& argument = Argument(i);
    if (!argument.wanted || argument.null) return nullptr;
    const ViewTensor& t = argument.tensor;
    Shape shape = t.shape(), strides = t.strides();
    const std::byte* first = t.first();
    const bool levels =
        std::string_view(call_.op->parameters[i].pattern).find(",L,P") != std::string_view::npos;
    if (levels && shape.size() > 4 && !JoinPoints(shape, strides)) {
      first = packed_.emplace_back(PackedTensor{i, t.Dense()}).elements.data();
      strides = cli::DenseStrides(shape);
      JoinPoints(shape, strides);
    }
    if (IsChannelsLast(call_.source, i)) {
      for (Shape* const values : {&shape, &strides}) {
        std::rotate(values->begin() + 1, values->end() - 1, values->end());
      }
    }
    return views_
        .emplace_back(first, static_cast<DataType>(t.dtype()), shape.size(), shape.data(),
                      strides.data())
        .c_tensor();
  }

  const Call& call_;
  const std::vector<double> scales_;
  std::array<size_t, 9> used_{};  // by role
  std::deque<PackedTensor>& packed_;
  std::deque<Tensor> views_;
};

int32_t MakePlan(const Call& call, std::deque<PackedTensor>& packed, portaclPlan** plan) {
  Arguments arguments(call, packed);
  using Make = int32_t (*)(Arguments&, portaclPlan**);
  // The elements of a braced list are evaluated from the left to the right.
  static constexpr Make kMake[] = {
#define PORTACL_TAKE(kind, ...) from.Next<native::kind>(ops::Kind::k##kind),
#define PORTACL_NATIVE(function, Name, traits, ...)                                            \
  [](Arguments& from, portaclPlan** made) {                                                    \
    return std::apply(function, std::tuple{PORTACL_FOR_EACH(PORTACL_TAKE, __VA_ARGS__) made}); \
  },
#include "src/ops/operator_list.inc"
#undef PORTACL_TAKE
  };
  const auto* const row = std::find(std::begin(ops::kNativeFunctions),
                                    std::end(ops::kNativeFunctions), &NativeOf(call.op->op));
  return kMake[row - std::begin(ops::kNativeFunctions)](arguments, plan);
}

void Check(int32_t code, const Call& call) {
  const Status status(code);
  cli::ThrowOnStatus(status.code(), call.op->name, status.message());
}

}  // namespace

NativePlan::NativePlan(const Call& call) {
  portaclPlan* made = nullptr;
  code_ = MakePlan(call, packed_, &made);
  plan_.reset(made);
}

std::string NativePlan::kernel() const {
  return code_ == PORTACL_OK ? portaclPlanGetKernel(plan_.get()) : "";
}

uint64_t NativePlan::workspace_size() const { return portaclPlanGetWorkspaceSize(plan_.get()); }

int32_t NativePlan::Run() const { return portaclPlanRun(plan_.get(), nullptr, nullptr, 0); }

void NativePlan::Unpack(Call& call) const {
  for (const PackedTensor& packed : packed_) {
    if (call.op->parameters[packed.argument].role != Role::kOutput) continue;
    call.arguments[packed.argument].tensor.SetDense(packed.elements);
  }
}

std::string KernelOf(const Call& call) { return NativePlan(call).kernel(); }

void RunNative(Call& call) {
  const NativePlan plan(call);
  const Status status(plan.code() == PORTACL_OK ? plan.Run() : plan.code());
  cli::ThrowOnStatus(status.code(), call.op->name,
                     fmt::format("case '{}': {}", ToString(call.source), status.message()));
  plan.Unpack(call);
}

void RunNative(Call& call, Timing& timing) {
  const Stopwatch planning;
  const NativePlan plan(call);
  timing.plan_seconds = planning.Seconds();
  Check(plan.code(), call);
  timing.workspace_size = plan.workspace_size();
  timing.Run([&] { Check(plan.Run(), call); });
  plan.Unpack(call);
}

}  // namespace portacl::golden
