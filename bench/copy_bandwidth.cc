// How fast this machine copies and fills memory with 1 to N threads: the yardstick of compare.py,
// which loads this file as a library. Modes: C library (memcpy, memset) and non-temporal stores.
// Two more modes read and write different numbers of bytes, as a gradient does: each line written
// is the sum of the lines read since the last one.
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

enum Mode : int32_t {
  kMemcpy = 0,
  kStreamCopy = 1,
  kMemset = 2,
  kStreamFill = 3,
  kMix = 4,
  kStreamMix = 5,
};

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

void MixLinesPlain(char* dst, size_t dst_lines, const char* src, size_t src_lines, bool) {
  size_t read = 0;
  for (size_t i = 0; i < dst_lines; ++i) {
    uint32_t sum[kLine / sizeof(uint32_t)] = {};
    for (const size_t end = (i + 1) * src_lines / dst_lines; read < end; ++read) {
      uint32_t line[kLine / sizeof(uint32_t)];
      std::memcpy(line, src + read * kLine, kLine);
      for (size_t j = 0; j < kLine / sizeof(uint32_t); ++j) sum[j] += line[j];
    }
    std::memcpy(dst + i * kLine, sum, kLine);
  }
}

#if defined(__x86_64__)

// Every page ahead is touched early, as prefetchers stop at the end of a page.
inline void FetchPagesAhead(const char* from, const char* to) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t page = (reinterpret_cast<uintptr_t>(from) + kPage - 1) & ~(kPage - 1);
  if (page >= reinterpret_cast<uintptr_t>(to)) return;
  for (size_t line = 0; line < 4; ++line) {
    _mm_prefetch(reinterpret_cast<const char*>(page + 4 * kPage + line * kLine), _MM_HINT_T1);
  }
}

__attribute__((target("avx512f"))) void MixLines512(char* dst, size_t dst_lines, const char* src,
                                                    size_t src_lines, bool stream) {
  size_t read = 0;
  for (size_t i = 0; i < dst_lines; ++i) {
    const size_t end = (i + 1) * src_lines / dst_lines;
    FetchPagesAhead(src + read * kLine, src + end * kLine);
    __m512i sum = _mm512_setzero_si512();
    for (; read < end; ++read) {
      sum = _mm512_add_epi32(sum, _mm512_loadu_si512(src + read * kLine));
    }
    auto* to = reinterpret_cast<__m512i*>(dst + i * kLine);
    if (stream) {
      _mm512_stream_si512(to, sum);
    } else {
      _mm512_store_si512(to, sum);
    }
  }
}

__attribute__((target("avx2"))) void MixLines256(char* dst, size_t dst_lines, const char* src,
                                                 size_t src_lines, bool stream) {
  size_t read = 0;
  for (size_t i = 0; i < dst_lines; ++i) {
    const size_t end = (i + 1) * src_lines / dst_lines;
    FetchPagesAhead(src + read * kLine, src + end * kLine);
    __m256i low = _mm256_setzero_si256(), high = low;
    for (; read < end; ++read) {
      const auto* from = reinterpret_cast<const __m256i*>(src + read * kLine);
      low = _mm256_add_epi32(low, _mm256_loadu_si256(from));
      high = _mm256_add_epi32(high, _mm256_loadu_si256(from + 1));
    }
    auto* to = reinterpret_cast<__m256i*>(dst + i * kLine);
    if (stream) {
      _mm256_stream_si256(to, low);
      _mm256_stream_si256(to + 1, high);
    } else {
      _mm256_store_si256(to, low);
      _mm256_store_si256(to + 1, high);
    }
  }
}

#endif

// Whole lines only; dst is aligned to a line.
void Mix(char* dst, size_t dst_bytes, const char* src, size_t src_bytes, bool stream) {
  auto* lines = MixLinesPlain;
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (has_avx2) lines = MixLines256;
  if (has_avx512) lines = MixLines512;
#endif
  lines(dst, dst_bytes / kLine, src, src_bytes / kLine, stream);
#if defined(__x86_64__)
  if (stream) _mm_sfence();
#endif
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

  void Run(Mode mode, void* dst, size_t dst_bytes, const void* src, size_t src_bytes) {
    mode_ = mode;
    dst_ = {static_cast<char*>(dst), dst_bytes};
    src_ = {const_cast<char*>(static_cast<const char*>(src)), src_bytes};
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

  struct Range {
    char* begin = nullptr;
    size_t bytes = 0;
  };

  // Part i of the threads' equal parts, cut at lines.
  Range Cut(Range all, int32_t i) const {
    const size_t lines = (all.bytes + kLine - 1) / kLine;
    const auto at = [&](int32_t k) {
      const size_t line = lines * static_cast<size_t>(k) / static_cast<size_t>(threads_);
      return line * kLine < all.bytes ? line * kLine : all.bytes;
    };
    return {all.begin + at(i), at(i + 1) - at(i)};
  }

  void Part(int32_t i) const {
    const Range dst = Cut(dst_, i), src = Cut(src_, i);
    if (mode_ == kMix || mode_ == kStreamMix) {
      Mix(dst.begin, dst.bytes, src.begin, src.bytes, mode_ == kStreamMix);
    } else if (dst.bytes > 0) {
      Work(mode_, dst.begin, src.begin, dst.bytes);
    }
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
  Range dst_, src_;
};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* portacl_copy_create(int32_t threads) { return new Team(threads < 1 ? 1 : threads); }

EXPORT void portacl_copy_destroy(void* team) { delete static_cast<Team*>(team); }

// Copies (modes 0, 1) or zeroes (modes 2, 3) `bytes` bytes.
EXPORT void portacl_copy_run(void* team, int32_t mode, void* dst, const void* src, size_t bytes) {
  static_cast<Team*>(team)->Run(static_cast<Mode>(mode), dst, bytes, src, bytes);
}

// Reads src_bytes and writes dst_bytes (modes 4, 5), whole lines only. dst is aligned to a line.
EXPORT void portacl_copy_mix(void* team, int32_t mode, void* dst, size_t dst_bytes, const void* src,
                             size_t src_bytes) {
  static_cast<Team*>(team)->Run(static_cast<Mode>(mode), dst, dst_bytes, src, src_bytes);
}
