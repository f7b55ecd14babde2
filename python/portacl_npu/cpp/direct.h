// Routed operators that get their arguments as they are. To box the four lists of numbers of a
// convolution would cost more than the rest of routing.
#pragma once

#include <torch/library.h>

#include <optional>
#include <string>

namespace portacl_npu {

// What Routed does, for the operators that have it: convolutions.
std::optional<torch::CppFunction> DirectKernelOf(const std::string& name);

}  // namespace portacl_npu
