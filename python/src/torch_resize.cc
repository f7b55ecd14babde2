// The kernels behind torch_resize.h: arguments from PyTorch's stack, results onto it.
#include "torch_resize.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace portacl_python::torch_resize {
namespace {

using torch_abi::CheckLength;
using torch_abi::Extents;
using torch_abi::TakeList;
using torch_abi::TakeScale;
using torch_abi::Tensor;
using torch_abi::ToBool;
using torch_abi::ToText;
using torch_abi::Value;

// The memory format that PyTorch gives results of resizing: channels_last if the strides ascend
// in the order C, W, H, (D,) N, dense or not.
bool IsLikeChannelsLast(const portaclTensor& t) {
  if ((t.rank != 4 && t.rank != 5) || t.strides[1] == 0) return false;
  int64_t least = 0;
  const auto follows = [&](int axis) {
    if (t.shape[axis] == 0 || t.strides[axis] < least) return false;
    // N, 1, 1, 1: ambiguous, counts as row-major.
    if (axis == 0 && least == t.strides[1]) return false;
    least = t.strides[axis] * std::max<int64_t>(t.shape[axis], 1);
    return true;
  };
  if (!follows(1)) return false;
  for (int axis = t.rank - 1; axis > 1; --axis) {
    if (!follows(axis)) return false;
  }
  return follows(0);
}

// (N, C) of `tensor`, then `extents`.
Extents Resized(const Extents& tensor, const Extents& extents) {
  Extents shape(tensor.begin(), tensor.begin() + std::min<size_t>(2, tensor.size()));
  for (const int64_t extent : extents) shape.Append(extent);
  return shape;
}

void CheckSizes(const Extents& grad_output, const Extents& input, const Extents& output) {
  const Extents wanted = Resized(input, output);
  if (grad_output == wanted && input.size() == wanted.size()) return;
  throw std::runtime_error("grad_output has shape " + ToText(grad_output) + ", but input_size " +
                           ToText(input) + " and output_size " + ToText(output) + " ask for " +
                           ToText(wanted));
}

// As PyTorch has it, a scale that is not above 0 counts as none.
void TakeScales(const Row& row, const Value* stack, portacl_python::Call* call) {
  for (int axis = 0; axis < row.axes; ++axis) {
    const double scale = TakeScale(stack[axis]);
    call->reals.at(static_cast<size_t>(axis)) = scale > 0 ? scale : 0;
  }
}

// Lanes of a vector are rows of results or, in channels_last, channels. With fewer rows than lanes
// PyTorch's kernel is as fast, and has the same bits if it does not round each step.
bool Pools(const Row& row, const Value* stack) {
  const Extents shape = torch_abi::ShapeOf(stack[0]);
  const Extents other = row.backward ? torch_abi::ShapeOf(stack[1]) : Extents();
  if (shape.size() != static_cast<size_t>(row.axes) + 2 ||
      std::count(shape.begin(), shape.end(), 0) ||
      (row.backward &&
       (other.size() != shape.size() || std::count(other.begin(), other.end(), 0)))) {
    return false;
  }
  const Extents size = row.backward ? other : torch_abi::ListOf(stack[1]);
  if (!row.backward && size.size() != static_cast<size_t>(row.axes)) return false;  // refused there
  if (std::count_if(size.begin(), size.end(), [](int64_t extent) { return extent < 1; }) != 0) {
    return false;
  }
  constexpr int64_t kFewRows = 4;
  int64_t rows = shape[0] * shape[1];
  for (const int64_t* extent = size.end() - row.axes; extent < size.end() - 1; ++extent) {
    rows *= *extent;
  }
  return rows >= kFewRows || !torch_abi::HasWideDType(stack[0]);
}

void CallPool(const Row& row, Value* stack) {
  portacl_python::Call call{row.op};
  Tensor from(stack[0]);
  Tensor like = row.backward ? Tensor(stack[1]) : Tensor::Undefined();
  const Extents size = row.backward ? Extents() : TakeList(stack[1]);
  from.Read(row.backward ? "grad_output" : "input", !row.backward);
  if (row.backward) like.Read("input");
  const Extents shape = row.backward ? like.shape() : Resized(from.shape(), size);
  const portaclTensor& image = row.backward ? like.view() : from.view();
  const bool channels_last = !row.row_major && IsLikeChannelsLast(image);
  Tensor to = Tensor::Empty(shape, from.view().dtype, channels_last);
  call.tensors = {&from.view(), &to.view()};
  torch_abi::Run(call);
  stack[0] = to.Release();
}

}  // namespace

bool Serves(const Row& row, const Value* stack) {
  const bool known =
      row.backward ? torch_abi::HasKnownDType(stack[0]) : torch_abi::HasPictureDType(stack[0]);
  return known && (!row.pools || Pools(row, stack));
}

void Call(const Row& row, Value* stack) {
  if (row.pools) return CallPool(row, stack);
  portacl_python::Call call{row.op};
  call.flags[1] = row.antialias;
  const Value* next = stack;
  Tensor from(*next++);
  const Extents output_size = TakeList(*next++);
  const Extents input_size = row.backward ? TakeList(*next++) : Extents();
  if (row.has_align_corners) call.flags[0] = ToBool(*next++);
  TakeScales(row, next, &call);
  CheckLength(output_size, 0);
  CheckLength(input_size, 0);
  from.Read(row.backward ? "grad_output" : "input", !row.backward);
  if (row.backward) CheckSizes(from.shape(), input_size, output_size);
  const Extents shape = row.backward ? input_size : Resized(from.shape(), output_size);
  const bool channels_last = !row.row_major && IsLikeChannelsLast(from.view());
  Tensor to = Tensor::Empty(shape, from.view().dtype, channels_last);
  call.tensors = {&from.view(), &to.view()};
  torch_abi::Run(call);
  stack[0] = to.Release();
}

void AffineGrid(Value* stack) {
  Tensor theta(stack[0]);
  const Extents size = TakeList(stack[1]);
  CheckLength(size, 4);
  theta.Read("theta");
  Extents shape(size.begin(), size.begin() + 1);
  for (const int64_t* extent = size.begin() + 2; extent != size.end(); ++extent) {
    shape.Append(*extent);
  }
  shape.Append(static_cast<int64_t>(size.size()) - 2);
  Tensor grid = Tensor::Empty(shape, theta.view().dtype, false);
  portacl_python::Call call{Op::kAffineGrid};
  call.flags[0] = ToBool(stack[2]);
  call.tensors = {&theta.view(), &grid.view()};
  torch_abi::Run(call);
  stack[0] = grid.Release();
}

}  // namespace portacl_python::torch_resize
