// The table of devices with their contexts. Creates and ends contexts and streams.
#include "runtime/context.h"

#include <mutex>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/per_thread.h"
#include "runtime/callback.h"
#include "runtime/capture_rules.h"
#include "runtime/device_number.h"
#include "runtime/error.h"
#include "runtime/event.h"
#include "runtime/memory.h"

namespace portacl::runtime {
namespace {

struct Device {
  int32_t set_count = 0;
  std::shared_ptr<Context> primary;
  int32_t ending = 0;      // calls that close contexts now: work of these contexts may use memory
  uint64_t abandoned = 0;  // the newest allocation of contexts that resets have closed
};

struct Runtime {
  // Guards `devices` and the creation and end of contexts. Never held during a wait for work.
  base::ForkSafe<std::mutex> mutex{base::LockRank::kRuntime};
  std::vector<Device> devices;
  base::HandleTable<Context> contexts;  // with primary contexts
  base::HandleTable<Stream> streams;    // without default streams, which have no handles
  std::atomic<int32_t> next_stream_id{0};
  // Increases in the child of a fork(), which starts without contexts of its own.
  std::atomic<uint32_t> process{0};
};

constinit base::Immortal<Runtime> the_runtime;

// Runs in a child of fork(). The parent's contexts stay in the tables, so none is destroyed.
void StartAfreshInChild() {
  Runtime& runtime = *the_runtime.Find();
  runtime.process.fetch_add(1, std::memory_order_relaxed);
  for (Device& device : runtime.devices) device = Device();
}

Runtime& TheRuntime() {
  return the_runtime.Get([] {
    auto made = std::make_unique<Runtime>();
    made->devices.resize(static_cast<size_t>(DevicesOfEnvironment()));
    base::RunInForkedChildren(&StartAfreshInChild);
    return made.release();
  });
}

bool IsOfThisProcess(const Context& context) { return context.process == ProcessNumber(); }

Device& DeviceOf(int32_t id) { return TheRuntime().devices[static_cast<size_t>(id)]; }

using ThreadContext = base::PerThread<std::shared_ptr<Context>>;

// Finds the calling thread's pointer to its current context, in order to change it.
base::Status FindThreadContext(std::shared_ptr<Context>** current) {
  *current = ThreadContext::Get();
  if (*current != nullptr) return {};
  return Error(ACL_ERROR_BAD_ALLOC, "no memory for this thread's current context");
}

std::shared_ptr<Stream> MakeStream(const Context* context) {
  const int32_t id = TheRuntime().next_stream_id.fetch_add(1, std::memory_order_relaxed);
  return std::make_shared<Stream>(context, context->device, id);
}

std::shared_ptr<Context> MakeContext(int32_t device, bool primary) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->primary = primary;
  context->process = ProcessNumber();
  context->default_stream = MakeStream(context.get());
  TheRuntime().contexts.Add(context);
  return context;
}

std::vector<std::shared_ptr<Context>> ContextsOf(int32_t device) {
  std::vector<std::shared_ptr<Context>> found;
  for (auto& context : TheRuntime().contexts.Snapshot()) {
    if (context->device == device && IsOfThisProcess(*context)) found.push_back(std::move(context));
  }
  return found;
}

// Returns the streams of a context, its default stream first.
std::vector<std::shared_ptr<Stream>> StreamsOf(const Context& context) {
  std::vector<std::shared_ptr<Stream>> found{context.default_stream};
  for (auto& stream : TheRuntime().streams.Snapshot()) {
    if (stream->context() == &context) found.push_back(std::move(stream));
  }
  return found;
}

base::Status CloseStream(const std::shared_ptr<Stream>& stream, bool drop) {
  PORTACL_RETURN_IF_ERROR(stream->Close(drop));
  Unsubscribe(stream.get(), drop);
  return {};
}

// A task must not end a context, because this waits for the context's tasks.
base::Status RefuseInTask() {
  if (!Stream::InTask()) return {};
  return InvalidParam("called from a task of a stream, which may not end a context or device");
}

// Ends a context that was taken from the table and marked dead, so nothing is added to it. Events
// end last, because streams of other contexts may wait for them. Allocates nothing, because it must
// not fail once it has begun.
base::Status CloseContext(const Context& context, bool drop) {
  base::Status first = CloseStream(context.default_stream, drop);
  const auto ours = [&](const Stream& stream) { return stream.context() == &context; };
  while (const auto stream = TheRuntime().streams.TakeOne(ours)) {
    base::Status status = CloseStream(stream, drop);
    if (first.ok()) first = std::move(status);
  }
  DropEventsOf(&context);
  return first;
}

bool InUse(int32_t device) {
  return TheRuntime().contexts.HasOne([device](const Context& context) {
    return context.device == device && IsOfThisProcess(context);
  });
}

// Takes a context out of the table. Returns false if another thread did it before. The caller holds
// the runtime's lock.
bool Retire(const std::shared_ptr<Context>& context) {
  if (TheRuntime().contexts.Take(context.get()) == nullptr) return false;
  context->alive.store(false, std::memory_order_release);
  return true;
}

// Exists while retired contexts are closed. The last such object frees the memory of the contexts
// that resets have closed, because until then work of other closing contexts may use it.
class Ending {
 public:
  // The caller holds the runtime's lock now, and must release it before the destructor runs.
  Ending(int32_t device, bool reset) : device_(device), reset_(reset) { ++DeviceOf(device).ending; }
  ~Ending() {
    std::unique_lock lock(TheRuntime().mutex);
    Device& entry = DeviceOf(device_);
    if (reset_ && !InUse(device_)) entry.abandoned = NewestAllocation();
    if (--entry.ending > 0) return;
    const uint64_t abandoned = std::exchange(entry.abandoned, 0);
    lock.unlock();
    if (abandoned > 0) FreeDeviceMemory(device_, abandoned);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  const int32_t device_;
  const bool reset_;
};

}  // namespace

uint32_t ProcessNumber() { return TheRuntime().process.load(std::memory_order_relaxed); }

int32_t DeviceCount() { return static_cast<int32_t>(TheRuntime().devices.size()); }

base::Status CheckDevice(int32_t device) {
  if (device >= 0 && device < DeviceCount()) return {};
  return Error(ACL_ERROR_RT_INVALID_DEVICEID,
               "deviceId is {}; wanted 0 to {} (PORTACL_DEVICES sets the number of devices)",
               device, DeviceCount() - 1);
}

base::Status SetDevice(int32_t device) {
  PORTACL_RETURN_IF_ERROR(CheckDevice(device));
  std::shared_ptr<Context>* current = nullptr;
  PORTACL_RETURN_IF_ERROR(FindThreadContext(&current));
  const std::lock_guard lock(TheRuntime().mutex);
  Device& entry = DeviceOf(device);
  if (entry.primary == nullptr) entry.primary = MakeContext(device, /*primary=*/true);
  ++entry.set_count;
  *current = entry.primary;
  return {};
}

base::Status ResetDevice(int32_t device) {
  PORTACL_RETURN_IF_ERROR(RefuseInTask());
  PORTACL_RETURN_IF_ERROR(CheckDevice(device));
  std::unique_lock lock(TheRuntime().mutex);
  Device& entry = DeviceOf(device);
  if (entry.set_count == 0 && !InUse(device)) {
    return Error(ACL_ERROR_RT_CONTEXT_NULL,
                 "device {} is not in use: aclrtSetDevice was not called, or it was reset before",
                 device);
  }
  if (entry.set_count > 0 && --entry.set_count > 0) return {};
  const std::shared_ptr<Context> primary = std::exchange(entry.primary, nullptr);
  const bool retired = primary != nullptr && Retire(primary);
  const Ending ending(device, /*reset=*/true);
  lock.unlock();
  return retired ? CloseContext(*primary, /*drop=*/false) : base::Status();
}

base::Status ResetDeviceForce(int32_t device) {
  PORTACL_RETURN_IF_ERROR(RefuseInTask());
  PORTACL_RETURN_IF_ERROR(CheckDevice(device));
  std::unique_lock lock(TheRuntime().mutex);
  Device& entry = DeviceOf(device);
  const auto contexts = ContextsOf(device);  // may throw; nothing has changed yet
  entry.set_count = 0;
  entry.primary = nullptr;
  for (const auto& context : contexts) Retire(context);
  entry.abandoned = NewestAllocation();  // from here on other threads may make contexts
  const Ending ending(device, /*reset=*/true);
  lock.unlock();
  base::Status first;
  for (const auto& context : contexts) {
    base::Status status = CloseContext(*context, /*drop=*/true);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

bool HasPrimaryContext(int32_t device) {
  const std::lock_guard lock(TheRuntime().mutex);
  return DeviceOf(device).primary != nullptr;
}

base::Status AbortDevice(int32_t device) {
  PORTACL_RETURN_IF_ERROR(CheckDevice(device));
  base::Status first;
  for (const auto& context : ContextsOf(device)) {
    for (const auto& stream : StreamsOf(*context)) {
      base::Status status = stream->Abort();
      if (first.ok()) first = std::move(status);
    }
  }
  return first;
}

base::Status CreateContext(int32_t device, void** handle) {
  if (handle == nullptr) return InvalidParam("context is null");
  PORTACL_RETURN_IF_ERROR(CheckDevice(device));
  std::shared_ptr<Context>* current = nullptr;
  PORTACL_RETURN_IF_ERROR(FindThreadContext(&current));
  const std::lock_guard lock(TheRuntime().mutex);
  *current = MakeContext(device, /*primary=*/false);
  *handle = current->get();
  return {};
}

base::Status DestroyContext(void* handle) {
  PORTACL_RETURN_IF_ERROR(RefuseInTask());
  const std::shared_ptr<Context> context = TheRuntime().contexts.Find(handle);
  if (context == nullptr || !IsOfThisProcess(*context)) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE, "context {} is not a live context", handle);
  }
  if (context->primary) {
    return InvalidParam(
        "context {} is the default context of device {}, which aclrtResetDevice ends", handle,
        context->device);
  }
  std::unique_lock lock(TheRuntime().mutex);
  if (!Retire(context)) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE, "context {} is being destroyed by another thread",
                 handle);
  }
  const Ending ending(context->device, /*reset=*/false);
  lock.unlock();
  return CloseContext(*context, /*drop=*/false);
}

base::Status SetCurrentContext(void* handle) {
  std::shared_ptr<Context> context = TheRuntime().contexts.Find(handle);
  if (context == nullptr || !IsOfThisProcess(*context)) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE, "context {} is not a live context", handle);
  }
  std::shared_ptr<Context>* current = nullptr;
  PORTACL_RETURN_IF_ERROR(FindThreadContext(&current));
  *current = std::move(context);
  return {};
}

base::Status CurrentContext(Context** context) {
  const std::shared_ptr<Context>* const current = ThreadContext::Find();
  Context* const found = current == nullptr ? nullptr : current->get();
  if (found == nullptr) {
    return Error(ACL_ERROR_RT_CONTEXT_NULL,
                 "this thread has no current context: call aclrtSetDevice or "
                 "aclrtSetCurrentContext on it first");
  }
  if (!found->alive.load(std::memory_order_acquire)) {
    return Error(ACL_ERROR_RT_CONTEXT_NULL,
                 "this thread's current context on device {} was destroyed or its device was reset",
                 found->device);
  }
  if (!IsOfThisProcess(*found)) {
    return Error(ACL_ERROR_RT_CONTEXT_NULL,
                 "this thread's current context was made before fork(): call aclrtSetDevice again");
  }
  *context = found;
  return {};
}

base::Status FindStream(void* handle, std::shared_ptr<Stream>* stream) {
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  if (handle == nullptr) {
    *stream = context->default_stream;
    return {};
  }
  *stream = TheRuntime().streams.Find(handle);
  if (*stream == nullptr) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE,
                 "stream {} is not a live stream: never created, or destroyed already", handle);
  }
  if ((*stream)->context() != context) {
    return Error(ACL_ERROR_RT_STREAM_CONTEXT,
                 "stream {} belongs to another context (device {}) than this thread's current one "
                 "(device {})",
                 handle, (*stream)->device(), context->device);
  }
  return {};
}

base::Status CreateStream(void** handle) {
  if (handle == nullptr) return InvalidParam("stream is null, it receives the new stream");
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  const std::shared_ptr<Stream> stream = MakeStream(context);
  TheRuntime().streams.Add(stream);
  // A context that died meanwhile may not have seen the new stream when it closed its streams.
  if (!context->alive.load(std::memory_order_acquire)) {
    TheRuntime().streams.Take(stream.get());
    return Error(ACL_ERROR_RT_CONTEXT_NULL, "this thread's current context was just destroyed");
  }
  *handle = stream.get();
  return {};
}

base::Status DestroyStream(void* handle, bool drop) {
  if (handle == nullptr) {
    return InvalidParam("stream is null: the default stream belongs to its context");
  }
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (!drop) PORTACL_RETURN_IF_ERROR(stream->RefuseWhileRecording());
  PORTACL_RETURN_IF_ERROR(stream->RefuseFromOwnTask());
  if (TheRuntime().streams.Take(handle) == nullptr) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE, "stream {} is being destroyed by another thread",
                 handle);
  }
  return CloseStream(stream, drop);
}

base::Status SynchronizeDevice(SteadyTime deadline) {
  Context* current = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&current));
  PORTACL_RETURN_IF_ERROR(RefuseUnsafeCall());
  base::Status first;
  for (const auto& context : ContextsOf(current->device)) {
    for (const auto& stream : StreamsOf(*context)) {
      if (stream->recorder() != nullptr) continue;  // the mode allows it: nothing on it runs
      base::Status status = stream->Synchronize(deadline, ACL_ERROR_RT_WAIT_TIMEOUT);
      if (first.ok()) first = std::move(status);
    }
  }
  return first;
}

void DemandAllStreams() {
  for (const auto& context : TheRuntime().contexts.Snapshot()) {
    if (!IsOfThisProcess(*context)) continue;
    for (const auto& stream : StreamsOf(*context)) stream->DemandAll();
  }
}

size_t CountUserStreams() { return TheRuntime().streams.size(); }

size_t CountUserContexts() {
  size_t count = 0;
  for (const auto& context : TheRuntime().contexts.Snapshot()) count += context->primary ? 0 : 1;
  return count;
}

}  // namespace portacl::runtime
