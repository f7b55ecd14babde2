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

// For each stream, by its number, how many pieces of its work are over before what has this clock.
struct OrderClock {
  std::map<uint64_t, uint64_t> over;
};
using SharedClock = std::shared_ptr<const OrderClock>;

// Work is about to be enqueued: says on stderr what it is not ordered with, each pair of calls
// once. In guard mode poisons what it writes, if nothing pending uses that.
void NoteLaunch(Stream& stream, const Work& work);

// All work that is over once the stream's present work is over.
SharedClock ClockOf(const Stream& stream);

// Work that is enqueued from now on comes after the clock (null: nothing). NoteWait means one
// stream; NoteSynchronized means all streams, because the host waited for the clock.
void NoteWait(const Stream& stream, const SharedClock& clock);
void NoteSynchronized(const SharedClock& clock);

// Streams that write a number in memory and streams that wait for one: who waits comes after all
// that the writers have then. If nobody has written it yet, the order is not known: nothing is
// said of what the waiting stream launches before somebody does.
void NoteSignal(const Stream& stream, const void* number);
void NoteWaitForNumber(const Stream& stream, const void* number);

// The stream is gone: what it had not run never will.
void NoteClosed(const Stream& stream) noexcept;

// The host itself touches memory (a copy that is no stream's), or frees it.
void NoteHostAccess(const char* what, const std::vector<MemoryAccess>& accesses);
void NoteFree(const void* begin, size_t bytes);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ORDER_H_
