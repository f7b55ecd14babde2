// Two ways to PyTorch's own kernels that do not pass what portacl has put in their place: the C
// functions that AOTInductor's programs call, and for operators that have none, the C++ functions
// behind them, by their names as the linker knows them.
#include "torch_stock.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

namespace portacl_python::torch_stock {
namespace {

using torch_abi::Check;
using torch_abi::Error;
using torch_abi::Extents;
using torch_abi::Handle;
using torch_abi::TakeList;
using torch_abi::Tensor;
using torch_abi::Value;

using Backward = Error (*)(Handle grad_output, Handle input, Handle grid, int64_t interpolation,
                           int64_t padding, int32_t align_corners, const int32_t* mask,
                           int64_t mask_size, Handle* input_grad, Handle* grid_grad);

// C++ classes of PyTorch's, as far as a caller needs to know them: a handle is an at::Tensor*.
struct AtTensor {
  void* impl;
  AtTensor(const AtTensor&) = delete;  // so that results are made where their caller says
  ~AtTensor() = default;
};
struct ArrayRef {
  const int64_t* data;
  size_t size;
};
using Scale = std::optional<double>;

struct Functions {
  Backward grid_sampler_2d_backward;
  Backward grid_sampler_3d_backward;
  Error (*grid_sampler_3d)(Handle input, Handle grid, int64_t interpolation, int64_t padding,
                           int32_t align_corners, Handle* output);
  AtTensor (*grid_sampler_2d)(Handle input, Handle grid, int64_t interpolation, int64_t padding,
                              bool align_corners);
  // Of grad_output, the output's and the input's size.
  AtTensor (*resize_1d_backward)(Handle, ArrayRef, ArrayRef, Scale);
  AtTensor (*resize_2d_backward)(Handle, ArrayRef, ArrayRef, Scale, Scale);
  AtTensor (*resize_3d_backward)(Handle, ArrayRef, ArrayRef, Scale, Scale, Scale);
};
Functions functions = {};  // set once, before a kernel that uses it stands aside

// An owned handle to what function(arguments...) returns.
template <class Function, class... Arguments>
Value ResultOf(Function function, Arguments... arguments) {
  Tensor result = Tensor::Undefined();  // owns nothing: may be written over
  new (result.handle()) AtTensor(function(arguments...));
  return result.Release();
}

int32_t ToBool(Value value) { return static_cast<int32_t>((value & 0xFF) != 0); }

void CallBackward(Backward function, Value* stack) {
  const Tensor grad_output(stack[0]);
  const Tensor input(stack[1]);
  const Tensor grid(stack[2]);
  const Extents list = TakeList(stack[6]);
  std::array<int32_t, Extents::kMost> mask{};
  std::transform(list.begin(), list.end(), mask.begin(),
                 [](int64_t wanted) { return ToBool(static_cast<Value>(wanted)); });
  Handle input_grad = nullptr;
  Handle grid_grad = nullptr;
  Check(function(grad_output.handle(), input.handle(), grid.handle(),
                 static_cast<int64_t>(stack[3]), static_cast<int64_t>(stack[4]), ToBool(stack[5]),
                 mask.data(), static_cast<int64_t>(list.size()), &input_grad, &grid_grad));
  stack[0] = reinterpret_cast<Value>(input_grad);
  stack[1] = reinterpret_cast<Value>(grid_grad);
}

ArrayRef RefTo(const Extents& values) { return {values.begin(), values.size()}; }

// Null where PyTorch was given None.
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
  stack[0] = ResultOf(function, grad_output.handle(), RefTo(output_size), RefTo(input_size),
                      scales[kAxes]...);
}

}  // namespace

bool Find(const std::string& library) {
  Functions f = {};
  const torch_abi::Library loaded(library);
  const bool found =
      loaded.Find("aoti_torch_cpu_grid_sampler_2d_backward", &f.grid_sampler_2d_backward) &&
      loaded.Find("aoti_torch_cpu_grid_sampler_3d_backward", &f.grid_sampler_3d_backward) &&
      loaded.Find("aoti_torch_cpu_grid_sampler_3d", &f.grid_sampler_3d) &&
      loaded.Find("_ZN2at3cpu15grid_sampler_2dERKNS_6TensorES3_llb", &f.grid_sampler_2d) &&
      loaded.Find(
          "_ZN2at3cpu34_upsample_nearest_exact1d_backwardERKNS_6TensorEN3c108ArrayRefIlEES6_"
          "St8optionalIdE",
          &f.resize_1d_backward) &&
      loaded.Find(
          "_ZN2at3cpu34_upsample_nearest_exact2d_backwardERKNS_6TensorEN3c108ArrayRefIlEES6_"
          "St8optionalIdES8_",
          &f.resize_2d_backward) &&
      loaded.Find(
          "_ZN2at3cpu34_upsample_nearest_exact3d_backwardERKNS_6TensorEN3c108ArrayRefIlEES6_"
          "St8optionalIdES8_S8_",
          &f.resize_3d_backward);
  if (found) functions = f;
  return found;
}

void GridSampler2D(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  const Tensor input(stack[0]);
  const Tensor grid(stack[1]);
  stack[0] = ResultOf(functions.grid_sampler_2d, input.handle(), grid.handle(),
                      static_cast<int64_t>(stack[2]), static_cast<int64_t>(stack[3]),
                      ToBool(stack[4]) != 0);
}

void GridSampler3D(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  const Tensor input(stack[0]);
  const Tensor grid(stack[1]);
  Handle output = nullptr;
  Check(functions.grid_sampler_3d(input.handle(), grid.handle(), static_cast<int64_t>(stack[2]),
                                  static_cast<int64_t>(stack[3]), ToBool(stack[4]), &output));
  stack[0] = reinterpret_cast<Value>(output);
}

void GridSampler2DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallBackward(functions.grid_sampler_2d_backward, stack);
}

void GridSampler3DBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  CallBackward(functions.grid_sampler_3d_backward, stack);
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
