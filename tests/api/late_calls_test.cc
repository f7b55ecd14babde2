// Calls after the end of main, of static objects and of a thread's own objects.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "acl/acl.h"
#include "portacl/portacl.h"
#include "support/api/child_process.h"

namespace portacl_test {
namespace {

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(1);
}

// Uses everything that a thread keeps: its message, its context, its texts.
void UseEveryThreadsOwn() {
  if (aclrtSetDevice(-1) != ACL_ERROR_RT_INVALID_DEVICEID) Fail("a bad device was not refused");
  const char* const message = aclGetRecentErrMsg();
  if (message == nullptr || std::string(message).find("deviceId is -1") == std::string::npos) {
    Fail("the refusal left no message");
  }
  if (aclrtSetDevice(0) != ACL_SUCCESS) Fail("aclrtSetDevice failed");
  aclrtContext context = nullptr;
  if (aclrtGetCurrentContext(&context) != ACL_SUCCESS) Fail("there is no current context");
  if (std::string(portaclGetInfo()).empty()) Fail("portaclGetInfo failed");
  if (*portaclGetImpl() != '\0') Fail("portaclGetImpl failed");
  aclrtStream stream = nullptr;
  if (aclrtCreateStream(&stream) != ACL_SUCCESS) Fail("aclrtCreateStream failed");
  if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) Fail("aclrtSynchronizeStream failed");
  if (aclrtDestroyStream(stream) != ACL_SUCCESS) Fail("aclrtDestroyStream failed");
  if (aclrtResetDevice(0) != ACL_SUCCESS) Fail("aclrtResetDevice failed");
}

struct CallsAtItsEnd {
  ~CallsAtItsEnd() { UseEveryThreadsOwn(); }
};

void EndWithCalls() {
  static const CallsAtItsEnd destroyed_after_the_handler;
  if (std::atexit(UseEveryThreadsOwn) != 0) Fail("atexit failed");
  thread_local const CallsAtItsEnd of_the_main_thread;
  UseEveryThreadsOwn();
}

TEST(LateCallsChild, WorkInAtexitHandlersAndStaticDestructors) {
  PORTACL_IN_CHILD({}, EndWithCalls());
}

TEST(LateCallsChild, WorkInAtexitHandlersWhereNothingWasCalledBefore) {
  PORTACL_IN_CHILD({}, EXPECT_EQ(std::atexit(UseEveryThreadsOwn), 0));
}

TEST(LateCalls, WorkWhileAThreadEnds) {
  for (const bool before : {true, false}) {
    std::thread([before] {
      thread_local const CallsAtItsEnd ended_last;
      if (before) UseEveryThreadsOwn();
      thread_local const CallsAtItsEnd ended_first;
    }).join();
  }
}

}  // namespace
}  // namespace portacl_test
