// Devices and contexts. A context owns streams and events. Each thread has a current context.
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
#include "runtime/stream.h"

namespace portacl::runtime {

inline constexpr int kSysParams = 3;  // number of values of aclSysParamOpt

struct Context {
  int32_t device = 0;
  bool primary = false;           // the device's default context
  uint32_t process = 0;           // ProcessNumber() of the process that made it
  std::atomic<bool> alive{true};  // false once destroyed; threads may still have it as current
  std::shared_ptr<Stream> default_stream;
  std::array<std::atomic<int64_t>, kSysParams> sys_params{};
};

// The number of devices (device_number.h); 0 if no device is visible.
int32_t DeviceCount();
base::Status CheckDevice(int32_t device);

// Makes a device's default context current on this thread, and creates it if needed. Calls count.
base::Status SetDevice(int32_t device);

// Undoes one SetDevice(). The last one waits for the work of the default context and closes it. If
// the device has no other context, its memory is freed, too.
base::Status ResetDevice(int32_t device);

// Closes all contexts of the device, drops work that has not started, and frees its memory.
base::Status ResetDeviceForce(int32_t device);

// Returns true if aclrtSetDevice has made the device's default context. `device` must be valid.
bool HasPrimaryContext(int32_t device);

// Drops tasks that the device's streams have not begun, and waits for tasks that have begun.
base::Status AbortDevice(int32_t device);

base::Status CreateContext(int32_t device, void** handle);
base::Status DestroyContext(void* handle);
base::Status SetCurrentContext(void* handle);

// Increases in each child of fork(). A child must not use objects of its parent.
uint32_t ProcessNumber();

// Finds the thread's current context. ACL_ERROR_RT_CONTEXT_NULL if there is none, if it was
// destroyed, or if a parent of this process made it (a child lacks the streams' threads). The
// pointer is valid until the thread changes its current context.
base::Status CurrentContext(Context** context);

// Finds a stream of the current context. A null handle is the default stream.
base::Status FindStream(void* handle, std::shared_ptr<Stream>* stream);

// Calls function(stream). Returns the function's status, if it returns one.
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

// Waits for all streams of the current device, in all contexts. Returns ACL_ERROR_RT_WAIT_TIMEOUT
// after the deadline.
base::Status SynchronizeDevice(SteadyTime deadline);

// For lazy mode: lets all enqueued work of all streams begin.
void DemandAllStreams();

// How many objects the caller has created and not destroyed.
size_t CountUserStreams();
size_t CountUserContexts();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CONTEXT_H_
