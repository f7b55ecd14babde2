// CPU kernels for half precision, also where PyTorch has none.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace portacl_npu {

// Runs the operator's CPU kernel on the stack's last arguments; where it says that it has none for
// half precision, in float, and rounds the results.
void RunCpuKernel(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace portacl_npu
