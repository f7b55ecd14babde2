// The part of the runtime that operators use: it puts work on a stream.
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

// Memory that work reads or writes, at the addresses that kernels use.
struct MemoryAccess {
  const char* name = "";  // static string: the tensor's name, "dst", ...
  uintptr_t begin = 0;
  size_t bytes = 0;
  bool write = false;
  bool dense = true;  // true: every byte is accessed
};

struct GuardStack;

// Returns true if Work::accesses is used (in guard mode and in lazy mode).
bool AccessesWanted();

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

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_STREAM_H_
