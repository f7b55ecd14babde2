// The operators behind torch_kernels.h: portacl's kernel or PyTorch's own (Dispatch()), arguments
// from PyTorch's stack, results onto it.
#include "torch_kernels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "plan_cache.h"
#include "torch_abi.h"
#include "torch_detection.h"
#include "torch_resize.h"
#include "torch_stock.h"

namespace portacl_python {
namespace {

using torch_abi::CheckLength;
using torch_abi::Extents;
using torch_abi::Run;
using torch_abi::TakeList;
using torch_abi::Tensor;
using torch_abi::ToBool;
using torch_abi::Torch;
using torch_abi::Value;

int32_t ToInt32(Value value, const char* name) {
  const auto number = static_cast<int64_t>(value);
  if (number == static_cast<int32_t>(number)) return static_cast<int32_t>(number);
  throw std::runtime_error(std::string(name) + " is " + std::to_string(number) +
                           ", but must be 0, 1 or 2");
}

void SetModes(const Value* stack, Call* call) {
  call->choices[0] = ToInt32(stack[0], "interpolation_mode");
  call->choices[1] = ToInt32(stack[1], "padding_mode");
  call->flags[0] = ToBool(stack[2]);
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

// (Tensor theta, SymInt[] size, bool align_corners) -> Tensor
void AffineGrid(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  torch_resize::AffineGrid(stack);
}

// portacl's kernel of a torchvision operator, or the kernel in Python. The kernel in Python has its
// own namespace and words of refusals, and calls torchvision's kernel.
constexpr char kRoiAlign[] = "roi_align";
constexpr char kRoiAlignBackward[] = "_roi_align_backward";
constexpr char kDeformConv2d[] = "deform_conv2d";
constexpr char kDeformConv2dBackward[] = "_deform_conv2d_backward";

template <const char* kName>
void InPython(Value* stack, uint64_t /*arguments*/, uint64_t /*results*/) {
  const std::string name = std::string("portacl_torchvision::") + kName;
  if (Torch().call(name.c_str(), "", stack, torch_abi::kVersion) == 0) return;
  // PyTorch adds the name of the error in front and where it was raised behind.
  std::string words = Torch().get_error();
  constexpr std::string_view kRaised = "RuntimeError: ";
  if (words.starts_with(kRaised)) words.erase(0, kRaised.size());
  throw std::runtime_error(words.substr(0, words.find("\n\nAt:\n")));
}

template <const char* kName, bool (*kServe)(Value*)>
void OfTorchvision(Value* stack, uint64_t arguments, uint64_t results) {
  if (!kServe(stack)) InPython<kName>(stack, arguments, results);
}

struct Entry {
  const char* name;
  size_t tensors;  // the first arguments; if they have another dtype, PyTorch's kernel is called
  torch_abi::Kernel kernel;
  torch_abi::Kernel stock;

  bool Serves(const Value* stack) const {
    return std::all_of(stack, stack + tensors, torch_abi::HasKnownDType);
  }
};
// The entries of torch_resize::kRows follow.
constexpr std::array kEntries = {
    Entry{"grid_sampler_2d", 2, GridSampler<Op::kGridSampler2D>, torch_stock::GridSampler2D},
    Entry{"grid_sampler_2d_backward", 3, GridSamplerBackward<Op::kGridSampler2DBackward>,
          torch_stock::GridSampler2DBackward},
    Entry{"grid_sampler_3d", 2, GridSampler<Op::kGridSampler3D>, torch_stock::GridSampler3D},
    Entry{"grid_sampler_3d_backward", 3, GridSamplerBackward<Op::kGridSampler3DBackward>,
          torch_stock::GridSampler3DBackward},
    Entry{"affine_grid_generator", 1, AffineGrid, torch_stock::AffineGrid},
    Entry{kRoiAlign, 0, OfTorchvision<kRoiAlign, torch_detection::RoiAlign>, InPython<kRoiAlign>},
    Entry{kRoiAlignBackward, 0, OfTorchvision<kRoiAlignBackward, torch_detection::RoiAlignBackward>,
          InPython<kRoiAlignBackward>},
    Entry{kDeformConv2d, 0, OfTorchvision<kDeformConv2d, torch_detection::DeformConv2d>,
          InPython<kDeformConv2d>},
    Entry{kDeformConv2dBackward, 0,
          OfTorchvision<kDeformConv2dBackward, torch_detection::DeformConv2dBackward>,
          InPython<kDeformConv2dBackward>},
};
constexpr size_t kKernels = kEntries.size() + torch_resize::kRows.size();

constexpr const char* NameOf(size_t index) {
  return index < kEntries.size() ? kEntries[index].name
                                 : torch_resize::kRows[index - kEntries.size()].name;
}

constinit std::array<std::atomic<bool>, kKernels> stands_aside{};
bool finds_stock = false;  // set once, before a kernel is in place

// PyTorch calls this function.
template <size_t kIndex>
void Dispatch(Value* stack, uint64_t arguments, uint64_t results) {
  bool aside = stands_aside[kIndex].load(std::memory_order_relaxed);
  if constexpr (kIndex < kEntries.size()) {
    constexpr Entry kEntry = kEntries[kIndex];
    aside = aside || (finds_stock && !kEntry.Serves(stack));
    (aside ? kEntry.stock : kEntry.kernel)(stack, arguments, results);
  } else {
    constexpr size_t kRow = kIndex - kEntries.size();
    if (aside || !torch_resize::Serves(torch_resize::kRows[kRow], stack)) {
      torch_stock::Resize(kRow, stack);
    } else {
      torch_resize::Call(torch_resize::kRows[kRow], stack);
    }
  }
}

template <size_t... kIndices>
constexpr std::array<torch_abi::Kernel, sizeof...(kIndices)> DispatchersOf(
    std::index_sequence<kIndices...> /*indices*/) {
  return {Dispatch<kIndices>...};
}
constexpr auto kDispatchers = DispatchersOf(std::make_index_sequence<kKernels>());

bool Contains(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string FindTorch(const std::string& library) { return torch_abi::Find(library); }

bool FindStockKernels(const std::string& library) {
  finds_stock = torch_stock::Find(library);
  return finds_stock;
}

TorchKernels::TorchKernels(const std::vector<std::string>& names, const std::string& space) {
  torch_abi::Check(Torch().new_library(space.c_str(), "CPU", __FILE__, __LINE__, &library_));
  for (size_t i = 0; i < kKernels; ++i) {
    const char* const name = NameOf(i);
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
  for (size_t i = 0; i < kKernels; ++i) {
    if (Contains(names_, NameOf(i))) {
      stands_aside[i].store(aside, std::memory_order_relaxed);
    }
  }
}

}  // namespace portacl_python
