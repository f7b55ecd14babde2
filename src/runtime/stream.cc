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

}  // namespace portacl::runtime
