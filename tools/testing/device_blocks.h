// Device memory for the tensors and the workspace of calls, each block between canaries.
#ifndef PORTACL_TOOLS_TESTING_DEVICE_BLOCKS_H_
#define PORTACL_TOOLS_TESTING_DEVICE_BLOCKS_H_

#include <cstddef>
#include <vector>

#include "tools/testing/aclnn_functions.h"
#include "tools/testing/fenced_memory.h"

namespace portacl::golden {

// Throws Failed if the runtime refuses.
class DeviceBlocks {
 public:
  DeviceBlocks(const AclnnFunctions& functions, Edge edge) : functions_(functions), edge_(edge) {}
  ~DeviceBlocks();
  DeviceBlocks(const DeviceBlocks&) = delete;
  DeviceBlocks& operator=(const DeviceBlocks&) = delete;

  // A block with written canaries. Of size 0 too: nobody may touch a byte of it.
  Fence Take(size_t size, size_t alignment, Canary canary);
  // The next blocks are the earlier ones again, as far as they have the same sizes.
  void Restart() { next_ = 0; }

  void Copy(void* to, const void* from, size_t size, aclrtMemcpyKind kind) const;

 private:
  struct Block {
    void* memory;
    size_t size;
  };

  const AclnnFunctions& functions_;
  Edge edge_;
  std::vector<Block> blocks_;
  size_t next_ = 0;
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_DEVICE_BLOCKS_H_
