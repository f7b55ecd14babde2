// PyTorch's C++ functions behind its operators on the CPU, by their names as the linker knows them.
// They do not pass the dispatcher, where portacl's kernels are. They throw PyTorch's exceptions.
#include "torch_stock.h"

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "torch_resize.h"

namespace portacl_python::torch_stock {
namespace {

using torch_abi::Extents;
using torch_abi::Handle;
using torch_abi::TakeList;
using torch_abi::Tensor;
using torch_abi::ToBool;
using torch_abi::Value;

// The parts of PyTorch's classes that a caller needs to know. A handle is an at::Tensor*.
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

// Arguments: the input, the grid, the two modes and align_corners. Backward has grad_output before
// them and the output mask behind.
using Sampler = AtTensor (*)(Handle, Handle, int64_t, int64_t, bool);
using SamplerBackward = std::tuple<AtTensor, AtTensor> (*)(Handle, Handle, Handle, int64_t, int64_t,
                                                           bool, Mask);

struct Functions {
  Sampler grid_sampler_2d;
  Sampler grid_sampler_3d;
  SamplerBackward grid_sampler_2d_backward;
  SamplerBackward grid_sampler_3d_backward;
  AtTensor (*affine_grid)(Handle, ArrayRef, bool);  // of theta and the images' size
  std::array<void*, torch_resize::kRows.size()> resize;
};
Functions functions = {};  // set once, before a kernel that uses it stands aside

// Makes an empty tensor the owner of the returned one.
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

// Calls function(tensor, sizes..., [align_corners,] scales...).
template <class... Arguments>
void CallResize(void* function, const Tensor& from, const std::array<Scale, 3>& scales, int axes,
                Tensor* to, Arguments... arguments) {
  const auto call = [&](auto... scale) {
    using Function = AtTensor (*)(Handle, Arguments..., decltype(scale)...);
    Take(reinterpret_cast<Function>(function)(from.handle(), arguments..., scale...), to);
  };
  if (axes == 1) return call(scales[0]);
  if (axes == 2) return call(scales[0], scales[1]);
  call(scales[0], scales[1], scales[2]);
}

// The name of at::cpu::<name>(Tensor const&, ArrayRef<long>, ..., std::optional<double>, ...), of
// pooling (Tensor const&, ArrayRef<long>) or (Tensor const&, Tensor const&).
std::string LinkerName(const torch_resize::Row& row) {
  const std::string name = row.name;
  std::string text = "_ZN2at3cpu" + std::to_string(name.size()) + name + "ERKNS_6TensorE";
  if (row.pools && row.backward) return text + "S3_";
  text += "N3c108ArrayRefIlEE";
  if (row.pools) return text;
  if (row.backward) text += "S6_";
  if (row.has_align_corners) text += "b";
  text += "St8optionalIdE";
  for (int axis = 1; axis < row.axes; ++axis) text += "S8_";
  return text;
}

void Pool(bool backward, void* function, Value* stack) {
  const Tensor from(stack[0]);
  Tensor to = Tensor::Undefined();
  if (backward) {
    const Tensor input(stack[1]);
    const auto pool = reinterpret_cast<AtTensor (*)(Handle, Handle)>(function);
    Take(pool(from.handle(), input.handle()), &to);
  } else {
    const Extents size = TakeList(stack[1]);
    const auto pool = reinterpret_cast<AtTensor (*)(Handle, ArrayRef)>(function);
    Take(pool(from.handle(), RefTo(size)), &to);
  }
  stack[0] = to.Release();
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
          "_ZN2at25compositeexplicitautograd21affine_grid_generatorERKNS_6TensorEN3c108ArrayRef"
          "IlEEb",
          &f.affine_grid);
  for (size_t i = 0; found && i < f.resize.size(); ++i) {
    const torch_resize::Row& row = torch_resize::kRows[i];
    if (!find(LinkerName(row).c_str(), &f.resize[i]) && !row.newest) return false;
  }
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

void AffineGrid(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  const Tensor theta(stack[0]);
  const Extents size = TakeList(stack[1]);
  Tensor grid = Tensor::Undefined();
  Take(functions.affine_grid(theta.handle(), RefTo(size), ToBool(stack[2])), &grid);
  stack[0] = grid.Release();
}

void Resize(size_t index, Value* stack) {
  const torch_resize::Row& row = torch_resize::kRows[index];
  void* const function = functions.resize[index];
  if (row.pools) return Pool(row.backward, function, stack);
  const Value* next = stack;
  const Tensor from(*next++);
  const Extents output_size = TakeList(*next++);
  const Extents input_size = row.backward ? TakeList(*next++) : Extents();
  const bool align_corners = row.has_align_corners && ToBool(*next++);
  std::array<Scale, 3> scales;
  for (int axis = 0; axis < row.axes; ++axis)
    scales[static_cast<size_t>(axis)] = TakeOptional(*next++);
  Tensor to = Tensor::Undefined();
  const auto call = [&](auto... arguments) {
    CallResize(function, from, scales, row.axes, &to, arguments...);
  };
  if (row.backward && row.has_align_corners) {
    call(RefTo(output_size), RefTo(input_size), align_corners);
  } else if (row.backward) {
    call(RefTo(output_size), RefTo(input_size));
  } else if (row.has_align_corners) {
    call(RefTo(output_size), align_corners);
  } else {
    call(RefTo(output_size));
  }
  stack[0] = to.Release();
}

}  // namespace portacl_python::torch_stock
