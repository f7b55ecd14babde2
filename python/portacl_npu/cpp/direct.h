// Routed operators that get their arguments as they are. Boxes for the four lists of numbers of a
// convolution cost more than all else that routing does.
#pragma once

#include <torch/library.h>

#include <optional>
#include <string>

namespace portacl_npu {

// What Routed does, for the operators that have it: convolutions.
std::optional<torch::CppFunction> DirectKernelOf(const std::string& name);

}  // namespace portacl_npu
