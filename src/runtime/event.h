// Events: marks in streams that other streams and host threads wait for.
#ifndef PORTACL_RUNTIME_EVENT_H_
#define PORTACL_RUNTIME_EVENT_H_

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "runtime/gate.h"

namespace portacl::runtime {

struct Context;

// `flags`: or-ed ACL_EVENT_... bits.
base::Status CreateEvent(uint32_t flags, void** handle);

// Enqueued records and waits are still served.
base::Status DestroyEvent(void* handle);

base::Status RecordEvent(void* handle, void* stream);

// Waits for the record that is the latest now, not for later ones.
base::Status StreamWaitEvent(void* stream, void* handle);

// In the stream's order: forgets the record that is the latest now, if it still is then.
base::Status ResetEvent(void* handle, void* stream);

// Whether the latest record is over; false for an event without one.
base::Status QueryEventRecorded(void* handle, bool* complete);

// Whether no stream is waiting for the event.
base::Status QueryEventWaited(void* handle, bool* complete);

// An event without a record holds nobody up.
base::Status SynchronizeEvent(void* handle, SteadyTime deadline);

// When the latest record was over, in microseconds of the steady clock.
// ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID without a time.
base::Status EventTimestamp(void* handle, uint64_t* microseconds);

base::Status EventElapsedTime(void* start, void* end, float* milliseconds);

// Ends the events of a context that is being destroyed.
void DropEventsOf(const Context* context);

size_t CountEvents();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_EVENT_H_
