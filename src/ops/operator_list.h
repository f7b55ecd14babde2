// The list of operators as constant tables, made of operator_list.inc. It depends on the language's
// library alone, so tools, the Python package and tests may include it too.
#ifndef PORTACL_OPS_OPERATOR_LIST_H_
#define PORTACL_OPS_OPERATOR_LIST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "for_each.h"

namespace portacl::ops {

// ---- what the list is made of ------------------------------------------------------------------

enum class Op {
#define PORTACL_OPERATOR(Name, ...) k##Name,
#include "operator_list.inc"
};

// What a parameter is. In brackets: its type in the aclnn API, as an attribute of a graph operator,
// in the native API.
enum class Kind {
  kInput,   // a tensor that is read
  kGrid,    // the same, of sampling points: its axes are no image's
  kOutput,  // a tensor that is written
  kInts,    // [aclIntArray, list of integers, -] extents or sizes
  kSizes,   // [-, tensor of INT32 or INT64 in host memory, -] kInts, not known while compiled
  kFloats,  // [aclFloatArray, list of floats, -]
  kBools,   // [aclBoolArray, -, -] which outputs are wanted
  kDouble,  // [double, -, -]
  kFloat,   // [float, float, -]
  kMode,    // [int64_t, string, int32_t] one of the words that `symbols` lists, from 0
  kFlag,    // [bool, bool, int32_t]
  kWord,    // [const char*, string, -] one of the words that `symbols` lists
  kScales,  // [-, -, const double*] one value for each spatial axis, or null for zeros
};

constexpr bool IsTensor(Kind kind) {
  return kind == Kind::kInput || kind == Kind::kGrid || kind == Kind::kOutput;
}

// Of the graph API: handed over as an input tensor.
constexpr bool IsInput(Kind kind) {
  return kind == Kind::kInput || kind == Kind::kGrid || kind == Kind::kSizes;
}

struct Parameter {
  Kind kind;
  const char* name;  // "" where this function lacks what others of the operator have: it is null
  // Tensors, kInts and kSizes: the extents by symbol, "N,C,OH,OW"; the same symbol is the same
  // number, and O stands before extents of the resized side. "*" is L, "H,W" or "D,H,W". kBools:
  // the outputs. kMode, kWord: the words, "zeros|border".
  const char* symbols = "";
  // What an attribute that is not set is, or a pointer that is null; null where there must be one.
  const char* unset = nullptr;
};

// The parts of `symbols`: "OH" and "OW" of "OH,OW", "zeros" of "zeros|border". Empty behind the
// last.
constexpr std::string_view PartOf(const Parameter& parameter, size_t index) {
  std::string_view rest = parameter.symbols;
  while (true) {
    const size_t end = std::min(rest.find_first_of(",|"), rest.size());
    if (index-- == 0) return rest.substr(0, end);
    if (end == rest.size()) return {};
    rest.remove_prefix(end + 1);
  }
}
constexpr size_t PartsOf(const Parameter& parameter) {
  size_t count = 0;
  while (!PartOf(parameter, count).empty()) ++count;
  return count;
}

struct Named {
  std::string_view name;
  int32_t value;
};
// The values are aclDataType's and aclFormat's.
inline constexpr Named kDTypeNames[] = {{"FLOAT", 0},   {"FLOAT16", 1}, {"BF16", 27},
                                        {"DOUBLE", 11}, {"UINT8", 4},   {"INT32", 3}};
inline constexpr Named kFormatNames[] = {{"ND", 2},   {"NCHW", 0},   {"NHWC", 1},
                                         {"NCL", 47}, {"NCDHW", 30}, {"NDHWC", 27}};

// A word that no list has: not constant, so that it does not compile.
inline int32_t UnknownWord() { return -1; }

// Words separated by spaces, in the order in which messages name them.
template <const auto& kNames>
class Words {
 public:
  constexpr Words() = default;
  constexpr Words(const char* text) : text_(text) {  // NOLINT: conversion is its purpose
    const std::string_view all = text;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = std::min(all.find(' ', begin), all.size());
      values_[size_++] = ValueOf(all.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  constexpr const char* text() const { return text_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr size_t size() const { return size_; }
  constexpr const int32_t* begin() const { return values_.data(); }
  constexpr const int32_t* end() const { return values_.data() + size_; }
  constexpr bool Has(int32_t value) const { return std::find(begin(), end(), value) != end(); }

 private:
  static constexpr int32_t ValueOf(std::string_view word) {
    for (const Named& listed : kNames) {
      if (listed.name == word) return listed.value;
    }
    return UnknownWord();
  }

  const char* text_ = "";
  std::array<int32_t, 6> values_{};
  size_t size_ = 0;
};
using DTypeWords = Words<kDTypeNames>;
using FormatWords = Words<kFormatNames>;

// What the profiles accept. A profile without dtypes does not have the function.
struct DTypesOfProfiles {
  DTypeWords atlas_a2 = {};  // and atlas-a3
  DTypeWords atlas_training = {};
  DTypeWords ascend_950 = {};
  DTypeWords open = {};
};

// Of all functions whose pages have the same.
inline constexpr DTypesOfProfiles kFloats = {.atlas_a2 = "FLOAT FLOAT16 BF16",
                                             .atlas_training = "FLOAT FLOAT16",
                                             .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kFloatsOn950 = {.atlas_a2 = "FLOAT FLOAT16 BF16",
                                                  .atlas_training = "FLOAT FLOAT16",
                                                  .ascend_950 = "FLOAT FLOAT16 BF16",
                                                  .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kFloatsNotInTraining = {.atlas_a2 = "FLOAT FLOAT16 BF16",
                                                          .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kNearestExactFloats = {.atlas_a2 = "FLOAT FLOAT16 BF16",
                                                         .open = "FLOAT FLOAT16 BF16"};
inline constexpr DTypesOfProfiles kImageSamplerFloats = {.atlas_a2 = "FLOAT FLOAT16 BF16 DOUBLE",
                                                         .atlas_training = "FLOAT FLOAT16",
                                                         .ascend_950 = "FLOAT FLOAT16 BF16 DOUBLE",
                                                         .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kVolumeSamplerFloats = {.atlas_a2 = "FLOAT FLOAT16 DOUBLE",
                                                          .atlas_training = "FLOAT FLOAT16 DOUBLE",
                                                          .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kNativeFloats = {.open = "FLOAT FLOAT16 BF16 DOUBLE"};

struct Traits {
  int axes = 0;  // spatial ones; 0: as many as the first tensor has
  DTypesOfProfiles dtypes = {};
  FormatWords formats = {};
  FormatWords open_formats = {};        // in the profile open, where that has more
  FormatWords ascend_950_formats = {};  // the same of ascend-950
  // What the newest pages have otherwise; empty: as above.
  DTypesOfProfiles newest_dtypes = {};
  FormatWords newest_formats = {};
  bool formats_may_differ = false;
  bool antialias = false;  // of resizing; the native API has a flag
};

struct OperatorRow {
  Op op;
  const char* name;   // "grid_sampler_2d", in `portacl info`
  const char* title;  // "portacl::grid_sampler_2d", in messages of the native API
};

// A function of one API, or a name of the graph API.
struct Signature {
  const char* name;
  Op op;
  Traits traits;
  std::span<const Parameter> parameters;
  const char* case_name = "";  // of functions of the aclnn API

  constexpr size_t Count(bool (*of)(Kind)) const {
    size_t count = 0;
    for (const Parameter& parameter : parameters) count += of(parameter.kind) ? 1 : 0;
    return count;
  }
  constexpr size_t inputs() const { return Count(IsInput); }
  constexpr size_t outputs() const {
    return Count([](Kind kind) { return kind == Kind::kOutput; });
  }
};

// ---- the tables --------------------------------------------------------------------------------

inline constexpr OperatorRow kOperators[] = {
#define PORTACL_OPERATOR(Name, name, ...) {Op::k##Name, name, "portacl::" name},
#include "operator_list.inc"
};

// Every function by its name: signatures::aclnnGridSampler2D.
namespace signatures {
#define PORTACL_PARAMETER(kind, name, ...) {Kind::k##kind, #name __VA_OPT__(, ) __VA_ARGS__},
#define PORTACL_SIGNATURE(function, Name, case_name, traits, ...) \
  inline constexpr Parameter function##Parameters[] = {           \
      PORTACL_FOR_EACH(PORTACL_PARAMETER, __VA_ARGS__)};          \
  inline constexpr Signature function = {                         \
      #function, Op::k##Name, {PORTACL_BARE traits}, function##Parameters, case_name};
#define PORTACL_ACLNN PORTACL_SIGNATURE
#define PORTACL_GRAPH(type, Name, ...) PORTACL_SIGNATURE(type, Name, "", __VA_ARGS__)
#define PORTACL_NATIVE(function, Name, ...) PORTACL_SIGNATURE(function, Name, "", __VA_ARGS__)
#include "operator_list.inc"
#undef PORTACL_SIGNATURE
#undef PORTACL_PARAMETER
}  // namespace signatures

inline constexpr const Signature* kAclnnFunctions[] = {
#define PORTACL_ACLNN(function, ...) &signatures::function,
#include "operator_list.inc"
};
inline constexpr const Signature* kGraphOperators[] = {
#define PORTACL_GRAPH(type, ...) &signatures::type,
#include "operator_list.inc"
};
inline constexpr const Signature* kNativeFunctions[] = {
#define PORTACL_NATIVE(function, ...) &signatures::function,
#include "operator_list.inc"
};

// The signature of a graph name; null where no operator has it.
constexpr const Signature* FindByGraphName(std::string_view name) {
  for (const Signature* const listed : kGraphOperators) {
    if (name == listed->name) return listed;
  }
  return nullptr;
}

constexpr const OperatorRow& RowOf(Op op) { return kOperators[static_cast<size_t>(op)]; }

// The function of the aclnn API that calls `op` on tensors of `axes` spatial axes: the first, where
// there are several; null where there is none.
constexpr const Signature* AclnnOf(Op op, int axes, bool antialias = false) {
  for (const Signature* const function : kAclnnFunctions) {
    const Traits& traits = function->traits;
    if (function->op == op && traits.axes == axes && traits.antialias == antialias) return function;
  }
  return nullptr;
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_OPERATOR_LIST_H_
