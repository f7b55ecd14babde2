// The operators behind torch_kernels.h: arguments from PyTorch's stack, results onto it.
#include "torch_kernels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "host_threads.h"
#include "plan_cache.h"
#include "torch_abi.h"
#include "torch_stock.h"

namespace portacl_python {
namespace {

using torch_abi::CheckLength;
using torch_abi::Extents;
using torch_abi::TakeList;
using torch_abi::TakeScale;
using torch_abi::Tensor;
using torch_abi::ToBool;
using torch_abi::Torch;
using torch_abi::ToText;
using torch_abi::Value;

// On as many threads as PyTorch would use.
void Run(const Call& call) {
  uint32_t threads = 1;
  torch_abi::Check(Torch().get_num_threads(&threads));
  const ThreadsOfCall of_call(static_cast<int32_t>(threads));
  if (RunCall(call) != PORTACL_OK) throw std::runtime_error(portaclGetErrorMessage());
}

int32_t ToInt32(Value value, const char* name) {
  const auto number = static_cast<int64_t>(value);
  if (number == static_cast<int32_t>(number)) return static_cast<int32_t>(number);
  throw std::runtime_error(std::string(name) + " is " + std::to_string(number) +
                           ", but must be 0, 1 or 2");
}

void SetModes(const Value* stack, Call* call) {
  call->interpolation = ToInt32(stack[0], "interpolation_mode");
  call->padding = ToInt32(stack[1], "padding_mode");
  call->align_corners = ToBool(stack[2]);
}

// (Tensor input, Tensor grid, int interpolation, int padding, bool align_corners) -> Tensor
template <Op kOp>
void GridSampler(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  Tensor input(stack[0]);
  Tensor grid(stack[1]);
  input.Read("input");
  grid.Read("grid");
  const portaclTensor& points = grid.view();  // N, the points' axes, coordinates
  Extents shape(points.shape, points.shape + 1);
  shape.Append(input.view().shape[1]);
  for (int32_t axis = 1; axis + 1 < points.rank; ++axis) shape.Append(points.shape[axis]);
  Tensor output = Tensor::Empty(shape, input.view().dtype, false);
  Call call{kOp};
  call.tensors = {&input.view(), &grid.view(), &output.view()};
  SetModes(stack + 2, &call);
  Run(call);
  stack[0] = output.Release();
}

// (Tensor grad_output, Tensor input, Tensor grid, int interpolation, int padding,
//  bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
template <Op kOp>
void GridSamplerBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  Tensor grad_output(stack[0]);
  Tensor input(stack[1]);
  Tensor grid(stack[2]);
  const Extents mask = TakeList(stack[6]);
  CheckLength(mask, 2);
  grad_output.Read("grad_output");
  input.Read("input");
  grid.Read("grid");
  const bool wants_input = ToBool(static_cast<Value>(mask[0]));
  const bool wants_grid = ToBool(static_cast<Value>(mask[1]));
  const int32_t dtype = input.view().dtype;
  Tensor input_grad =
      wants_input ? Tensor::Empty(input.shape(), dtype, false) : Tensor::Undefined();
  // Compilers count on a tensor here.
  Tensor grid_grad = wants_grid ? Tensor::Empty(grid.shape(), grid.view().dtype, false)
                                : Tensor::Zeros(grid.shape(), grid.view().dtype);
  if (wants_input || wants_grid) {
    Call call{kOp};
    call.tensors = {&grad_output.view(), &input.view(), &grid.view(),
                    wants_input ? &input_grad.view() : nullptr,
                    wants_grid ? &grid_grad.view() : nullptr};
    SetModes(stack + 3, &call);
    Run(call);
  }
  stack[0] = input_grad.Release();
  stack[1] = grid_grad.Release();
}

// The memory format that PyTorch gives gradients of resized images: channels_last where the strides
// ascend in the order C, W, H, N, dense or not. Of lines and volumes it makes them row-major.
bool IsLikeChannelsLast(const portaclTensor& t) {
  if (t.rank != 4 || t.strides[1] == 0) return false;
  int64_t least = 0;
  for (const int axis : {1, 3, 2, 0}) {
    if (t.shape[axis] == 0 || t.strides[axis] < least) return false;
    // N, 1, 1, 1: ambiguous, counts as row-major.
    if (axis == 0 && least == t.strides[1]) return false;
    least = t.strides[axis] * std::max<int64_t>(t.shape[axis], 1);
  }
  return true;
}

void CheckSizes(const Extents& grad_output, const Extents& input, const Extents& output) {
  Extents wanted(input.begin(), input.begin() + std::min<size_t>(2, input.size()));
  for (const int64_t extent : output) wanted.Append(extent);
  if (grad_output == wanted && input.size() == wanted.size()) return;
  throw std::runtime_error("grad_output has shape " + ToText(grad_output) + ", but input_size " +
                           ToText(input) + " and output_size " + ToText(output) + " ask for " +
                           ToText(wanted));
}

// (Tensor grad_output, SymInt[] output_size, SymInt[] input_size, float? scale, ...) -> Tensor
template <int kAxes>
void UpsampleNearestExactBackward(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  Tensor grad_output(stack[0]);
  const Extents output_size = TakeList(stack[1]);
  const Extents input_size = TakeList(stack[2]);
  Call call{Op::kUpsampleNearestExactBackward};
  for (int axis = 0; axis < kAxes; ++axis) call.scales.at(axis) = TakeScale(stack[3 + axis]);
  CheckLength(output_size, 0);
  CheckLength(input_size, 0);
  grad_output.Read("grad_output");
  CheckSizes(grad_output.shape(), input_size, output_size);
  Tensor grad_input =
      Tensor::Empty(input_size, grad_output.view().dtype, IsLikeChannelsLast(grad_output.view()));
  call.tensors = {&grad_output.view(), &grad_input.view()};
  Run(call);
  stack[0] = grad_input.Release();
}

struct Entry {
  const char* name;
  torch_abi::Kernel kernel;
  torch_abi::Kernel stock;
};
constexpr std::array kEntries = {
    Entry{"grid_sampler_2d", GridSampler<Op::kGridSampler2D>, torch_stock::GridSampler2D},
    Entry{"grid_sampler_2d_backward", GridSamplerBackward<Op::kGridSampler2DBackward>,
          torch_stock::GridSampler2DBackward},
    Entry{"grid_sampler_3d", GridSampler<Op::kGridSampler3D>, torch_stock::GridSampler3D},
    Entry{"grid_sampler_3d_backward", GridSamplerBackward<Op::kGridSampler3DBackward>,
          torch_stock::GridSampler3DBackward},
    Entry{"_upsample_nearest_exact1d_backward", UpsampleNearestExactBackward<1>,
          torch_stock::UpsampleNearestExact1DBackward},
    Entry{"_upsample_nearest_exact2d_backward", UpsampleNearestExactBackward<2>,
          torch_stock::UpsampleNearestExact2DBackward},
    Entry{"_upsample_nearest_exact3d_backward", UpsampleNearestExactBackward<3>,
          torch_stock::UpsampleNearestExact3DBackward},
};

constinit std::array<std::atomic<bool>, kEntries.size()> stands_aside{};

// What PyTorch calls.
template <size_t kIndex>
void Dispatch(Value* stack, uint64_t arguments, uint64_t results) {
  constexpr Entry kEntry = kEntries[kIndex];
  const bool aside = stands_aside[kIndex].load(std::memory_order_relaxed);
  (aside ? kEntry.stock : kEntry.kernel)(stack, arguments, results);
}

template <size_t... kIndices>
constexpr std::array<torch_abi::Kernel, sizeof...(kIndices)> DispatchersOf(
    std::index_sequence<kIndices...> /*indices*/) {
  return {Dispatch<kIndices>...};
}
constexpr auto kDispatchers = DispatchersOf(std::make_index_sequence<kEntries.size()>());

bool Contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string FindTorch(const std::string& library) { return torch_abi::Find(library); }

bool FindStockKernels(const std::string& library) { return torch_stock::Find(library); }

TorchKernels::TorchKernels(const std::vector<std::string>& names) {
  torch_abi::Check(Torch().new_library("aten", "CPU", __FILE__, __LINE__, &library_));
  for (size_t i = 0; i < kEntries.size(); ++i) {
    const char* const name = kEntries[i].name;
    if (!Contains(names, name)) continue;
    if (Torch().implement(library_, name, kDispatchers[i], torch_abi::kVersion) != 0) {
      Torch().delete_library(library_);
      throw std::runtime_error(std::string("PyTorch takes no kernel for ") + name);
    }
    names_.emplace_back(name);
  }
  StandAside(false);
}

TorchKernels::~TorchKernels() { Torch().delete_library(library_); }

void TorchKernels::StandAside(bool aside) {
  for (size_t i = 0; i < kEntries.size(); ++i) {
    if (Contains(names_, kEntries[i].name)) {
      stands_aside[i].store(aside, std::memory_order_relaxed);
    }
  }
}

}  // namespace portacl_python
