// Element types and formats. Their values are the values of aclDataType and aclFormat, so handles
// and descriptors need no translation. A value may be any int32 that a caller passed.
#ifndef PORTACL_BASE_DTYPE_H_
#define PORTACL_BASE_DTYPE_H_

#include <cstdint>
#include <string>

namespace portacl::base {

enum class DType : int32_t {
  kUndefined = -1,
  kFloat = 0,
  kFloat16 = 1,
  kInt8 = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 6,
  kInt64 = 9,
  kDouble = 11,
  kBool = 12,
  kBFloat16 = 27,
};

// Bytes of one element of any ACL data type; 0 for unknown ones, STRING and the packed types of
// less than a byte (INT4, UINT1).
int64_t DTypeSize(DType dtype);

// "FLOAT", "BF16", ...; "data type 99" for unknown values.
std::string DTypeName(DType dtype);

enum class Format : int32_t {
  kUndefined = -1,
  kNCHW = 0,
  kNHWC = 1,
  kND = 2,
  kHWCN = 16,
  kNDHWC = 27,
  kNCDHW = 30,
  kNC = 35,
  kNCL = 47,
};

// "NCHW", "ND", ...; "format 99" for unknown values.
std::string FormatName(Format format);

}  // namespace portacl::base

#endif  // PORTACL_BASE_DTYPE_H_
