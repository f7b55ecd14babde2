// A gate is closed until it is opened once; then it stays open. Each record of an event has a gate:
// streams and host threads wait for the gate.
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

// Refuses a bad timeout of a caller. Good ones are milliseconds, or -1 for no limit.
base::Status CheckTimeout(int32_t timeout);

// Returns the moment `milliseconds` from now; -1 means never.
SteadyTime DeadlineAfter(int32_t milliseconds);

// Waits until the condition holds (`changed` signals changes). False if the deadline came first.
template <class Condition>
bool WaitUntil(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
               SteadyTime deadline, Condition&& condition) {
  // Not wait_until(max): some standard libraries overflow when they convert it.
  if (deadline != SteadyTime::max()) return changed.wait_until(lock, deadline, condition);
  changed.wait(lock, condition);
  return true;
}

// Notified once when a gate opens, on the thread that opens it, without a lock of the gate.
class GateListener {
 public:
  virtual ~GateListener() = default;
  virtual void OnGateOpen() = 0;
};

// The owner of the work that opens a gate. In lazy mode (observers.h) the work begins only on
// demand.
class GateOwner {
 public:
  virtual ~GateOwner() = default;
  // Lets the pieces of work 1 to `number` begin.
  virtual void Demand(uint64_t number) = 0;
};

struct OrderClock;

class Gate {
 public:
  bool is_open() const { return open_.load(std::memory_order_acquire); }

  // When the gate was opened. Only for an open gate.
  SteadyTime opened_at() const { return opened_at_; }

  // Opens the gate; later calls do nothing.
  void Open();

  // Work `number` of `owner` will open the gate. Returns true if someone has demanded it already.
  bool SetOwner(std::weak_ptr<GateOwner> owner, uint64_t number);
  // Lets the owner's work begin. Does nothing for an open gate or outside lazy mode.
  void Demand();

  // Sets the work that is over before the gate opens (order.h). Call it before the gate is shared.
  void SetOrder(std::shared_ptr<const OrderClock> order) { order_ = std::move(order); }
  const std::shared_ptr<const OrderClock>& order() const { return order_; }

  // Returns false if the deadline came first.
  bool WaitUntil(SteadyTime deadline);

  // Notifies the listener when the gate opens, unless it is open now. The listener may end before.
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
