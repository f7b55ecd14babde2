// A host function that holds a stream back, so that nothing behind it has run when phase 2 returns.
#ifndef PORTACL_TOOLS_TESTING_STREAM_GATE_H_
#define PORTACL_TOOLS_TESTING_STREAM_GATE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace portacl::golden {

class StreamGate {
 public:
  // A phase 2 may wait for its stream, which it must not do for ever.
  static constexpr std::chrono::milliseconds kLongest{50};

  // The host function, with a gate as its argument.
  static void Wait(void* gate) {
    auto& self = *static_cast<StreamGate*>(gate);
    std::unique_lock lock(self.mutex_);
    self.changed_.wait_for(lock, kLongest, [&] { return self.open_; });
  }

  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_STREAM_GATE_H_
