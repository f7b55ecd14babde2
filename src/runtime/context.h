// Devices and contexts: who owns streams and events, and which context is current on a thread.
#ifndef PORTACL_RUNTIME_CONTEXT_H_
#define PORTACL_RUNTIME_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/handle_table.h"
#include "base/status.h"
#include "runtime/gate.h"
#include "runtime/stream_queue.h"

namespace portacl::runtime {

inline constexpr int kSysParams = 3;  // values of aclSysParamOpt

struct Context {
  int32_t device = 0;
  bool primary = false;           // a device's default context
  uint32_t process = 0;           // which process of a line of forks made it
  std::atomic<bool> alive{true};  // false once destroyed; threads may still have it as current
  std::shared_ptr<Stream> default_stream;
  std::array<std::atomic<int64_t>, kSysParams> sys_params{};
};

// See device_number.h. 0 if no device is visible.
int32_t DeviceCount();
base::Status CheckDevice(int32_t device);

// Makes a device's default context current on this thread; creates it if need be. Counted.
base::Status SetDevice(int32_t device);

// Undoes one SetDevice. The last one closes the default context, waiting for its work. If no other
// context of the device is left, the device's memory is freed too.
base::Status ResetDevice(int32_t device);

// Closes all contexts of the device, dropping work that has not started, and frees its memory.
base::Status ResetDeviceForce(int32_t device);

// Whether aclrtSetDevice has made the device's default context; `device` is one that there is.
bool HasPrimaryContext(int32_t device);

// Drops tasks that the device's streams have not begun and waits for the others.
base::Status AbortDevice(int32_t device);

base::Status CreateContext(int32_t device, void** handle);
base::Status DestroyContext(void* handle);
base::Status SetCurrentContext(void* handle);

// A number that goes up in each child of fork(). A child must not use the parent's objects.
uint32_t ProcessNumber();

// The thread's current context. ACL_ERROR_RT_CONTEXT_NULL if there is none, if it was destroyed, or
// if it was made before the fork() of this process: a child lacks the streams' threads. The pointer
// stays valid as long as the thread does not change its current context.
base::Status CurrentContext(Context** context);

// A stream of the current context, by handle; null is the default stream.
base::Status FindStream(void* handle, std::shared_ptr<Stream>* stream);

// Calls function(stream) with it, and returns the function's status, if it has one.
template <class Function>
base::Status WithStream(void* handle, Function&& function) {
  std::shared_ptr<Stream> stream;
  PORTACL_RETURN_IF_ERROR(FindStream(handle, &stream));
  if constexpr (std::is_void_v<std::invoke_result_t<Function, Stream&>>) {
    function(*stream);
    return {};
  } else {
    return function(*stream);
  }
}

base::Status CreateStream(void** handle);
base::Status DestroyStream(void* handle, bool drop);

// Waits for all streams of the current device, in all its contexts. ACL_ERROR_RT_WAIT_TIMEOUT after
// the deadline.
base::Status SynchronizeDevice(SteadyTime deadline);

// For lazy mode: all that is enqueued anywhere may begin.
void DemandAllStreams();

// Objects that the caller created and has not destroyed.
size_t CountUserStreams();
size_t CountUserContexts();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CONTEXT_H_
