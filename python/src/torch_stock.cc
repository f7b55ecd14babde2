// PyTorch's C++ functions behind its operators on the CPU, by their names as the linker knows them.
// They do not pass the dispatcher, where portacl's kernels are, and throw what PyTorch throws.
#include "torch_stock.h"

#include <array>
#include <optional>
#include <tuple>
#include <utility>

namespace portacl_python::torch_stock {
namespace {

using torch_abi::Extents;
using torch_abi::Handle;
using torch_abi::TakeList;
using torch_abi::Tensor;
using torch_abi::ToBool;
using torch_abi::Value;

// What a caller needs to know of PyTorch's classes. A handle is an at::Tensor*.
struct AtTensor {
  void* impl;
  AtTensor(const AtTensor&) = delete;  // hence returned in memory, as the class with a destructor
  ~AtTensor() = default;
};
struct ArrayRef {
  const int64_t* data;
  size_t size;
};
using Scale = std::optional<double>;
using Mask = std::array<bool, 2>;

// Of the input, the grid, the two modes and align_corners; backward of grad_output before them and
// the output mask behind.
using Sampler = AtTensor (*)(Handle, Handle, int64_t, int64_t, bool);
using SamplerBackward = std::tuple<AtTensor, AtTensor> (*)(Handle, Handle, Handle, int64_t, int64_t,
                                                           bool, Mask);

struct Functions {
  Sampler grid_sampler_2d;
  Sampler grid_sampler_3d;
  SamplerBackward grid_sampler_2d_backward;
  SamplerBackward grid_sampler_3d_backward;
  // Of grad_output, the output's and the input's size.
  AtTensor (*resize_1d_backward)(Handle, ArrayRef, ArrayRef, Scale);
  AtTensor (*resize_2d_backward)(Handle, ArrayRef, ArrayRef, Scale, Scale);
  AtTensor (*resize_3d_backward)(Handle, ArrayRef, ArrayRef, Scale, Scale, Scale);
};
Functions functions = {};  // set once, before a kernel that uses it stands aside

// Makes a tensor that holds nothing the owner of what was returned.
void Take(const AtTensor& returned, Tensor* tensor) {
  static_cast<AtTensor*>(tensor->handle())->impl = returned.impl;
}

void CallSampler(Sampler function, Value* stack) {
  const Tensor input(stack[0]);
  const Tensor grid(stack[1]);
  Tensor output = Tensor::Undefined();
  Take(function(input.handle(), grid.handle(), static_cast<int64_t>(stack[2]),
                static_cast<int64_t>(stack[3]), ToBool(stack[4])),
       &output);
  stack[0] = output.Release();
}

void CallSamplerBackward(SamplerBackward function, Value* stack) {
  const Tensor grad_output(stack[0]);
  const Tensor input(stack[1]);
  const Tensor grid(stack[2]);
  const Extents mask = TakeList(stack[6]);
  torch_abi::CheckLength(mask, 2);
  Tensor input_grad = Tensor::Undefined();
  Tensor grid_grad = Tensor::Undefined();
  const auto returned =
      function(grad_output.handle(), input.handle(), grid.handle(), static_cast<int64_t>(stack[3]),
               static_cast<int64_t>(stack[4]), ToBool(stack[5]),
               {ToBool(static_cast<Value>(mask[0])), ToBool(static_cast<Value>(mask[1]))});
  Take(std::get<0>(returned), &input_grad);
  Take(std::get<1>(returned), &grid_grad);
  stack[0] = input_grad.Release();
  stack[1] = grid_grad.Release();
}

ArrayRef RefTo(const Extents& values) { return {values.begin(), values.size()}; }

Scale TakeOptional(Value argument) {
  if (argument == 0) return std::nullopt;
  return torch_abi::TakeScale(argument);
}

// (Tensor grad_output, SymInt[] output_size, SymInt[] input_size, float? scale, ...) -> Tensor
template <size_t... kAxes, class Function>
void CallResizeBackward(std::index_sequence<kAxes...> /*axes*/, Function function, Value* stack) {
  const Tensor grad_output(stack[0]);
  const Extents output_size = TakeList(stack[1]);
  const Extents input_size = TakeList(stack[2]);
  const std::array<Scale, sizeof...(kAxes)> scales = {TakeOptional(stack[3 + kAxes])...};
  Tensor grad_input = Tensor::Undefined();
  Take(function(grad_output.handle(), RefTo(output_size), RefTo(input_size), scales[kAxes]...),
       &grad_input);
  stack[0] = grad_input.Release();
}

}  // namespace

bool Find(const std::string& library) {
  Functions f = {};
  const torch_abi::Library loaded(library);
  const auto find = [&](const char* name, auto* function) { return loaded.Find(name, function); };
  const bool found =
      find("_ZN2at3cpu15grid_sampler_2dERKNS_6TensorES3_llb", &f.grid_sampler_2d) &&
      find("_ZN2at3cpu15grid_sampler_3dERKNS_6TensorES3_llb", &f.grid_sampler_3d) &&
      find("_ZN2at3cpu24grid_sampler_2d_backwardERKNS_6TensorES3_S3_llbSt5arrayIbLm2EE",
           &f.grid_sampler_2d_backward) &&
      find("_ZN2at3cpu24grid_sampler_3d_backwardERKNS_6TensorES3_S3_llbSt5arrayIbLm2EE",
           &f.grid_sampler_3d_backward) &&
      find(
          "_ZN2at3cpu34_upsample_nearest_exact1d_backwardERKNS_6TensorEN3c108ArrayRefIlEES6_"
          "St8optionalIdE",
          &f.resize_1d_backward) &&
      find(
          "_ZN2at3cpu34_upsample_nearest_exact2d_backwardERKNS_6TensorEN3c108ArrayRefIlEES6_"
          "St8optionalIdES8_",
          &f.resize_2d_backward) &&
      find(
          "_ZN2at3cpu34_upsample_nearest_exact3d_backwardERKNS_6TensorEN3c108ArrayRefIlEES6_"
          "St8optionalIdES8_S8_",
          &f.resize_3d_backward);
  if (found) functions = f;
  return found;
}

void GridSampler2D(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallSampler(functions.grid_sampler_2d, stack);
}

void GridSampler3D(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallSampler(functions.grid_sampler_3d, stack);
}

void GridSampler2DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallSamplerBackward(functions.grid_sampler_2d_backward, stack);
}

void GridSampler3DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallSamplerBackward(functions.grid_sampler_3d_backward, stack);
}

void UpsampleNearestExact1DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallResizeBackward(std::make_index_sequence<1>(), functions.resize_1d_backward, stack);
}

void UpsampleNearestExact2DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallResizeBackward(std::make_index_sequence<2>(), functions.resize_2d_backward, stack);
}

void UpsampleNearestExact3DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallResizeBackward(std::make_index_sequence<3>(), functions.resize_3d_backward, stack);
}

}  // namespace portacl_python::torch_stock
