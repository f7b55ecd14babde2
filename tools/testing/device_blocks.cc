// Allocation by the runtime that is under test, and canaries by its copies.
#include "tools/testing/device_blocks.h"

namespace portacl::golden {

DeviceBlocks::~DeviceBlocks() {
  for (const Block& block : blocks_) PORTACL_FIND(functions_, aclrtFree)(block.memory);
}

Fence DeviceBlocks::Take(size_t size, size_t alignment, Canary canary) {
  if (next_ == blocks_.size() || blocks_[next_].size != size) {
    void* memory = nullptr;
    functions_.Check(PORTACL_FIND(functions_, aclrtMalloc)(&memory, FencedBytes(size),
                                                           ACL_MEM_MALLOC_HUGE_FIRST),
                     "aclrtMalloc");
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(next_), {memory, size});
  }
  const Fence fence = FenceIn(blocks_[next_++].memory, size, edge_, alignment, canary);
  const std::vector<std::byte> before = CanariesBefore(fence), after = CanariesAfter(fence);
  Copy(fence.data - fence.before, before.data(), before.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  Copy(fence.data + fence.size, after.data(), after.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  return fence;
}

void DeviceBlocks::Copy(void* to, const void* from, size_t size, aclrtMemcpyKind kind) const {
  if (size == 0) return;
  functions_.Check(PORTACL_FIND(functions_, aclrtMemcpy)(to, size, from, size, kind),
                   "aclrtMemcpy");
}

}  // namespace portacl::golden
