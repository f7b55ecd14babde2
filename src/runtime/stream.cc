// The stream's queue and its thread, and the function by which operators use them: Launch().
#include "runtime/stream.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <list>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/per_thread.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/fp_env.h"
#include "runtime/observers.h"
#include "runtime/order.h"
#include "runtime/parallel.h"
#include "runtime/trace.h"

namespace portacl::runtime {
namespace {

constexpr auto kPollInterval = std::chrono::microseconds(100);

// The stream that has this thread run a task now, or null.
PORTACL_STARTS_WITH_THREAD thread_local const Stream* running_stream = nullptr;

base::Status Failure(const char* what) noexcept {
  try {
    return Error(ACL_ERROR_INTERNAL_ERROR, "{}", what);
  } catch (...) {
    return {ACL_ERROR_INTERNAL_ERROR, "out of memory"};  // short enough to need no memory
  }
}

// Logs an error that nobody has read before its stream ends. If there is no memory for the text,
// the stream ends without it.
void LogUnseen(int32_t stream, const base::Status& error) noexcept {
  try {
    base::Log(base::LogLevel::kError,
              fmt::format("stream {} is destroyed with an error that nobody synchronised for: {}",
                          stream, error.message()));
  } catch (...) {  // only the message is lost
  }
}

}  // namespace

RunningOn::RunningOn(const Stream* stream) : outer_(std::exchange(running_stream, stream)) {}

RunningOn::~RunningOn() { running_stream = outer_; }

Stream::~Stream() {
  // Every owner closes its stream before. Only a failed creation leaves the stream open.
  if (worker_.joinable()) static_cast<void>(Close(/*drop=*/true));
}

Stream::Stream(const Context* context, int32_t device, int32_t id)
    : context_(context),
      device_(device),
      id_(id),
      demanded_(LazyEnabled() ? 0 : std::numeric_limits<uint64_t>::max()) {}

uint64_t Stream::NextNumber() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool Stream::InTask() { return running_stream != nullptr; }

base::Status Stream::RefuseFromOwnTask() const {
  if (running_stream != this) return {};
  return InvalidParam("called from a task of stream {} itself, it would wait for its own end", id_);
}

// Returns true if the first task in the queue may begin. The queue holds the newest tasks.
bool Stream::HeadDemanded() const {
  return !queue_.empty() && enqueued_ - queue_.size() < demanded_;
}

bool Stream::HeadReady() const {
  if (!HeadDemanded()) return false;
  const Task& head = queue_.front();
  return (head.after == nullptr || head.after->is_open()) && (!head.ready || head.ready());
}

bool Stream::HeadPolls() const { return HeadDemanded() && queue_.front().ready != nullptr; }

base::Status Stream::SetRecorder(const std::shared_ptr<Recorder>& recorder) {
  const Lock lock(mutex_);
  if (closed_) return Error(ACL_ERROR_RT_INVALID_HANDLE, "stream {} is being destroyed", id_);
  if (recorder_ != nullptr && recorder_ != recorder) {
    return Error(ACL_ERROR_RT_STREAM_CAPTURED,
                 "stream {} is captured already, or changes a group of tasks", id_);
  }
  recorder_ = recorder;
  return {};
}

void Stream::DropRecorder(const std::shared_ptr<Recorder>& recorder) {
  const Lock lock(mutex_);
  if (recorder_ == recorder) recorder_ = nullptr;
}

// Closes the stream. Releases the recorder without the stream's lock, because the recorder may
// release other streams.
void Stream::LoseRecorder() {
  std::shared_ptr<Recorder> recorder;
  {
    const Lock lock(mutex_);
    closed_ = true;
    recorder_.swap(recorder);
  }
  if (recorder != nullptr) recorder->Lose(*this);
}

std::shared_ptr<Recorder> Stream::recorder() {
  const Lock lock(mutex_);
  return recorder_;
}

base::Status Stream::RefuseWhileRecording() {
  if (recorder() == nullptr) return {};
  return Error(ACL_ERROR_RT_STREAM_CAPTURED,
               "stream {} is captured: nothing on it runs before aclmdlRICaptureEnd", id_);
}

void Stream::StartWorker() {
  if (!worker_.joinable()) worker_ = std::thread([this] { WorkerMain(); });
}

void Stream::WakeWorker() {
  wake_ups_.fetch_add(1, std::memory_order_relaxed);
  work_ready_.notify_one();
}

void Stream::WakeWaiters() {
  wake_ups_.fetch_add(1, std::memory_order_relaxed);
  done_changed_.notify_all();
}

base::Status Stream::Enqueue(Task&& task) {
  if (Observed()) task.enqueued = TraceHere();
  Lock lock(mutex_);
  if (closed_) return Error(ACL_ERROR_RT_INVALID_HANDLE, "stream {} is being destroyed", id_);
  if (recorder_ != nullptr) return recorder_->Add(*this, std::move(task));
  if (task.after != nullptr && task.after->is_open()) task.after.reset();
  if (LazyEnabled()) {
    std::list<Task> alone;
    alone.push_back(std::move(task));
    EnqueueLazily(std::move(alone), lock);
    return {};
  }
  const bool idle = queue_.empty() && !busy_;  // only then it is the turn of the task's condition
  if (idle && task.ready && task.ready()) task.ready = nullptr;
  const bool here = task.work.small && !task.work.own_thread && !task.ready;
  if (here && task.after == nullptr && idle) {
    ++enqueued_;
    Execute(std::move(task), lock);
    const bool more = !queue_.empty();
    lock.unlock();
    if (more) WakeWorker();
    return {};
  }
  StartWorker();
  if (task.after != nullptr) task.after->Listen(weak_from_this());
  queue_.push_back(std::move(task));
  ++enqueued_;
  const bool wake = !busy_;  // a busy thread looks at the queue when it is done
  lock.unlock();
  if (wake) WakeWorker();
  return {};
}

base::Status Stream::EnqueueAll(std::list<Task> tasks) {
  if (Observed()) {
    for (Task& task : tasks) task.enqueued = TraceHere();
  }
  Lock lock(mutex_);
  if (closed_) return Error(ACL_ERROR_RT_INVALID_HANDLE, "stream {} is being destroyed", id_);
  if (recorder_ != nullptr) {
    for (Task& task : tasks) {
      PORTACL_RETURN_IF_ERROR(recorder_->Add(*this, std::move(task)));
    }
    return {};
  }
  if (LazyEnabled()) {
    EnqueueLazily(std::move(tasks), lock);
    return {};
  }
  StartWorker();
  for (const Task& task : tasks) {
    if (task.after != nullptr) task.after->Listen(weak_from_this());
  }
  enqueued_ += tasks.size();
  queue_.splice(queue_.end(), tasks);
  const bool wake = !busy_;
  lock.unlock();
  if (wake) WakeWorker();
  return {};
}

base::Status Stream::Synchronize(SteadyTime deadline, int32_t timeout_code) {
  PORTACL_RETURN_IF_ERROR(RefuseFromOwnTask());
  PORTACL_RETURN_IF_ERROR(RefuseWhileRecording());
  const SharedClock order = LazyEnabled() ? ClockOf(*this) : nullptr;
  Lock lock(mutex_);
  const uint64_t target = DemandAll(lock);
  if (deadline == SteadyTime::max()) Help(target, lock);
  if (done_ < target) {
    ++done_waiters_;
    const bool in_time = WaitUntil(done_changed_, lock, deadline, [&] { return done_ >= target; });
    --done_waiters_;
    if (!in_time) {
      return Error(timeout_code, "stream {} still has {} unfinished tasks after the timeout", id_,
                   target - done_);
    }
  }
  if (order != nullptr) NoteSynchronized(order);
  if (error_.ok()) return {};
  dropping_ = false;
  return std::exchange(error_, base::Status());
}

bool Stream::IsIdle() {
  const SharedClock order = LazyEnabled() ? ClockOf(*this) : nullptr;
  Lock lock(mutex_);
  const bool idle = done_ == enqueued_;
  if (!idle) DemandAll(lock);
  lock.unlock();
  if (idle && order != nullptr) NoteSynchronized(order);
  return idle;
}

base::Status Stream::Abort() {
  PORTACL_RETURN_IF_ERROR(RefuseFromOwnTask());
  const SharedClock order = LazyEnabled() ? ClockOf(*this) : nullptr;
  {
    Lock lock(mutex_);
    DropQueue(lock);
  }
  if (order != nullptr) NoteSynchronized(order);
  return {};
}

base::Status Stream::Close(bool drop) {
  PORTACL_RETURN_IF_ERROR(RefuseFromOwnTask());
  LoseRecorder();
  Lock lock(mutex_);
  if (drop) {
    DropQueue(lock);
  } else {
    DemandAll(lock);
  }
  ++done_waiters_;
  done_changed_.wait(lock, [this] { return done_ == enqueued_; });
  --done_waiters_;
  if (!error_.ok()) LogUnseen(id_, std::exchange(error_, base::Status()));
  worker_ends_ = true;
  std::thread worker = std::move(worker_);
  lock.unlock();
  WakeWorker();
  if (worker.joinable()) worker.join();
  if (LazyEnabled()) NoteClosed(*this);
  return {};
}

void Stream::SetStopOnFailure(bool stop) {
  const Lock lock(mutex_);
  stop_on_failure_ = stop;
  if (!stop) dropping_ = false;
}

bool Stream::stop_on_failure() {
  const Lock lock(mutex_);
  return stop_on_failure_;
}

void Stream::OnGateOpen() {
  // The lock makes sure that the worker sees the open gate, or sleeps already and can be woken.
  { const Lock lock(mutex_); }
  WakeWorker();
}

// Runs tasks that the worker has not begun. Waking the worker would cost 50 us or more, and this
// thread's caches have the data that the caller has just written.
void Stream::Help(uint64_t target, Lock& lock) {
  bool helped = false;
  const auto can_help = [&] {
    if (done_ >= target || busy_ || !HeadDemanded()) return false;
    const Task& head = queue_.front();
    return head.after == nullptr && !head.ready && !head.work.own_thread;
  };
  while (can_help()) {
    Task task = std::move(queue_.front());
    queue_.pop_front();
    Execute(std::move(task), lock);
    helped = true;
  }
  // The worker may have found the stream busy and gone back to sleep.
  if (helped && !queue_.empty()) WakeWorker();
}

// Runs or drops one task. The caller holds the lock, and no other task is running.
void Stream::Execute(Task&& task, Lock& lock) {
  busy_ = true;
  ++started_;
  const bool drop = dropping_;
  lock.unlock();
  base::Status status;
  if (!drop && task.after == nullptr && !task.ready) status = Run(task);
  if (task.opens != nullptr) task.opens->Open();
  const char* const name = task.work.name;
  { const Task over = std::move(task); }  // releases what the task holds; it counts as over later
  lock.lock();
  busy_ = false;
  ++done_;
  if (!status.ok() && error_.ok()) {
    try {
      error_ = Error(status.code(), "{} on stream {} failed: {}", name, id_, status.message());
    } catch (...) {  // no memory for the sentence: keeps the error without it
      error_ = std::move(status);
    }
    dropping_ = stop_on_failure_;
  }
  if (done_waiters_ > 0) WakeWaiters();
}

base::Status Stream::CallGuarded(const Work& work) {
  try {
    return work.run ? work.run() : base::Status();
  } catch (const std::bad_alloc&) {
    return {ACL_ERROR_BAD_ALLOC, "out of memory"};
  } catch (const std::exception& error) {
    return Failure(error.what());
  } catch (...) {
    return Failure("unknown exception");
  }
}

base::Status Stream::Run(Task& task) const {
  const RunningOn running(this);
  const FpEnvironment environment;
  return Observed() ? RunObserved(task) : CallGuarded(task.work);
}

// Drops tasks that have not started. They count as over only when the running task is over, because
// threads that wait for the running task would otherwise go on early.
void Stream::DropQueue(Lock& lock) {
  std::list<Task> dropped;
  dropped.swap(queue_);
  const uint64_t count = dropped.size();
  const uint64_t running = started_;
  lock.unlock();
  for (Task& task : dropped) {
    if (task.opens != nullptr) task.opens->Open();
  }
  dropped.clear();
  lock.lock();
  ++done_waiters_;
  done_changed_.wait(lock, [&] { return !busy_ || started_ != running; });
  --done_waiters_;
  done_ += count;
  if (done_waiters_ > 0) WakeWaiters();
}

// Waits until the condition holds. It also wakes up regularly, because no signal comes when a
// task's polled condition becomes true, or when visible work has waited long enough.
template <class Condition>
void Stream::WorkerWaits(Lock& lock, const Condition& condition) {
  std::shared_ptr<Gate> demanded;
  while (!condition()) {
    if (LazyEnabled() && DemandAwaited(lock, demanded)) continue;
    if (visible_ > demanded_ && std::chrono::steady_clock::now() >= visible_from_) {
      MakeVisible(lock);
    } else if (HeadPolls()) {
      work_ready_.wait_for(lock, kPollInterval);
    } else if (visible_ > demanded_) {
      work_ready_.wait_until(lock, visible_from_);
    } else {
      work_ready_.wait(lock);
    }
  }
}

void Stream::WorkerMain() {
  StayOnOwnThreads();
  Lock lock(mutex_);
  for (;;) {
    const bool traced = Observed() && TraceEnabled();
    // On the timeline, a wait for an event lasts from the task's turn to the event.
    if (traced) WorkerWaits(lock, [this] { return worker_ends_ || (!busy_ && HeadDemanded()); });
    const TraceTime begin = traced ? std::chrono::steady_clock::now() : TraceTime();
    // A dropped task is not asked again, because it left the queue under the lock.
    WorkerWaits(lock, [this] { return worker_ends_ || (!busy_ && HeadReady()); });
    if (worker_ends_) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    if (traced && (task.after != nullptr || task.ready)) {
      AddTraceSpan({device_, id_}, {task.work.category, task.work.name, task.work.detail, begin,
                                    std::chrono::steady_clock::now()});
    }
    Execute(std::move(task), lock);
  }
}

base::Status Launch(void* stream, Work&& work) {
  std::shared_ptr<Stream> found;
  PORTACL_RETURN_IF_ERROR(FindStream(stream, &found));
  if (Observed()) NoteWork(*found, work);
  Task task;
  task.work = std::move(work);
  return found->Enqueue(std::move(task));
}

base::Status LaunchAll(void* stream, std::list<Work> works) {
  std::shared_ptr<Stream> found;
  PORTACL_RETURN_IF_ERROR(FindStream(stream, &found));
  if (Observed()) {
    for (Work& work : works) NoteWork(*found, work);
  }
  std::list<Task> tasks;
  for (Work& work : works) tasks.emplace_back().work = std::move(work);
  return found->EnqueueAll(std::move(tasks));
}

}  // namespace portacl::runtime
