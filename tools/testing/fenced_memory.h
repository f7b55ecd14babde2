// Device memory of one tensor with canaries before and after it, and the memory of inputs without
// write access while a kernel runs: what a kernel writes where it must not, by the byte.
//
//   |canaries, 16 KiB|the data, on a page of their own|canaries, 16 KiB and the page's rest|
#ifndef PORTACL_TOOLS_TESTING_FENCED_MEMORY_H_
#define PORTACL_TOOLS_TESTING_FENCED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace portacl::golden {

struct Fence {
  std::byte* data = nullptr;     // device addresses: of the data, which begin a page,
  size_t size = 0;               // and of the canaries on both sides
  size_t before = 0, after = 0;  // bytes of canaries; `data - before` is the first
};

// How much memory to ask for, and how it is divided.
size_t FencedBytes(size_t size);
Fence FenceIn(void* memory, size_t size);

// The bytes of `count` canaries.
std::vector<std::byte> Canaries(size_t count);

// "" where both sides are whole; "was written 4 bytes past its end (its first byte there is 24)".
// The spans are copies of what lies on either side.
std::string DescribeBroken(const Fence& fence, const std::vector<std::byte>& before,
                           const std::vector<std::byte>& after);

// Takes write access to memory away for as long as it lives. A write is noticed, and then let
// through, so that the kernel comes to its end. One at a time. Where the memory is not this
// process's own (a device's, or a guard's), nothing happens.
class ReadOnlyMemory {
 public:
  explicit ReadOnlyMemory(const std::vector<Fence>& fences);
  ~ReadOnlyMemory();
  ReadOnlyMemory(const ReadOnlyMemory&) = delete;
  ReadOnlyMemory& operator=(const ReadOnlyMemory&) = delete;

  // The byte, from the beginning of the data of fence `i`, that was written first.
  std::optional<int64_t> FirstWrite(size_t i) const;
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_FENCED_MEMORY_H_
