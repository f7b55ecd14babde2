// The runtime's C API in tests: a device with a stream, and tasks that a test holds and lets go.
// Header-only: programs that are linked without the API include tests/support too.
#ifndef PORTACL_TESTS_SUPPORT_API_RUNTIME_FIXTURE_H_
#define PORTACL_TESTS_SUPPORT_API_RUNTIME_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "acl/acl.h"

namespace portacl_test {

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

  aclError Launch(aclrtStream stream) { return aclrtLaunchHostFunc(stream, &Blocker::Run, this); }

  // Returns once the function runs.
  void AwaitStart() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return started_; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  static void Run(void* self_pointer) {
    auto* const self = static_cast<Blocker*>(self_pointer);
    std::unique_lock lock(self->mutex_);
    self->started_ = true;
    self->changed_.notify_all();
    self->changed_.wait(lock, [self] { return self->released_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool released_ = false;
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
