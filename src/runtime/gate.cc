// Gates and deadlines.
#include "runtime/gate.h"

#include <utility>

#include "runtime/error.h"

namespace portacl::runtime {

base::Status CheckTimeout(int32_t timeout) {
  if (timeout >= -1) return {};
  return InvalidParam("timeout is {}, wanted milliseconds or -1 for no limit", timeout);
}

SteadyTime DeadlineAfter(int32_t milliseconds) {
  if (milliseconds < 0) return SteadyTime::max();
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
}

void Gate::Open() {
  std::vector<std::weak_ptr<GateListener>> listeners;
  {
    const std::lock_guard lock(mutex_);
    if (open_.load(std::memory_order_relaxed)) return;
    opened_at_ = std::chrono::steady_clock::now();
    open_.store(true, std::memory_order_release);
    listeners = std::move(listeners_);
    opened_.notify_all();
  }
  for (const std::weak_ptr<GateListener>& weak : listeners) {
    if (const auto listener = weak.lock()) listener->OnGateOpen();
  }
}

bool Gate::SetOwner(std::weak_ptr<GateOwner> owner, uint64_t number) {
  const std::lock_guard lock(mutex_);
  owner_ = std::move(owner);
  number_ = number;
  return demanded_;
}

void Gate::Demand() {
  if (is_open()) return;
  std::shared_ptr<GateOwner> owner;
  {
    const std::lock_guard lock(mutex_);
    demanded_ = true;
    owner = owner_.lock();
  }
  if (owner != nullptr) owner->Demand(number_);
}

bool Gate::WaitUntil(SteadyTime deadline) {
  if (is_open()) return true;
  Demand();
  std::unique_lock lock(mutex_);
  return runtime::WaitUntil(opened_, lock, deadline,
                            [this] { return open_.load(std::memory_order_relaxed); });
}

void Gate::Listen(std::weak_ptr<GateListener> listener) {
  const std::lock_guard lock(mutex_);
  if (!open_.load(std::memory_order_relaxed)) listeners_.push_back(std::move(listener));
}

}  // namespace portacl::runtime
