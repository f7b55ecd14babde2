// The checker of orders, on in lazy mode. If one piece of work writes memory that another reads or
// writes, something must order the two. This may be their stream, events, or a host that
// synchronises with the first before it launches the second. It works as detectors of races do.
// Each stream, and the host, has a clock: up to which piece of every stream's work all is over.
// Launching, recording, waiting and synchronising hand that knowledge on. Findings do not depend on
// when anything runs.
//
// All host threads count as one: how they wait for each other is not seen here. For strided tensors
// the ends count: two that lie between each other's rows are no finding.
#ifndef PORTACL_RUNTIME_ORDER_H_
#define PORTACL_RUNTIME_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/stream_queue.h"

namespace portacl::runtime {

// A clock of some work: for each stream, by its number, how many pieces of its work are over
// before.
struct OrderClock {
  std::map<uint64_t, uint64_t> over;
};
using SharedClock = std::shared_ptr<const OrderClock>;

// Work is about to be enqueued. Names on stderr the calls that it is not ordered with, each pair of
// calls once. In guard mode poisons the memory that it writes, if nothing pending uses it.
void NoteLaunch(Stream& stream, const Work& work);

// All work that is over once the stream's present work is over.
SharedClock ClockOf(const Stream& stream);

// Work that is enqueued from now on comes after the clock (null: nothing). NoteWait means one
// stream; NoteSynchronized means all streams, because the host waited for the clock.
void NoteWait(const Stream& stream, const SharedClock& clock);
void NoteSynchronized(const SharedClock& clock);

// Streams that write a number in memory and streams that wait for one. A waiting stream comes after
// all work that the writers have then. If nobody has written it yet, the order is not known. Then
// nothing is said of the waiting stream's work until somebody writes it.
void NoteSignal(const Stream& stream, const void* number);
void NoteWaitForNumber(const Stream& stream, const void* number);

// The stream is gone: work that it has not run will never run.
void NoteClosed(const Stream& stream) noexcept;

// The host itself touches memory (a copy that is no stream's), or frees it.
void NoteHostAccess(const char* what, const std::vector<MemoryAccess>& accesses);
void NoteFree(const void* begin, size_t bytes);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ORDER_H_
