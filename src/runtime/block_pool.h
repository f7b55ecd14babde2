// Blocks of memory for allocations and scratch. The pool keeps big freed blocks, up to a limit, and
// hands them out again. So the system need not provide and clear their pages again.
#ifndef PORTACL_RUNTIME_BLOCK_POOL_H_
#define PORTACL_RUNTIME_BLOCK_POOL_H_

#include <cstddef>

namespace portacl::runtime {

// kHuge: transparent huge pages if the block is big enough. kNormal: no huge pages.
enum class Pages { kHuge, kNormal };

struct Block {
  void* data = nullptr;  // aligned to 512 bytes (to 4096 if that big); null: no block
  size_t bytes = 0;      // at least the requested size
  Pages pages = Pages::kHuge;
  bool mapped = false;  // true: from mmap; false: from the C heap
};

// Returns a block of at least `bytes` > 0 with undefined contents. Its data is null without memory.
Block TakeBlock(size_t bytes, Pages pages);

void ReturnBlock(const Block& block);

// The bytes that are kept now, and the most bytes that are ever kept: PORTACL_POOL_BYTES, or else
// an eighth of the machine's memory, at most 1 GiB.
size_t PooledBytes();
size_t PoolLimit();

// Gives the kept blocks back to the system.
void TrimPool();

// The machine's memory in bytes.
size_t PhysicalMemory();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_BLOCK_POOL_H_
