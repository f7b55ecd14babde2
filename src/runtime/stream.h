// A stream: a queue of tasks that run one after the other on the stream's own thread. A small task
// with nothing before it runs on the thread that enqueues it. A thread that synchronises runs tasks
// itself instead of waiting for them.
#ifndef PORTACL_RUNTIME_STREAM_H_
#define PORTACL_RUNTIME_STREAM_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "runtime/gate.h"
#include "runtime/trace.h"

namespace portacl::runtime {

// ---- for operators ------------------------------------------------------------------------------

// Memory that work reads or writes, at the addresses that kernels use.
struct MemoryAccess {
  const char* name = "";  // static string: the tensor's name, "dst", ...
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool write = false;
  bool dense = true;  // true: every byte is accessed
};

struct GuardStack;

struct Work {
  const char* name = "";  // static string, for traces and messages
  // True if the work takes only a few microseconds. It may then run on the calling thread if the
  // stream is idle, because handing it to another thread would cost more.
  bool small = false;
  // True for the user's code, which runs only on the stream's own thread. On another thread it
  // would use that thread's device, locks and thread-local state.
  bool own_thread = false;
  // Runs at most once, in the stream's order, inside an FpEnvironment. On a captured stream it runs
  // once in each replay; several replays may run at a time. It is destroyed without a run if the
  // stream is aborted, or stops after an earlier failure. The next synchronisation reports a failed
  // status.
  std::function<base::Status()> run;
  const char* category = "kernel";  // static string, for traces
  // For traces, e.g. shapes, dtype and kernel path; build it only if TraceEnabled().
  std::string detail = {};
  // For guard mode and the checker of orders; build it only if AccessesWanted().
  std::vector<MemoryAccess> accesses = {};
  std::shared_ptr<const GuardStack> launched = nullptr;  // set by Launch() in guard mode
};

// Puts work on a stream. Null is the default stream of the thread's current context. Fails if the
// handle is not a live stream (ACL_ERROR_RT_INVALID_HANDLE), if it belongs to another context
// (_STREAM_CONTEXT), or if the thread has no context (_CONTEXT_NULL).
base::Status Launch(void* stream, Work&& work);

// Puts several tasks on a stream: all of them or none.
base::Status LaunchAll(void* stream, std::list<Work> works);

// ---- for the runtime ----------------------------------------------------------------------------

struct Context;

struct Task {
  Work work = {};                              // `run` may be empty
  std::shared_ptr<Gate> after = nullptr;       // if not null: the task only waits until this opens
  std::function<bool()> ready = {};            // may be empty; asked until it returns true
  std::shared_ptr<Gate> opens = nullptr;       // opened when the task is over or dropped
  std::shared_ptr<const void> held = nullptr;  // released when the task is over or dropped
  // True if a program may notice the task without synchronising: a host function, a callback, a
  // number in memory. In lazy mode such a task begins by itself after a while.
  bool visible = false;
  TraceOrigin enqueued = {};  // for the timeline
};

class Stream;

// Marks this thread as running a task of the stream. The stream is only compared.
class RunningOn {
 public:
  explicit RunningOn(const Stream* stream);
  ~RunningOn();
  RunningOn(const RunningOn&) = delete;
  RunningOn& operator=(const RunningOn&) = delete;

 private:
  const Stream* const outer_;
};

// Takes a stream's tasks instead of running them (capture.h).
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual base::Status Add(const Stream& stream, Task task) = 0;
  // Called without the stream's lock when the stream is destroyed. Must not allocate.
  virtual void Lose(const Stream& stream) = 0;
};

// Values that aclrtSetStreamAttribute sets; nothing here uses them.
struct StreamTags {
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint32_t> user_tag{0};
  std::atomic<uint32_t> cache_op_info{0};
  std::array<std::atomic<uint32_t>, 2> core_limits{};  // by aclrtDevResLimitType; 0: no limit
};

class Stream final : public GateListener,
                     public GateOwner,
                     public std::enable_shared_from_this<Stream> {
 public:
  // The context owns the stream's entry in the table, and closes the stream before it ends.
  Stream(const Context* context, int32_t device, int32_t id);
  ~Stream() override;

  const Context* context() const { return context_; }
  int32_t device() const { return device_; }
  int32_t id() const { return id_; }
  // A number that no other stream of this process ever has.
  uint64_t number() const { return number_; }
  StreamTags& tags() { return tags_; }

  // True on a thread that runs a task of any stream, or a callback that a stream waits for.
  static bool InTask();

  // Returns ACL_ERROR_RT_INVALID_HANDLE on a closed stream. Throws std::system_error if no thread
  // can be made. If the stream has a recorder, the recorder gets the task.
  base::Status Enqueue(Task&& task);

  // Enqueues all tasks, one behind the other, or none. A recorder gets them one by one.
  base::Status EnqueueAll(std::list<Task> tasks);

  // Returns ACL_ERROR_RT_STREAM_CAPTURED if there is another recorder, and _INVALID_HANDLE if the
  // stream is closed, because nothing would remove the recorder.
  base::Status SetRecorder(const std::shared_ptr<Recorder>& recorder);
  // Removes the recorder if it is still this one. Allocates nothing.
  void DropRecorder(const std::shared_ptr<Recorder>& recorder);
  std::shared_ptr<Recorder> recorder();

  // Returns ACL_ERROR_RT_STREAM_CAPTURED on a stream with a recorder, for calls that wait or ask.
  base::Status RefuseWhileRecording();

  // Waits for all work enqueued so far. Returns the first error since the last synchronisation, if
  // there is one, or `timeout_code` if the deadline comes first. Refused in a task of this stream,
  // because it would wait for itself.
  base::Status Synchronize(SteadyTime deadline, int32_t timeout_code);

  // Returns true if no task is enqueued or running. In lazy mode, lets enqueued work begin.
  bool IsIdle();

  // For lazy mode: lets tasks 1 to `number` begin. At their turn, also lets work on other streams
  // begin that they wait for.
  void Demand(uint64_t number) override;
  void DemandAll();

  // Refuses a call from a task of this stream: Synchronize(), Abort() and Close() would wait for
  // themselves.
  base::Status RefuseFromOwnTask() const;

  // Drops tasks that have not started, and waits for the running task.
  base::Status Abort();

  // Closes the stream: waits for the enqueued tasks, or drops them, and ends the thread.
  base::Status Close(bool drop);

  // If set, a failure drops later tasks until a synchronisation has reported it.
  void SetStopOnFailure(bool stop);
  bool stop_on_failure();

  void OnGateOpen() override;

  // How often threads were woken for this stream: its own thread for work, other threads for the
  // end of work. Each time costs 50 us or more, so tests count it.
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
  static base::Status CallGuarded(const Work& work);
  base::Status Run(Task& task) const;
  base::Status RunObserved(Task& task) const;
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
  std::list<Task> queue_;  // a list, because taking tasks out allocates nothing
  uint64_t enqueued_ = 0;  // number of tasks ever accepted
  uint64_t done_ = 0;      // of these: finished, with all tasks before them
  uint64_t started_ = 0;   // of these: begun on some thread
  uint64_t demanded_;      // of these: may begin (all, except in lazy mode)
  uint64_t visible_ = 0;   // newest visible task; visible_from_: when it may begin at the latest
  SteadyTime visible_from_;
  int done_waiters_ = 0;
  std::atomic<uint64_t> wake_ups_{0};
  bool busy_ = false;  // some thread is running a task
  bool closed_ = false;
  bool worker_ends_ = false;
  bool stop_on_failure_ = false;
  bool dropping_ = false;  // a task failed while stop_on_failure_ was set
  base::Status error_;     // first failure since the last synchronisation
  std::thread worker_;     // started by the first task that needs it
};

// Tells guard mode and lazy mode of work before it is enqueued. Call it only if Observed().
void NoteWork(Stream& stream, Work& work);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_STREAM_H_
