// Captures, the graphs that they make, and groups of tasks in graphs.
#include "runtime/capture.h"

#include <algorithm>
#include <functional>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/handle_table.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/observers.h"

namespace portacl::runtime {
namespace {

struct Step {
  Work work;
  std::function<bool()> ready;
};

// Per stream of a capture: how many of its tasks come before some point of the capture.
using Clock = std::vector<uint64_t>;

}  // namespace

struct CapturedRecord {
  std::weak_ptr<Capture> capture;
  Clock before;
};

namespace {

// The object behind an aclmdlRI: a captured graph.
struct Graph {
  std::mutex mutex;  // may be taken while a capture's mutex is held; no other
  std::vector<Step> steps;
  bool complete = false;      // true once the capture is over
  std::vector<void*> groups;  // handles of groups, which end with the graph
};

// The object behind an aclrtTaskGrp: a group of tasks in a graph.
struct TaskGroup {
  std::shared_ptr<Graph> graph;
  std::vector<size_t> steps;  // indices into graph->steps
};

base::HandleTable<Graph>& Graphs() {
  static constinit base::Immortal<base::HandleTable<Graph>> graphs;
  return graphs.Get();
}
base::HandleTable<TaskGroup>& Groups() {
  static constinit base::Immortal<base::HandleTable<TaskGroup>> groups;
  return groups.Get();
}

// Makes room so that the next push_back() allocates nothing.
template <class T>
void ReserveOneMore(std::vector<T>* list) {
  if (list->size() == list->capacity()) list->reserve(std::max<size_t>(4, 2 * list->size()));
}

base::Status CheckRecordable(const Task& task) {
  if (task.after == nullptr && task.opens == nullptr) return {};
  return Error(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
               "{}: not on a captured stream, whose later work could not wait for it",
               task.work.name);
}

base::Status NotCaptured(const Stream& stream) {
  return Error(ACL_ERROR_RT_STREAM_NOT_CAPTURED,
               "stream {} is not captured: aclmdlRICaptureBegin comes first", stream.id());
}

}  // namespace

// One capture, from begin to end. Its lock may be taken while a stream's lock is held, not the
// other way round. It ends with EndCapture() on the stream where it began, or with that stream.
class Capture final : public Recorder, public std::enable_shared_from_this<Capture> {
 public:
  explicit Capture(CaptureMode mode)
      : origin_(std::make_shared<CaptureOrigin>(CaptureOrigin{.mode = mode})) {}

  base::Status Add(const Stream& stream, Task task) override;
  void Lose(const Stream& stream) override;

  const std::shared_ptr<const CaptureOrigin>& origin() const { return origin_; }
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  CaptureState state();
  bool BeganOn(const Stream& stream);

  // Adds a stream. Returns false if the capture has ended or was invalidated.
  bool Join(const std::shared_ptr<Stream>& stream, const Clock& before);
  std::shared_ptr<const CapturedRecord> Record(const Stream& stream);
  base::Status CheckJoined();

  // Ends recording and releases the streams. False if it has ended already. Allocates nothing.
  bool Finish();

  base::Status BeginGroup(const Stream& stream);
  base::Status EndGroup(const Stream& stream, std::vector<size_t>* steps);

 private:
  struct Member {
    const Stream* stream = nullptr;  // only compared
    std::weak_ptr<Stream> alive;
    Clock known;  // work that comes before this stream's next task, its own work included
    bool grouping = false;
    std::vector<size_t> group;
  };

  size_t IndexOf(const Stream& stream) const;

  const std::shared_ptr<const CaptureOrigin> origin_;
  const std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  std::mutex mutex_;
  CaptureState state_ = CaptureState::kActive;
  std::vector<Member> members_;  // the first member is the stream where the capture began
};

namespace {

// Returns the capture of a stream, or null. (The recorder may also be an update of a group.)
std::shared_ptr<Capture> CaptureOf(Stream& stream) {
  return std::dynamic_pointer_cast<Capture>(stream.recorder());
}

base::Status FindCaptured(void* handle, std::shared_ptr<Stream>* stream,
                          std::shared_ptr<Capture>* capture) {
  PORTACL_RETURN_IF_ERROR(FindStream(handle, stream));
  *capture = CaptureOf(**stream);
  return *capture != nullptr ? base::Status() : NotCaptured(**stream);
}

// Ends the handles of a graph and of its groups. Returns false if they have ended already.
bool Drop(const std::shared_ptr<Graph>& graph) {
  if (Graphs().Take(graph.get()) == nullptr) return false;
  const std::lock_guard lock(graph->mutex);
  for (void* group : graph->groups) Groups().Take(group);
  return true;
}

// Ends a capture. Returns false if another thread has ended it.
bool Release(const std::shared_ptr<Capture>& capture) {
  const bool ended = capture->Finish();
  CloseCapture(capture->origin());
  return ended;
}

base::Status FindGraph(void* handle, std::shared_ptr<Graph>* graph) {
  *graph = Graphs().Find(handle);
  if (*graph == nullptr) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE,
                 "modelRI {} is no live captured work: never captured, or destroyed", handle);
  }
  const std::lock_guard lock((*graph)->mutex);
  if ((*graph)->complete) return {};
  return Error(ACL_ERROR_RT_MODEL_CAPTURED, "modelRI {} is still being captured", handle);
}

// Collects the tasks that replace the tasks of a group.
class GroupUpdate final : public Recorder {
 public:
  explicit GroupUpdate(std::shared_ptr<TaskGroup> group) : group_(std::move(group)) {}

  base::Status Add(const Stream&, Task task) override {
    PORTACL_RETURN_IF_ERROR(CheckRecordable(task));
    const std::lock_guard lock(mutex_);
    steps_.push_back({std::move(task.work), std::move(task.ready)});
    return {};
  }
  void Lose(const Stream&) override {}

  base::Status Apply() {
    const std::lock_guard lock(mutex_);
    if (steps_.size() != group_->steps.size()) {
      return InvalidParam("{} tasks were enqueued for a group of {}: it stays as it was",
                          steps_.size(), group_->steps.size());
    }
    const std::lock_guard graph_lock(group_->graph->mutex);
    for (size_t i = 0; i < steps_.size(); ++i) {
      group_->graph->steps[group_->steps[i]] = std::move(steps_[i]);
    }
    return {};
  }

 private:
  const std::shared_ptr<TaskGroup> group_;
  std::mutex mutex_;
  std::vector<Step> steps_;
};

}  // namespace

size_t Capture::IndexOf(const Stream& stream) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const Member& member) { return member.stream == &stream; });
  return static_cast<size_t>(found - members_.begin());
}

base::Status Capture::Add(const Stream& stream, Task task) {
  PORTACL_RETURN_IF_ERROR(CheckRecordable(task));
  const std::lock_guard lock(mutex_);
  const size_t index = IndexOf(stream);
  if (index == members_.size()) return NotCaptured(stream);  // the capture has ended meanwhile
  Member& member = members_[index];
  const std::lock_guard graph_lock(graph_->mutex);
  ReserveOneMore(&member.group);
  graph_->steps.push_back({std::move(task.work), std::move(task.ready)});
  if (member.grouping) member.group.push_back(graph_->steps.size() - 1);
  ++member.known[index];
  return {};
}

void Capture::Lose(const Stream& stream) {
  if (BeganOn(stream)) {  // without this stream nobody can end the capture
    if (Release(shared_from_this())) Drop(graph_);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (state_ == CaptureState::kActive) state_ = CaptureState::kInvalidated;
}

CaptureState Capture::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Capture::BeganOn(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  return !members_.empty() && members_.front().stream == &stream;
}

bool Capture::Join(const std::shared_ptr<Stream>& stream, const Clock& before) {
  const std::lock_guard lock(mutex_);
  if (state_ != CaptureState::kActive) return false;
  const size_t index = IndexOf(*stream);
  if (index == members_.size()) {
    Member added;
    added.stream = stream.get();
    added.alive = stream;
    added.known.resize(index + 1);
    for (Member& member : members_) ReserveOneMore(&member.known);
    ReserveOneMore(&members_);
    for (Member& member : members_) member.known.push_back(0);
    members_.push_back(std::move(added));
  }
  Clock& known = members_[index].known;
  for (size_t i = 0; i < before.size(); ++i) known[i] = std::max(known[i], before[i]);
  return true;
}

std::shared_ptr<const CapturedRecord> Capture::Record(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const size_t index = IndexOf(stream);
  if (index == members_.size()) return nullptr;
  return std::make_shared<CapturedRecord>(CapturedRecord{weak_from_this(), members_[index].known});
}

base::Status Capture::CheckJoined() {
  const std::lock_guard lock(mutex_);
  if (state_ == CaptureState::kInvalidated) {
    return Error(ACL_ERROR_RT_STREAM_UNJOINED,
                 "a stream of the capture was destroyed before the capture ended");
  }
  for (size_t i = 1; i < members_.size(); ++i) {
    if (members_.front().known[i] >= members_[i].known[i]) continue;
    const std::shared_ptr<Stream> stream = members_[i].alive.lock();
    return Error(ACL_ERROR_RT_STREAM_UNJOINED,
                 "stream {} took part in the capture and was not joined again: record an event "
                 "after its last work and let the captured stream wait for it",
                 stream != nullptr ? stream->id() : -1);
  }
  return {};
}

bool Capture::Finish() {
  std::vector<Member> members;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == CaptureState::kNone) return false;
    state_ = CaptureState::kNone;
    members.swap(members_);
    const std::lock_guard graph_lock(graph_->mutex);
    graph_->complete = true;
  }
  const std::shared_ptr<Recorder> self = shared_from_this();
  for (const Member& member : members) {
    if (const auto stream = member.alive.lock()) stream->DropRecorder(self);
  }
  return true;
}

base::Status Capture::BeginGroup(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  const size_t index = IndexOf(stream);
  if (index == members_.size()) return NotCaptured(stream);
  if (members_[index].grouping) {
    return InvalidParam("stream {} has begun a group of tasks already", stream.id());
  }
  members_[index].grouping = true;
  return {};
}

base::Status Capture::EndGroup(const Stream& stream, std::vector<size_t>* steps) {
  const std::lock_guard lock(mutex_);
  const size_t index = IndexOf(stream);
  if (index == members_.size()) return NotCaptured(stream);
  if (!members_[index].grouping) {
    return InvalidParam("stream {} has not begun a group of tasks", stream.id());
  }
  members_[index].grouping = false;
  *steps = std::exchange(members_[index].group, {});
  return {};
}

base::Status BeginCapture(void* handle, CaptureMode mode) {
  if (handle == nullptr) {
    return InvalidParam("stream is null: the default stream cannot be captured");
  }
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  const auto capture = std::make_shared<Capture>(mode);
  capture->Join(stream, {});
  Graphs().Add(capture->graph());
  base::Status begun;
  try {
    OpenCapture(capture->origin());
    begun = stream->SetRecorder(capture);
  } catch (...) {
    CloseCapture(capture->origin());
    Drop(capture->graph());
    throw;
  }
  if (begun.ok()) return {};
  CloseCapture(capture->origin());
  Drop(capture->graph());
  return begun;
}

base::Status EndCapture(void* handle, void** graph) {
  if (graph == nullptr) return InvalidParam("modelRI is null, it receives the recorded work");
  *graph = nullptr;
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Capture> capture;
  PORTACL_RETURN_IF_ERROR(FindCaptured(handle, &stream, &capture));
  if (!capture->BeganOn(*stream)) {
    return Error(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED,
                 "stream {} joined a capture that began on another stream: end it there",
                 stream->id());
  }
  base::Status status = capture->CheckJoined();
  if (!Release(capture)) return NotCaptured(*stream);
  if (status.ok()) {
    *graph = capture->graph().get();
  } else {
    Drop(capture->graph());
  }
  return status;
}

base::Status GetCaptureInfo(void* handle, CaptureState* state, void** graph) {
  if (state == nullptr) return InvalidParam("status is null");
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  const std::shared_ptr<Capture> capture = CaptureOf(*stream);
  *state = capture != nullptr ? capture->state() : CaptureState::kNone;
  if (graph != nullptr) *graph = capture != nullptr ? capture->graph().get() : nullptr;
  return {};
}

base::Status ReplayGraph(void* handle, void* stream_handle) {
  std::shared_ptr<Graph> graph;
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindGraph(handle, &graph));
  PORTACL_RETURN_IF_ERROR(FindStream(stream_handle, &stream));
  std::vector<Step> steps;
  {
    const std::lock_guard lock(graph->mutex);
    steps = graph->steps;
  }
  std::list<Task> tasks;
  for (Step& step : steps) {
    Task& task = tasks.emplace_back();
    task.work = std::move(step.work);
    task.ready = std::move(step.ready);
    if (Observed()) NoteWork(*stream, task.work);
  }
  return stream->EnqueueAll(std::move(tasks));
}

base::Status DestroyGraph(void* handle) {
  std::shared_ptr<Graph> graph;
  PORTACL_RETURN_IF_ERROR(FindGraph(handle, &graph));
  if (Drop(graph)) return {};
  return Error(ACL_ERROR_RT_INVALID_HANDLE, "modelRI {} is destroyed by another thread", handle);
}

base::Status DescribeGraph(void* handle, std::string* lines, std::string* json) {
  std::shared_ptr<Graph> graph;
  PORTACL_RETURN_IF_ERROR(FindGraph(handle, &graph));
  const std::lock_guard lock(graph->mutex);
  json->assign(1, '[');
  for (size_t i = 0; i < graph->steps.size(); ++i) {
    const Work& work = graph->steps[i].work;
    *lines += fmt::format("{} {} {} {}\n", i, work.category, work.name, work.detail);
    *json += fmt::format("{}\n  {{\"index\": {}, \"category\": \"{}\", \"name\": \"{}\"}}",
                         i == 0 ? "" : ",", i, work.category, work.name);
  }
  *json += "\n]\n";
  return {};
}

base::Status BeginTaskGroup(void* handle) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Capture> capture;
  PORTACL_RETURN_IF_ERROR(FindCaptured(handle, &stream, &capture));
  return capture->BeginGroup(*stream);
}

base::Status EndTaskGroup(void* handle, void** group) {
  if (group == nullptr) return InvalidParam("handle is null, it receives the group");
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Capture> capture;
  PORTACL_RETURN_IF_ERROR(FindCaptured(handle, &stream, &capture));
  const auto made = std::make_shared<TaskGroup>();
  made->graph = capture->graph();
  {
    const std::lock_guard lock(made->graph->mutex);
    ReserveOneMore(&made->graph->groups);
  }
  TaskGroup* const handle_of_group = Groups().Add(made);
  base::Status status;
  try {
    status = capture->EndGroup(*stream, &made->steps);
  } catch (...) {
    Groups().Take(handle_of_group);
    throw;
  }
  if (!status.ok()) {
    Groups().Take(handle_of_group);
    return status;
  }
  const std::lock_guard lock(made->graph->mutex);
  made->graph->groups.push_back(handle_of_group);
  *group = handle_of_group;
  return {};
}

base::Status BeginTaskUpdate(void* handle, void* group_handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  std::shared_ptr<TaskGroup> group = Groups().Find(group_handle);
  if (group == nullptr) {
    return Error(ACL_ERROR_RT_INVALID_HANDLE, "handle {} is no live group of tasks", group_handle);
  }
  return stream->SetRecorder(std::make_shared<GroupUpdate>(std::move(group)));
}

base::Status EndTaskUpdate(void* handle) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  const auto update = std::dynamic_pointer_cast<GroupUpdate>(stream->recorder());
  if (update == nullptr) {
    return InvalidParam("stream {} changes no group of tasks: aclmdlRICaptureTaskUpdateBegin",
                        stream->id());
  }
  stream->DropRecorder(update);
  return update->Apply();
}

base::Status RecordInCapture(Stream& stream, std::shared_ptr<const CapturedRecord>* record) {
  const std::shared_ptr<Recorder> recorder = stream.recorder();
  if (recorder == nullptr) return {};
  const auto capture = std::dynamic_pointer_cast<Capture>(recorder);
  if (capture != nullptr) *record = capture->Record(stream);
  if (*record != nullptr) return {};
  return Error(ACL_ERROR_RT_STREAM_CAPTURED, "stream {} changes a group of tasks", stream.id());
}

bool IsCapturing(const std::shared_ptr<const CapturedRecord>& record) {
  const auto capture = record != nullptr ? record->capture.lock() : nullptr;
  return capture != nullptr && capture->state() != CaptureState::kNone;
}

base::Status WaitInCapture(const std::shared_ptr<Stream>& stream,
                           const std::shared_ptr<const CapturedRecord>& record) {
  const std::shared_ptr<Capture> capture = record != nullptr ? record->capture.lock() : nullptr;
  const std::shared_ptr<Recorder> recorder = stream->recorder();
  const bool same = capture != nullptr && recorder == capture;
  if (!IsCapturing(record) || (recorder != nullptr && !same)) {
    return Error(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                 "stream {} is captured and waits for an event that its capture has not recorded",
                 stream->id());
  }
  if (!capture->Join(stream, record->before)) {
    return Error(
        ACL_ERROR_RT_CAPTURE_DEPENDENCY,
        "stream {} cannot wait for the event: its capture has ended, or a stream of it was "
        "destroyed",
        stream->id());
  }
  if (same) return {};
  PORTACL_RETURN_IF_ERROR(stream->SetRecorder(capture));
  // If the capture ended after Join(), it has released its streams already.
  if (capture->state() == CaptureState::kNone) stream->DropRecorder(capture);
  return {};
}

}  // namespace portacl::runtime
