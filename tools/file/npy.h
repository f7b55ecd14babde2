// NumPy's .npy format, versions 1.0 to 3.0: float16, float32, float64 and uint8, little-endian, C
// or Fortran order. Format: numpy.lib.format.
#ifndef PORTACL_TOOLS_FILE_NPY_H_
#define PORTACL_TOOLS_FILE_NPY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

// Reads a file; an array in Fortran order keeps it, as strides. Throws BadInput unless it is a
// complete array of one of these types.
HostTensor ReadNpy(const std::string& path);

// An array of any plain type, in C order whatever the file's.
struct NpyArray {
  std::string descr;  // "<f4", "<u2", ...
  Shape shape;
  std::vector<std::byte> bytes;
};
NpyArray ReadNpyArray(const std::string& path);

// How files call the type; bfloat16, which NumPy does not have, goes as its bits, "<u2".
std::string NpyDescr(DataType dtype);

// The bytes before the data in a file of version 1.0.
std::string NpyHead(const std::string& descr, const Shape& shape);

// Writes version 1.0 in C order. Throws BadInput for bfloat16, which NumPy does not have.
void WriteNpy(const std::string& path, const HostTensor& tensor);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_FILE_NPY_H_
