// Rows out of the list of operators, in the words of cases.
#include "tools/testing/operators.h"

#include <portacl/portacl.h>

#include "tools/parse.h"

namespace portacl::golden {
namespace {

// Nothing for operators whose exact values error_bound.h lacks: no case can be made of them. Without a
// default: an operator without its line does not compile.
std::optional<Family> FamilyOf(ops::Op op) {
  switch (op) {
    case ops::Op::kUpsampleNearestExact:
      return Family::kNearest;
    case ops::Op::kUpsampleNearestExactBackward:
      return Family::kNearestBackward;
    case ops::Op::kGridSampler2D:
    case ops::Op::kGridSampler3D:
      return Family::kSampler;
    case ops::Op::kGridSampler2DBackward:
    case ops::Op::kGridSampler3DBackward:
      return Family::kSamplerBackward;
    case ops::Op::kUpsampleLinear:
    case ops::Op::kUpsampleLinearBackward:
    case ops::Op::kUpsampleCubic:
    case ops::Op::kUpsampleCubicBackward:
    case ops::Op::kUpsampleNearest:
    case ops::Op::kUpsampleNearestBackward:
    case ops::Op::kAffineGrid:
    case ops::Op::kAffineGridBackward:
      return std::nullopt;
  }
  return std::nullopt;
}

Role RoleOf(ops::Kind kind) {
  switch (kind) {
    case ops::Kind::kInput:
    case ops::Kind::kGrid:
      return Role::kInput;
    case ops::Kind::kOutput:
      return Role::kOutput;
    case ops::Kind::kInts:
      return Role::kInts;
    case ops::Kind::kBools:
      return Role::kMask;
    case ops::Kind::kMode:
      return Role::kMode;
    case ops::Kind::kFlag:
      return Role::kFlag;
    default:
      return Role::kReal;
  }
}

OperatorRow RowOf(const ops::Signature& function, Family family) {
  const auto axes = static_cast<size_t>(function.traits.axes);
  const bool takes_double = function.traits.dtypes.atlas_a2.Has(PORTACL_FLOAT64);
  OperatorRow row{
      function.op, function.case_name, function.name, family, axes, takes_double,
      {}};
  for (const ops::Parameter& p : function.parameters) {
    row.parameters.push_back({p.name, RoleOf(p.kind), p.symbols, p.kind == ops::Kind::kGrid});
  }
  return row;
}

}  // namespace

const std::vector<OperatorRow>& Operators() {
  static const std::vector<OperatorRow> rows = [] {
    std::vector<OperatorRow> made;
    for (const ops::Signature* const function : ops::kAclnnFunctions) {
      if (*function->case_name == '\0') continue;  // another one under a new name
      const std::optional<Family> family = FamilyOf(function->op);
      if (family) made.push_back(RowOf(*function, *family));
    }
    return made;
  }();
  return rows;
}

std::optional<size_t> OperatorRow::Find(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameter == parameters[i].name) return i;
  }
  return std::nullopt;
}

const OperatorRow* FindOperator(std::string_view name) {
  for (const OperatorRow& row : Operators()) {
    if (name == row.name || name == row.function) return &row;
  }
  return nullptr;
}

std::vector<std::string> Symbols(const Parameter& parameter) {
  return cli::Split(parameter.pattern, ',');
}

std::vector<std::string> ModeWords(const Parameter& mode) { return cli::Split(mode.pattern, '|'); }

}  // namespace portacl::golden
