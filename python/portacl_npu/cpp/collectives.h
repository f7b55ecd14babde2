// Collectives between processes: Gloo's, on the memory of the device.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace portacl_npu {

// An operator c10d::... by its CPU kernel.
class Collective final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);
};

// Collectives of this thread between the two make one work, which the barrier after the second has.
void BeginCoalescing();
void EndCoalescing();

// Waits for every collective of this process that was begun.
void WaitForCollectives();

}  // namespace portacl_npu
