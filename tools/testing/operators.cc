// Rows out of the list of operators, in the words of cases.
#include "tools/testing/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tools/parse.h"
#include "tools/tensor/element.h"

namespace portacl::golden {
namespace {

Family FamilyOf(ops::Op op) {
  switch (op) {
    case ops::Op::kUpsampleNearestExact:
    case ops::Op::kUpsampleNearestExactBackward:
      return Family::kNearestExact;
    case ops::Op::kUpsampleNearest:
    case ops::Op::kUpsampleNearestBackward:
      return Family::kNearest;
    case ops::Op::kUpsampleLinear:
    case ops::Op::kUpsampleLinearBackward:
      return Family::kLinear;
    case ops::Op::kUpsampleCubic:
    case ops::Op::kUpsampleCubicBackward:
      return Family::kCubic;
    case ops::Op::kUpsampleLanczos:
    case ops::Op::kUpsampleLanczosBackward:
      return Family::kLanczos;
    case ops::Op::kGridSampler2D:
    case ops::Op::kGridSampler3D:
    case ops::Op::kGridSampler2DBackward:
    case ops::Op::kGridSampler3DBackward:
      return Family::kSampler;
    case ops::Op::kAffineGrid:
    case ops::Op::kAffineGridBackward:
      return Family::kAffineGrid;
    default:
      return Family::kOther;
  }
}

// For an affine grid: the list leaves its rank open. The C of its size is used nowhere.
const char* AffinePattern(std::string_view parameter, size_t axes) {
  if (parameter.starts_with("theta")) return axes == 2 ? "N,2,3" : "N,3,4";
  if (parameter == "size") return axes == 2 ? "N,1,H,W" : "N,1,D,H,W";
  return axes == 2 ? "N,H,W,2" : "N,D,H,W,3";
}

// The native API's name of parameter `p` of `function`. Parameters of the same meaning stand in the
// same order, form by form.
const char* NativeName(const ops::Signature& function, const ops::Parameter& p) {
  const ops::Form form = ops::FormOf(p.kind);
  const auto same = [form](const ops::Parameter& other) { return ops::FormOf(other.kind) == form; };
  const auto index = std::count_if(function.parameters.data(), &p, same);
  const ops::Signature& native = NativeOf(function.op);
  const size_t at = native.PositionOf(form, static_cast<size_t>(index));
  return at == native.parameters.size() ? "" : native.parameters[at].name;
}

// For resized tensors, if the list leaves the rank open.
const char* ResizedPattern(std::string_view symbols, size_t axes) {
  static constexpr const char* kSmall[] = {"N,C,L", "N,C,H,W", "N,C,D,H,W"};
  static constexpr const char* kLarge[] = {"N,C,OL", "N,C,OH,OW", "N,C,OD,OH,OW"};
  return (symbols.ends_with(",O*") ? kLarge : kSmall)[axes - 1];
}

// For resizing functions of the native API alone: makes their rows like the other rows. They get a
// rank and a scale for each axis, and lose the flag antialias, which follows from the function.
void SettleAxes(OperatorRow& row) {
  static constexpr const char* kScales[] = {"scalesD", "scalesH", "scalesW"};
  std::vector<Parameter> settled;
  for (Parameter& p : row.parameters) {
    if (IsTensor(p.role)) p.pattern = ResizedPattern(p.pattern, row.axes);
    if (p.role == Role::kFlag && p.name == std::string_view("antialias")) continue;
    const size_t count = p.role == Role::kReal ? row.axes : 1;
    for (size_t i = 0; i < count; ++i) {
      settled.push_back(p);
      if (count > 1) settled.back().name = kScales[3 - count + i];
    }
  }
  row.parameters = std::move(settled);
}

OperatorRow RowOf(const ops::Signature& function, size_t axes) {
  const bool aclnn = function.case_name[0] != '\0';
  OperatorRow row{function.op,
                  aclnn ? function.case_name : ops::RowOf(function.op).name,
                  aclnn ? function.name : "",
                  &function.traits,
                  FamilyOf(function.op),
                  axes,
                  {}};
  for (const ops::Parameter& p : function.parameters) {
    const Role role = RoleOf(p.kind);
    const bool open_rank = row.family == Family::kAffineGrid && role != Role::kFlag;
    row.parameters.push_back({p.name,
                              role,
                              open_rank ? AffinePattern(p.name, axes) : p.symbols,
                              p.kind == ops::Kind::kGrid,
                              p.kind == ops::Kind::kFloat,
                              NativeName(function, p),
                              p.unset == nullptr ? 0 : std::strtod(p.unset, nullptr),
                              {}});
    if (p.dtypes != nullptr) row.parameters.back().dtype = *p.dtypes->open.begin();
  }
  if (!aclnn && row.resizes()) SettleAxes(row);
  return row;
}

void AddRows(const ops::Signature& function, std::vector<OperatorRow>& rows) {
  const auto axes = static_cast<size_t>(function.traits.axes);
  if (axes > 0 || FamilyOf(function.op) == Family::kOther) {
    rows.push_back(RowOf(function, axes));
    return;
  }
  if (FamilyOf(function.op) == Family::kLanczos) rows.push_back(RowOf(function, 1));
  rows.push_back(RowOf(function, 2));
  rows.push_back(RowOf(function, 3));
}

}  // namespace

Role RoleOf(ops::Kind kind) {
  switch (ops::FormOf(kind)) {
    case ops::Form::kRead:
      return Role::kInput;
    case ops::Form::kWritten:
      return Role::kOutput;
    case ops::Form::kInts:
      return Role::kInts;
    case ops::Form::kBools:
      return Role::kMask;
    case ops::Form::kInteger:
      return Role::kInteger;
    case ops::Form::kChoice:
      return Role::kMode;
    case ops::Form::kFlag:
      return Role::kFlag;
    case ops::Form::kReal:
    case ops::Form::kReals:
    case ops::Form::kFloats:
      break;
  }
  return Role::kReal;
}

const ops::Signature& NativeOf(ops::Op op) {
  return **std::find_if(std::begin(ops::kNativeFunctions), std::end(ops::kNativeFunctions),
                        [op](const ops::Signature* function) { return function->op == op; });
}

const std::vector<OperatorRow>& Operators() {
  static const std::vector<OperatorRow> rows = [] {
    std::vector<OperatorRow> made;
    for (const ops::Signature* const function : ops::kAclnnFunctions) {
      if (*function->case_name == '\0') continue;  // another one under a new name
      AddRows(*function, made);
    }
    for (const ops::Signature* const function : ops::kNativeFunctions) {
      const bool known = std::any_of(
          made.begin(), made.end(), [&](const OperatorRow& row) { return row.op == function->op; });
      if (!known) AddRows(*function, made);
    }
    return made;
  }();
  return rows;
}

bool TakesBytes(const OperatorRow& op) {
  return op.traits->dtypes.open.Has(static_cast<int32_t>(cli::kUInt8)) && !op.weighs();
}

PageFacts PageFactsOf(const OperatorRow& op) {
  const std::string_view function = op.function;
  return {
      op.family == Family::kNearestExact || (op.resizes() && function.empty()) ||
          function == "aclnnUpsampleBilinear2d" || function == "aclnnUpsampleBilinear2dAA" ||
          function == "aclnnUpsampleBicubic2dAAGrad",
      function == "aclnnUpsampleLinear1dBackward",
      function == "aclnnUpsampleNearest2dBackward" || function == "aclnnUpsampleBicubic2dBackward"};
}

std::optional<size_t> OperatorRow::Find(std::string_view parameter) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameter == parameters[i].name) return i;
  }
  return std::nullopt;
}

size_t OperatorRow::First(Role role) const {
  size_t i = 0;
  while (parameters.at(i).role != role) ++i;
  return i;
}

const OperatorRow* FindOperator(std::string_view name) {
  for (const OperatorRow& row : Operators()) {
    if (!name.empty() && (name == row.name || name == row.function)) return &row;
  }
  return nullptr;
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const OperatorRow& row : Operators()) {
    if (names.empty() || names.back() != row.name) names.emplace_back(row.name);
  }
  return names;
}

std::string UnknownOperator(const std::string& name, const std::vector<std::string>& names) {
  return fmt::format("unknown operator '{}'{} (portacl info lists all)", name,
                     cli::Suggestion(name, names));
}

std::vector<std::string> OperatorWords() {
  std::vector<std::string> words = OperatorNames();
  for (const OperatorRow& row : Operators()) {
    if (row.function[0] != '\0' && words.back() != row.function) words.emplace_back(row.function);
  }
  return words;
}

std::vector<std::string> Symbols(const Parameter& parameter) {
  return cli::Split(parameter.pattern, ',');
}

std::vector<std::string> ModeWords(const Parameter& mode) { return cli::Split(mode.pattern, '|'); }

}  // namespace portacl::golden
