// Memory behind which nothing may be read.
#ifndef PORTACL_TESTS_SUPPORT_END_OF_MEMORY_H_
#define PORTACL_TESTS_SUPPORT_END_OF_MEMORY_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "support/api/tensor.h"

namespace portacl_test {

// Bytes that end where the process may not read, at the same place in a line as the tensor's.
class EndOfMemory {
 public:
  explicit EndOfMemory(const Tensor& tensor) : bytes_(tensor.storage_bytes()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (bytes_ + page - 1) / page * page;
    map_ = static_cast<std::byte*>(
        mmap(nullptr, inner_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(map_ + inner_, page, PROT_NONE), 0);
    std::memcpy(begin(), tensor.data(), bytes_);
  }
  ~EndOfMemory() { munmap(map_, inner_ + static_cast<size_t>(sysconf(_SC_PAGESIZE))); }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  std::byte* begin() const { return map_ + inner_ - bytes_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  size_t inner_ = 0;
  std::byte* map_ = nullptr;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_END_OF_MEMORY_H_
