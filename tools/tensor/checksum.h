// The checksum that `portacl run` and `portacl demo` print.
#ifndef PORTACL_TOOLS_TENSOR_CHECKSUM_H_
#define PORTACL_TOOLS_TENSOR_CHECKSUM_H_

#include <cstdint>
#include <string>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

// FNV-1a, 64 bits, over the elements' bytes in row-major order, little-endian, every NaN replaced
// by the canonical quiet NaN (0x7E00, 0x7FC0, 0x7FC00000, 0x7FF8000000000000). Depends neither on
// strides nor on the machine; the shape is not part of it.
uint64_t Checksum(const HostTensor& tensor);

// 16 hexadecimal digits.
std::string ChecksumText(const HostTensor& tensor);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_CHECKSUM_H_
