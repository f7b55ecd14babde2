// The kinds of parameters, and constant tables of all operators, made of operator_list.inc. Depends
// only on the standard library, so tools, the Python package and tests may include it, too.
#ifndef PORTACL_OPS_OPERATOR_LIST_H_
#define PORTACL_OPS_OPERATOR_LIST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// ---- the kinds of parameters -------------------------------------------------------------------

// One row for each kind:
//
//   X(Kind, Form, type in the aclnn API, type in the native API)
//
// If an API lacks a kind, its type is `void`, so a function with such a parameter does not compile.
// Parameters of one form (below) mean the same in every API, in order. To give the kinds the types
// of an API:
//
//   #define PORTACL_KIND(Kind, form, aclnn, native) using Kind = native;
//   PORTACL_KINDS(PORTACL_KIND)
//
// Input:  a tensor that is read.
// Grid:   a tensor that is read: sampling points, not in image layout.
// Output: a tensor that is written.
// Ints:   extents or sizes; a list of integers of a graph operator.
// Sizes:  Ints that a graph operator gets as a tensor of INT32 or INT64 in host memory.
// Floats: a list of floats, also of a graph operator.
// Bools:  which outputs are wanted.
// Double, Float: a number; Float is a graph operator's too.
// Int, Int32: a whole number; Int is a graph operator's too.
// Mode:   one of the words that `symbols` lists, as its position; a string of a graph operator.
// Word:   one of the words that `symbols` lists, as text; a string of a graph operator.
// Flag:   a bool, also of a graph operator.
// Scales: one value for each spatial axis, or null for zeros.
#define PORTACL_KINDS(X)                                 \
  X(Input, Read, const aclTensor*, const portaclTensor*) \
  X(Grid, Read, const aclTensor*, const portaclTensor*)  \
  X(Output, Written, aclTensor*, const portaclTensor*)   \
  X(Ints, Ints, const aclIntArray*, const int64_t*)      \
  X(Sizes, Ints, void, void)                             \
  X(Floats, Floats, const aclFloatArray*, void)          \
  X(Bools, Bools, const aclBoolArray*, void)             \
  X(Double, Real, double, double)                        \
  X(Float, Real, float, double)                          \
  X(Int, Integer, int64_t, int64_t)                      \
  X(Int32, Integer, int32_t, int64_t)                    \
  X(Mode, Choice, int64_t, int32_t)                      \
  X(Word, Choice, const char*, int32_t)                  \
  X(Flag, Flag, bool, int32_t)                           \
  X(Scales, Reals, void, const double*)

// PORTACL_FOR_EACH(MACRO, (a, b), (c, d), ...): MACRO(a, b) MACRO(c, d) ...
// Up to 40 elements: each scan of the text makes one step.
#define PORTACL_SCAN(...) PORTACL_SCAN_3(PORTACL_SCAN_3(PORTACL_SCAN_3(__VA_ARGS__)))
#define PORTACL_SCAN_3(...) PORTACL_SCAN_2(PORTACL_SCAN_2(PORTACL_SCAN_2(__VA_ARGS__)))
#define PORTACL_SCAN_2(...) PORTACL_SCAN_1(PORTACL_SCAN_1(PORTACL_SCAN_1(__VA_ARGS__)))
#define PORTACL_SCAN_1(...) __VA_ARGS__

#define PORTACL_FOR_EACH(MACRO, ...) __VA_OPT__(PORTACL_SCAN(PORTACL_FOR_FIRST(MACRO, __VA_ARGS__)))
#define PORTACL_FOR_FIRST(MACRO, first, ...) \
  MACRO first __VA_OPT__(PORTACL_FOR_REST PORTACL_NO_ARGUMENTS(MACRO, __VA_ARGS__))
#define PORTACL_FOR_REST() PORTACL_FOR_FIRST
#define PORTACL_NO_ARGUMENTS ()

// (a, b) without its parentheses.
#define PORTACL_BARE(...) __VA_ARGS__

namespace portacl::ops {

// ---- the parts of the list ---------------------------------------------------------------------

enum class Op {
#define PORTACL_OPERATOR(Name, ...) k##Name,
#include "operator_list.inc"
};

// The kind of a parameter: a row of PORTACL_KINDS.
enum class Kind {
#define PORTACL_KIND(Name, ...) k##Name,
  PORTACL_KINDS(PORTACL_KIND)
#undef PORTACL_KIND
};

// What a parameter contains, whatever its type in an API.
enum class Form {
  kRead,     // a tensor
  kWritten,  // a tensor
  kInts,
  kFloats,
  kBools,
  kReal,     // a number
  kInteger,  // a whole number
  kChoice,   // one of the words that `symbols` lists
  kFlag,
  kReals,  // a number for each spatial axis
};
inline constexpr size_t kForms = 10;

inline constexpr Form kFormOf[] = {
#define PORTACL_KIND(Name, form, ...) Form::k##form,
    PORTACL_KINDS(PORTACL_KIND)
#undef PORTACL_KIND
};
constexpr Form FormOf(Kind kind) { return kFormOf[static_cast<size_t>(kind)]; }

constexpr bool IsRead(Kind kind) { return FormOf(kind) == Form::kRead; }
constexpr bool IsWritten(Kind kind) { return FormOf(kind) == Form::kWritten; }
constexpr bool IsTensor(Kind kind) { return IsRead(kind) || IsWritten(kind); }
// Returns true if the graph API passes the parameter as an input tensor.
constexpr bool IsInput(Kind kind) { return IsRead(kind) || kind == Kind::kSizes; }

struct Named {
  std::string_view name;
  int32_t value;
};
// Names and values of aclDataType and aclFormat.
inline constexpr Named kDTypeNames[] = {{"FLOAT", 0}, {"FLOAT16", 1}, {"BF16", 27}, {"DOUBLE", 11},
                                        {"UINT8", 4}, {"INT32", 3},   {"INT64", 9}};
inline constexpr Named kFormatNames[] = {{"ND", 2},   {"NCHW", 0},   {"NHWC", 1},
                                         {"NCL", 47}, {"NCDHW", 30}, {"NDHWC", 27}};

// Not constant: a word that is not in a list does not compile.
inline int32_t UnknownWord() { return -1; }

// Words separated by spaces. Messages name them in this order.
template <const auto& kNames>
class Words {
 public:
  constexpr Words() = default;
  constexpr Words(const char* text) : text_(text) {  // NOLINT: conversion is its purpose
    const std::string_view all = text;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = std::min(all.find(' ', begin), all.size());
      const int32_t value = ValueOf(all.substr(begin, end - begin));
      values_[size_++] = value;
      bits_ |= uint64_t{1} << value;
      begin = end + 1;
    }
  }
  constexpr const char* text() const { return text_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr size_t size() const { return size_; }
  constexpr const int32_t* begin() const { return values_.data(); }
  constexpr const int32_t* end() const { return values_.data() + size_; }
  constexpr bool Has(int32_t value) const {
    return value >= 0 && value < 64 && (bits_ >> value & 1) != 0;
  }

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
  uint64_t bits_ = 0;  // bit i: the value i is listed
};
using DTypeWords = Words<kDTypeNames>;
using FormatWords = Words<kFormatNames>;

// The dtypes that each profile accepts. A profile without dtypes does not have the function.
struct DTypesOfProfiles {
  DTypeWords atlas_a2 = {};  // and atlas-a3
  DTypeWords atlas_training = {};
  DTypeWords ascend_950 = {};
  DTypeWords open = {};
};

// Not constant: an entry beyond a limit of the list does not compile.
inline void LimitIsPassed() {}

struct Parameter {
  // Parameters are constant, so the compiler parses their symbols.
  constexpr Parameter(Kind kind_of, const char* name_of, const char* symbols_of = "",
                      const char* unset_as = nullptr, const DTypesOfProfiles* own_dtypes = nullptr)
      : kind(kind_of), name(name_of), symbols(symbols_of), unset(unset_as), dtypes(own_dtypes) {
    const std::string_view text = symbols;
    for (size_t at = 0; !text.empty() && at <= text.size(); ++at) {
      if (at < text.size() && text[at] != ',' && text[at] != '|') continue;
      if (parts == kMaxParts) LimitIsPassed();
      ends[parts++] = static_cast<uint8_t>(at);
    }
    any_axes = text.ends_with('*');
    resized = text.find(",O") != std::string_view::npos;
  }

  static constexpr size_t kMaxParts = 8;

  Kind kind;
  const char* name;  // "" if this function lacks the parameter and another has it: null
  // Tensors, kInts and kSizes: the extents by symbol, "N,C,OH,OW". Equal symbols are equal numbers;
  // symbols of the resized side begin with O. "*" is L, "H,W" or "D,H,W". kBools: the outputs.
  // kMode, kWord: the words, "zeros|border".
  const char* symbols;
  // The value of an attribute that is not set, or of a pointer that is null. Null: the caller must
  // give one.
  const char* unset;
  // Accepted dtypes of a tensor that may differ from the other tensors' dtype, such as indices.
  // Null: the function's dtypes apply.
  const DTypesOfProfiles* dtypes;

  bool any_axes = false;  // the last symbol stands for all spatial axes
  bool resized = false;   // some symbol begins with O
  uint8_t parts = 0;
  std::array<uint8_t, kMaxParts> ends{};  // where each part of `symbols` ends
};

// As `unset`, before dtypes of the parameter's own: the caller must give the parameter.
inline constexpr const char* kNeeded = nullptr;

// Returns a part of `symbols`: "OH" or "OW" of "OH,OW", "zeros" of "zeros|border". Empty behind the
// last part.
constexpr std::string_view PartOf(const Parameter& parameter, size_t index) {
  if (index >= parameter.parts) return {};
  const size_t begin = index == 0 ? 0 : parameter.ends[index - 1] + size_t{1};
  return {parameter.symbols + begin, parameter.ends[index] - begin};
}
constexpr size_t PartsOf(const Parameter& parameter) { return parameter.parts; }

// Dtypes that the pages of several functions have in common.
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
// Dtypes of deformable attention, which the profile atlas-training lacks.
inline constexpr DTypesOfProfiles kAttentionFloats = {.atlas_a2 = "FLOAT FLOAT16 BF16",
                                                      .ascend_950 = "FLOAT FLOAT16 BF16",
                                                      .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kNativeFloats = {.open = "FLOAT FLOAT16 BF16 DOUBLE"};
// Dtypes of RoiAlign.
inline constexpr DTypesOfProfiles kRoiFloats = {.atlas_a2 = "FLOAT FLOAT16",
                                                .atlas_training = "FLOAT FLOAT16",
                                                .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kRoiFloatsOn950 = {.atlas_a2 = "FLOAT FLOAT16",
                                                     .atlas_training = "FLOAT FLOAT16",
                                                     .ascend_950 = "FLOAT FLOAT16",
                                                     .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kRoiGradientFloats = {.atlas_a2 = "FLOAT",
                                                        .atlas_training = "FLOAT",
                                                        .ascend_950 = "FLOAT",
                                                        .open = "FLOAT FLOAT16 BF16 DOUBLE"};
inline constexpr DTypesOfProfiles kRoiIndices = {
    .atlas_a2 = "INT32", .atlas_training = "INT32", .ascend_950 = "INT32", .open = "INT32 INT64"};
inline constexpr DTypesOfProfiles kNativePictures = {.open = "FLOAT FLOAT16 BF16 DOUBLE UINT8"};
// Dtypes of tensors that hold indices.
inline constexpr DTypesOfProfiles kIndices = {.atlas_a2 = "INT32 INT64",
                                              .atlas_training = "INT32 INT64",
                                              .ascend_950 = "INT32 INT64",
                                              .open = "INT32 INT64"};

struct Traits {
  int axes = 0;  // number of spatial axes; 0: the first tensor decides
  DTypesOfProfiles dtypes = {};
  FormatWords formats = {};
  FormatWords open_formats = {};        // for profile open, if it has more
  FormatWords ascend_950_formats = {};  // for profile ascend-950, if it has more
  // For the newest pages, if they differ; empty: as above.
  DTypesOfProfiles newest_dtypes = {};
  FormatWords newest_formats = {};
  bool formats_may_differ = false;
  bool antialias = false;  // of resizing functions; in the native API a flag decides
};

inline constexpr const char* kAnyFormat = "ND NCHW NHWC NCL NCDHW NDHWC";

struct OperatorRow {
  Op op;
  const char* name;   // "grid_sampler_2d", in `portacl info`
  const char* title;  // "portacl::grid_sampler_2d", in messages of the native API
};

// A function of one API, or an operator type of the graph API.
struct Signature {
  constexpr Signature(const char* name_of, Op calls, const Traits& traits_of,
                      std::span<const Parameter> all, const char* name_in_cases = "")
      : name(name_of), op(calls), traits(traits_of), parameters(all), case_name(name_in_cases) {
    if (all.size() > kMaxParameters) LimitIsPassed();
    for (size_t at = 0; at < all.size(); ++at) {
      const auto form = static_cast<size_t>(FormOf(all[at].kind));
      if (counts[form] == kMaxOfForm) LimitIsPassed();
      positions[form][counts[form]++] = static_cast<uint8_t>(at);
    }
  }

  static constexpr size_t kMaxParameters = 18;
  static constexpr size_t kMaxOfForm = 8;

  const char* name;
  Op op;
  Traits traits;
  std::span<const Parameter> parameters;
  const char* case_name;  // only functions of the aclnn API have one

  // Returns the position of parameter `index` of a form; parameters.size() if there are fewer.
  constexpr size_t PositionOf(Form form, size_t index) const {
    const auto row = static_cast<size_t>(form);
    return index < counts[row] ? positions[row][index] : parameters.size();
  }
  constexpr size_t CountOf(Form form) const { return counts[static_cast<size_t>(form)]; }
  constexpr size_t inputs() const {
    size_t count = 0;
    for (const Parameter& parameter : parameters) count += IsInput(parameter.kind) ? 1 : 0;
    return count;
  }
  constexpr size_t outputs() const { return CountOf(Form::kWritten); }

  std::array<uint8_t, kForms> counts{};
  std::array<std::array<uint8_t, kMaxOfForm>, kForms> positions{};
};

// ---- the tables --------------------------------------------------------------------------------

inline constexpr OperatorRow kOperators[] = {
#define PORTACL_OPERATOR(Name, name, ...) {Op::k##Name, name, "portacl::" name},
#include "operator_list.inc"
};

// Every function by its name, e.g. signatures::aclnnGridSampler2D.
namespace signatures {
#define PORTACL_PARAMETER(kind, name, ...) {Kind::k##kind, #name __VA_OPT__(, ) __VA_ARGS__},
#define PORTACL_SIGNATURE(function, Name, case_name, traits, ...)                             \
  inline constexpr Parameter function##Parameters[] = {                                       \
      PORTACL_FOR_EACH(PORTACL_PARAMETER, __VA_ARGS__)};                                      \
  inline constexpr Signature function = {#function, Op::k##Name, Traits{PORTACL_BARE traits}, \
                                         function##Parameters, case_name};
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

// Returns the signature of a graph name; null if no operator has it.
constexpr const Signature* FindByGraphName(std::string_view name) {
  for (const Signature* const listed : kGraphOperators) {
    if (name == listed->name) return listed;
  }
  return nullptr;
}

constexpr const OperatorRow& RowOf(Op op) { return kOperators[static_cast<size_t>(op)]; }

// Returns the first aclnn function that calls `op` on tensors with `axes` spatial axes; null if
// there is none.
constexpr const Signature* AclnnOf(Op op, int axes, bool antialias = false) {
  for (const Signature* const function : kAclnnFunctions) {
    const Traits& traits = function->traits;
    if (function->op == op && traits.axes == axes && traits.antialias == antialias) return function;
  }
  return nullptr;
}

}  // namespace portacl::ops

#endif  // PORTACL_OPS_OPERATOR_LIST_H_
