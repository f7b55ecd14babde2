// The checker of orders, on in lazy mode. If one piece of work writes memory that another reads or
// writes, something must order them: their stream, events, or a host that synchronises with the
// first before it launches the second. The checker works like a race detector. Each stream, and the
// host, has a clock: for every stream, how many pieces of its work are known to be over. Launches,
// records, waits and synchronisations pass this knowledge on. Findings do not depend on timing.
//
// All host threads share one clock, because it is unknown how they wait for each other. For strided
// tensors only the ends count: tensors that lie between each other's rows are not reported.
#ifndef PORTACL_RUNTIME_ORDER_H_
#define PORTACL_RUNTIME_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/stream.h"

namespace portacl::runtime {

// The clock of some work: for each stream (by number), how many pieces of its work are over before
// this work.
struct OrderClock {
  std::map<uint64_t, uint64_t> over;
};
using SharedClock = std::shared_ptr<const OrderClock>;

// Called before work is enqueued. Names on stderr the calls that must be ordered with the work but
// are not, each pair once. In guard mode, poisons the memory that the work writes, unless pending
// work uses it.
void NoteLaunch(Stream& stream, const Work& work);

// Returns the work that is over once the stream's present work is over.
SharedClock ClockOf(const Stream& stream);

// Work that is enqueued from now on comes after `clock` (null: no order). NoteWait() says this of
// one stream; NoteSynchronized() says it of all streams, because the host waited.
void NoteWait(const Stream& stream, const SharedClock& clock);
void NoteSynchronized(const SharedClock& clock);

// A stream writes a number in memory, or waits for a number. A waiting stream comes after all work
// that the writers of the number have now. If no stream has written it, the order is unknown: until
// a stream writes it, the waiting stream's work is not reported.
void NoteSignal(const Stream& stream, const void* number);
void NoteWaitForNumber(const Stream& stream, const void* number);

// The stream has ended: its remaining work will never run.
void NoteClosed(const Stream& stream) noexcept;

// The host touches memory itself (a copy without a stream), or frees memory.
void NoteHostAccess(const char* what, const std::vector<MemoryAccess>& accesses);
void NoteFree(const void* begin, size_t bytes);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ORDER_H_
