// Sequences of calls of the C API by 1 to 16 threads: operators through every API, with bits that
// must not depend on other threads; operators with wrong arguments; streams, events, contexts and
// graphs with handles that all threads share, also destroyed handles.
//
// An input is the number of threads, then one slice of steps for each: a byte that names the step
// and the bytes that it takes.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "campaign/case.h"
#include "campaign/entries.h"
#include "fuzz/spoiled_calls.h"
#include "portacl/portacl.h"
#include "support/api/compare.h"
#include "support/api/native.h"

namespace portacl_fuzz {
namespace {

using portacl_test::CampaignCase;
using portacl_test::Entry;
using portacl_test::Outcome;

constexpr size_t kMostThreads = 16;
constexpr size_t kMostSteps = 64;  // of a thread: longer inputs find nothing that these do not
constexpr uint64_t kCampaign = 1;  // the campaign; cases are taken by their number
constexpr size_t kBufferBytes = 4096;
using Slot = std::atomic<void*>;

void Count(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

// What the threads of one input share. Its memory outlives all work on it.
struct World {
  std::array<Slot, 4> streams{};
  std::array<Slot, 4> events{};
  std::array<Slot, 2> contexts{};
  std::array<Slot, 2> graphs{};
  std::array<std::array<char, kBufferBytes>, kMostThreads> buffers{};
  std::atomic<int> counter{0};
};

// One thread's steps.
class Player {
 public:
  Player(World* world, size_t thread, Script script)
      : world_(*world), buffer_(world->buffers[thread]), script_(script) {}

  void Play() {
    aclrtSetDevice(0);
    aclrtCreateStream(&own_stream_);
    for (size_t i = 0; i < kMostSteps && !script_.ended(); ++i) Step();
    aclrtSetDevice(0);
    aclrtSynchronizeStream(own_stream_);
    aclrtDestroyStream(own_stream_);
    End();
  }

 private:
  void Step() {
    switch (script_.Below(8)) {
      case 0:
        return RunCase();
      case 1:
        aclrtSetDevice(0);
        return RunSpoiledCall(&script_, own_stream_);
      case 2:
        return UseStream();
      case 3:
        return UseEvent();
      case 4:
        return UseContext();
      case 5:
        return UseGraph();
      case 6:
        return UseMemory();
      default:
        return UseSettings();
    }
  }

  // Every entry gives the bits that the native one gives, whatever else goes on.
  void RunCase() {
    const auto entry = static_cast<Entry>(script_.Below(3));
    const CampaignCase c = portacl_test::DrawCase(kCampaign, script_.Word());
    if (c.overlaps || !CanExpress(entry, c)) return;
    aclrtSetDevice(0);
    const Outcome got = RunEntry(entry, c, own_stream_);
    const Outcome want = RunEntry(Entry::kNative, c, nullptr);
    if (want.code == PORTACL_ERROR_NO_KERNEL) return;  // another thread asked for one that cannot
    if (want.code != PORTACL_OK)
      std::fprintf(stderr, "%s\n%s\n", c.Describe().c_str(), want.message.c_str());
    Require(want.code == PORTACL_OK, "a good call is accepted");
    if (got.code != PORTACL_OK) return;  // the two-phase API has limits of its own
    for (size_t i = 0; i < want.outputs.size(); ++i) {
      Require(BitIdentical(got.outputs[i], want.outputs[i]), "every entry gives the same bits");
      Require(got.outputs[i].GuardsIntact(), "nothing beside an output is written");
    }
  }

  void UseStream() {
    void* const stream = Pick(world_.streams);
    aclrtStreamStatus status;
    switch (script_.Below(7)) {
      case 0:
        return Put(world_.streams, [](void** made) { aclrtCreateStream(made); });
      case 1:
        aclrtDestroyStream(stream);
        return;
      case 2:
        aclrtSynchronizeStream(stream);
        return;
      case 3:
        aclrtStreamQuery(stream, &status);
        return;
      case 4:
        aclrtStreamAbort(stream);
        return;
      case 5:
        aclrtLaunchHostFunc(stream, Count, &world_.counter);
        return;
      default:
        aclrtMemsetAsync(buffer_.data(), kBufferBytes, script_.Byte(), script_.Word() % 5000,
                         stream);
    }
  }

  void UseEvent() {
    void* const event = Pick(world_.events);
    aclrtEventRecordedStatus status;
    float time = 0;
    switch (script_.Below(7)) {
      case 0:
        return Put(world_.events, [](void** made) { aclrtCreateEvent(made); });
      case 1:
        aclrtDestroyEvent(event);
        return;
      case 2:
        aclrtRecordEvent(event, Pick(world_.streams));
        return;
      case 3:
        aclrtStreamWaitEvent(Pick(world_.streams), event);
        return;
      case 4:
        aclrtSynchronizeEventWithTimeout(event, 10);
        return;
      case 5:
        aclrtQueryEventStatus(event, &status);
        return;
      default:
        aclrtEventElapsedTime(&time, event, Pick(world_.events));
    }
  }

  void UseContext() {
    switch (script_.Below(5)) {
      case 0: {
        const auto device = static_cast<int32_t>(script_.Below(3));
        return Put(world_.contexts, [=](void** made) { aclrtCreateContext(made, device); });
      }
      case 1:
        aclrtDestroyContext(Pick(world_.contexts));
        return;
      case 2:
        aclrtSetCurrentContext(Pick(world_.contexts));
        return;
      case 3:
        aclrtSetDevice(static_cast<int32_t>(script_.Below(3)));
        return;
      default:
        aclrtResetDevice(1);
    }
  }

  void UseGraph() {
    void* const stream = Pick(world_.streams);
    switch (script_.Below(4)) {
      case 0:
        aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
        return;
      case 1:
        return Put(world_.graphs, [=](void** made) { aclmdlRICaptureEnd(stream, made); });
      case 2:
        aclmdlRIExecuteAsync(Pick(world_.graphs), stream);
        return;
      default:
        aclmdlRIDestroy(Pick(world_.graphs));
    }
  }

  void UseMemory() {
    const size_t size = script_.Word();
    void* memory = nullptr;
    const bool host = script_.Below(2) == 0;
    if ((host ? aclrtMallocHost(&memory, size)
              : aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST)) != ACL_SUCCESS) {
      return;
    }
    aclrtMemset(memory, size, script_.Byte(), script_.Word());
    aclrtMemcpy(buffer_.data(), kBufferBytes, memory, std::min<size_t>(size, script_.Word()),
                ACL_MEMCPY_DEVICE_TO_HOST);
    if (host) {
      aclrtFreeHost(memory);
    } else {
      aclrtFree(memory);
    }
  }

  void UseSettings() {
    static const std::vector<std::string> impls = portacl_test::AvailableImpls();
    switch (script_.Below(4)) {
      case 0:
        portaclSetNumThreads(static_cast<int32_t>(script_.Below(9)) - 1);
        return;
      case 1:
        portaclSetImpl(script_.Below(2) == 0 ? nullptr
                                             : impls[script_.Below(impls.size())].c_str());
        return;
      case 2:
        aclGetRecentErrMsg();
        return;
      default:
        aclrtSynchronizeDevice();
    }
  }

  template <size_t kCount>
  void* Pick(std::array<Slot, kCount>& slots) {
    return slots[script_.Below(kCount)].load();
  }
  // A slot's older handle stays alive until the thread that made it ends.
  template <size_t kCount, class Make>
  void Put(std::array<Slot, kCount>& slots, const Make& make) {
    void* made = nullptr;
    make(&made);
    if (made == nullptr) return;
    (&slots == static_cast<void*>(&world_.events) ? events_ : others_).push_back(made);
    slots[script_.Below(kCount)] = made;
  }

  // Handles that another thread has destroyed, or that are of another kind, are refused.
  void End() {
    for (void* const handle : others_) {
      aclrtDestroyStream(handle);
      aclmdlRIDestroy(handle);
      aclrtDestroyContext(handle);
    }
    for (void* const handle : events_) aclrtDestroyEvent(handle);
  }

  World& world_;
  std::array<char, kBufferBytes>& buffer_;
  Script script_;
  aclrtStream own_stream_ = nullptr;
  std::vector<void*> events_, others_;
};

void PlayAll(World* world, Bytes input) {
  const size_t threads = input[0] % kMostThreads + 1;
  const Bytes steps = input.subspan(1);
  const size_t share = steps.size() / threads;
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i) {
    others.emplace_back([=] { Player(world, i, Script(steps.subspan(i * share, share))).Play(); });
  }
  Player(world, 0, Script(steps.first(share))).Play();
  for (std::thread& thread : others) thread.join();
}

// Before the library reads it.
bool SetTwoDevices() {
  setenv("PORTACL_DEVICES", "2", 1);
  return portaclSetProfile("open") == PORTACL_OK;
}

}  // namespace
}  // namespace portacl_fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool ready = portacl_fuzz::SetTwoDevices();
  if (!ready || size == 0) return -1;
  portacl_fuzz::World world;
  portacl_fuzz::PlayAll(&world, {data, size});
  aclrtSetDevice(1);
  aclrtSynchronizeDevice();
  aclrtSetDevice(0);
  aclrtSynchronizeDevice();
  portaclSetImpl(nullptr);
  portaclSetNumThreads(0);
  return 0;
}
