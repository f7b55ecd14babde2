// The steps of a thread.
#include "soak/load.h"

#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "faults/injection.h"
#include "portacl/portacl.h"
#include "support/api/compare.h"

namespace portacl_test {
namespace {

std::string Unless(bool good, const std::string& wrong) { return good ? "" : wrong; }

void Count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

}  // namespace

SoakCases::SoakCases(uint64_t seed, size_t count) {
  for (uint64_t number = 0; cases.size() < count; ++number) {
    CampaignCase c = DrawCase(seed, number);
    if (c.overlaps) continue;
    wants.push_back(RunEntry(Entry::kNative, c, nullptr));
    cases.push_back(std::move(c));
  }
}

SoakThread::SoakThread(int thread, uint64_t seed, const SoakCases& cases)
    : thread_(thread), random_(seed + static_cast<uint64_t>(thread)), cases_(cases) {
  aclrtSetDevice(0);
  aclrtCreateStream(&stream_);
}

void SoakThread::End() { aclrtDestroyStream(stream_); }

size_t SoakThread::PickCase() {
  return static_cast<size_t>(random_.Integer(0, static_cast<int64_t>(cases_.cases.size()) - 1));
}

std::string SoakThread::Step() {
  const int64_t kind = random_.Integer(0, 99);
  if (thread_ == 0 && kind < 10) return ResetDevice();
  if (thread_ == 1 && kind == 0) return Fork();
  if (kind < 60) return RunCase();
  if (kind < 75) return RunWithFault();
  if (kind < 82) return AbortStream();
  if (kind < 90) return UseMemory();
  if (kind == 99) {
    const int32_t code = portaclSetNumThreads(static_cast<int32_t>(random_.Integer(0, 4)));
    return Unless(code == PORTACL_OK, "portaclSetNumThreads");
  }
  return UseEvents();
}

std::string SoakThread::Compare(size_t index, const Outcome& got) const {
  const Outcome& want = cases_.wants[index];
  if (got.code != want.code) return "answers " + std::to_string(got.code) + ": " + got.message;
  for (size_t i = 0; i < want.outputs.size(); ++i) {
    if (!BitIdentical(got.outputs[i], want.outputs[i])) return "other bits";
    if (!got.outputs[i].GuardsIntact()) return "memory beside an output is written";
  }
  return "";
}

std::string SoakThread::RunCase() {
  const size_t index = PickCase();
  const CampaignCase& c = cases_.cases[index];
  const auto entry = static_cast<Entry>(random_.Integer(0, 2));
  if (!CanExpress(entry, c)) return "";
  const Outcome got = RunEntry(entry, c, stream_);
  if (entry == Entry::kAclnn && got.code == ACLNN_ERR_PARAM_INVALID) return "";  // its limits
  const std::string wrong = Compare(index, got);
  return wrong.empty() ? wrong : std::string(NameOf(entry)) + " " + c.Describe() + ": " + wrong;
}

// Something runs out in a call: the call says so, and the next call is right.
std::string SoakThread::RunWithFault() {
  const size_t index = PickCase();
  const CampaignCase& c = cases_.cases[index];
  const auto fault = static_cast<Fault>(random_.Integer(0, 2));
  const auto repeat = random_.Coin() ? Repeat::kOnce : Repeat::kForEver;
  Outcome got;
  got.outputs = c.outputs;
  try {
    Injection injection(fault, repeat, random_.Integer(0, 30), Reach::kThread);
    got = RunEntry(Entry::kNative, c, nullptr);
  } catch (const std::bad_alloc&) {  // the test's own allocation was the one
    got.code = PORTACL_ERROR_RUNTIME;
  }
  if (got.code != PORTACL_ERROR_RUNTIME && got.code != cases_.wants[index].code) {
    return std::string("with ") + NameOf(fault) + " missing: answers " + std::to_string(got.code) +
           ": " + got.message;
  }
  const std::string wrong = Compare(index, RunEntry(Entry::kNative, c, nullptr));
  return wrong.empty() ? wrong : "after a fault: " + wrong;
}

std::string SoakThread::AbortStream() {
  static std::atomic<int> counter{0};
  for (int i = 0; i < 4; ++i) {
    if (aclrtLaunchHostFunc(stream_, Count, &counter) != ACL_SUCCESS) return "aclrtLaunchHostFunc";
  }
  if (aclrtStreamAbort(stream_) != ACL_SUCCESS) return "aclrtStreamAbort";
  return Unless(aclrtSynchronizeStream(stream_) == ACL_SUCCESS, "synchronise after an abort");
}

std::string SoakThread::UseMemory() {
  const auto size = static_cast<size_t>(random_.Integer(1, 300000));
  void* device = nullptr;
  void* host = nullptr;
  if (aclrtMalloc(&device, size, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) return "aclrtMalloc";
  if (aclrtMallocHost(&host, size) != ACL_SUCCESS) return "aclrtMallocHost";
  bool good = aclrtMemsetAsync(device, size, thread_, size, stream_) == ACL_SUCCESS;
  good &=
      aclrtMemcpyAsync(host, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST, stream_) == ACL_SUCCESS;
  good &= aclrtSynchronizeStream(stream_) == ACL_SUCCESS;
  for (const size_t at : {size_t{0}, size / 2, size - 1}) {
    good &= static_cast<unsigned char*>(host)[at] == static_cast<unsigned char>(thread_);
  }
  good &= aclrtFree(device) == ACL_SUCCESS;
  good &= aclrtFreeHost(host) == ACL_SUCCESS;
  return Unless(good, "memory: " + std::to_string(size) + " bytes");
}

std::string SoakThread::UseEvents() {
  aclrtEvent event = nullptr;
  aclrtStream other = nullptr;
  bool good = aclrtCreateEvent(&event) == ACL_SUCCESS;
  good &= aclrtCreateStream(&other) == ACL_SUCCESS;
  std::atomic<int> counter{0};
  good &= aclrtLaunchHostFunc(stream_, Count, &counter) == ACL_SUCCESS;
  good &= aclrtRecordEvent(event, stream_) == ACL_SUCCESS;
  good &= aclrtStreamWaitEvent(other, event) == ACL_SUCCESS;
  good &= aclrtLaunchHostFunc(other, Count, &counter) == ACL_SUCCESS;
  good &= aclrtSynchronizeStream(other) == ACL_SUCCESS;
  good &= counter == 2;
  good &= aclrtDestroyEvent(event) == ACL_SUCCESS;
  good &= aclrtDestroyStream(other) == ACL_SUCCESS;
  return Unless(good, "events");
}

// Work on device 1, ended by a reset of the device. The others use device 0.
std::string SoakThread::ResetDevice() {
  bool good = aclrtSetDevice(1) == ACL_SUCCESS;
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  good &= aclrtCreateStream(&stream) == ACL_SUCCESS;
  good &= aclrtMalloc(&memory, 70000, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS;
  good &= aclrtMemsetAsync(memory, 70000, 1, 70000, stream) == ACL_SUCCESS;
  good &= (random_.Coin() ? aclrtResetDevice(1) : aclrtResetDeviceForce(1)) == ACL_SUCCESS;
  good &= aclrtSetDevice(0) == ACL_SUCCESS;
  good &= aclrtResetDevice(0) == ACL_SUCCESS;  // one of several: the others' work goes on
  aclrtContext context = nullptr;
  good &= aclrtGetCurrentContext(&context) == ACL_SUCCESS;
  return Unless(good, "a reset of device 1");
}

// A child made while all threads are inside the library computes the same bits.
std::string SoakThread::Fork() {
  const size_t index = PickCase();
  const pid_t child = fork();
  if (child < 0) return "";  // the system has no room: not ours
  if (child == 0) {
    alarm(60);
    const Outcome got = RunEntry(Entry::kNative, cases_.cases[index], nullptr);
    _exit(Compare(index, got).empty() && aclrtSetDevice(0) == ACL_SUCCESS ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return "waitpid";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return WIFSIGNALED(status) ? "a forked child ended by signal " + std::to_string(WTERMSIG(status))
                             : "a forked child has other bits";
}

}  // namespace portacl_test
