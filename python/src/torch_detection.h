// torchvision's operators that portacl replaces: kernels on PyTorch's stack.
#ifndef PORTACL_PYTHON_TORCH_DETECTION_H_
#define PORTACL_PYTHON_TORCH_DETECTION_H_

#include <cstdint>

#include "torch_abi.h"

namespace portacl_python::torch_detection {

// Each computes a call, with one result or five. If portacl's operators do not take the call, or
// refuse it: false, and the stack stays as it was.
bool RoiAlign(torch_abi::Value* stack);
bool RoiAlignBackward(torch_abi::Value* stack);
bool DeformConv2d(torch_abi::Value* stack);
bool DeformConv2dBackward(torch_abi::Value* stack);

}  // namespace portacl_python::torch_detection

#endif  // PORTACL_PYTHON_TORCH_DETECTION_H_
