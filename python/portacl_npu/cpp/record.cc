// What a graph keeps of a routed operator, and how a replay runs it.
#include "record.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "memory.h"

namespace portacl_npu {
namespace {

using c10::IValue;
using torch::jit::Stack;

StreamOfDevice stream_of_device = nullptr;

void AppendTensors(const IValue& value, std::vector<at::Tensor>* tensors) {
  if (value.isTensor()) tensors->push_back(value.toTensor());
  if (!value.isTensorList()) return;
  for (const at::Tensor& t : value.toTensorVector()) tensors->push_back(t);
}

struct Recorded {
  c10::OperatorHandle op;
  c10::Device device;
  RunOperator run;
  Stack arguments;
  // Where the results belong, as tensors of the CPU; undefined: the operator writes there itself.
  std::vector<at::Tensor> places;
};

void Replay(const Recorded& recorded) {
  const at::NoGradGuard no_grad;
  const at::AutoDispatchBelowADInplaceOrView below;
  Stack stack = recorded.arguments;
  recorded.run(recorded.op, recorded.device, 0, &stack);
  std::vector<at::Tensor> results;
  for (const IValue& value : stack) AppendTensors(value, &results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (recorded.places[i].defined()) recorded.places[i].copy_(results[i]);
  }
}

// Null, or what went wrong.
const char* ReplayOrSay(void* data) {
  const auto& recorded = *static_cast<const Recorded*>(data);
  thread_local std::string text;
  text = recorded.op.schema().name() + " in the replay of a graph: ";
  try {
    Replay(recorded);
    return nullptr;
  } catch (const c10::Error& error) {
    text += error.what_without_backtrace();
  } catch (const std::exception& error) {
    text += error.what();
  }
  return text.c_str();
}

void Release(void* data) { delete static_cast<Recorded*>(data); }

}  // namespace

void SetStreamOfDevice(StreamOfDevice function) { stream_of_device = function; }

void* RecordingStream(c10::Device device) {
  if (C10_LIKELY(!Records(nullptr)) || stream_of_device == nullptr) return nullptr;
  void* const stream = stream_of_device(device.index());
  return stream != nullptr && Records(stream) ? stream : nullptr;
}

bool CanReplay(const c10::OperatorHandle& op) {
  if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output)) {
    return false;
  }
  const auto& results = op.schema().returns();
  return std::all_of(results.begin(), results.end(), [](const c10::Argument& result) {
    return result.type()->isSubtypeOf(*c10::TensorType::get()) ||
           result.type()->isSubtypeOf(*c10::ListType::ofTensors());
  });
}

void Record(void* stream, const c10::OperatorHandle& op, c10::Device device, RunOperator run,
            Stack arguments, const IValue* results, size_t count, const Borrowed& borrowed) {
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < count; ++i) AppendTensors(results[i], &tensors);
  std::vector<at::Tensor> places(tensors.size());
  Borrowed views(op.schema().name().c_str(), /*flat=*/false);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& own = tensors[i];
    if (!own.defined() || own.device().type() != kNpu) continue;
    const bool argument = std::any_of(
        borrowed.pairs().begin(), borrowed.pairs().end(),
        [&](const Borrowed::Pair& pair) { return pair.own.storage().is_alias_of(own.storage()); });
    if (argument) continue;
    IValue place(own);
    views.ToCpu(&place);
    places[i] = place.toTensor();
  }
  auto recorded = std::make_unique<Recorded>(
      Recorded{op, device, run, std::move(arguments), std::move(places)});
  Launch(stream, &ReplayOrSay, &Release, recorded.release());
}

}  // namespace portacl_npu
