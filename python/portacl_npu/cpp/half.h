// CPU kernels for half precision, also where PyTorch has none.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace portacl_npu {

// Runs the operator's CPU kernel on the stack's last arguments. Half precision runs in float and is
// rounded once at the end in three cases: convolutions, products, and kernels that refuse it.
void RunCpuKernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace portacl_npu
