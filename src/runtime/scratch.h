// Scratch memory, mainly for calls without a workspace of the caller (native API, graph API).
#ifndef PORTACL_RUNTIME_SCRATCH_H_
#define PORTACL_RUNTIME_SCRATCH_H_

#include <cstddef>

#include "runtime/block_pool.h"

namespace portacl::runtime {

// A block of scratch memory from the process's pool; the destructor gives it back. Aligned to 64
// bytes or more, in huge pages if they help, contents undefined.
class Scratch {
 public:
  // data() is null if `bytes` is 0 or there is no memory.
  explicit Scratch(size_t bytes) {
    if (bytes > 0) block_ = TakeBlock(bytes, Pages::kHuge);
  }
  ~Scratch() { ReturnBlock(block_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return block_.data; }

 private:
  Block block_;
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_SCRATCH_H_
