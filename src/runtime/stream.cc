// Launch: the operators' door to a stream's queue.
#include "runtime/stream.h"

#include <atomic>
#include <memory>
#include <utility>

#include "runtime/context.h"
#include "runtime/guard.h"
#include "runtime/guard_stack.h"
#include "runtime/lazy.h"
#include "runtime/order.h"
#include "runtime/stream_queue.h"

namespace portacl::runtime {

namespace {

constexpr int kOwnFrames = 3;  // of this library, at the top of every launch's stack

}  // namespace

// The answer is kept here instead of asking both modes each time: no calls are shorter than these.
bool AccessesWanted() {
  static constinit std::atomic<internal::Known> wanted{internal::Known::kNothing};
  if (wanted.load(std::memory_order_relaxed) == internal::Known::kNothing) {
    wanted = LazyEnabled() || GuardEnabled() ? internal::Known::kOn : internal::Known::kOff;
  }
  return wanted.load(std::memory_order_relaxed) == internal::Known::kOn;
}

void NoteWork(Stream& stream, Work& work) {
  if (!AccessesWanted()) return;
  if (GuardEnabled()) work.launched = std::make_shared<GuardStack>(CaptureStack(kOwnFrames));
  if (!LazyEnabled()) return;
  NoteLaunch(stream, work);
  if (!work.own_thread || stream.recorder() != nullptr) return;
  // A host function may tell the host's threads that work is over, in ways that nobody sees.
  work.run = [order = ClockOf(stream), run = std::move(work.run)] {
    NoteSynchronized(order);
    return run();
  };
}

base::Status Launch(void* stream, Work&& work) {
  std::shared_ptr<Stream> found;
  PORTACL_RETURN_IF_ERROR(FindStream(stream, &found));
  NoteWork(*found, work);
  Task task;
  task.work = std::move(work);
  return found->Enqueue(std::move(task));
}

base::Status LaunchAll(void* stream, std::list<Work> works) {
  std::shared_ptr<Stream> found;
  PORTACL_RETURN_IF_ERROR(FindStream(stream, &found));
  for (Work& work : works) NoteWork(*found, work);
  std::list<Task> tasks;
  for (Work& work : works) tasks.emplace_back().work = std::move(work);
  return found->EnqueueAll(std::move(tasks));
}

}  // namespace portacl::runtime
