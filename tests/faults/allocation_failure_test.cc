// Allocation failures that an event shows: rows of *_calls_test.cc cannot look at an event.
#include <gtest/gtest.h>

#include "faults/injection.h"
#include "support/api/child_process.h"
#include "support/api/runtime_fixture.h"

namespace portacl_test {
namespace {

// The code of `call` while its allocation number `n` fails; whether it came to that in *failed.
template <class Call>
int32_t WithFailure(int64_t n, Call&& call, bool* failed) {
  Injection injection(Fault::kMemory, Repeat::kOnce, n);
  const int32_t code = call();
  *failed = injection.End();
  return code;
}

// On an idle stream, and behind work that has not run yet.
void RecordWithFailures() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  for (const bool busy : {false, true}) {
    bool failed = true;
    for (int64_t n = 0; failed; ++n) {
      SCOPED_TRACE(n);
      aclrtEvent event = nullptr;
      ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(event, stream), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
      Blocker blocker;
      if (busy) {
        ASSERT_EQ(blocker.Launch(stream), ACL_SUCCESS);
        blocker.AwaitStart();
      }
      const aclError code = WithFailure(
          n, [&] { return aclrtRecordEvent(event, stream); }, &failed);
      EXPECT_EQ(code, failed ? ACL_ERROR_BAD_ALLOC : ACL_SUCCESS);
      aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
      EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
      ASSERT_EQ(status, busy && !failed ? ACL_EVENT_RECORDED_STATUS_NOT_READY
                                        : ACL_EVENT_RECORDED_STATUS_COMPLETE);
      blocker.Release();
      EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    }
  }
}

TEST(AllocationFailureChild, InARecordLeavesTheEventAsItWas) {
  PORTACL_IN_CHILD({}, RecordWithFailures());
}

// A stream that counted a task which it has not got would never be done.
void WaitWithFailures() {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
  bool failed = true;
  for (int64_t n = -1; failed; ++n) {  // the first wait fails nowhere and makes the threads
    SCOPED_TRACE(n);
    ASSERT_EQ(aclrtRecordEvent(event, other), ACL_SUCCESS);
    const aclError code = WithFailure(
        n, [&] { return aclrtStreamWaitEvent(stream, event); }, &failed);
    EXPECT_EQ(code, failed ? ACL_ERROR_BAD_ALLOC : ACL_SUCCESS);
    failed = failed || n < 0;
    ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 10000), ACL_SUCCESS);
  }
}

TEST(AllocationFailureChild, InAWaitOfLazyModeLeavesNothingToWaitFor) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_LAZY", "1"}}), WaitWithFailures());
}

}  // namespace
}  // namespace portacl_test
