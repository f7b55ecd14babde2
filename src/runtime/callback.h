// Callbacks that run on the caller's threads: a stream hands them to the thread that subscribed,
// and this thread runs them in aclrtProcessReport.
#ifndef PORTACL_RUNTIME_CALLBACK_H_
#define PORTACL_RUNTIME_CALLBACK_H_

#include <cstdint>

#include "base/status.h"
#include "runtime/gate.h"

namespace portacl::runtime {

class Stream;

// `thread` is a pthread_self(). One stream has one thread; one thread may serve many streams of one
// device. Otherwise ACL_ERROR_RT_STREAM_SUBSCRIBE or _THREAD_SUBSCRIBE.
base::Status SubscribeReport(uint64_t thread, void* stream);
base::Status UnsubscribeReport(uint64_t thread, void* stream);

// ACL_ERROR_RT_STREAM_NO_CB_REG if the stream has no subscribed thread.
base::Status LaunchCallback(void (*function)(void*), void* user_data, bool block, void* stream);

// Waits for one callback for the calling thread and runs it.
base::Status ProcessReport(SteadyTime deadline);

// Ends the subscription of a closed stream, if it has one. Without `drop`, callbacks that the
// stream has delivered still run.
void Unsubscribe(const Stream* stream, bool drop);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CALLBACK_H_
