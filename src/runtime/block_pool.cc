// The pool of blocks.
#include "runtime/block_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fork.h"
#include "base/round_up.h"
#include "base/settings.h"

#if defined(__SANITIZE_ADDRESS__)
#define PORTACL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PORTACL_ASAN 1
#endif
#endif

#if defined(PORTACL_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#endif

namespace portacl::runtime {
namespace {

constexpr size_t kAlignment = 512;
constexpr size_t kPage = 4096;  // blocks of a page and more begin at a page: programs rely on it
constexpr size_t kMappedFrom = size_t{64} << 10;  // smaller blocks: the C heap reuses them itself
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kHugeFrom = size_t{1} << 20;
constexpr size_t kMaxKept = 256;  // blocks

// Maps memory from a multiple of 2 MiB on, so that all of it can be huge pages.
void* MapAligned(size_t bytes) {
  const size_t room = bytes + kHugePage;
  void* const start = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<uintptr_t>(start);
  const uintptr_t aligned = base::RoundUp(address, kHugePage);
  if (aligned != address) munmap(start, aligned - address);
  const uintptr_t end = aligned + bytes;
  if (address + room != end) munmap(reinterpret_cast<void*>(end), address + room - end);
  return reinterpret_cast<void*>(aligned);
}

void* MapBlock(size_t bytes, Pages pages) {
  const bool huge = bytes >= kHugeFrom;
  void* data = nullptr;
  if (huge) {
    data = MapAligned(bytes);
  } else {
    data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
  }
  // Only a hint: without huge pages the block works, too.
  if (data != nullptr && huge) {
    madvise(data, bytes, pages == Pages::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  }
  return data;
}

// Returns the size of a mapped block for `bytes` bytes; 0 on overflow. There are few different
// sizes, so that blocks can be reused.
size_t MappedSize(size_t bytes) {
  if (bytes > SIZE_MAX / 4) return 0;
  if (bytes >= kHugeFrom) return base::RoundUp(bytes, kHugePage);
  size_t step = size_t{16} << 10;
  while (step * 8 < bytes) step *= 2;
  return base::RoundUp(bytes, step);
}

struct Pool {
  base::ForkSafe<std::mutex> mutex{base::LockRank::kPool};
  std::vector<Block> kept;  // oldest first
  size_t kept_bytes = 0;
};

Pool& ThePool() {
  static constinit base::Immortal<Pool> pool;
  return pool.Get([] {
    auto made = std::make_unique<Pool>();
    made->kept.reserve(kMaxKept);  // so giving a block back allocates nothing
    return made.release();
  });
}

void Unmap(const Block& block) {
  ASAN_UNPOISON_MEMORY_REGION(block.data, block.bytes);
  munmap(block.data, block.bytes);
}

// Takes the newest kept block that is large enough and wastes at most a quarter of `bytes`.
Block TakeKept(size_t bytes, Pages pages) {
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  for (size_t i = pool.kept.size(); i-- > 0;) {
    const Block block = pool.kept[i];
    if (block.pages == pages && block.bytes >= bytes && block.bytes - bytes <= bytes / 4) {
      pool.kept.erase(pool.kept.begin() + static_cast<std::ptrdiff_t>(i));
      pool.kept_bytes -= block.bytes;
      return block;
    }
  }
  return {};
}

}  // namespace

size_t PhysicalMemory() {
  static constinit base::Once<size_t> bytes;
  return bytes.Get([] {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page)
                                 : size_t{1} << 30;
  });
}

size_t PoolLimit() {
  static constinit base::Once<size_t> limit;
  return limit.Get(
      [] { return base::settings::PoolBytes(std::min(PhysicalMemory() / 8, size_t{1} << 30)); });
}

size_t PooledBytes() {
  const std::lock_guard lock(ThePool().mutex);
  return ThePool().kept_bytes;
}

Block TakeBlock(size_t bytes, Pages pages) {
  if (bytes < kMappedFrom) {
    const size_t alignment = bytes < kPage ? kAlignment : kPage;
    const size_t size = base::RoundUp(bytes, alignment);
    return {std::aligned_alloc(alignment, size), size, pages, /*mapped=*/false};
  }
  const size_t size = MappedSize(bytes);
  if (size == 0) return {};
  Block block = TakeKept(size, pages);
  if (block.data == nullptr) block = {MapBlock(size, pages), size, pages, /*mapped=*/true};
  if (block.data == nullptr) {  // retried without kept blocks, which may hold the missing memory
    TrimPool();
    block.data = MapBlock(size, pages);
  }
  // Lets the address sanitizer find kernels that reach past `bytes`.
  if (block.data != nullptr) {
    ASAN_UNPOISON_MEMORY_REGION(block.data, bytes);
    ASAN_POISON_MEMORY_REGION(static_cast<char*>(block.data) + bytes, block.bytes - bytes);
  }
  return block;
}

void ReturnBlock(const Block& block) {
  if (block.data == nullptr) return;
  if (!block.mapped) {
    std::free(block.data);
    return;
  }
  ASAN_POISON_MEMORY_REGION(block.data, block.bytes);
  Pool& pool = ThePool();
  std::unique_lock lock(pool.mutex);
  if (block.bytes > PoolLimit()) {
    lock.unlock();
    Unmap(block);
    return;
  }
  while (pool.kept_bytes + block.bytes > PoolLimit() || pool.kept.size() == kMaxKept) {
    const Block oldest = pool.kept.front();
    pool.kept.erase(pool.kept.begin());
    pool.kept_bytes -= oldest.bytes;
    lock.unlock();
    Unmap(oldest);
    lock.lock();
  }
  pool.kept.push_back(block);
  pool.kept_bytes += block.bytes;
}

void TrimPool() {
  Pool& pool = ThePool();
  std::unique_lock lock(pool.mutex);
  while (!pool.kept.empty()) {
    const Block newest = pool.kept.back();
    pool.kept.pop_back();
    pool.kept_bytes -= newest.bytes;
    lock.unlock();
    Unmap(newest);
    lock.lock();
  }
}

}  // namespace portacl::runtime
