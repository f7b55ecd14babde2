// Callbacks on the program's threads: a stream hands a callback to the thread that subscribed, and
// this thread runs it in aclrtProcessReport.
#ifndef PORTACL_RUNTIME_CALLBACK_H_
#define PORTACL_RUNTIME_CALLBACK_H_

#include <cstdint>

#include "base/status.h"
#include "runtime/gate.h"

namespace portacl::runtime {

class Stream;

// `thread` is a pthread_self(). A stream has one thread; a thread may serve many streams of one
// device. Else returns ACL_ERROR_RT_STREAM_SUBSCRIBE or _THREAD_SUBSCRIBE.
base::Status SubscribeReport(uint64_t thread, void* stream);
base::Status UnsubscribeReport(uint64_t thread, void* stream);

// Returns ACL_ERROR_RT_STREAM_NO_CB_REG if the stream has no subscribed thread.
base::Status LaunchCallback(void (*function)(void*), void* user_data, bool block, void* stream);

// Waits for one callback of the calling thread and runs it.
base::Status ProcessReport(SteadyTime deadline);

// Ends the subscription of a closed stream, if there is one. Callbacks that the stream has
// delivered still run, unless `drop` is true.
void Unsubscribe(const Stream* stream, bool drop);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CALLBACK_H_
