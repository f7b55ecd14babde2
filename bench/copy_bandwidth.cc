// How fast this machine copies and fills memory with 1 to N threads: the yardstick of compare.py,
// which loads this file as a library. Modes: C library (memcpy, memset) and non-temporal stores.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

enum Mode : int32_t { kMemcpy = 0, kStreamCopy = 1, kMemset = 2, kStreamFill = 3 };

constexpr size_t kLine = 64;

#if defined(__x86_64__)
// Whole lines with stores that bypass the caches; the rest with memcpy / memset. dst is aligned to
// a line. src is null for a fill.
__attribute__((target("avx512f"))) size_t StreamLines512(char* dst, const char* src, size_t bytes) {
  size_t i = 0;
  __m512i value = _mm512_setzero_si512();
  for (; i + kLine <= bytes; i += kLine) {
    if (src != nullptr) value = _mm512_loadu_si512(src + i);
    _mm512_stream_si512(reinterpret_cast<__m512i*>(dst + i), value);
  }
  return i;
}

size_t StreamLines128(char* dst, const char* src, size_t bytes) {
  size_t i = 0;
  __m128i value = _mm_setzero_si128();
  for (; i + kLine <= bytes; i += kLine) {
    for (size_t j = i; j < i + kLine; j += sizeof(value)) {
      if (src != nullptr) value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + j));
      _mm_stream_si128(reinterpret_cast<__m128i*>(dst + j), value);
    }
  }
  return i;
}

size_t StreamLines(char* dst, const char* src, size_t bytes) {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  const size_t done =
      has_avx512 ? StreamLines512(dst, src, bytes) : StreamLines128(dst, src, bytes);
  _mm_sfence();
  return done;
}
#else
size_t StreamLines(char*, const char*, size_t) { return 0; }  // no such stores: plain ones
#endif

void Plain(char* dst, const char* src, size_t bytes) {
  if (src != nullptr) {
    std::memcpy(dst, src, bytes);
  } else {
    std::memset(dst, 0, bytes);
  }
}

void Work(Mode mode, char* dst, const char* src, size_t bytes) {
  if (mode == kMemset || mode == kStreamFill) src = nullptr;
  size_t done = 0;
  if (mode == kStreamCopy || mode == kStreamFill) {
    const size_t head = (kLine - reinterpret_cast<uintptr_t>(dst) % kLine) % kLine;
    done = head < bytes ? head : bytes;
    Plain(dst, src, done);
    done += StreamLines(dst + done, src != nullptr ? src + done : nullptr, bytes - done);
  }
  Plain(dst + done, src != nullptr ? src + done : nullptr, bytes - done);
}

// A fixed team: each call cuts the range into one contiguous part per thread. Workers spin for a
// moment before they sleep, so that short copies are not dominated by waking threads up.
class Team {
 public:
  explicit Team(int32_t threads) : threads_(threads) {
    for (int32_t i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Serve(i); });
  }
  ~Team() {
    stop_.store(true, std::memory_order_relaxed);
    Start();
    for (std::thread& worker : workers_) worker.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  void Run(Mode mode, void* dst, const void* src, size_t bytes) {
    mode_ = mode;
    dst_ = static_cast<char*>(dst);
    src_ = static_cast<const char*>(src);
    bytes_ = bytes;
    pending_.store(threads_ - 1, std::memory_order_relaxed);
    Start();
    Part(0);
    while (pending_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  void Start() {
    ticket_.fetch_add(1, std::memory_order_release);
    ticket_.notify_all();
  }

  void Part(int32_t i) const {
    const size_t lines = (bytes_ + kLine - 1) / kLine;
    const size_t begin = lines * static_cast<size_t>(i) / static_cast<size_t>(threads_) * kLine;
    size_t end = lines * static_cast<size_t>(i + 1) / static_cast<size_t>(threads_) * kLine;
    if (end > bytes_) end = bytes_;
    if (begin < end) Work(mode_, dst_ + begin, src_ + begin, end - begin);
  }

  void Serve(int32_t i) {
    for (uint32_t seen = 0;;) {
      for (int spin = 0; spin < 20000 && ticket_.load(std::memory_order_acquire) == seen; ++spin) {
#if defined(__x86_64__)
        _mm_pause();
#endif
      }
      ticket_.wait(seen, std::memory_order_acquire);
      seen = ticket_.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_relaxed)) return;
      Part(i);
      pending_.fetch_sub(1, std::memory_order_release);
    }
  }

  const int32_t threads_;
  std::vector<std::thread> workers_;
  std::atomic<uint32_t> ticket_{0};
  std::atomic<int32_t> pending_{0};
  std::atomic<bool> stop_{false};
  Mode mode_ = kMemcpy;
  char* dst_ = nullptr;
  const char* src_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* portacl_copy_create(int32_t threads) { return new Team(threads < 1 ? 1 : threads); }

EXPORT void portacl_copy_destroy(void* team) { delete static_cast<Team*>(team); }

// Copies (modes 0, 1) or zeroes (modes 2, 3) `bytes` bytes.
EXPORT void portacl_copy_run(void* team, int32_t mode, void* dst, const void* src, size_t bytes) {
  static_cast<Team*>(team)->Run(static_cast<Mode>(mode), dst, src, bytes);
}
