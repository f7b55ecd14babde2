// mmap, madvise and the list of kept blocks behind result_pool.h.
#include "result_pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace portacl_python {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t LimitFromEnvironment() {
  if (const char* text = std::getenv("PORTACL_POOL_MB")) {
    char* end = nullptr;
    const unsigned long long megabytes = std::strtoull(text, &end, 10);
    if (end != text && *end == '\0' && megabytes < (1ULL << 40)) {
      return static_cast<size_t>(megabytes) << 20;
    }
  }
  const auto memory =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  return std::min(memory / 8, size_t{1} << 30);
}

// mmap gives 4 KiB alignment only: take one huge page more and give the ends back.
ResultPool::Block Map(size_t bytes) {
  const size_t total = bytes + kHugePage;
  void* raw = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return {};
  char* const begin = static_cast<char*>(raw);
  const size_t head = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (head != 0) munmap(begin, head);
  if (head != kHugePage) munmap(begin + head + bytes, kHugePage - head);
  madvise(begin + head, bytes, MADV_HUGEPAGE);  // advice: the block works without, too
  return {begin + head, bytes};
}

void Unmap(ResultPool::Block block) { munmap(block.data, block.bytes); }

}  // namespace

ResultPool::ResultPool() : limit_(LimitFromEnvironment()) { blocks_.reserve(kMaxBlocks); }

ResultPool& ResultPool::Get() {
  static ResultPool* const pool = [] {
    // A fork while another thread holds the mutex would leave the child's locked for ever.
    pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                   [] { Get().mutex_.unlock(); });
    return new ResultPool;
  }();
  return *pool;
}

ResultPool::Block ResultPool::Take(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return {};
  const size_t wanted = (std::max<size_t>(bytes, 1) + kHugePage - 1) / kHugePage * kHugePage;
  {
    const std::lock_guard lock(mutex_);
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
      const bool fits = block->bytes >= wanted && block->bytes <= wanted + wanted / 4;
      if (fits && (best == blocks_.end() || block->bytes <= best->bytes)) best = block;
    }
    if (best != blocks_.end()) {
      const Block block = *best;
      blocks_.erase(best);
      kept_ -= block.bytes;
      return block;
    }
  }
  return Map(wanted);
}

void ResultPool::Return(Block block) noexcept {
  if (block.data == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (block.bytes > limit_) {
    Unmap(block);
    return;
  }
  DropUntil(limit_ - block.bytes, kMaxBlocks - 1);
  blocks_.push_back(block);
  kept_ += block.bytes;
}

size_t ResultPool::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

void ResultPool::Trim() {
  const std::lock_guard lock(mutex_);
  DropUntil(0, 0);
}

void ResultPool::DropUntil(size_t bytes, size_t count) noexcept {
  size_t dropped = 0;
  while (kept_ > bytes || blocks_.size() - dropped > count) {
    kept_ -= blocks_[dropped].bytes;
    Unmap(blocks_[dropped++]);
  }
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<ptrdiff_t>(dropped));
}

}  // namespace portacl_python
