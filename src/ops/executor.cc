// Enqueues plans on streams.
#include "ops/executor.h"

#include <utility>
#include <vector>

#include "ops/plan.h"
#include "ops/settings.h"
#include "runtime/memory.h"
#include "runtime/observers.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

namespace portacl::ops {
namespace {

using base::Status;

// Replaces the elements' addresses by addresses that kernels may touch (others in guard mode only).
Status ResolveElements(const Plan& plan, Elements* elements) {
  const bool strict = Strict();
  if (!strict && !runtime::Observed()) return {};  // kernels use the same addresses
  for (int i = 0; i < plan.num_tensors(); ++i) {
    const TensorSlot& slot = plan.tensor(i);
    const auto at = static_cast<size_t>(i);
    if ((*elements)[at] == nullptr) continue;
    const base::ElementRange reach = base::ReachOf(slot.desc);
    const int64_t size = base::DTypeSize(slot.desc.dtype);
    char* const lowest = static_cast<char*>((*elements)[at]) + reach.lowest * size;
    void* resolved = nullptr;
    PORTACL_RETURN_IF_ERROR(plan.refusals().FromRuntime(runtime::ResolveAddress(
        lowest, static_cast<size_t>((reach.highest - reach.lowest + 1) * size), slot.name, strict,
        &resolved)));
    (*elements)[at] = static_cast<char*>(resolved) - reach.lowest * size;
  }
  return {};
}

// Adds a plan's accesses to memory to `work`, for the checker of the order of accesses.
void AddAccesses(const Plan& plan, const Elements& elements, runtime::Work* work) {
  for (int i = 0; i < plan.num_tensors(); ++i) {
    const TensorSlot& slot = plan.tensor(i);
    auto* const first = static_cast<char*>(elements[static_cast<size_t>(i)]);
    if (first == nullptr || !slot.has_elements()) continue;
    const bool updated =
        slot.updated || (slot.output && plan.num_inputs() > 0 && plan.input(0) == i);
    const base::ElementRange reach = base::ReachOf(slot.desc);
    const int64_t size = base::DTypeSize(slot.desc.dtype);
    const int64_t count = reach.highest - reach.lowest + 1;
    runtime::MemoryAccess access{
        slot.name, reinterpret_cast<uintptr_t>(first + reach.lowest * size),
        static_cast<size_t>(count * size), slot.output, count == slot.elements};
    work->accesses.push_back(access);
    access.write = false;
    if (updated) work->accesses.push_back(access);
  }
}

// Tells the timeline and the checker of orders what the work does.
void Describe(const Plan& plan, const Elements& elements, void* scratch, runtime::Work* work) {
  if (runtime::TraceEnabled()) work->detail = plan.Describe();
  if (!runtime::AccessesWanted()) return;
  AddAccesses(plan, elements, work);
  if (scratch != nullptr && plan.workspace_size() > 0) {
    work->accesses.push_back({"workspace", reinterpret_cast<uintptr_t>(scratch),
                              static_cast<size_t>(plan.workspace_size()), true});
  }
}

// Enqueues the parts of a plan as one piece of work.
Status LaunchParts(std::shared_ptr<const Plan> plan, void* stream) {
  const Refusals refusals = plan->refusals();
  const auto parts = plan->parts();
  std::vector<Elements> elements;
  elements.reserve(parts.size());
  for (const auto& part : parts) {
    elements.push_back(part->ElementsAt(part->PlannedStorages()));
    PORTACL_RETURN_IF_ERROR(ResolveElements(*part, &elements.back()));
  }
  runtime::Work work;
  work.name = plan->op();
  work.small = plan->small();
  if (runtime::Observed()) {
    if (runtime::TraceEnabled()) work.detail = plan->Describe();
    for (size_t i = 0; runtime::AccessesWanted() && i < elements.size(); ++i) {
      AddAccesses(*parts[i], elements[i], &work);
    }
  }
  work.run = [plan = std::move(plan), elements = std::move(elements)]() -> Status {
    const CallTimer timer;
    Status status = plan->RunCall(elements, nullptr);
    timer.RanOnStream(*plan);
    return status;
  };
  return refusals.FromRuntime(runtime::Launch(stream, std::move(work)));
}

}  // namespace

Executor::Executor(PlannedCall planned)
    : plan_(std::move(planned.plan)),
      storages_(planned.storages ? *planned.storages : plan_->PlannedStorages()),
      unchecked_(!planned.storages && plan_->LacksAddress()) {}

Status Executor::SetAddress(int index, void* storage) {
  const TensorSlot& slot = plan_->tensor(index);
  if (slot.has_elements()) {
    PORTACL_RETURN_IF_ERROR(plan_->CheckAddress(index, storage));
  }
  const std::lock_guard lock(mutex_);
  storages_[static_cast<size_t>(index)] = storage;
  unchecked_ = true;
  return {};
}

Status Executor::Enqueue(void* workspace, uint64_t workspace_size, void* stream) const {
  PORTACL_RETURN_IF_ERROR(CheckWorkspace(*plan_, workspace, workspace_size));
  std::unique_lock lock(mutex_);
  if (unchecked_) PORTACL_RETURN_IF_ERROR(plan_->CheckAddresses(storages_));
  Elements elements = plan_->ElementsAt(storages_);
  lock.unlock();
  return LaunchPlan(plan_, std::move(elements), workspace, stream);
}

Status LaunchPlan(std::shared_ptr<const Plan> plan, Elements elements, void* workspace,
                  void* stream, std::shared_ptr<void> keep_alive) {
  if (!plan->parts().empty()) return LaunchParts(std::move(plan), stream);
  const Refusals refusals = plan->refusals();
  PORTACL_RETURN_IF_ERROR(ResolveElements(*plan, &elements));
  void* scratch = workspace;
  if (plan->workspace_size() > 0 && keep_alive == nullptr) {
    PORTACL_RETURN_IF_ERROR(refusals.FromRuntime(runtime::ResolveAddress(
        workspace, plan->workspace_size(), "workspace", Strict(), &scratch)));
  }
  runtime::Work work;
  work.name = plan->op();
  work.small = plan->small();
  if (runtime::Observed()) Describe(*plan, elements, scratch, &work);
  work.run = [plan = std::move(plan), elements = std::move(elements), scratch,
              kept = std::move(keep_alive)]() -> Status {
    PORTACL_RETURN_IF_ERROR(plan->CheckContents(elements));
    const CallTimer timer;
    Status status = plan->RunCall({&elements, 1}, scratch);
    timer.RanOnStream(*plan);
    return status;
  };
  return refusals.FromRuntime(runtime::Launch(stream, std::move(work)));
}

}  // namespace portacl::ops
