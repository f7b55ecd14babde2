// The kernels behind torch_detection.h: arguments from PyTorch's stack, results onto it.
#include "torch_detection.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <exception>

#include "plan_cache.h"

namespace portacl_python::torch_detection {
namespace {

using torch_abi::Describe;
using torch_abi::Extents;
using torch_abi::Run;
using torch_abi::Tensor;
using torch_abi::ToBool;
using torch_abi::Value;

// Computes a call that begins with kTensors tensors of one dtype: compute(their views, the other
// arguments) returns the results. False if portacl does not take the call: the stack is unchanged,
// and the caller computes in Python.
template <size_t kTensors, class Compute>
bool Serve(Value* stack, const Compute& compute) {
  try {
    std::array<portaclTensor, kTensors> tensors{};
    for (size_t i = 0; i < kTensors; ++i) {
      if (!Describe(stack[i], {.least_rank = 1}, &tensors[i]).empty()) return false;
      if (tensors[i].dtype != tensors[0].dtype) return false;
    }
    auto results = compute(tensors, stack + kTensors);
    for (size_t i = 0; i < kTensors; ++i) const Tensor argument(stack[i]);
    for (size_t i = 0; i < results.size(); ++i) stack[i] = results[i].Release();
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

Tensor Empty(const Extents& shape, const portaclTensor& like) {
  return Tensor::Empty(shape, like.dtype, false);
}
Tensor EmptyLike(const portaclTensor& tensor) {
  return Empty(Extents(tensor.shape, tensor.shape + tensor.rank), tensor);
}

int64_t Int(Value value) { return static_cast<int64_t>(value); }

// float spatial_scale, SymInt pooled_height, SymInt pooled_width; int sampling_ratio, bool aligned
void SetNumbers(const Value* numbers, const Value* last, Call* call) {
  call->reals[0] = std::bit_cast<double>(numbers[0]);
  call->integers = {Int(numbers[1]), Int(numbers[2]), std::max<int64_t>(Int(last[0]), 0)};
  call->flags[0] = ToBool(last[1]);
}

// SymInt stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups
void SetSteps(const portaclTensor& weight, const Value* steps, Call* call) {
  const auto step = [steps](size_t i) { return Int(steps[i]); };
  call->lists = {weight.shape[2], weight.shape[3], step(0), step(1), step(2),
                 step(2),         step(3),         step(3), step(4), step(5)};
  call->integers = {step(6), step(7), 0};
  call->choices[0] = PORTACL_PAIRS;
}

}  // namespace

// (Tensor input, Tensor rois, numbers) -> Tensor
bool RoiAlign(Value* stack) {
  return Serve<2>(stack, [](const auto& tensors, const Value* numbers) {
    const auto& [input, rois] = tensors;
    Call call{Op::kRoiAlign};
    SetNumbers(numbers, numbers + 3, &call);
    std::array results{
        Empty({rois.shape[0], input.shape[1], Int(numbers[1]), Int(numbers[2])}, input)};
    call.tensors = {&input, &rois, &results[0].view()};
    Run(call);
    return results;
  });
}

// (Tensor grad, Tensor rois, numbers, SymInt batch_size, channels, height, width, the last numbers)
// -> Tensor
bool RoiAlignBackward(Value* stack) {
  return Serve<2>(stack, [](const auto& tensors, const Value* numbers) {
    const auto& [grad, rois] = tensors;
    Call call{Op::kRoiAlignBackward};
    SetNumbers(numbers, numbers + 7, &call);
    std::array results{
        Empty({Int(numbers[3]), Int(numbers[4]), Int(numbers[5]), Int(numbers[6])}, grad)};
    // For an average the images do not count: the result stands for them.
    call.tensors = {&grad, &rois, &results[0].view(), &results[0].view()};
    Run(call);
    return results;
  });
}

// (Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, steps, bool use_mask)
// -> Tensor
bool DeformConv2d(Value* stack) {
  return Serve<5>(stack, [](const auto& tensors, const Value* steps) {
    const auto& [input, weight, offset, mask, bias] = tensors;
    Call call{Op::kDeformConv2d};
    SetSteps(weight, steps, &call);
    std::array results{
        Empty({input.shape[0], weight.shape[0], offset.shape[2], offset.shape[3]}, input)};
    const portaclTensor* const masks = ToBool(steps[8]) ? &mask : nullptr;
    call.tensors = {&input, &weight, &offset, &bias, masks, &results[0].view()};
    Run(call);
    return results;
  });
}

// (Tensor grad, the tensors, steps, bool use_mask) -> (their gradients)
bool DeformConv2dBackward(Value* stack) {
  return Serve<6>(stack, [](const auto& tensors, const Value* steps) {
    const auto& [grad, input, weight, offset, mask, bias] = tensors;
    const bool masked = ToBool(steps[8]);
    Call call{Op::kDeformConv2dBackward};
    SetSteps(weight, steps, &call);
    std::array results{EmptyLike(input), EmptyLike(weight), EmptyLike(offset),
                       masked
                           ? EmptyLike(mask)
                           : Tensor::Zeros(Extents(mask.shape, mask.shape + mask.rank), mask.dtype),
                       EmptyLike(bias)};
    const auto result = [&](size_t i) { return &results[i].view(); };
    call.tensors = {&input,
                    &grad,
                    nullptr,
                    &weight,
                    &offset,
                    masked ? &mask : nullptr,
                    result(0),
                    result(1),
                    result(2),
                    result(4),
                    masked ? result(3) : nullptr};
    Run(call);
    return results;
  });
}

}  // namespace portacl_python::torch_detection
