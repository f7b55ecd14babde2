// Blocks of memory for allocations and scratch. Big blocks that are freed are kept, up to a bound,
// and handed out again. So the system need not provide and clear their pages again.
#ifndef PORTACL_RUNTIME_BLOCK_POOL_H_
#define PORTACL_RUNTIME_BLOCK_POOL_H_

#include <cstddef>

namespace portacl::runtime {

// kHuge: transparent huge pages if the block is big enough for one. kNormal: never.
enum class Pages { kHuge, kNormal };

struct Block {
  void* data = nullptr;  // aligned to 512 bytes, from 4096 on to these; null: no block
  size_t bytes = 0;      // at least what was asked for
  Pages pages = Pages::kHuge;
  bool mapped = false;  // by mmap; otherwise from the C heap
};

// A block of at least `bytes` > 0; its data is null if there is no memory. Contents undefined.
Block TakeBlock(size_t bytes, Pages pages);

void ReturnBlock(const Block& block);

// Bytes kept for reuse now, and the most that are ever kept: an eighth of the machine's memory, at
// most 1 GiB, or PORTACL_POOL_BYTES.
size_t PooledBytes();
size_t PoolLimit();

// Gives the kept blocks back to the system.
void TrimPool();

// Memory of the machine in bytes.
size_t PhysicalMemory();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_BLOCK_POOL_H_
