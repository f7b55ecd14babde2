// Launch: the operators' door to a stream's queue.
#include "runtime/stream.h"

#include <memory>
#include <utility>

#include "runtime/context.h"
#include "runtime/stream_queue.h"

namespace portacl::runtime {

base::Status Launch(void* stream, Work work) {
  std::shared_ptr<Stream> found;
  PORTACL_RETURN_IF_ERROR(FindStream(stream, &found));
  Task task;
  task.work = std::move(work);
  return found->Enqueue(std::move(task));
}

base::Status LaunchAll(void* stream, std::list<Work> works) {
  std::shared_ptr<Stream> found;
  PORTACL_RETURN_IF_ERROR(FindStream(stream, &found));
  std::list<Task> tasks;
  for (Work& work : works) tasks.emplace_back().work = std::move(work);
  return found->EnqueueAll(std::move(tasks));
}

}  // namespace portacl::runtime
