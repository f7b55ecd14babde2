// Scratch memory for calls that bring no workspace of their own (the native API).
#ifndef PORTACL_RUNTIME_SCRATCH_H_
#define PORTACL_RUNTIME_SCRATCH_H_

#include <cstddef>

#include "runtime/block_pool.h"

namespace portacl::runtime {

// A block of scratch memory from the bounded, process-wide pool; goes back at the end of its life.
// Aligned to 64 bytes or more, in huge pages if that helps, contents undefined.
class Scratch {
 public:
  // data() is null if there is no memory (and for 0 bytes).
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
