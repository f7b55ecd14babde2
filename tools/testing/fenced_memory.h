// Device memory of one tensor between canaries, with pages that cannot be accessed while a kernel
// runs. It finds each byte that a kernel must not read or write, but does.
//
//   |before, at least 16 KiB|the data, at the beginning or the end of its pages|after, likewise|
#ifndef PORTACL_TOOLS_TESTING_FENCED_MEMORY_H_
#define PORTACL_TOOLS_TESTING_FENCED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace portacl::golden {

// Which side of the data is the border of a page.
enum class Edge { kBeginning, kEnd };
// The bytes around the data: bytes that change from one to the next; NaN (0xFF); 0.
enum class Canary { kPattern, kNaN, kZero };

struct Fence {
  std::byte* data = nullptr;     // device addresses: of the data,
  size_t size = 0;               // and of the canaries on both sides
  size_t before = 0, after = 0;  // bytes of canaries; `data - before` is the first
  Canary canary = Canary::kPattern;
};

// How many bytes of memory fenced data of `size` bytes need, and where the data lie in it. kEnd:
// from the last multiple of `alignment` (a power of two, at most a page) where they fit in.
size_t FencedBytes(size_t size);
Fence FenceIn(void* memory, size_t size, Edge edge, size_t alignment, Canary canary);

// The bytes of the canaries before and after the data.
std::vector<std::byte> CanariesBefore(const Fence& fence);
std::vector<std::byte> CanariesAfter(const Fence& fence);

// "" if both sides are unchanged, else "was written 4 bytes past its end (its first byte there is
// 24)". The spans are copies of the bytes on either side.
std::string DescribeBroken(const Fence& fence, const std::vector<std::byte>& before,
                           const std::vector<std::byte>& after);

// Whether memory at `data` is this process's own and the host's, so that its pages can be guarded.
// A device's memory is not. In guard mode memory is guarded already.
bool CanBeWatched(const void* data, size_t size);

// Takes access away for as long as it lives. If `sides` is set, the whole pages on both sides of
// fences cannot be accessed. After Freeze() the data cannot be written. An access is noticed, then
// allowed, so that the kernel can finish. One object at a time.
class WatchedMemory {
 public:
  // Watches nothing if `can_be_watched` is false.
  WatchedMemory(const std::vector<Fence>& fences, bool sides, bool can_be_watched);
  ~WatchedMemory();
  WatchedMemory(const WatchedMemory&) = delete;
  WatchedMemory& operator=(const WatchedMemory&) = delete;

  // From now on the data of the first `count` fences, which are few, is read only. Any thread.
  void Freeze(size_t count);

  // The byte, from the beginning of the data of fence `i`, that was written first.
  std::optional<int64_t> FirstWrite(size_t i) const;
  // Where the pages before and after the data of fence `i` were touched first, by the same count.
  std::optional<int64_t> FirstTouchBefore(size_t i) const;
  std::optional<int64_t> FirstTouchAfter(size_t i) const;

 private:
  std::vector<size_t> sizes_;  // of the data
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_FENCED_MEMORY_H_
