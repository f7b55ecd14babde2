// A gate is closed until it is opened once; then it stays open. One record of an event is a gate;
// streams and host threads wait for it.
#ifndef PORTACL_RUNTIME_GATE_H_
#define PORTACL_RUNTIME_GATE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/status.h"

namespace portacl::runtime {

using SteadyTime = std::chrono::steady_clock::time_point;

// Refuses a bad time to wait, as callers say it: milliseconds, or -1 for no limit.
base::Status CheckTimeout(int32_t timeout);

// The moment `milliseconds` from now; -1 means never.
SteadyTime DeadlineAfter(int32_t milliseconds);

// Waits for a condition that `changed` tells of; false when the deadline came first.
template <class Condition>
bool WaitUntil(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
               SteadyTime deadline, Condition&& condition) {
  // No wait_until(max): some standard libraries overflow when they convert it.
  if (deadline != SteadyTime::max()) return changed.wait_until(lock, deadline, condition);
  changed.wait(lock, condition);
  return true;
}

// Told once when a gate opens, on the opening thread, with no lock of the gate held.
class GateListener {
 public:
  virtual ~GateListener() = default;
  virtual void OnGateOpen() = 0;
};

// The owner of the work that opens a gate. In lazy mode (lazy.h) it begins only on demand.
class GateOwner {
 public:
  virtual ~GateOwner() = default;
  // Lets work number 1 to `number` begin.
  virtual void Demand(uint64_t number) = 0;
};

struct OrderClock;

class Gate {
 public:
  bool is_open() const { return open_.load(std::memory_order_acquire); }

  // When it was opened; only for an open gate.
  SteadyTime opened_at() const { return opened_at_; }

  // Later calls do nothing.
  void Open();

  // The owner's work number `number` opens the gate; true if somebody has demanded it already.
  bool SetOwner(std::weak_ptr<GateOwner> owner, uint64_t number);
  // Has the owner begin; nothing for an open gate and outside of lazy mode.
  void Demand();

  // The work that is over before the gate opens (order.h). Set before others have the gate.
  void SetOrder(std::shared_ptr<const OrderClock> order) { order_ = std::move(order); }
  const std::shared_ptr<const OrderClock>& order() const { return order_; }

  // False when the deadline came first.
  bool WaitUntil(SteadyTime deadline);

  // Has the listener told, unless the gate is open already. The listener may be gone by then.
  void Listen(std::weak_ptr<GateListener> listener);

 private:
  std::atomic<bool> open_{false};
  SteadyTime opened_at_;
  std::mutex mutex_;
  std::condition_variable opened_;
  std::vector<std::weak_ptr<GateListener>> listeners_;
  std::weak_ptr<GateOwner> owner_;
  uint64_t number_ = 0;
  bool demanded_ = false;
  std::shared_ptr<const OrderClock> order_;
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GATE_H_
