// A call around its loops: one region of a pool for all of them.
#ifndef PORTACL_RUNTIME_CALL_H_
#define PORTACL_RUNTIME_CALL_H_

#include <cstdint>
#include <type_traits>

namespace portacl::runtime {

namespace internal {
void RunCall(uint64_t kind, void (*function)(void* context), void* context);
}  // namespace internal

// Calls body() once, on this thread or on one of the pool's. Its loops (parallel.h) share one
// region of the pool if the last call of the kind had several loops. Threads come and go once a
// call, and a loop waits for nobody who has taken nothing of it. `kind` tells calls apart, by what
// they do and about how much: thread_policy.h decides for each kind whether calls use other threads
// at all. The body must not throw.
template <class Body>
void RunAsOneCall(uint64_t kind, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  internal::RunCall(
      kind, [](void* context) { (*static_cast<Plain*>(context))(); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_CALL_H_
