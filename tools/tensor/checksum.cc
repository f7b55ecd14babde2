// FNV-1a over canonical element bytes.
#include "tools/tensor/checksum.h"

#include <fmt/format.h>

namespace portacl::cli {

uint64_t Checksum(const HostTensor& tensor) {
  constexpr uint64_t kOffsetBasis = 0xCBF29CE484222325u;
  constexpr uint64_t kPrime = 0x100000001B3u;
  const size_t size = ElementSize(tensor.dtype());
  uint64_t hash = kOffsetBasis;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const uint64_t bits = CanonicalBits(tensor.dtype(), tensor.At(i));
    for (size_t byte = 0; byte < size; ++byte) {
      hash = (hash ^ (bits >> (8 * byte) & 0xFFu)) * kPrime;
    }
  }
  return hash;
}

std::string ChecksumText(const HostTensor& tensor) {
  return fmt::format("{:016x}", Checksum(tensor));
}

}  // namespace portacl::cli
