// A stream: a queue of tasks that run one after the other, on the stream's own thread. A small task
// with nothing before it runs on the thread that enqueues it. A thread that synchronises runs tasks
// itself if it would only wait for them.
#ifndef PORTACL_RUNTIME_STREAM_QUEUE_H_
#define PORTACL_RUNTIME_STREAM_QUEUE_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "runtime/gate.h"
#include "runtime/stream.h"
#include "runtime/trace.h"

namespace portacl::runtime {

struct Context;

struct Task {
  Work work = {};                              // `run` may be empty
  std::shared_ptr<Gate> after = nullptr;       // not null: only waits until this is open
  std::function<bool()> ready = {};            // may be empty; asked until it is true
  std::shared_ptr<Gate> opens = nullptr;       // opened when the task is over, also when dropped
  std::shared_ptr<const void> held = nullptr;  // released when the task is over, also when dropped
  // True if a program may notice the task without a synchronisation: a host function, a callback, a
  // number in memory. In lazy mode such a task begins by itself after a while.
  bool visible = false;
  TraceOrigin enqueued = {};  // for the timeline
};

class Stream;

// Marks this thread as one that runs a task of the stream, which is compared only.
class RunningOn {
 public:
  explicit RunningOn(const Stream* stream);
  ~RunningOn();
  RunningOn(const RunningOn&) = delete;
  RunningOn& operator=(const RunningOn&) = delete;

 private:
  const Stream* const outer_;
};

// Takes a stream's tasks in the stream's place, see capture.h.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual base::Status Add(const Stream& stream, Task task) = 0;
  // The stream is destroyed; called without its lock, and asks for no memory.
  virtual void Lose(const Stream& stream) = 0;
};

// Values that aclrtSetStreamAttribute keeps; nothing here depends on them.
struct StreamTags {
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint32_t> user_tag{0};
  std::atomic<uint32_t> cache_op_info{0};
  std::array<std::atomic<uint32_t>, 2> core_limits{};  // by aclrtDevResLimitType; 0: none
};

class Stream final : public GateListener,
                     public GateOwner,
                     public std::enable_shared_from_this<Stream> {
 public:
  // The context owns the stream's table entry and closes it before it goes.
  Stream(const Context* context, int32_t device, int32_t id);
  ~Stream() override;

  const Context* context() const { return context_; }
  int32_t device() const { return device_; }
  int32_t id() const { return id_; }
  // No other stream of this process ever has this number.
  uint64_t number() const { return number_; }
  StreamTags& tags() { return tags_; }

  // True on a thread that runs a task of any stream now, or a callback that a stream waits for.
  static bool InTask();

  // ACL_ERROR_RT_INVALID_HANDLE on a closed stream. Throws std::system_error if no thread can be
  // made. If the stream has a recorder, the recorder gets the task instead.
  base::Status Enqueue(Task&& task);

  // All of them or none, one behind the other. A recorder gets them one by one.
  base::Status EnqueueAll(std::list<Task> tasks);

  // ACL_ERROR_RT_STREAM_CAPTURED if there is another recorder. _INVALID_HANDLE if the stream is
  // closed: the recorder would never be removed.
  base::Status SetRecorder(const std::shared_ptr<Recorder>& recorder);
  // Takes the recorder away, if it is this one still. Asks for no memory.
  void DropRecorder(const std::shared_ptr<Recorder>& recorder);
  std::shared_ptr<Recorder> recorder();

  // ACL_ERROR_RT_STREAM_CAPTURED on a stream with a recorder: nobody may wait for it or ask it.
  base::Status RefuseWhileRecording();

  // Waits for all work enqueued so far and returns the first error since the last synchronisation,
  // if there is one. Returns `timeout_code` if the deadline comes first. Refused in a task of this
  // stream, because it would wait for itself.
  base::Status Synchronize(SteadyTime deadline, int32_t timeout_code);

  // True when nothing is enqueued or running. In lazy mode enqueued work begins then.
  bool IsIdle();

  // For lazy mode: lets tasks 1 to `number` begin and, at their turn, the work that they wait for
  // on other streams.
  void Demand(uint64_t number) override;
  void DemandAll();

  // In a task of this stream, Synchronize(), Abort() and Close() would wait for
  // themselves.
  base::Status RefuseFromOwnTask() const;

  // Drops tasks that have not started and waits for the one that has.
  base::Status Abort();

  // No more tasks from now on; waits for the enqueued ones, or drops them. Ends the thread.
  base::Status Close(bool drop);

  // Whether, after a failure, later tasks are dropped until a synchronisation has reported it.
  void SetStopOnFailure(bool stop);
  bool stop_on_failure();

  void OnGateOpen() override;

  // How often threads were woken for this stream: its own thread for work, other threads for the
  // end of work. Each time costs 50 us and more, so tests count.
  uint64_t wake_ups() const { return wake_ups_.load(std::memory_order_relaxed); }

 private:
  using Lock = std::unique_lock<std::mutex>;

  static uint64_t NextNumber();
  void LoseRecorder();
  bool HeadReady() const;
  bool HeadPolls() const;
  bool HeadDemanded() const;
  void EnqueueLazily(std::list<Task> tasks, Lock& lock);
  uint64_t DemandAll(Lock& lock);
  void MakeVisible(Lock& lock);
  bool DemandAwaited(Lock& lock, std::shared_ptr<Gate>& demanded);
  template <class Condition>
  void WorkerWaits(Lock& lock, const Condition& condition);
  void StartWorker();
  void WakeWorker();
  void WakeWaiters();
  void Help(uint64_t target, Lock& lock);
  void Execute(Task&& task, Lock& lock);
  base::Status Run(Task& task) const;
  void DropQueue(Lock& lock);
  void WorkerMain();

  const Context* const context_;
  const int32_t device_;
  const int32_t id_;
  const uint64_t number_ = NextNumber();
  StreamTags tags_;

  std::mutex mutex_;
  std::condition_variable work_ready_;    // the worker waits here
  std::condition_variable done_changed_;  // synchronising threads wait here
  std::shared_ptr<Recorder> recorder_;
  std::list<Task> queue_;  // a list: taking tasks out asks for no memory
  uint64_t enqueued_ = 0;  // tasks ever accepted
  uint64_t done_ = 0;      // of these, finished, all before them too
  uint64_t started_ = 0;   // of these, begun on some thread
  uint64_t demanded_;      // of these, may begin: all, except in lazy mode
  uint64_t visible_ = 0;   // the last of these that is visible, and when it may begin at the latest
  SteadyTime visible_from_;
  int done_waiters_ = 0;
  std::atomic<uint64_t> wake_ups_{0};
  bool busy_ = false;  // a task is running, on whatever thread
  bool closed_ = false;
  bool worker_ends_ = false;
  bool stop_on_failure_ = false;
  bool dropping_ = false;  // a task failed and stop_on_failure_ was set
  base::Status error_;     // first failure since the last synchronisation
  std::thread worker_;     // started by the first task that needs it
};

// Tells guard and lazy mode of work that is about to be enqueued; does nothing without them.
void NoteWork(Stream& stream, Work& work);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_STREAM_QUEUE_H_
