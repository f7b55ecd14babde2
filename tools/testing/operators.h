// The operators that cases are made of, from the library's list (src/ops/operator_list.h). Each
// function of the aclnn API has a row (two if it takes images and volumes). So has each operator
// that the native API alone has.
#ifndef PORTACL_TOOLS_TESTING_OPERATORS_H_
#define PORTACL_TOOLS_TESTING_OPERATORS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/operator_list.h"

namespace portacl::golden {

enum class Role {
  kInput,    // tensor that is read
  kOutput,   // tensor that is written
  kInts,     // aclIntArray
  kReal,     // double
  kInteger,  // int64_t
  kMode,     // int64_t, one of the pattern's words
  kFlag,     // bool
  kMask,     // aclBoolArray: which outputs are wanted, in the order of the outputs
};

struct Parameter {
  const char* name;  // as in the aclnn signature
  Role role;
  // Tensors and kInts: the extents by symbol, "N,C,OH,OW". If a case leaves out an argument, it is
  // made from the given arguments. kInteger: one such extent, or "". kMode: the words for 0, 1,
  // ..., "bilinear|nearest".
  const char* pattern = "";
  bool is_grid = false;  // a tensor of sampling points
  bool narrow = false;   // kReal: the function takes a float
  // The name of the tensor, mode or flag in portacl's own API; "" if that API lacks it.
  const char* native = "";
  // kReal, kInteger: the number that a case means by leaving it out.
  double unset = 0;
  // The aclDataType of a tensor that does not have the dtype of the others.
  std::optional<int32_t> dtype = {};
};

// The maths of an operator, for any number of spatial axes. kOther: other maths; cases are made
// from the signature alone.
enum class Family {
  kNearestExact,
  kNearest,
  kLinear,
  kCubic,
  kLanczos,
  kSampler,
  kAffineGrid,
  kOther
};

struct OperatorRow {
  ops::Op op;
  const char* name;      // "grid_sampler_2d_backward"
  const char* function;  // "aclnnGridSampler2DBackward"; phase 1 has GetWorkspaceSize behind it.
                         // "": the aclnn API has no such function
  const ops::Traits* traits;  // of the aclnn function, else of the native one
  Family family;
  size_t axes;                        // spatial ones
  std::vector<Parameter> parameters;  // in the signature's order

  bool backward() const { return std::string_view(ops::RowOf(op).name).ends_with("_backward"); }
  bool sampler() const { return family == Family::kSampler; }
  // Whether it makes an image of another size of an image: self and out, gradOutput and gradInput.
  bool resizes() const { return family < Family::kSampler; }
  // Whether it weighs what it adds up; all of these have the flag alignCorners.
  bool weighs() const { return aligns() || family == Family::kLanczos; }
  // Whether this flag may be set.
  bool aligns() const { return family == Family::kLinear || family == Family::kCubic; }
  // Whether every size that a call gives must be its tensors' size, beside a scale too.
  bool strict_sizes() const { return family != Family::kNearestExact || !backward(); }

  // Position of the parameter called `parameter`, or nothing.
  std::optional<size_t> Find(std::string_view parameter) const;
  // Position of the first with a role: there must be one.
  size_t First(Role role) const;
};

// Whether a function copies bytes (kUInt8 of tools/tensor/element.h). Weighed bytes are no cases.
bool TakesBytes(const OperatorRow& op);

// Rules of a function's page that are not in the list.
struct PageFacts {
  bool refuses_negative_scales = false;   // elsewhere they count as none
  bool ignores_unfitting_scales = false;  // those that do not make outputSize of inputSize
  bool input_size_channels_last = false;  // inputSize is N, H, W, C if the tensors are
};
PageFacts PageFactsOf(const OperatorRow& op);

const std::vector<OperatorRow>& Operators();

Role RoleOf(ops::Kind kind);

// The function of portacl's own API that plans an operator's calls.
const ops::Signature& NativeOf(ops::Op op);

// The first row of this name, or of this name of an aclnn function; null if there is none.
const OperatorRow* FindOperator(std::string_view name);

// Each name once, in the list's order.
std::vector<std::string> OperatorNames();

// The message for a name that is none of `names`, with the names that may be meant.
std::string UnknownOperator(const std::string& name, const std::vector<std::string>& names);
// The names that FindOperator() takes.
std::vector<std::string> OperatorWords();

inline bool IsTensor(Role role) { return role == Role::kInput || role == Role::kOutput; }

// Whether a tensor's first column names images: an element that is none of them is refused.
inline bool NamesImages(const Parameter& parameter) {
  return std::string_view(parameter.pattern) == "K,5" ||
         std::string_view(parameter.pattern) == "K,6";
}

// The parts of a pattern: extents of a tensor, and words of a mode.
std::vector<std::string> Symbols(const Parameter& parameter);
std::vector<std::string> ModeWords(const Parameter& mode);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_OPERATORS_H_
