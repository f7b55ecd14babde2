// Scratch memory for calls that bring no workspace of their own (the native API).
#ifndef PORTACL_RUNTIME_SCRATCH_H_
#define PORTACL_RUNTIME_SCRATCH_H_

#include <cstddef>

namespace portacl::runtime {

// A block of scratch memory from a bounded, process-wide pool; goes back at the end of its life.
// Aligned to 64 bytes or more, in huge pages where that helps, contents undefined.
class Scratch {
 public:
  explicit Scratch(size_t bytes);  // data() is null where there is no memory (and for 0 bytes)
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_SCRATCH_H_
