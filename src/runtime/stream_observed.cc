// Streams that are observed: what guard mode, lazy mode and the timeline learn of their work, and
// which tasks may begin in lazy mode.
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/guard.h"
#include "runtime/guard_pending.h"
#include "runtime/guard_stack.h"
#include "runtime/observers.h"
#include "runtime/order.h"
#include "runtime/running_work.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

namespace portacl::runtime {
namespace {

constexpr auto kVisibleAfter = std::chrono::milliseconds(100);  // see Task::visible
constexpr int kOwnFrames = 3;  // this library's frames at the top of each launch's stack

}  // namespace

void NoteWork(Stream& stream, Work& work) {
  if (!AccessesWanted()) return;
  if (GuardEnabled()) work.launched = std::make_shared<GuardStack>(CaptureStack(kOwnFrames));
  if (!LazyEnabled()) return;
  NoteLaunch(stream, work);
  if (!work.own_thread || stream.recorder() != nullptr) return;
  // A host function may tell host threads that work is over, in ways that the checker cannot see.
  work.run = [order = ClockOf(stream), run = std::move(work.run)] {
    NoteSynchronized(order);
    return run();
  };
}

base::Status Stream::RunObserved(Task& task) const {
  std::optional<RunningWork> known;
  if (!task.work.accesses.empty()) {
    known.emplace(task.work, id_);
    LetGoForWork(task.work);
  }
  if (!TraceEnabled()) return CallGuarded(task.work);
  const TraceTime begin = std::chrono::steady_clock::now();
  AddTraceArrow(task.enqueued, {device_, id_}, begin);
  base::Status status = CallGuarded(task.work);
  AddTraceSpan({device_, id_}, {task.work.category, task.work.name, task.work.detail, begin,
                                std::chrono::steady_clock::now()});
  return status;
}

// Releases the lock. Starts the stream's thread, which runs visible tasks and tasks that other
// streams or threads demand.
void Stream::EnqueueLazily(std::list<Task> tasks, Lock& lock) {
  StartWorker();
  for (const Task& task : tasks) {  // may fail; nothing below may
    if (task.after != nullptr) task.after->Listen(weak_from_this());
  }
  uint64_t wanted = 0;
  bool visible = false;
  for (Task& task : tasks) {
    ++enqueued_;
    if (task.opens != nullptr && task.opens->SetOwner(weak_from_this(), enqueued_)) {
      wanted = enqueued_;
    }
    if (!task.visible && !task.work.own_thread && !task.ready) continue;
    if (visible_ <= demanded_) visible_from_ = std::chrono::steady_clock::now() + kVisibleAfter;
    visible_ = enqueued_;
    visible = true;
  }
  queue_.splice(queue_.end(), tasks);
  lock.unlock();
  if (wanted > 0) Demand(wanted);
  if (visible) WakeWorker();
}

// Lets visible work begin that has waited long enough. Releases the lock and takes it again.
void Stream::MakeVisible(Lock& lock) {
  const uint64_t number = visible_;
  lock.unlock();
  Demand(number);
  lock.lock();
}

// Lets all tasks begin; returns the newest task's number. May release the lock and take it again.
uint64_t Stream::DemandAll(Lock& lock) {
  const uint64_t number = enqueued_;
  if (demanded_ < number) {
    lock.unlock();
    Demand(number);
    lock.lock();
  }
  return number;
}

void Stream::DemandAll() {
  Lock lock(mutex_);
  DemandAll(lock);
}

void Stream::Demand(uint64_t number) {
  {
    const Lock lock(mutex_);
    if (demanded_ >= number) return;
    demanded_ = number;
  }
  WakeWorker();
}

// Demands the gate that the first task waits for, but not before that task's turn, because work in
// front of it may run earlier. Returns false if there is nothing new; otherwise releases the lock
// and takes it again.
bool Stream::DemandAwaited(Lock& lock, std::shared_ptr<Gate>& demanded) {
  if (!HeadDemanded() || busy_) return false;
  const std::shared_ptr<Gate>& awaited = queue_.front().after;
  if (awaited == nullptr || awaited == demanded || awaited->is_open()) return false;
  demanded = awaited;
  lock.unlock();
  demanded->Demand();
  lock.lock();
  return true;
}

}  // namespace portacl::runtime
