// Routed calls of convolutions without boxes.
#include "direct.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/convolution_backward_ops.h>
#include <ATen/ops/convolution_ops.h>

#include <tuple>

#include "borrow.h"
#include "route.h"

namespace portacl_npu {
namespace {

// Whether nothing but Borrowed is needed: no rounding of half precision, no error to report.
bool IsPlain(const at::Tensor& t) {
  return !t.defined() || (t.device().type() == kNpu && t.scalar_type() == at::kFloat);
}
bool IsPlain(const std::optional<at::Tensor>& t) { return !t || IsPlain(*t); }
template <class Other>
bool IsPlain(const Other&) {
  return true;
}

at::Tensor OnCpu(Borrowed* borrowed, const at::Tensor& t) { return borrowed->ToCpu(t); }
std::optional<at::Tensor> OnCpu(Borrowed* borrowed, const std::optional<at::Tensor>& t) {
  return t ? std::make_optional(borrowed->ToCpu(*t)) : t;
}
template <class Other>
const Other& OnCpu(Borrowed*, const Other& other) {
  return other;
}

at::Tensor OnNpu(Borrowed* borrowed, const at::Tensor& t) { return borrowed->ToNpu(t); }
template <class... Tensors>
std::tuple<Tensors...> OnNpu(Borrowed* borrowed, const std::tuple<Tensors...>& results) {
  return std::apply(
      [&](const Tensors&... each) { return std::tuple<Tensors...>(borrowed->ToNpu(each)...); },
      results);
}

template <class Operator, class Signature = typename Operator::schema>
struct Direct;

template <class Operator, class Result, class... Args>
struct Direct<Operator, Result(Args...)> {
  static Result Call(Args... args) {
    constexpr c10::DispatchKeySet kCpu(c10::DispatchKey::CPU);
    if (C10_UNLIKELY(Watched() || !(IsPlain(args) && ...))) return Boxed(args...);
    Borrowed borrowed(Operator::name);
    const std::tuple cpu{OnCpu(&borrowed, args)...};
    borrowed.EnterDevice();
    borrowed.Synchronize();
    const auto run = [](const auto&... each) {
      const at::AutoDispatchBelowADInplaceOrView on_tensors_of_this_call_alone;
      const Lending now(Lending::kLarge);
      return Operator::redispatch(kCpu, each...);
    };
    return OnNpu(&borrowed, std::apply(run, cpu));
  }

  static Result Boxed(Args... args) {
    static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(Operator::name, "");
    static const auto routed =
        c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Routed>());
    return routed.call<Result, Args...>(op, {}, args...);
  }
};

}  // namespace

std::optional<torch::CppFunction> DirectKernelOf(const std::string& name) {
  using namespace at::_ops;
  if (name == "convolution") return torch::CppFunction(TORCH_FN(Direct<convolution>::Call));
  if (name == "convolution_backward") {
    return torch::CppFunction(TORCH_FN(Direct<convolution_backward>::Call));
  }
  return std::nullopt;
}

}  // namespace portacl_npu
