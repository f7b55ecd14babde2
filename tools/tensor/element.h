// Element types of tensors: names, sizes, and conversion of single elements to and from double.
#ifndef PORTACL_TOOLS_TENSOR_ELEMENT_H_
#define PORTACL_TOOLS_TENSOR_ELEMENT_H_

#include <portacl/portacl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace portacl::cli {

inline constexpr std::array<DataType, 4> kAllDataTypes = {DataType::kFloat16, DataType::kBFloat16,
                                                          DataType::kFloat32, DataType::kFloat64};

// Bytes. Some functions of the aclnn API copy them; portacl's own API lacks them. So this is no
// enumerator of DataType, but aclDataType's value. Operators calculate with kAllDataTypes.
inline constexpr DataType kUInt8 = static_cast<DataType>(4);

size_t ElementSize(DataType dtype);

// "float16", "bfloat16", "float32", "float64", "uint8".
const char* DataTypeName(DataType dtype);

// Also takes the short names fp16, half, bf16, fp32, float, fp64, double.
std::optional<DataType> ParseDataType(std::string_view name);

// The names that ParseDataType takes, for messages.
std::string DataTypeNames();

// Element at `address`, exactly.
double LoadElement(DataType dtype, const void* address);

// Rounds `value` once, to nearest even, and stores it at `address`. Bytes stay within 0 to 255, and
// NaN is 0.
void StoreElement(DataType dtype, double value, void* address);

// The element's bits. Every NaN gives the canonical quiet NaN (sign +, only the quiet bit set):
// sign and payload of a NaN are not part of the library's contract.
uint64_t CanonicalBits(DataType dtype, const void* address);

// Unit in the last place of 1: 2^-10, 2^-7, 2^-23, 2^-52; of bytes 1.
double Epsilon(DataType dtype);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TENSOR_ELEMENT_H_
