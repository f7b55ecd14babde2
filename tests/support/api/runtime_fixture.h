// The runtime's C API in tests: a device with a stream, and tasks that a test stops and releases.
// Header-only, because programs without the API include tests/support too.
#ifndef PORTACL_TESTS_SUPPORT_API_RUNTIME_FIXTURE_H_
#define PORTACL_TESTS_SUPPORT_API_RUNTIME_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>

#include "acl/acl.h"

namespace portacl_test {

inline constexpr int kInvalid = ACL_ERROR_RT_PARAM_INVALID;

// This thread's newest message, taken; "" where there is none.
inline std::string NewestMessage() {
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? std::string() : std::string(message);
}

// A call fails with a code and a message that holds `part`.
#define EXPECT_ACL_ERROR(call, code, part)                                         \
  do {                                                                             \
    EXPECT_EQ(call, code);                                                         \
    EXPECT_THAT(portacl_test::NewestMessage(), testing::HasSubstr(part)) << #call; \
  } while (false)

// A host function that occupies its stream until the test releases it.
class Blocker {
 public:
  ~Blocker() { Release(); }

  aclError Launch(aclrtStream stream) {
    return aclrtLaunchHostFunc(stream, &Blocker::Run, &state_);
  }

  // Returns once the function runs.
  void AwaitStart() {
    std::unique_lock lock(state_.mutex);
    state_.changed.wait(lock, [this] { return state_.started; });
  }
  void Release() {
    const std::lock_guard lock(state_.mutex);
    state_.released = true;
    state_.changed.notify_all();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool started = false;
    bool released = false;
  };

  // The function may still be on its way out when the test ends: states are kept.
  static State& NewState() {
    static std::mutex mutex;
    static auto* const states = new std::list<State>;
    const std::lock_guard lock(mutex);
    return states->emplace_back();
  }
  static void Run(void* pointer) {
    auto* const state = static_cast<State*>(pointer);
    std::unique_lock lock(state->mutex);
    state->started = true;
    state->changed.notify_all();
    state->changed.wait(lock, [state] { return state->released; });
  }

  State& state_ = NewState();
};

// A host function that counts its calls.
class Counter {
 public:
  aclError Launch(aclrtStream stream) { return aclrtLaunchHostFunc(stream, &Counter::Run, this); }
  static void Run(void* self) { ++static_cast<Counter*>(self)->count_; }
  int count() const { return count_; }

 private:
  std::atomic<int> count_{0};
};

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    NewestMessage();
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    }
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }

  aclrtStream stream_ = nullptr;
};

// An event that is destroyed with the test.
class EventHandle {
 public:
  EventHandle() { EXPECT_EQ(aclrtCreateEvent(&event_), ACL_SUCCESS); }
  ~EventHandle() { aclrtDestroyEvent(event_); }
  EventHandle(const EventHandle&) = delete;
  EventHandle& operator=(const EventHandle&) = delete;
  aclrtEvent get() const { return event_; }

 private:
  aclrtEvent event_ = nullptr;
};

// One more stream of the current context.
class StreamHandle {
 public:
  StreamHandle() { EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS); }
  ~StreamHandle() { aclrtDestroyStream(stream_); }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  aclrtStream get() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_RUNTIME_FIXTURE_H_
