// The operators that cases are made of, from the library's list (src/ops/operator_list.h): one row
// for each function of the aclnn API.
#ifndef PORTACL_TOOLS_TESTING_OPERATORS_H_
#define PORTACL_TOOLS_TESTING_OPERATORS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/operator_list.h"

namespace portacl::golden {

enum class Role {
  kInput,   // tensor that is read
  kOutput,  // tensor that is written
  kInts,    // aclIntArray
  kReal,    // double
  kMode,    // int64_t, one of the pattern's words
  kFlag,    // bool
  kMask,    // aclBoolArray: which outputs are wanted, in the order of the outputs
};

struct Parameter {
  const char* name;  // as in the aclnn signature
  Role role;
  // Tensors and kInts: the extents by symbol, "N,C,OH,OW": an argument that a case leaves out is
  // made from those that it gives. kMode: the words for 0, 1, ..., "bilinear|nearest".
  const char* pattern = "";
  bool is_grid = false;  // a tensor of sampling points
};

// What an operator computes, for any number of spatial axes.
enum class Family { kNearest, kNearestBackward, kSampler, kSamplerBackward };

struct OperatorRow {
  ops::Op op;
  const char* name;      // "grid_sampler_2d_backward"
  const char* function;  // "aclnnGridSampler2DBackward"; phase 1 has GetWorkspaceSize behind it
  Family family;
  size_t axes;        // spatial ones
  bool aclnn_double;  // whether the aclnn function takes DOUBLE, as the native API always does
  std::vector<Parameter> parameters;  // in the signature's order

  bool backward() const {
    return family == Family::kNearestBackward || family == Family::kSamplerBackward;
  }
  bool sampler() const { return family == Family::kSampler || family == Family::kSamplerBackward; }
  // Position of the parameter called `parameter`, or nothing.
  std::optional<size_t> Find(std::string_view parameter) const;
};

const std::vector<OperatorRow>& Operators();

// By its name or that of its aclnn function; null for any other.
const OperatorRow* FindOperator(std::string_view name);

inline bool IsTensor(Role role) { return role == Role::kInput || role == Role::kOutput; }

// The parts of a pattern: extents of a tensor, and words of a mode.
std::vector<std::string> Symbols(const Parameter& parameter);
std::vector<std::string> ModeWords(const Parameter& mode);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_OPERATORS_H_
