// Regions of the pools behind parallel.h: a call or a loop, on several threads.
#ifndef PORTACL_RUNTIME_THREAD_POOLS_H_
#define PORTACL_RUNTIME_THREAD_POOLS_H_

#include <cstdint>

#include "runtime/thread_policy.h"

namespace portacl::runtime {

// Whether the calling thread is inside a region, or the process is a forked child of one that has
// had a region. Loops then run on their caller alone.
bool RunsInPlace();

// Calls body(context); its loops (Team::RunOnLed) have up to `most_threads` threads: one if
// there is no pool, or if the policy says so. Not to be called if RunsInPlace().
void RunRegion(CallKind* kind, int64_t most_threads, void (*body)(void*), void* context);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_THREAD_POOLS_H_
