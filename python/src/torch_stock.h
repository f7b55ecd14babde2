// PyTorch's own CPU kernels of the replaced operators, called past the dispatcher. With them
// portacl's kernel can hand a call back while it stays in the dispatcher.
#ifndef PORTACL_PYTHON_TORCH_STOCK_H_
#define PORTACL_PYTHON_TORCH_STOCK_H_

#include <cstddef>
#include <string>

#include "torch_abi.h"

namespace portacl_python::torch_stock {

// Looks them up in the loaded library of that file name; false if it lacks one.
bool Find(const std::string& library);

// Each has the signature of a torch_abi::Kernel; Find() must have found them.
void GridSampler2D(torch_abi::Value* stack, uint64_t arguments, uint64_t results);
void GridSampler3D(torch_abi::Value* stack, uint64_t arguments, uint64_t results);
void GridSampler2DBackward(torch_abi::Value* stack, uint64_t arguments, uint64_t results);
void GridSampler3DBackward(torch_abi::Value* stack, uint64_t arguments, uint64_t results);
void AffineGrid(torch_abi::Value* stack, uint64_t arguments, uint64_t results);

// Calls PyTorch's function for a row of torch_resize::kRows.
void Resize(size_t row, torch_abi::Value* stack);

}  // namespace portacl_python::torch_stock

#endif  // PORTACL_PYTHON_TORCH_STOCK_H_
