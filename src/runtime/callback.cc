// Subscriptions of threads to streams, and the queues of callbacks.
#include "runtime/callback.h"

#include <pthread.h>

#include <condition_variable>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/fork.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/observers.h"
#include "runtime/order.h"

namespace portacl::runtime {
namespace {

struct Callback {
  Callback() = default;
  Callback(void (*called)(void*), void* with, const Stream* of, bool waits,
           std::shared_ptr<Gate> gate)
      : function(called),
        user_data(with),
        stream(of),
        stream_waits(waits),
        returned(std::move(gate)) {}
  Callback(Callback&&) = default;
  Callback& operator=(Callback&&) = default;
  // Nobody must wait for a callback that returned, threw, or was dropped after a failed task.
  ~Callback() {
    if (returned != nullptr) returned->Open();
  }

  void (*function)(void*) = nullptr;
  void* user_data = nullptr;
  const Stream* stream = nullptr;  // only compared
  bool stream_waits = false;       // until the callback has returned
  std::shared_ptr<Gate> returned;  // opened when the callback has returned, or will never run
};

// The callbacks for one thread.
struct Inbox {
  std::mutex mutex;
  std::condition_variable arrived;
  std::list<Callback> callbacks;
  int streams = 0;     // number of streams subscribed to this thread
  int32_t device = 0;  // the device of these streams

  bool abandoned() const { return streams == 0 && callbacks.empty(); }
};

struct Subscription {
  Subscription(uint64_t thread_id, std::shared_ptr<Inbox> thread_inbox)
      : thread(thread_id), inbox(std::move(thread_inbox)) {}
  const uint64_t thread;
  const std::shared_ptr<Inbox> inbox;
  bool active = true;  // guarded by the inbox's mutex
};

struct Subscriptions {
  std::mutex mutex;  // taken before any inbox's mutex
  std::unordered_map<uint64_t, std::shared_ptr<Inbox>> by_thread;
  std::unordered_map<const Stream*, std::shared_ptr<Subscription>> by_stream;
};

constinit base::Immortal<Subscriptions> the_subscriptions;

// A child of fork() starts without subscriptions: it has none of the parent's streams.
void ForgetInChild() { the_subscriptions.Forget(); }

Subscriptions& All() {
  return the_subscriptions.Get([] {
    auto made = std::make_unique<Subscriptions>();
    static bool registered = false;  // once, although each child makes its own object
    if (!registered) base::RunInForkedChildren(&ForgetInChild);
    registered = true;
    return made.release();
  });
}

uint64_t ThisThread() { return static_cast<uint64_t>(pthread_self()); }

// Ends a stream's subscription, if there is one. `drop`: callbacks that were delivered but have not
// run are dropped; otherwise the thread still runs them. The caller holds the lock of All().
void Remove(const Stream* stream, bool drop) {
  Subscriptions& all = All();
  const auto found = all.by_stream.find(stream);
  if (found == all.by_stream.end()) return;
  const std::shared_ptr<Subscription> subscription = std::move(found->second);
  all.by_stream.erase(found);
  Inbox& inbox = *subscription->inbox;
  std::list<Callback> dropped;  // destroyed without the inbox's lock, because this opens gates
  const std::lock_guard lock(inbox.mutex);
  subscription->active = false;
  --inbox.streams;
  for (auto callback = inbox.callbacks.begin(); callback != inbox.callbacks.end();) {
    const auto next = std::next(callback);
    if (drop && callback->stream == stream) {
      dropped.splice(dropped.end(), inbox.callbacks, callback);
    }
    callback = next;
  }
  if (inbox.abandoned()) all.by_thread.erase(subscription->thread);
  inbox.arrived.notify_all();
}

// A task of the stream: moves the callback (a list of one) to the thread's inbox.
base::Status Deliver(const Subscription& subscription, std::list<Callback>& callback) {
  Inbox& inbox = *subscription.inbox;
  {
    const std::lock_guard lock(inbox.mutex);
    if (subscription.active) {
      inbox.callbacks.splice(inbox.callbacks.end(), callback);
      inbox.arrived.notify_all();
      return {};
    }
  }
  callback.front().returned->Open();
  return Error(ACL_ERROR_RT_STREAM_NO_CB_REG,
               "the thread was unsubscribed before the callback's turn, it will not run");
}

// Waits for a callback and takes it out of the inbox.
base::Status TakeCallback(Inbox& inbox, SteadyTime deadline, Callback* callback) {
  std::unique_lock lock(inbox.mutex);
  const auto something = [&] { return !inbox.callbacks.empty() || inbox.streams == 0; };
  if (!WaitUntil(inbox.arrived, lock, deadline, something)) {
    return Error(ACL_ERROR_RT_WAIT_TIMEOUT, "no callback came within the timeout");
  }
  if (inbox.callbacks.empty()) {
    return Error(ACL_ERROR_RT_THREAD_SUBSCRIBE, "this thread was unsubscribed while it waited");
  }
  *callback = std::move(inbox.callbacks.front());
  inbox.callbacks.pop_front();
  return {};
}

}  // namespace

base::Status SubscribeReport(uint64_t thread, void* handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  Subscriptions& all = All();
  const std::lock_guard lock(all.mutex);
  if (const auto found = all.by_stream.find(stream.get()); found != all.by_stream.end()) {
    return Error(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream {} is already subscribed to thread {}",
                 handle, found->second->thread);
  }
  const auto known = all.by_thread.find(thread);
  const auto inbox = known != all.by_thread.end() ? known->second : std::make_shared<Inbox>();
  const std::lock_guard inbox_lock(inbox->mutex);
  if (inbox->streams == 0) inbox->device = stream->device();
  if (inbox->device != stream->device()) {
    return Error(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                 "thread {} serves streams of device {}, this stream is on device {}", thread,
                 inbox->device, stream->device());
  }
  const auto entry =
      all.by_stream.emplace(stream.get(), std::make_shared<Subscription>(thread, inbox)).first;
  try {
    all.by_thread.emplace(thread, inbox);
  } catch (...) {
    all.by_stream.erase(entry);
    throw;
  }
  ++inbox->streams;
  return {};
}

base::Status UnsubscribeReport(uint64_t thread, void* handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  Subscriptions& all = All();
  const std::lock_guard lock(all.mutex);
  if (!all.by_thread.contains(thread)) {
    return Error(ACL_ERROR_RT_THREAD_SUBSCRIBE, "thread {} is not subscribed to any stream",
                 thread);
  }
  const auto found = all.by_stream.find(stream.get());
  if (found == all.by_stream.end() || found->second->thread != thread) {
    return Error(ACL_ERROR_RT_STREAM_SUBSCRIBE, "stream {} is not subscribed to thread {}", handle,
                 thread);
  }
  Remove(stream.get(), /*drop=*/true);
  return {};
}

void Unsubscribe(const Stream* stream, bool drop) {
  Subscriptions* const all = the_subscriptions.Find();
  if (all == nullptr) return;  // no stream was ever subscribed
  const std::lock_guard lock(all->mutex);
  Remove(stream, drop);
}

base::Status LaunchCallback(void (*function)(void*), void* user_data, bool block, void* handle) {
  if (function == nullptr) return InvalidParam("fn is null");
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  if (stream->recorder() != nullptr) {
    return Error(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
                 "stream {} is captured: a callback cannot be replayed, a function of "
                 "aclrtLaunchHostFunc can",
                 stream->id());
  }
  std::shared_ptr<const Subscription> subscription;
  {
    Subscriptions& all = All();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_stream.find(stream.get());
    if (found == all.by_stream.end()) {
      return Error(ACL_ERROR_RT_STREAM_NO_CB_REG,
                   "stream {} has no subscribed thread: call aclrtSubscribeReport first", handle);
    }
    subscription = found->second;
  }
  const auto returned = std::make_shared<Gate>();
  const auto callback = std::make_shared<std::list<Callback>>();
  callback->emplace_back(function, user_data, stream.get(), block, returned);
  Task deliver;
  deliver.work.name = "callback";
  deliver.work.category = "callback";
  deliver.work.small = true;
  deliver.visible = true;
  deliver.work.run = [subscription, callback, order = LazyEnabled() ? ClockOf(*stream) : nullptr] {
    if (order != nullptr) NoteSynchronized(order);
    return Deliver(*subscription, *callback);
  };
  if (!block) return stream->Enqueue(std::move(deliver));
  Task wait;
  wait.work.name = "callback wait";
  wait.work.category = "callback";
  wait.after = returned;
  std::list<Task> both;
  both.push_back(std::move(deliver));
  both.push_back(std::move(wait));
  return stream->EnqueueAll(std::move(both));
}

base::Status ProcessReport(SteadyTime deadline) {
  std::shared_ptr<Inbox> inbox;
  {
    Subscriptions& all = All();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_thread.find(ThisThread());
    if (found != all.by_thread.end()) inbox = found->second;
  }
  if (inbox == nullptr) {
    return Error(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                 "this thread is not subscribed to any stream: call aclrtSubscribeReport first");
  }
  Callback callback;
  PORTACL_RETURN_IF_ERROR(TakeCallback(*inbox, deadline, &callback));
  std::optional<RunningOn> running;
  if (callback.stream_waits) running.emplace(callback.stream);
  callback.function(callback.user_data);
  return {};
}

}  // namespace portacl::runtime
