// Events: marks in streams that other streams and host threads can wait for.
#ifndef PORTACL_RUNTIME_EVENT_H_
#define PORTACL_RUNTIME_EVENT_H_

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "runtime/gate.h"

namespace portacl::runtime {

struct Context;

// `flags`: ACL_EVENT_... bits.
base::Status CreateEvent(uint32_t flags, void** handle);

// Enqueued records and waits still run.
base::Status DestroyEvent(void* handle);

base::Status RecordEvent(void* handle, void* stream);

// Makes the stream wait for the record that is the latest now. Later records do not count.
base::Status StreamWaitEvent(void* stream, void* handle);

// In the stream's order: removes the record that is the latest now, unless a newer one has come.
base::Status ResetEvent(void* handle, void* stream);

// *complete is true if the latest record is over; false if there is no record.
base::Status QueryEventRecorded(void* handle, bool* complete);

// *complete is true if no stream waits for the event.
base::Status QueryEventWaited(void* handle, bool* complete);

// Waits for the latest record. Returns at once if there is no record.
base::Status SynchronizeEvent(void* handle, SteadyTime deadline);

// Returns when the latest record was over, in microseconds of the steady clock. Without a time:
// ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID.
base::Status EventTimestamp(void* handle, uint64_t* microseconds);

base::Status EventElapsedTime(void* start, void* end, float* milliseconds);

// Ends the events of a context that is being destroyed.
void DropEventsOf(const Context* context);

size_t CountEvents();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_EVENT_H_
