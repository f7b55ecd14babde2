// An input read as decisions, and what a target does where a promise is broken.
#ifndef PORTACL_TESTS_FUZZ_SCRIPT_H_
#define PORTACL_TESTS_FUZZ_SCRIPT_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace portacl_fuzz {

using Bytes = std::span<const uint8_t>;

// Ends the process where `good` is false: libFuzzer keeps the input.
inline void Require(bool good, const char* promise) {
  if (good) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

// Bytes in order; zeros behind their end.
class Script {
 public:
  explicit Script(Bytes bytes) : bytes_(bytes) {}

  bool ended() const { return bytes_.empty(); }
  uint8_t Byte() {
    if (ended()) return 0;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  uint32_t Word() { return Byte() * 256u + Byte(); }
  size_t Below(size_t count) { return Byte() % count; }

 private:
  Bytes bytes_;
};

}  // namespace portacl_fuzz

#endif  // PORTACL_TESTS_FUZZ_SCRIPT_H_
