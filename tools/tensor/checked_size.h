// Size arithmetic that refuses to overflow, and a guard against tensors larger than the machine.
#ifndef PORTACL_TOOLS_TENSOR_CHECKED_SIZE_H_
#define PORTACL_TOOLS_TENSOR_CHECKED_SIZE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace portacl::cli {

using Shape = std::vector<int64_t>;

// Number of elements; throws BadInput ("WHAT: ...") for a negative extent or a product above 2^62.
int64_t CountElements(const Shape& shape, const std::string& what);

// Bytes of `shape` elements of `element_size` bytes. Throws BadInput if that overflows or exceeds
// the machine's memory. So a mistyped shape gives a message; the system does not kill the program.
size_t CountBytes(const Shape& shape, size_t element_size, const std::string& what);

// Strides of a dense tensor in elements, last axis fastest (or first, as Fortran stores it).
std::vector<int64_t> DenseStrides(const Shape& shape, bool fortran_order = false);

// "[2, 3, 8, 8]"
std::string ToString(const Shape& shape);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_CHECKED_SIZE_H_
