// Rows out of the list of operators, in the words of cases.
#include "tools/testing/operators.h"

#include <portacl/portacl.h>

#include "tools/parse.h"

namespace portacl::golden {
namespace {

// Without a default: an operator without its maths does not compile.
Family FamilyOf(ops::Op op) {
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
  }
  return Family::kNearest;
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

OperatorRow RowOf(const ops::Signature& function) {
  const auto axes = static_cast<size_t>(function.traits.axes);
  const bool takes_double = function.traits.dtypes.atlas_a2.Has(PORTACL_FLOAT64);
  OperatorRow row{
      function.op, function.case_name, function.name, FamilyOf(function.op), axes, takes_double,
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
      made.push_back(RowOf(*function));
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
