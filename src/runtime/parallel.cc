// Runs loops and calls, either on the caller alone or in a region of a pool.
#include "runtime/parallel.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/per_thread.h"
#include "runtime/fp_env.h"
#include "runtime/simulation.h"
#include "runtime/team.h"
#include "runtime/thread_policy.h"
#include "runtime/thread_pools.h"

namespace portacl::runtime {
namespace {

// A call without a region: each of its loops has its own region.
struct OpenCall {
  CallKind* kind = nullptr;
  int loops = 0;
};
PORTACL_STARTS_WITH_THREAD constinit thread_local OpenCall* open_call = nullptr;

uint64_t KeyOfLoop(const internal::Loop& loop) {
  const auto size = static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(loop.count)));
  return reinterpret_cast<uintptr_t>(loop.function) * 64 + size;
}

void RunInPlace(const internal::Loop& loop) {
  const FpEnvironment environment;
  loop.function(loop.context, 0, 0, loop.count);
}

}  // namespace

void internal::RunLoop(Loop loop) {
  if (loop.count <= 0) return;
  loop.grain = std::max<int64_t>(1, loop.grain);
  if (loop.count <= loop.grain || loop.slots == 1) return RunInPlace(loop);
  if (Team::RunOnLed(loop) || RunSimulated(loop)) return;
  if (RunsInPlace()) return RunInPlace(loop);
  OpenCall* const call = open_call;
  if (call != nullptr) ++call->loops;
  CallKind* const kind = call != nullptr ? call->kind : &KindOf(KeyOfLoop(loop));
  const auto body = [](void* of_loop) {
    const Loop& only = *static_cast<Loop*>(of_loop);
    if (!Team::RunOnLed(only) && !RunSimulated(only)) RunInPlace(only);
  };
  int64_t most_threads = (loop.count - 1) / loop.grain + 1;
  if (loop.slots > 0) most_threads = std::min<int64_t>(most_threads, loop.slots);
  RunRegion(kind, most_threads, body, &loop);
}

void internal::RunCall(uint64_t kind, void (*function)(void* context), void* context) {
  if (RunsInPlace()) return function(context);
  CallKind& known = KindOf(kind);
  if (known.loops() > 1) {
    return RunRegion(&known, std::numeric_limits<int64_t>::max(), function, context);
  }
  OpenCall call = {&known};
  OpenCall* const outer = std::exchange(open_call, &call);
  function(context);
  open_call = outer;
  known.SetLoops(call.loops);
}

}  // namespace portacl::runtime
