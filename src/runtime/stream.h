// The part of the runtime that operators need: put work on a stream.
#ifndef PORTACL_RUNTIME_STREAM_H_
#define PORTACL_RUNTIME_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace portacl::runtime {

// Memory that work reads or writes, as kernels reach it.
struct MemoryAccess {
  const char* name = "";  // static string: the tensor's, "dst", ...
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool write = false;
  bool dense = true;  // every byte of it
};

struct GuardStack;

// Whether anybody looks at Work::accesses.
bool AccessesWanted();

struct Work {
  const char* name = "";  // static string, for traces and messages
  // True if the work is so short (a few microseconds) that it may run on the calling thread when
  // the stream is idle. Handing it to another thread would cost more.
  bool small = false;
  // True for the user's code. It runs on the stream's own thread only: on another thread it would
  // use that thread's device, locks and thread-local state.
  bool own_thread = false;
  // Runs at most once, in the stream's order, inside an FpEnvironment. On a captured stream it runs
  // once in each replay; several replays may run at a time. It is destroyed without having run if
  // the stream is aborted or stops on an earlier failure. A failed status is reported when the
  // stream is synchronised.
  std::function<base::Status()> run;
  const char* category = "kernel";  // static string, for traces
  // For traces, e.g. shapes, dtype and kernel path; only worth building if TraceEnabled().
  std::string detail = {};
  // For guard mode and the checker of orders; only worth building if AccessesWanted().
  std::vector<MemoryAccess> accesses = {};
  std::shared_ptr<const GuardStack> launched = nullptr;  // in guard mode, by Launch()
};

// Puts work on a stream; null is the default stream of the thread's current context. Fails if
// the handle is not a live stream (ACL_ERROR_RT_INVALID_HANDLE), belongs to another context
// (_STREAM_CONTEXT), or if the thread has no context (_CONTEXT_NULL).
base::Status Launch(void* stream, Work&& work);

// The same for several tasks: all are put there or none.
base::Status LaunchAll(void* stream, std::list<Work> works);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_STREAM_H_
