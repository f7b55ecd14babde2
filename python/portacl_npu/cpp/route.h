// Kernels for the device that call PyTorch's own.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <string>
#include <utility>

namespace portacl_npu {

// Computes an operator by its CPU kernel, on the same memory. Synchronous: it waits for the current
// stream first, and results are complete when the call returns. (A kernel may allocate, and work on
// the stream may still read a block that the allocator gives out again.)
class Routed final : public c10::OperatorKernel {
 public:
  // `with_hosts`: takes CPU tensors beside the device's tensors. `allocates`: touches no elements,
  // so it need not wait for the stream.
  explicit Routed(bool with_hosts = false, bool allocates = false)
      : with_hosts_(with_hosts), allocates_(allocates) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

 private:
  const bool with_hosts_;
  const bool allocates_;
};

using BoxedKernel =
    std::function<void(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack*)>;

// The kernel that the plugin registered for an operator; empty if PyTorch (before 2.9) gives no
// access to it.
BoxedKernel KernelOfPlugin(const c10::OperatorHandle& op, c10::DispatchKey key);

// An operator that portacl has. The plugin's kernel calls it, for the types that portacl takes. All
// other types (pictures of uint8, float64) get the CPU's kernel.
class Preferred final : public c10::OperatorKernel {
 public:
  Preferred(BoxedKernel plugins, bool with_double)
      : plugins_(std::move(plugins)), with_double_(with_double) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

 private:
  const BoxedKernel plugins_;
  const bool with_double_;
};

// For an operator of the plugin that is made of other operators: autograd follows these. Tensors of
// Python classes (DTensor) have rules for the operator itself: they get the plugin's formula, if
// known.
class ByParts final : public c10::OperatorKernel {
 public:
  explicit ByParts(BoxedKernel plugins) : plugins_(std::move(plugins)) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

 private:
  const BoxedKernel plugins_;
};

// PyTorch's formula for autograd, where the plugin has one for its own backward operators.
class StockAutograd final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);
};

// The operator's kernel in terms of other operators, on the tensors as they are.
class Composite final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);
};

// aten::_to_copy like the composite kernel, but a cast to float64 gives float32. The plugin does
// the same on NPUs without float64. (PORTACL_NPU_FLOAT64=1: float64.)
class ToCopy final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);
};

// An operator that nothing here can run: says so in the line that calls it.
class Refused final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);
};

// "float32[2, 3] int64[]" of the tensors among the first `count` values.
std::string DescribeTensors(const c10::IValue* values, size_t count);

}  // namespace portacl_npu
