// A collective's call, and its work, which promises tensors of the device.
#include "collectives.h"

#include <c10/core/DeviceGuard.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <string>
#include <utility>
#include <vector>

#include "borrow.h"

namespace portacl_npu {
namespace {

using c10::IValue;

class NpuWork final : public c10d::Work {
 public:
  NpuWork(c10::intrusive_ptr<c10d::Work> inner, std::vector<at::Tensor> outputs, c10::Device device)
      : inner_(std::move(inner)), outputs_(std::move(outputs)), device_(device) {}

  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override { return outputs_; }
  void synchronize() override { inner_->synchronize(); }
  bool wait(std::chrono::milliseconds timeout) override { return inner_->wait(timeout); }
  void abort() override { inner_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors(),
                                                           std::vector<c10::Device>{device_});
    inner_->wait();  // no communication while the program computes
    future->markCompleted(IValue(outputs_));
    return future;
  }

 private:
  const c10::intrusive_ptr<c10d::Work> inner_;
  const std::vector<at::Tensor> outputs_;
  const c10::Device device_;
};

}  // namespace

void Collective::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                            torch::jit::Stack* stack) {
  const std::string& name = op.schema().name();
  // HCCL looks at the numbers of elements, Gloo at shapes.
  const bool flat = name == "c10d::_allgather_base_" || name == "c10d::_reduce_scatter_base_";
  const size_t first = stack->size() - op.schema().arguments().size();
  Borrowed borrowed(name.c_str(), flat, /*versions=*/true);
  for (size_t i = first; i < stack->size(); ++i) borrowed.ToCpu(&(*stack)[i]);
  const c10::Device device = borrowed.ChooseDevice();
  const c10::DeviceGuard on(device);
  borrowed.Synchronize();
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (size_t i = first; i < stack->size(); ++i) {
    IValue& value = (*stack)[i];
    if (!value.isCustomClass()) {
      borrowed.ToNpu(&value);
      continue;
    }
    std::vector<at::Tensor> outputs;
    for (const auto& pair : borrowed.pairs()) outputs.push_back(pair.own);
    value = c10::static_intrusive_pointer_cast<c10d::Work>(c10::make_intrusive<NpuWork>(
        value.toCustomClass<c10d::Work>(), std::move(outputs), device));
  }
}

}  // namespace portacl_npu
