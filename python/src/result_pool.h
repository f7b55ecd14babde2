// Memory of large results. A fresh page costs a fault and a clearing pass, often more than the
// computation that fills it. So blocks are made of huge pages and, up to a bound, kept when the
// array on them dies.
#ifndef PORTACL_PYTHON_RESULT_POOL_H_
#define PORTACL_PYTHON_RESULT_POOL_H_

#include <cstddef>
#include <mutex>
#include <vector>

namespace portacl_python {

// Thread-safe. Survives fork(): the child has the parent's blocks, copied on write.
class ResultPool {
 public:
  struct Block {
    void* data = nullptr;  // aligned to 2 MiB; null: no memory
    size_t bytes = 0;      // a multiple of 2 MiB
  };

  // Results of at least this size come from the pool.
  static constexpr size_t kPooledBytes = size_t{1} << 20;
  // Kept at most, however small they are.
  static constexpr size_t kMaxBlocks = 4096;

  // The process's pool; never destroyed, since arrays may die while the process ends.
  static ResultPool& Get();

  Block Take(size_t bytes);
  // Needs no memory: deleters of PyTorch's and Python's call it, which must not throw.
  void Return(Block block) noexcept;

  // The most that is kept for reuse: PORTACL_POOL_MB (0: nothing), by default an eighth of the
  // machine's memory and at most 1 GiB.
  size_t limit() const { return limit_; }
  size_t kept() const;
  // Gives the kept memory back to the system.
  void Trim();

 private:
  ResultPool();
  // Gives the oldest blocks back until at most `bytes` in `count` blocks are kept.
  void DropUntil(size_t bytes, size_t count) noexcept;

  const size_t limit_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  // kept ones, oldest first; with room for kMaxBlocks from the start
  size_t kept_ = 0;
};

}  // namespace portacl_python

#endif  // PORTACL_PYTHON_RESULT_POOL_H_
