// One routed call: borrow, run, give back.
#include "route.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "borrow.h"
#include "half.h"
#include "random.h"

namespace portacl_npu {
namespace {

using c10::IValue;
using torch::jit::Stack;

std::string NameOf(const c10::OperatorHandle& op) { return toString(op.operator_name()); }

void DescribeTensor(const at::Tensor& t, std::string* text) {
  if (!t.defined()) return;
  if (!text->empty()) *text += ' ';
  *text += c10::toString(t.scalar_type());
  *text += '[';
  for (int64_t axis = 0; axis < t.dim(); ++axis) {
    if (axis > 0) *text += 'x';
    *text += std::to_string(t.size(axis));
  }
  *text += ']';
}

// Gives the kernel its generator; false where the operator takes none.
bool SetGenerator(const c10::OperatorHandle& op, c10::Device device, IValue* arguments) {
  const auto& declared = op.schema().arguments();
  bool takes_one = false;
  for (size_t i = 0; i < declared.size(); ++i) {
    IValue& value = arguments[i];
    if (value.isGenerator()) {
      if (value.toGenerator().device().type() == kNpu) value = NextNumbers(value.toGenerator());
      return true;
    }
    if (declared[i].name() != "generator") continue;
    takes_one = true;
    if (auto numbers = NextDefaultNumbers(device)) value = std::move(*numbers);
  }
  return takes_one;
}

void Run(const c10::OperatorHandle& op, c10::Device device, size_t first, Lending::Kind lent,
         Stack* stack) {
  const at::AutoDispatchBelowADInplaceOrView on_tensors_of_this_call_alone;
  std::optional<BorrowedDefaultGenerator> numbers;
  if (C10_UNLIKELY(op.hasTag(at::Tag::nondeterministic_seeded)) &&
      !SetGenerator(op, device, stack->data() + first)) {
    numbers.emplace(device);
  }
  const Lending now(lent);
  RunCpuKernel(op, stack);
}

// Autograd sees by a tensor's version that it was written. PyTorch counts versions when it calls an
// operator of one tensor. Foreach operators count in the calls that their CPU kernels make.
void CountVersions(const c10::OperatorHandle& op, const c10::Argument& argument,
                   const IValue& value) {
  const auto* const alias = argument.alias_info();
  if (alias == nullptr || !alias->isWrite() || !value.isTensorList()) return;
  if (!std::string_view(op.schema().name()).starts_with("aten::_foreach_")) return;
  for (const IValue& each : value.toListRef()) {
    const at::Tensor& t = each.toTensor();
    if (t.defined()) t.unsafeGetTensorImpl()->bump_version();
  }
}

// Whether a cast to float64 on npu gives float64: hardware gives float32.
bool Float64Wanted() {
  static const bool wanted = [] {
    const char* const text = std::getenv("PORTACL_NPU_FLOAT64");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return wanted;
}

template <class Handle>
BoxedKernel RegisteredKernel(const Handle& op, c10::DispatchKey key) {
  if constexpr (requires { op.getComputedKernelForDispatchKey(key); }) {
    return [kernel = op.getComputedKernelForDispatchKey(key)](
               const c10::OperatorHandle& called, c10::DispatchKeySet keys, Stack* stack) {
      kernel.callBoxed(called, keys, stack);
    };
  } else {
    return {};
  }
}

class Report {
 public:
  Report(const c10::OperatorHandle& op, const IValue* arguments)
      : name_(NameOf(op)), tensors_(DescribeTensors(arguments, op.schema().arguments().size())) {}
  ~Report() {
    const std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - begin_;
    ReportCall(name_.c_str(), tensors_.c_str(), time.count());
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

 private:
  const std::string name_;
  const std::string tensors_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

std::string DescribeTensors(const IValue* values, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    if (values[i].isTensor()) DescribeTensor(values[i].toTensor(), &text);
    if (!values[i].isTensorList()) continue;
    for (const at::Tensor& t : values[i].toTensorVector()) DescribeTensor(t, &text);
  }
  return text;
}

void Routed::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  const std::string& name = op.schema().name();
  const size_t first = stack->size() - op.schema().arguments().size();
  std::optional<Report> report;
  if (C10_UNLIKELY(Watched())) report.emplace(op, stack->data() + first);
  Borrowed borrowed(name.c_str());
  if (C10_UNLIKELY(with_hosts_ && (name == "aten::copy_" || name == "aten::_foreach_copy_"))) {
    borrowed.AllowSeveralDevices();
  }
  for (size_t i = first; i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    CountVersions(op, op.schema().arguments()[i - first], value);
    borrowed.ToCpu(&value);
  }
  const c10::Device device = borrowed.EnterDevice();
  TORCH_CHECK(with_hosts_ || !borrowed.has_host_tensors(),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              device, " and cpu! (", name, ")");
  // Deterministic algorithms include that new memory is filled.
  const bool touches = !allocates_ || at::globalContext().deterministicAlgorithms();
  if (touches) borrowed.Synchronize();
  Run(op, device, first, touches ? Lending::kLarge : Lending::kAll, stack);
  borrowed.FollowSizes();
  for (size_t i = first; i < stack->size(); ++i) borrowed.ToNpu(&(*stack)[i]);
}

BoxedKernel KernelOfPlugin(const c10::OperatorHandle& op, c10::DispatchKey key) {
  return RegisteredKernel(op, key);
}

void Preferred::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const at::Tensor& first = stack->at(stack->size() - op.schema().arguments().size()).toTensor();
  const auto type = first.scalar_type();
  if (type == at::kFloat || type == at::kHalf || type == at::kBFloat16 ||
      (with_double_ && type == at::kDouble)) {
    plugins_(op, keys, stack);
  } else {
    Routed()(op, keys, stack);
  }
}

void ByParts::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  const bool python = std::any_of(stack->begin() + first, stack->end(), [](const IValue& each) {
    return each.isTensor() && each.toTensor().key_set().has(c10::DispatchKey::Python);
  });
  if (python && plugins_) {
    plugins_(op, keys, stack);
  } else {
    op.callBoxedForDispatchKey(c10::DispatchKey::PrivateUse1, *stack);
  }
}

void StockAutograd::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  using Key = c10::DispatchKey;  // as the dispatcher chooses for AutogradCPU
  const bool composite = op.hasKernelForDispatchKey(Key::CompositeImplicitAutograd) &&
                         !op.hasKernelForDispatchKey(Key::CPU) &&
                         !op.hasKernelForDispatchKey(Key::CompositeExplicitAutograd);
  const bool formula = !composite && op.hasKernelForDispatchKey(Key::Autograd);
  op.callBoxedForDispatchKey(formula ? Key::Autograd : Key::CompositeImplicitAutograd, *stack);
}

void Composite::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  using Key = c10::DispatchKey;
  const bool is_explicit = op.hasKernelForDispatchKey(Key::CompositeExplicitAutograd);
  op.callBoxedForDispatchKey(
      is_explicit ? Key::CompositeExplicitAutograd : Key::CompositeImplicitAutograd, *stack);
}

void ToCopy::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  constexpr size_t kSelf = 0, kDtype = 1, kDevice = 3;
  IValue* const arguments = stack->data() + stack->size() - op.schema().arguments().size();
  const at::Tensor& self = arguments[kSelf].toTensor();
  const IValue& device = arguments[kDevice];
  IValue& dtype = arguments[kDtype];
  const bool on_npu = (device.isNone() ? self.device() : device.toDevice()).type() == kNpu;
  if (on_npu && dtype.isInt() && dtype.toScalarType() == at::kDouble &&
      self.scalar_type() != at::kDouble && !Float64Wanted()) {
    TORCH_WARN_ONCE("npu has no float64: a cast to it gives float32, as on the hardware");
    dtype = at::kFloat;
  }
  Composite()(op, keys, stack);
}

void Refused::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, NameOf(op),
      ": portacl has no such operator, and PyTorch has no CPU kernel that could stand for it");
}

}  // namespace portacl_npu
