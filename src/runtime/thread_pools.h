// Regions of the pools behind parallel.h: they run a call or a loop on several threads.
#ifndef PORTACL_RUNTIME_THREAD_POOLS_H_
#define PORTACL_RUNTIME_THREAD_POOLS_H_

#include <cstdint>

#include "runtime/thread_policy.h"

namespace portacl::runtime {

// Returns true if loops run on their caller alone: the calling thread is inside a region, or the
// process is a forked child of a process that has had a region.
bool RunsInPlace();

// Calls body(context). Its loops (Team::RunOnLed) have up to `most_threads` threads, but one thread
// if there is no pool or the policy says so. Not to be called if RunsInPlace().
void RunRegion(CallKind* kind, int64_t most_threads, void (*body)(void*), void* context);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_THREAD_POOLS_H_
