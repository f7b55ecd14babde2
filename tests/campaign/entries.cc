// One function for each way into the operators.
#include "campaign/entries.h"

#include <algorithm>
#include <array>

#include "support/api/acl_fixture.h"
#include "support/api/forward_call.h"
#include "support/api/native.h"
#include "support/api/native_grid.h"
#include "support/api/op_call.h"

namespace portacl_test {
namespace {

bool IsGrid(const CampaignCase& c) {
  return c.op == CampaignOp::kGrid || c.op == CampaignOp::kGridBackward;
}

bool IsVolume(const CampaignCase& c) { return c.inputs[0].shape().size() == 5; }

// The outputs of the backward grid sampler as parameters: null where not wanted.
struct GridOutputs {
  Tensor* input_grad = nullptr;
  Tensor* grid_grad = nullptr;
  GridOutputs(const CampaignCase& c, std::vector<Tensor>* outputs) {
    size_t next = 0;
    if (c.want_input_grad) input_grad = &(*outputs)[next++];
    if (c.want_grid_grad) grid_grad = &(*outputs)[next];
  }
};

// An output's view whose first element is the input's.
portacl::Tensor Over(const Tensor& output, const Tensor& input) {
  return portacl::Tensor(input.first(), static_cast<portacl::DataType>(output.element()),
                         output.shape().size(), output.shape().data(), output.strides().data());
}

portacl::Status CallNative(const CampaignCase& c, std::vector<Tensor>* outputs) {
  const auto in = [&](size_t i) { return View(c.inputs[i]); };
  const auto out = [&](Tensor* tensor) {
    if (tensor == nullptr) return portacl::Tensor();
    return c.overlaps ? Over(*tensor, c.inputs[0]) : View(*tensor);
  };
  switch (c.op) {
    case CampaignOp::kNearest:
      return portacl::upsample_nearest_exact(in(0), out(outputs->data()), ScalesOrNull(c.scales));
    case CampaignOp::kNearestBackward:
      return portacl::upsample_nearest_exact_backward(in(0), out(outputs->data()),
                                                      ScalesOrNull(c.scales));
    case CampaignOp::kGrid:
      return SampleGrid(in(0), in(1), out(outputs->data()), c.mode);
    case CampaignOp::kGridBackward:
      break;
  }
  const GridOutputs grid(c, outputs);
  return SampleGridBackward(in(0), in(1), in(2), out(grid.input_grad), out(grid.grid_grad), c.mode);
}

// Host memory serves as device memory, but in guard mode.
TensorArgs ArgsOf(const Tensor& tensor) {
  return {tensor.shape(),         ToAcl(tensor.element()),
          ACL_FORMAT_ND,          const_cast<void*>(tensor.data()),
          tensor.strides(),       tensor.offset(),
          Shape{tensor.storage()}};
}

aclnnStatus CallAclnn(const CampaignCase& c, std::vector<Tensor>* outputs, aclrtStream stream) {
  switch (c.op) {
    case CampaignOp::kNearest:
      return Execute(
          NearestForwardCall::For(ArgsOf(c.inputs[0]), ArgsOf(outputs->front()), c.scales), stream);
    case CampaignOp::kNearestBackward:
      return Execute(NearestCall::For(ArgsOf(c.inputs[0]), ArgsOf(outputs->front()), c.scales),
                     stream);
    case CampaignOp::kGrid: {
      GridForwardCall call;
      call.volume = IsVolume(c);
      call.input = ArgsOf(c.inputs[0]);
      call.grid = ArgsOf(c.inputs[1]);
      call.interpolation = c.mode.interpolation;
      call.padding = c.mode.padding;
      call.align_corners = c.mode.align_corners;
      call.out = ArgsOf(outputs->front());
      return Execute(call, stream);
    }
    case CampaignOp::kGridBackward:
      break;
  }
  const GridOutputs grid(c, outputs);
  GridCall call;
  call.volume = IsVolume(c);
  call.grad_output = ArgsOf(c.inputs[0]);
  call.input = ArgsOf(c.inputs[1]);
  call.grid = ArgsOf(c.inputs[2]);
  call.interpolation = c.mode.interpolation;
  call.padding = c.mode.padding;
  call.align_corners = c.mode.align_corners;
  call.mask = std::vector<bool>{c.want_input_grad, c.want_grid_grad};
  // Both tensors are asked for; the one that is not wanted is not looked into.
  call.input_grad.shape = c.inputs[1].shape();
  call.grid_grad.shape = c.inputs[2].shape();
  call.input_grad.dtype = call.grid_grad.dtype = ToAcl(c.element);
  if (c.want_input_grad) call.input_grad = ArgsOf(*grid.input_grad);
  if (c.want_grid_grad) call.grid_grad = ArgsOf(*grid.grid_grad);
  return Execute(call, stream);
}

Argument Dense(const Tensor& tensor) {
  return {tensor.shape(), ToAcl(tensor.element()), ACL_FORMAT_ND, const_cast<void*>(tensor.data()),
          tensor.storage_bytes()};
}

aclError CallByName(const CampaignCase& c, std::vector<Tensor>* outputs, aclrtStream stream) {
  static constexpr const char* kTypes[][2] = {
      {"UpsampleNearestExact2d", "UpsampleNearestExact3d"},
      {"UpsampleNearestExact2dGrad", "UpsampleNearestExact3dGrad"},
      {"GridSampler2D", "GridSampler3D"},
      {"GridSampler2DGrad", "GridSampler3DGrad"}};
  OpCall call;
  call.type = kTypes[static_cast<size_t>(c.op)][IsVolume(c) ? 1 : 0];
  for (const Tensor& tensor : c.inputs) call.inputs.push_back(Dense(tensor));
  for (const Tensor& tensor : *outputs) call.outputs.push_back(Dense(tensor));
  if (IsGrid(c)) {
    static constexpr const char* kInterpolations[] = {"bilinear", "nearest", "bicubic"};
    static constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
    call.attributes["interpolation_mode"] = std::string(kInterpolations[c.mode.interpolation]);
    call.attributes["padding_mode"] = std::string(kPaddings[c.mode.padding]);
    call.attributes["align_corners"] = c.mode.align_corners;
  } else {
    const bool backward = c.op == CampaignOp::kNearestBackward;
    const Shape& large = backward ? c.inputs[0].shape() : outputs->front().shape();
    call.attributes["output_size"] = Ints(large.begin() + 2, large.end());
    if (backward) call.attributes["input_size"] = outputs->front().shape();
  }
  return RunOp(call, Way::kExecuteV2, stream);
}

bool IsDense(const Tensor& tensor) {
  return tensor.offset() == 0 && tensor.storage() == tensor.size() &&
         tensor.strides() == Tensor(tensor.element(), tensor.shape()).strides();
}

}  // namespace

const char* NameOf(Entry entry) {
  static constexpr const char* kNames[] = {"native", "aclnn", "by name"};
  return kNames[static_cast<size_t>(entry)];
}

bool CanExpress(Entry entry, const CampaignCase& c) {
  if (entry == Entry::kNative) return true;
  if (c.overlaps) return false;
  if (entry == Entry::kAclnn) return true;
  if (!IsGrid(c) && c.element == Element::kDouble) return false;
  // A float attribute cannot hold every scale, and there are no masks and no rows alone.
  return c.inputs[0].shape().size() >= 4 && c.scales.empty() && c.want_input_grad &&
         c.want_grid_grad && std::all_of(c.inputs.begin(), c.inputs.end(), IsDense) &&
         std::all_of(c.outputs.begin(), c.outputs.end(), IsDense);
}

Outcome RunEntry(Entry entry, const CampaignCase& c, aclrtStream stream) {
  Outcome outcome;
  outcome.outputs = c.outputs;
  switch (entry) {
    case Entry::kNative: {
      const portacl::Status status = CallNative(c, &outcome.outputs);
      outcome.code = status.code();
      outcome.message = status.message();
      return outcome;
    }
    case Entry::kAclnn:
      outcome.code = CallAclnn(c, &outcome.outputs, stream);
      break;
    case Entry::kByName:
      outcome.code = CallByName(c, &outcome.outputs, stream);
      break;
  }
  if (outcome.code != 0) outcome.message = TakeMessage();
  return outcome;
}

}  // namespace portacl_test
