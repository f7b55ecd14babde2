// Events: created, recorded, waited for, reset, timed and destroyed.
#include "runtime/event.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "acl/acl_rt.h"
#include "base/handle_table.h"
#include "runtime/capture.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/observers.h"
#include "runtime/order.h"
#include "runtime/trace.h"

namespace portacl::runtime {
namespace {

// ACL_EVENT_IPC is accepted: such an event works here, but its handle cannot be exported.
constexpr uint32_t kAllFlags =
    ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE | ACL_EVENT_IPC;

// Returns a number that no other event of this process has.
uint64_t NextEventNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

struct Event {
  const uint64_t number = NextEventNumber();
  const Context* context = nullptr;  // only compared
  uint32_t process = 0;              // see ProcessNumber()
  uint32_t flags = 0;
  // Each enqueued wait holds one reference, so use_count() - 1 streams wait.
  std::shared_ptr<const char> waits = std::make_shared<const char>();

  std::shared_ptr<Gate> latest() {
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  // Makes `gate` the latest record. Returns the previous record.
  std::shared_ptr<Gate> Replace(std::shared_ptr<Gate> gate) {
    const std::lock_guard lock(mutex_);
    return std::exchange(latest_, std::move(gate));
  }
  // The record in a capture. It counts only while the capture goes on.
  std::shared_ptr<const CapturedRecord> captured() {
    const std::lock_guard lock(mutex_);
    return captured_;
  }
  void set_captured(std::shared_ptr<const CapturedRecord> record) {
    const std::lock_guard lock(mutex_);
    captured_ = std::move(record);
  }
  void Forget(const std::shared_ptr<Gate>& gate) { Restore(gate, nullptr); }
  // Undoes Replace(gate), unless there is a newer record.
  void Restore(const std::shared_ptr<Gate>& gate, std::shared_ptr<Gate> before) {
    const std::lock_guard lock(mutex_);
    if (latest_ == gate) latest_ = std::move(before);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Gate> latest_;  // the latest record, or null
  std::shared_ptr<const CapturedRecord> captured_;
};

// A record that is being enqueued. If this fails by a status or an exception, the event gets its
// previous record back. Threads that already wait for the new record go on.
class NewRecord {
 public:
  NewRecord(Event& event, std::shared_ptr<Gate> gate)
      : event_(event), gate_(std::move(gate)), before_(event_.Replace(gate_)) {}
  ~NewRecord() {
    if (enqueued_) return;
    event_.Restore(gate_, std::move(before_));
    gate_->Open();
  }
  NewRecord(const NewRecord&) = delete;
  NewRecord& operator=(const NewRecord&) = delete;
  void Enqueued() { enqueued_ = true; }

 private:
  Event& event_;
  const std::shared_ptr<Gate> gate_;
  std::shared_ptr<Gate> before_;
  bool enqueued_ = false;
};

constinit base::Immortal<base::HandleTable<Event>> the_events;

base::HandleTable<Event>& Events() { return the_events.Get(); }

base::Status FindEvent(void* handle, std::shared_ptr<Event>* event,
                       std::string_view name = "event") {
  *event = Events().Find(handle);
  if (*event != nullptr && (*event)->process != ProcessNumber()) {
    event->reset();
    return Error(ACL_ERROR_RT_INVALID_HANDLE, "{} {} was made before fork(): make a new one", name,
                 handle);
  }
  if (*event != nullptr) return {};
  return Error(ACL_ERROR_RT_INVALID_HANDLE,
               "{} {} is not a live event: never created, or destroyed already", name, handle);
}

// Finds an event, and a stream of the current context.
base::Status FindBoth(void* event_handle, void* stream_handle, std::shared_ptr<Event>* event,
                      std::shared_ptr<Stream>* stream) {
  PORTACL_RETURN_IF_ERROR(FindStream(stream_handle, stream));
  return FindEvent(event_handle, event);
}

void NameOnTimeline(const Event& event, Work& work) {
  if (TraceEnabled()) work.detail = fmt::format("event {}", event.number);
}

// Refuses the host's questions about a record in a capture, because it never completes.
base::Status RefuseCaptured(Event& event, std::string_view name = "event") {
  if (!IsCapturing(event.captured())) return {};
  return Error(ACL_ERROR_RT_EVENT_CAPTURED,
               "{} was recorded on a captured stream, where nothing runs before the capture ends",
               name);
}

base::Status CompleteGate(const std::shared_ptr<Event>& event, std::string_view name,
                          std::shared_ptr<Gate>* gate) {
  PORTACL_RETURN_IF_ERROR(RefuseCaptured(*event, name));
  if ((event->flags & ACL_EVENT_TIME_LINE) == 0) {
    return InvalidParam("{} was created without ACL_EVENT_TIME_LINE and has no time", name);
  }
  *gate = event->latest();
  if (*gate == nullptr) return InvalidParam("{} was never recorded, or was reset", name);
  if (!(*gate)->is_open()) {
    return InvalidParam("{} is not complete yet: synchronise with it first", name);
  }
  return {};
}

}  // namespace

base::Status CreateEvent(uint32_t flags, void** handle) {
  if (handle == nullptr) return InvalidParam("event is null, it receives the new event");
  if ((flags & ~kAllFlags) == ACL_EVENT_EXTERNAL) {
    return Error(ACL_ERROR_API_NOT_SUPPORT,
                 "not supported by portacl: flag {:#x} asks for an event that captures share",
                 flags);
  }
  if (flags == 0 || (flags & ~kAllFlags) != 0) {
    return InvalidParam(
        "flag is {:#x}, wanted one or several of ACL_EVENT_SYNC (1), "
        "ACL_EVENT_CAPTURE_STREAM_PROGRESS (2), ACL_EVENT_TIME_LINE (8), ACL_EVENT_IPC (0x40)",
        flags);
  }
  Context* context = nullptr;
  PORTACL_RETURN_IF_ERROR(CurrentContext(&context));
  auto event = std::make_shared<Event>();
  event->context = context;
  event->process = ProcessNumber();
  event->flags = flags;
  Event* const added = Events().Add(std::move(event));
  if (!context->alive.load(std::memory_order_acquire)) {  // as in CreateStream
    Events().Take(added);
    return Error(ACL_ERROR_RT_CONTEXT_NULL, "this thread's current context was just destroyed");
  }
  *handle = added;
  return {};
}

base::Status DestroyEvent(void* handle) {
  if (Events().Take(handle) != nullptr) return {};
  return Error(ACL_ERROR_RT_INVALID_HANDLE,
               "event {} is not a live event: never created, or destroyed already", handle);
}

base::Status RecordEvent(void* handle, void* stream_handle) {
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindBoth(handle, stream_handle, &event, &stream));
  std::shared_ptr<const CapturedRecord> captured;
  PORTACL_RETURN_IF_ERROR(RecordInCapture(*stream, &captured));
  if (captured != nullptr) {
    event->set_captured(captured);
    return {};
  }
  Task task;
  task.work.name = "event record";
  task.work.category = "event";
  NameOnTimeline(*event, task.work);
  task.work.small = true;
  task.opens = std::make_shared<Gate>();
  if (LazyEnabled()) task.opens->SetOrder(ClockOf(*stream));
  NewRecord record(*event, task.opens);
  PORTACL_RETURN_IF_ERROR(stream->Enqueue(std::move(task)));
  record.Enqueued();
  event->set_captured(nullptr);
  return {};
}

base::Status StreamWaitEvent(void* stream_handle, void* handle) {
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindBoth(handle, stream_handle, &event, &stream));
  const std::shared_ptr<const CapturedRecord> captured = event->captured();
  if (IsCapturing(captured) || stream->recorder() != nullptr) {
    return WaitInCapture(stream, captured);
  }
  std::shared_ptr<Gate> gate = event->latest();
  if (gate != nullptr && LazyEnabled()) NoteWait(*stream, gate->order());
  if (gate == nullptr || gate->is_open()) return {};
  Task task;
  task.work.name = "event wait";
  task.work.category = "event";
  NameOnTimeline(*event, task.work);
  task.after = std::move(gate);
  task.held = event->waits;
  return stream->Enqueue(std::move(task));
}

base::Status ResetEvent(void* handle, void* stream_handle) {
  std::shared_ptr<Event> event;
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindBoth(handle, stream_handle, &event, &stream));
  if (stream->recorder() != nullptr) {
    event->set_captured(nullptr);
    return {};
  }
  Task task;
  task.work.name = "event reset";
  task.work.category = "event";
  NameOnTimeline(*event, task.work);
  task.work.small = true;
  task.work.run = [event, gate = event->latest()] {
    event->Forget(gate);
    return base::Status();
  };
  return stream->Enqueue(std::move(task));
}

base::Status QueryEventRecorded(void* handle, bool* complete) {
  std::shared_ptr<Event> event;
  PORTACL_RETURN_IF_ERROR(FindEvent(handle, &event));
  PORTACL_RETURN_IF_ERROR(RefuseCaptured(*event));
  const std::shared_ptr<Gate> gate = event->latest();
  *complete = gate != nullptr && gate->is_open();
  if (*complete && LazyEnabled()) NoteSynchronized(gate->order());
  if (gate != nullptr && !*complete) gate->Demand();
  return {};
}

base::Status QueryEventWaited(void* handle, bool* complete) {
  std::shared_ptr<Event> event;
  PORTACL_RETURN_IF_ERROR(FindEvent(handle, &event));
  *complete = event->waits.use_count() == 1;
  if (!*complete && LazyEnabled()) DemandAllStreams();  // the event does not know which work waits
  return {};
}

base::Status SynchronizeEvent(void* handle, SteadyTime deadline) {
  std::shared_ptr<Event> event;
  PORTACL_RETURN_IF_ERROR(FindEvent(handle, &event));
  PORTACL_RETURN_IF_ERROR(RefuseCaptured(*event));
  const std::shared_ptr<Gate> gate = event->latest();
  if (gate == nullptr) return {};
  if (gate->WaitUntil(deadline)) {
    if (LazyEnabled()) NoteSynchronized(gate->order());
    return {};
  }
  return Error(ACL_ERROR_RT_WAIT_TIMEOUT, "event {} is not complete after the timeout", handle);
}

base::Status EventElapsedTime(void* start, void* end, float* milliseconds) {
  if (milliseconds == nullptr) return InvalidParam("ms is null, it receives the time");
  std::shared_ptr<Event> first;
  std::shared_ptr<Event> last;
  PORTACL_RETURN_IF_ERROR(FindEvent(start, &first, "startEvent"));
  PORTACL_RETURN_IF_ERROR(FindEvent(end, &last, "endEvent"));
  std::shared_ptr<Gate> first_gate;
  std::shared_ptr<Gate> last_gate;
  PORTACL_RETURN_IF_ERROR(CompleteGate(first, "startEvent", &first_gate));
  PORTACL_RETURN_IF_ERROR(CompleteGate(last, "endEvent", &last_gate));
  const std::chrono::duration<double, std::milli> time =
      last_gate->opened_at() - first_gate->opened_at();
  *milliseconds = static_cast<float>(time.count());
  return {};
}

base::Status EventTimestamp(void* handle, uint64_t* microseconds) {
  if (microseconds == nullptr) return InvalidParam("timestamp is null, it receives the time");
  std::shared_ptr<Event> event;
  PORTACL_RETURN_IF_ERROR(FindEvent(handle, &event));
  std::shared_ptr<Gate> gate;
  base::Status status = CompleteGate(event, "event", &gate);
  if (!status.ok()) {
    if (status.code() == ACL_ERROR_RT_EVENT_CAPTURED) return status;
    return Error(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "{}", status.message());
  }
  const auto since_start = gate->opened_at().time_since_epoch();
  *microseconds = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since_start).count());
  return {};
}

void DropEventsOf(const Context* context) {
  base::HandleTable<Event>* const events = the_events.Find();
  if (events == nullptr) return;  // no event was ever made
  while (events->TakeOne([context](const Event& event) { return event.context == context; })) {
  }
}

size_t CountEvents() { return Events().size(); }

}  // namespace portacl::runtime
