// A collective's call, and its work, with tensors of the device. Collectives that Gloo lacks are
// made of Gloo's messages between two processes.
#include "collectives.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "borrow.h"

namespace portacl_npu {
namespace {

using c10::IValue;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

class NpuWork;

// Works that nobody has waited for: a program that synchronises the device has waited for all.
class Unfinished {
 public:
  void Add(c10::intrusive_ptr<NpuWork> work);
  void Remove(const NpuWork* work);
  void Wait();

 private:
  std::mutex mutex_;
  std::vector<c10::intrusive_ptr<NpuWork>> works_;
};

Unfinished& TheUnfinished() {
  static auto& works = *new Unfinished;  // until the process ends
  return works;
}

class NpuWork final : public c10d::Work {
 public:
  NpuWork(WorkPointer inner, std::vector<at::Tensor> outputs, c10::Device device)
      : inner_(std::move(inner)), outputs_(std::move(outputs)), device_(device) {}

  bool isCompleted() override { return done_ || inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override { inner_->synchronize(); }
  bool wait(std::chrono::milliseconds timeout) override {
    const std::lock_guard<std::mutex> once(waiting_);  // a message cannot be waited for again
    if (done_) return true;
    TheUnfinished().Remove(this);
    done_ = inner_->wait(timeout);
    return done_;
  }
  void abort() override { inner_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors(),
                                                           std::vector<c10::Device>{device_});
    wait(kNoTimeout);  // no communication while the program computes
    future->markCompleted(IValue(outputs_));
    return future;
  }

 private:
  const WorkPointer inner_;
  const std::vector<at::Tensor> outputs_;
  const c10::Device device_;
  std::mutex waiting_;
  std::atomic<bool> done_ = false;
};

void Unfinished::Add(c10::intrusive_ptr<NpuWork> work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(works_, [](const auto& each) { return each->isCompleted(); });
  works_.push_back(std::move(work));
}

void Unfinished::Remove(const NpuWork* work) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(works_, [&](const auto& each) { return each.get() == work; });
}

void Unfinished::Wait() {
  std::vector<c10::intrusive_ptr<NpuWork>> works;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    works.swap(works_);
  }
  for (const auto& each : works) each->wait(kNoTimeout);
}

// Several works that are one for the program.
class Works final : public c10d::Work {
 public:
  explicit Works(std::vector<WorkPointer> parts) : parts_(std::move(parts)) {}

  bool isCompleted() override {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](auto& each) { return each->isCompleted(); });
  }
  bool isSuccess() const override { return FirstFailed() == nullptr; }
  std::exception_ptr exception() const override {
    const WorkPointer failed = FirstFailed();
    return failed ? failed->exception() : nullptr;
  }
  void synchronize() override {
    for (const WorkPointer& each : parts_) each->synchronize();
  }
  bool wait(std::chrono::milliseconds timeout) override {
    bool done = true;
    for (const WorkPointer& each : parts_) done = each->wait(timeout) && done;
    return done;
  }
  void abort() override {
    for (const WorkPointer& each : parts_) each->abort();
  }

 private:
  WorkPointer FirstFailed() const {
    for (const WorkPointer& each : parts_) {
      if (!each->isSuccess()) return each;
    }
    return nullptr;
  }

  const std::vector<WorkPointer> parts_;
};

// Works since BeginCoalescing() of this thread; after EndCoalescing() they are `ended`.
thread_local std::optional<std::vector<WorkPointer>> coalesced, ended;

// Sends inputs[i] to each rank i, and receives outputs[i] from it.
WorkPointer Exchange(c10d::ProcessGroup& group, const std::vector<at::Tensor>& outputs,
                     const std::vector<at::Tensor>& inputs) {
  constexpr int kTag = 0x70617274;  // no program's
  const int own = group.getRank(), size = group.getSize();
  TORCH_CHECK(static_cast<int>(outputs.size()) == size && static_cast<int>(inputs.size()) == size,
              "Tensor list must have one tensor for each rank of the group");
  for (int i = 0; i < size; ++i) {
    TORCH_CHECK(outputs[i].is_contiguous() && inputs[i].is_contiguous(),
                "Tensors must be contiguous");
    TORCH_CHECK(outputs[i].scalar_type() == inputs[i].scalar_type(),
                "Tensors must have identical type");
  }
  TORCH_CHECK(outputs[own].numel() == inputs[own].numel(),
              "A rank's own output must have as many elements as its input");
  const auto gloo = group.getBackend(c10::kCPU);
  std::vector<WorkPointer> parts;
  for (int step = 1; step < size; ++step) {
    const int from = (own + size - step) % size, to = (own + step) % size;
    std::vector<at::Tensor> received{outputs[from]}, sent{inputs[to]};
    parts.push_back(gloo->recv(received, from, kTag));
    parts.push_back(gloo->send(sent, to, kTag));
  }
  outputs[own].view(-1).copy_(inputs[own].view(-1));
  return c10::make_intrusive<Works>(std::move(parts));
}

bool SameSizes(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& each) {
    return each.sizes() == tensors.front().sizes();
  });
}

// Collectives that HCCL has and Gloo refuses. The arguments are CPU tensors already. Null for
// others.
WorkPointer ByMessages(const std::string& name, const IValue* arguments) {
  const auto group = [&] { return arguments[2].toCustomClass<c10d::ProcessGroup>(); };
  if (name == "c10d::alltoall_") {
    return Exchange(*group(), arguments[0].toTensorVector(), arguments[1].toTensorVector());
  }
  if (name != "c10d::allgather_" || arguments[0].toListRef().size() != 1) return nullptr;
  const std::vector<at::Tensor> outputs = arguments[0].toListRef()[0].toTensorVector();
  if (outputs.empty() || SameSizes(outputs)) return nullptr;
  const std::vector<at::Tensor> inputs(outputs.size(), arguments[1].toTensorVector().at(0));
  return Exchange(*group(), outputs, inputs);
}

// If a group was made without the name of a backend, it has a backend for the device only; that is
// Gloo too.
void LetItServeTheCpu(c10d::ProcessGroup& group) {
  const std::vector<c10::Device> devices = group.getDeviceTypes();
  const auto is_cpu = [](const c10::Device& each) { return each.is_cpu(); };
  if (std::any_of(devices.begin(), devices.end(), is_cpu)) return;
  group.setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::GLOO, group.getBackend(kNpu));
}

// A program has to wait for such a work anyway, and its memory is the program's until then.
bool IsMessage(const std::string& name) {
  return name == "c10d::send" || name == "c10d::recv_" || name == "c10d::recv_any_source_";
}

// The works of coalesced calls as one work. Python asks for a barrier's work and gets this one.
WorkPointer TakeEnded(const std::string& name) {
  if (name != "c10d::barrier" || !ended) return nullptr;
  auto work = c10::make_intrusive<Works>(std::move(*ended));
  ended.reset();
  return work;
}

}  // namespace

void BeginCoalescing() { coalesced.emplace(); }

void WaitForCollectives() { TheUnfinished().Wait(); }

void EndCoalescing() { ended = std::exchange(coalesced, std::nullopt); }

void Collective::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                            torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  // HCCL looks at the numbers of elements, Gloo at shapes.
  const bool flat = name == "c10d::_allgather_base_" || name == "c10d::_reduce_scatter_base_";
  const size_t first = stack->size() - op.schema().arguments().size();
  Borrowed borrowed(name.c_str(), flat, /*versions=*/true);
  for (size_t i = first; i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    borrowed.ToCpu(&value);
    if (op.schema().arguments()[i - first].name() == "process_group") {
      LetItServeTheCpu(*value.toCustomClass<c10d::ProcessGroup>());
    }
  }
  const c10::Device device = borrowed.EnterDevice();
  borrowed.Synchronize();
  IValue* const arguments = stack->data() + first;
  WorkPointer made = TakeEnded(name);
  if (!made) made = ByMessages(name, arguments);
  if (made) {  // the written tensors, if the operator returns them, and the work
    if (op.schema().returns().size() == 1) {
      arguments[0] = IValue(std::move(made));
      torch::jit::drop(*stack, stack->size() - first - 1);
    } else {
      arguments[1] = IValue(std::move(made));
      torch::jit::drop(*stack, stack->size() - first - 2);
    }
  } else {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  for (size_t i = first; i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    if (!value.isCustomClass()) {
      borrowed.ToNpu(&value);
      continue;
    }
    std::vector<at::Tensor> outputs;
    for (const auto& pair : borrowed.pairs()) outputs.push_back(pair.own);
    auto work =
        c10::make_intrusive<NpuWork>(value.toCustomClass<c10d::Work>(), std::move(outputs), device);
    if (coalesced) coalesced->push_back(work);
    if (!IsMessage(name)) TheUnfinished().Add(work);
    value = WorkPointer(std::move(work));
  }
}

}  // namespace portacl_npu
