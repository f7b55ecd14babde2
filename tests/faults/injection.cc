// The program's own allocation functions, mappings and threads, which fail when a test asks.
#include "faults/injection.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace {

using portacl_test::Fault;

struct State {
  std::atomic<int> fault{-1};  // which kind fails; -1: none
  std::atomic<bool> for_ever{false};
  std::atomic<int64_t> left{0};  // requests until the failing one
  std::atomic<bool> fired{false};
};
constinit State process_state;
constinit thread_local State thread_state;
constinit std::atomic<int64_t> live_blocks{0};

bool Fails(State& state, Fault fault) {
  if (state.fault.load(std::memory_order_relaxed) != static_cast<int>(fault)) return false;
  const int64_t left = state.left.fetch_sub(1, std::memory_order_relaxed);
  const bool fails = left == 0 || (left < 0 && state.for_ever.load(std::memory_order_relaxed));
  if (fails) state.fired.store(true, std::memory_order_relaxed);
  return fails;
}

bool Fails(Fault fault) { return Fails(thread_state, fault) || Fails(process_state, fault); }

#if !PORTACL_FOREIGN_MAPPINGS
// The system's function of a name that this program has taken.
template <class Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
#endif

}  // namespace

// The libraries shall find these names in the program, whatever its own visibility is.
#pragma GCC visibility push(default)

#if !PORTACL_FOREIGN_MAPPINGS

extern "C" {

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  static auto* const next = Next<decltype(mmap)>("mmap");
  if (!Fails(Fault::kMapping)) return next(address, length, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

int memfd_create(const char* name, unsigned flags) {
  static auto* const next = Next<decltype(memfd_create)>("memfd_create");
  if (!Fails(Fault::kMapping)) return next(name, flags);
  errno = ENFILE;
  return -1;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  static auto* const next = Next<decltype(pthread_create)>("pthread_create");
  return Fails(Fault::kThread) ? EAGAIN : next(thread, attributes, start, argument);
}

}  // extern "C"

#endif  // !PORTACL_FOREIGN_MAPPINGS

#if PORTACL_FOREIGN_MALLOC

namespace {

void* Allocate(size_t size, size_t alignment) {
  if (Fails(Fault::kMemory)) return nullptr;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  void* const memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Inlined where operator new is not, it would look like the wrong end for that memory (GCC 12).
[[gnu::noinline]] void Free(void* memory) noexcept { std::free(memory); }

constexpr size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(size_t size) { return AllocateOrThrow(size, kDefault); }
void* operator new[](size_t size) { return AllocateOrThrow(size, kDefault); }
void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, kDefault); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, kDefault);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }

#else

// glibc's own names for its functions: they can be called before dlsym() can.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* memory);
}

namespace {

// `request` unless it shall fail.
template <class Request>
void* Counted(Request&& request) {
  void* const memory = Fails(Fault::kMemory) ? nullptr : request();
  if (memory == nullptr) {
    errno = ENOMEM;
  } else {
    live_blocks.fetch_add(1, std::memory_order_relaxed);
  }
  return memory;
}

}  // namespace

extern "C" {

void* malloc(size_t size) {
  return Counted([&] { return __libc_malloc(size); });
}
void* calloc(size_t count, size_t size) {
  return Counted([&] { return __libc_calloc(count, size); });
}
void* realloc(void* memory, size_t size) {
  if (memory == nullptr) return malloc(size);
  if (size == 0) {
    free(memory);
    return nullptr;
  }
  if (Fails(Fault::kMemory)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return Counted([&] { return __libc_memalign(alignment, size); });
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const made = memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}
void free(void* memory) {
  if (memory == nullptr) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}

}  // extern "C"

#endif  // PORTACL_FOREIGN_MALLOC

#pragma GCC visibility pop

namespace portacl_test {

namespace {

State& StateOf(Reach reach) { return reach == Reach::kThread ? thread_state : process_state; }

}  // namespace

const char* NameOf(Fault fault) {
  switch (fault) {
    case Fault::kMemory:
      return "memory";
    case Fault::kMapping:
      return "mapping";
    case Fault::kThread:
      break;
  }
  return "thread";
}

Injection::Injection(Fault fault, Repeat repeat, int64_t n, Reach reach) : reach_(reach) {
  State& state = StateOf(reach);
  state.left.store(n);
  state.for_ever.store(repeat == Repeat::kForEver);
  state.fired.store(false);
  state.fault.store(static_cast<int>(fault));
}

Injection::~Injection() { End(); }

bool Injection::End() {
  if (ended_) return fired_;
  ended_ = true;
  State& state = StateOf(reach_);
  state.fault.store(-1);
  fired_ = state.fired.load();
  return fired_;
}

int64_t LiveBlocks() { return live_blocks.load(); }

}  // namespace portacl_test
