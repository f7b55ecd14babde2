// Programs that order their calls: in lazy mode results are right and nothing is reported. Also
// when work begins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "acl/acl_mdl.h"
#include "acl/acl_rt_stream.h"
#include "aclnnop/aclnn_add.h"
#include "support/api/companion_call.h"
#include "support/api/lazy_program.h"

namespace portacl_test {
namespace {

void ReplayAGraph(Lazy& p) {
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureBegin(p.a, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  p.Set(p.x, 7, p.a);
  p.Copy(p.y, p.x, p.a);
  ASSERT_EQ(aclmdlRICaptureEnd(p.a, &graph), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRIExecuteAsync(graph, p.b), ACL_SUCCESS);
  p.Sync(p.b);
  EXPECT_EQ(p.Value(p.y), 7);
}

// Two streams, each with the left or the right half of an image of 64 columns.
void CopyColumns(Lazy& p) {
  constexpr size_t kWidth = 64;
  p.Set(p.x, 7, p.a);
  p.Set(p.y, 9, p.b);
  const auto copy = [&](char* to, const char* from, aclrtStream stream) {
    EXPECT_EQ(aclrtMemcpy2dAsync(to, kWidth, from, kWidth, kWidth / 2, kBytes / kWidth,
                                 ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
              ACL_SUCCESS);
  };
  copy(p.z, p.x, p.a);
  copy(p.z + kWidth / 2, p.y, p.b);
  p.Sync(p.a);
  p.Sync(p.b);
  EXPECT_EQ(p.Value(p.z + kWidth), 7);
  EXPECT_EQ(p.Value(p.z + kWidth + kWidth / 2), 9);
}

// The number is in y; `wait_first`: the wait is enqueued before the write.
void OrderByANumber(Lazy& p, bool wait_first) {
  p.Set(p.y, 0, p.a);
  p.Sync(p.a);
  const auto write = [&] {
    p.Set(p.x, 7, p.a);
    EXPECT_EQ(aclrtValueWrite(p.y, 5, 0, p.a), ACL_SUCCESS);
  };
  if (!wait_first) write();
  EXPECT_EQ(aclrtValueWait(p.y, 5, ACL_VALUE_WAIT_EQ, p.b), ACL_SUCCESS);
  p.Copy(p.z, p.x, p.b);
  if (wait_first) write();
  p.Sync(p.b);
  EXPECT_EQ(p.Value(p.z), 7);
}

// Its tensor is an input too, which guard mode must not fill. The host byte of 1.0f is 0x3F.
void AddInPlace(Lazy& p) {
  p.Set(p.x, 0, p.a);
  p.Sync(p.a);
  const TensorHandle self = TensorArgs{{2, 2}, ACL_FLOAT, ACL_FORMAT_ND, p.x}.Make();
  const ScalarHandle one = MakeScalar(1);
  EXPECT_EQ(PORTACL_RUN(aclnnInplaceAdds, p.a, self.get(), one.get(), one.get()), 0);
  EXPECT_EQ(p.Value(p.x + 3), 0x3F);
}

// The host asks the event whether the streams that waited for it have gone on.
void AskWhetherAStreamHasWaited(Lazy& p) {
  p.Set(p.x, 7, p.a);
  p.Record(p.a);
  p.Wait(p.b);
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_NOT_READY;
  while (status != ACL_EVENT_WAIT_STATUS_COMPLETE) {
    ASSERT_EQ(aclrtQueryEventWaitStatus(p.event, &status), ACL_SUCCESS);
  }
  p.Sync(p.a);
}

// The host learns from a host function, by its own means, that work is over.
void WaitForAHostFunction(Lazy& p) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
  } state;
  p.Set(p.x, 7, p.a);
  const auto tell = [](void* argument) {
    auto& told = *static_cast<State*>(argument);
    const std::lock_guard lock(told.mutex);
    told.over = true;
    told.changed.notify_all();
  };
  ASSERT_EQ(aclrtLaunchHostFunc(p.a, tell, &state), ACL_SUCCESS);
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.over; });
  EXPECT_EQ(p.Value(p.x), 7);
  lock.unlock();
  p.Sync(p.a);
}

const std::vector<Program>& RightPrograms() {
  static const std::vector<Program> programs = {
      {"AStreamIsSynchronised",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Sync(p.a);
         EXPECT_EQ(p.Value(p.x), 7);
       }},
      {"ACopyToTheHostIsSynchronised",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.ToHost(p.x, p.a);
         p.Sync(p.a);
         EXPECT_EQ(p.host[0], 7);
       }},
      {"AnEventOrdersTwoStreams",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Record(p.a);
         p.Wait(p.b);
         p.Copy(p.y, p.x, p.b);
         p.Sync(p.b);
         EXPECT_EQ(p.Value(p.y), 7);
       }},
      {"AnEventIsSynchronised",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Record(p.a);
         EXPECT_EQ(aclrtSynchronizeEvent(p.event), ACL_SUCCESS);
         EXPECT_EQ(p.Value(p.x), 7);
       }},
      {"OneStreamIsAnOrder",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Copy(p.y, p.x, p.a);
         p.Set(p.x, 9, p.a);
         p.Sync(p.a);
         EXPECT_EQ(p.Value(p.y), 7);
       }},
      {"TheDeviceIsSynchronised",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Set(p.y, 9, p.b);
         EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
         EXPECT_EQ(p.Value(p.x), 7);
         EXPECT_EQ(p.Value(p.y), 9);
       }},
      {"TwoHalvesOfOneAllocation",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a, kBytes / 2);
         p.Set(p.x + kBytes / 2, 9, p.b, kBytes / 2);
         p.Sync(p.a);
         p.Sync(p.b);
         EXPECT_EQ(p.Value(p.x), 7);
         EXPECT_EQ(p.Value(p.x + kBytes / 2), 9);
       }},
      {"TwoStreamsReadOnePlace",
       [](Lazy& p) {
         p.Copy(p.y, p.x, p.a);
         p.Copy(p.z, p.x, p.b);
         p.Sync(p.a);
         p.Sync(p.b);
         EXPECT_EQ(p.Value(p.z), 1);
       }},
      {"ThereAndBack",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Record(p.a);
         p.Wait(p.b);
         p.Copy(p.y, p.x, p.b);
         EXPECT_EQ(aclrtRecordEvent(p.other, p.b), ACL_SUCCESS);
         EXPECT_EQ(aclrtStreamWaitEvent(p.a, p.other), ACL_SUCCESS);
         p.Set(p.x, 9, p.a);
         p.Sync(p.a);
         EXPECT_EQ(p.Value(p.y), 7);
         EXPECT_EQ(p.Value(p.x), 9);
       }},
      {"MemoryIsFreedAfterASynchronise",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Sync(p.a);
         EXPECT_EQ(aclrtFree(p.x), ACL_SUCCESS);
       }},
      {"ADestroyedStreamIsOver",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         EXPECT_EQ(aclrtDestroyStream(p.a), ACL_SUCCESS);
         EXPECT_EQ(p.Value(p.x), 7);
       }},
      {"AQueryIsRepeatedUntilAllIsOver",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
         while (status != ACL_STREAM_STATUS_COMPLETE) {
           ASSERT_EQ(aclrtStreamQuery(p.a, &status), ACL_SUCCESS);
         }
         EXPECT_EQ(p.Value(p.x), 7);
       }},
      {"AHostFunctionTellsTheHost", WaitForAHostFunction},
      {"ThreeStreamsInARow",
       [](Lazy& p) {
         p.Set(p.x, 7, p.a);
         p.Record(p.a);
         p.Wait(p.b);
         EXPECT_EQ(aclrtRecordEvent(p.other, p.b), ACL_SUCCESS);
         EXPECT_EQ(aclrtStreamWaitEvent(p.c, p.other), ACL_SUCCESS);
         p.Copy(p.y, p.x, p.c);
         p.Sync(p.c);
         EXPECT_EQ(p.Value(p.y), 7);
       }},
      {"AnEventIsUsedAgain",
       [](Lazy& p) {
         for (int value = 7; value < 10; ++value) {
           p.Set(p.x, value, p.a);
           p.Record(p.a);
           p.Wait(p.b);
           p.Copy(p.y, p.x, p.b);
           p.Record(p.b);
           p.Wait(p.a);
         }
         p.Sync(p.b);
         EXPECT_EQ(p.Value(p.y), 9);
       }},
      {"AGraphIsReplayed", ReplayAGraph},
      {"TwoStreamsWriteColumnsOfOneImage", CopyColumns},
      {"ANumberIsWaitedFor", [](Lazy& p) { OrderByANumber(p, false); }},
      {"ANumberIsWaitedForBeforeItsWriteIsEnqueued", [](Lazy& p) { OrderByANumber(p, true); }},
      {"AnUpdateInPlace", AddInPlace},
      {"AWaitIsAskedAbout", AskWhetherAStreamHasWaited},
      {"OperatorsOnTwoStreamsWithAnEvent",
       [](Lazy& p) {
         p.Shrink(p.x, p.y, p.a);
         p.Record(p.a);
         p.Wait(p.b);
         p.Copy(p.z, p.y, p.b);
         p.Sync(p.b);
       }},
  };
  return programs;
}

class RightProgramDeathTest : public testing::TestWithParam<Program> {};
INSTANTIATE_TEST_SUITE_P(, RightProgramDeathTest, testing::ValuesIn(RightPrograms()),
                         NameOfProgram);

TEST_P(RightProgramDeathTest, IsRightAndNothingIsReported) {
  const auto nothing = testing::Not(testing::HasSubstr("portacl order"));
  EXPECT_LAZY(GetParam(), "0", nothing);
  EXPECT_LAZY(GetParam(), "1", nothing);
}

TEST(LazyDeathTest, WorkBeginsWhereItIsWaitedForAndNoOther) {
  EXPECT_LAZY((Program{"",
                       [](Lazy& p) {
                         p.ToHost(p.x, p.a);
                         p.host[0] = 99;
                         p.Set(p.y, 7, p.b);
                         p.Sync(p.b);
                         std::this_thread::sleep_for(std::chrono::milliseconds(300));
                         EXPECT_EQ(p.host[0], 99) << "nobody has waited for stream a";
                         EXPECT_EQ(p.Value(p.y), 7);
                         p.Sync(p.a);
                         EXPECT_EQ(p.host[0], 1);
                       }}),
              "0", "the end");
}

}  // namespace
}  // namespace portacl_test
