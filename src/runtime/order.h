// The checker of orders, on in lazy mode. If one piece of work writes memory that another reads or
// writes, something must order the two. This may be their stream, events, or a host that
// synchronises with the first before it launches the second. It works like a race detector. Each
// stream, and the host, has a clock: the number of finished pieces of every stream's work that it
// knows of. Launching, recording, waiting and synchronising pass this knowledge on. Findings do not
// depend on timing.
//
// All host threads count as one, because how they wait for each other is not known. For strided
// tensors only the ends count: two tensors that lie between each other's rows are not reported.
#ifndef PORTACL_RUNTIME_ORDER_H_
#define PORTACL_RUNTIME_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "runtime/stream_queue.h"

namespace portacl::runtime {

// The clock of some work: for each stream, by its number, how many pieces of its work are over
// before this work.
struct OrderClock {
  std::map<uint64_t, uint64_t> over;
};
using SharedClock = std::shared_ptr<const OrderClock>;

// Called before work is enqueued. Names on stderr the calls that it is not ordered with, each pair
// of calls once. In guard mode poisons the memory that it writes, unless pending work uses it.
void NoteLaunch(Stream& stream, const Work& work);

// All work that is over once the stream's present work is over.
SharedClock ClockOf(const Stream& stream);

// Work that is enqueued from now on comes after `clock` (null: no order). After NoteWait this holds
// for one stream; after NoteSynchronized for all streams, because the host waited.
void NoteWait(const Stream& stream, const SharedClock& clock);
void NoteSynchronized(const SharedClock& clock);

// Streams write numbers in memory, and streams wait for them. A waiting stream comes after all work
// that the writers have then. If no stream has written the number yet, the order is not known:
// until one writes it, the waiting stream's work is not reported.
void NoteSignal(const Stream& stream, const void* number);
void NoteWaitForNumber(const Stream& stream, const void* number);

// The stream is gone: work that it has not run will never run.
void NoteClosed(const Stream& stream) noexcept;

// The host itself touches memory (a copy that is no stream's), or frees it.
void NoteHostAccess(const char* what, const std::vector<MemoryAccess>& accesses);
void NoteFree(const void* begin, size_t bytes);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_ORDER_H_
