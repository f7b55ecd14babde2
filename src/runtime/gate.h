// A gate: closed until it is opened, once, for good. One record of an event is a gate; streams and
// host threads wait for it.
#ifndef PORTACL_RUNTIME_GATE_H_
#define PORTACL_RUNTIME_GATE_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace portacl::runtime {

using SteadyTime = std::chrono::steady_clock::time_point;

// The moment `milliseconds` from now; -1 means never.
SteadyTime DeadlineAfter(int32_t milliseconds);

// Told once when a gate opens, on the opening thread, with no lock of the gate held.
class GateListener {
 public:
  virtual ~GateListener() = default;
  virtual void OnGateOpen() = 0;
};

class Gate {
 public:
  bool is_open() const { return open_.load(std::memory_order_acquire); }

  // When it was opened; only for an open gate.
  SteadyTime opened_at() const { return opened_at_; }

  // Later calls do nothing.
  void Open();

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
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GATE_H_
