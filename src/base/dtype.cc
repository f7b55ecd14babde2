// Sizes and names of element types and formats.
#include "base/dtype.h"

#include <array>

namespace portacl::base {
namespace {

struct DTypeRow {
  int32_t value;
  const char* name;
  int64_t size;
};

constexpr std::array<DTypeRow, 28> kDTypes{{
    {-1, "UNDEFINED", 0},   {0, "FLOAT", 4},          {1, "FLOAT16", 2},
    {2, "INT8", 1},         {3, "INT32", 4},          {4, "UINT8", 1},
    {6, "INT16", 2},        {7, "UINT16", 2},         {8, "UINT32", 4},
    {9, "INT64", 8},        {10, "UINT64", 8},        {11, "DOUBLE", 8},
    {12, "BOOL", 1},        {13, "STRING", 0},        {16, "COMPLEX64", 8},
    {17, "COMPLEX128", 16}, {27, "BF16", 2},          {29, "INT4", 0},
    {30, "UINT1", 0},       {33, "COMPLEX32", 4},     {34, "HIFLOAT8", 1},
    {35, "FLOAT8_E5M2", 1}, {36, "FLOAT8_E4M3FN", 1}, {37, "FLOAT8_E8M0", 1},
    {38, "FLOAT6_E3M2", 0}, {39, "FLOAT6_E2M3", 0},   {40, "FLOAT4_E2M1", 0},
    {41, "FLOAT4_E1M2", 0},
}};

struct FormatRow {
  int32_t value;
  const char* name;
};

constexpr std::array<FormatRow, 20> kFormats{{
    {-1, "UNDEFINED"},
    {0, "NCHW"},
    {1, "NHWC"},
    {2, "ND"},
    {3, "NC1HWC0"},
    {4, "FRACTAL_Z"},
    {12, "NC1HWC0_C04"},
    {16, "HWCN"},
    {27, "NDHWC"},
    {29, "FRACTAL_NZ"},
    {30, "NCDHW"},
    {32, "NDC1HWC0"},
    {33, "FRACTAL_Z_3D"},
    {35, "NC"},
    {47, "NCL"},
    {50, "FRACTAL_NZ_C0_16"},
    {51, "FRACTAL_NZ_C0_32"},
    {52, "FRACTAL_NZ_C0_2"},
    {53, "FRACTAL_NZ_C0_4"},
    {54, "FRACTAL_NZ_C0_8"},
}};

// Indexed by the type's value: a table is fast, and a small call asks for sizes many times.
constexpr auto kSizes = [] {
  std::array<uint8_t, 64> sizes{};
  for (const DTypeRow& row : kDTypes) {
    if (row.value >= 0) sizes[static_cast<size_t>(row.value)] = static_cast<uint8_t>(row.size);
  }
  return sizes;
}();

}  // namespace

int64_t DTypeSize(DType dtype) {
  const auto value = static_cast<size_t>(dtype);
  return value < kSizes.size() ? kSizes[value] : 0;
}

std::string DTypeName(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.value == static_cast<int32_t>(dtype)) return row.name;
  }
  return "data type " + std::to_string(static_cast<int32_t>(dtype));
}

std::string FormatName(Format format) {
  for (const FormatRow& row : kFormats) {
    if (row.value == static_cast<int32_t>(format)) return row.name;
  }
  return "format " + std::to_string(static_cast<int32_t>(format));
}

}  // namespace portacl::base
