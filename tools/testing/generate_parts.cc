// Rows, dtypes, plain shapes and names.
#include "tools/testing/generate_parts.h"

#include <fmt/format.h>

#include <map>

#include "tools/cli_error.h"

namespace portacl::golden {

namespace {

bool IsOpen(const GenerateOptions& options) {
  return options.profile.empty() || options.profile == "open";
}

}  // namespace

std::vector<const OperatorRow*> RowsFor(const GenerateOptions& options) {
  std::vector<const OperatorRow*> rows;
  for (const OperatorRow& row : Operators()) {
    const bool missing = options.profile == "atlas-training" && !row.sampler();
    const bool asked = options.op.empty() || options.op == row.name || options.op == row.function;
    if (asked && !missing) rows.push_back(&row);
  }
  if (rows.empty()) {
    std::string names;
    for (const OperatorRow& row : Operators()) names += fmt::format(" {}", row.name);
    throw cli::BadInput(
        FindOperator(options.op) != nullptr
            ? fmt::format("--operator: profile {} refuses {}", options.profile, options.op)
            : fmt::format("--operator: '{}' is not one of{}", options.op, names));
  }
  return rows;
}

std::vector<DataType> TypesFor(const OperatorRow& op, const GenerateOptions& options) {
  const bool volumes = op.sampler() && op.axes == 3;
  std::vector<DataType> dtypes = {DataType::kFloat32, DataType::kFloat16};
  const bool training = options.profile == "atlas-training";
  if (IsOpen(options) || (!volumes && !training)) dtypes.push_back(DataType::kBFloat16);
  if (op.aclnn_double && (volumes || !training)) dtypes.push_back(DataType::kFloat64);
  return dtypes;
}

ModeCounts ModesFor(const OperatorRow& op, const GenerateOptions& options) {
  if (IsOpen(options)) return {3, 3};
  if (op.axes == 3) return {2, 3};
  return op.backward() ? ModeCounts{2, 2} : ModeCounts{3, 3};
}

Case EmptyCase(const OperatorRow& op, const GenerateOptions& options) {
  Case c;
  c.op = &op;
  c.profile = options.profile == "open" ? "" : options.profile;
  c.arguments.resize(op.parameters.size());
  return c;
}

ArgumentCase& ArgumentOf(Case& c, const char* parameter) {
  return c.arguments[*c.op->Find(parameter)];
}

void SetPlainShapes(Case& c) {
  static const std::map<std::string, int64_t> kExtents = {{"N", 2},  {"C", 3}, {"D", 5},  {"H", 6},
                                                          {"W", 4},  {"L", 5}, {"OD", 4}, {"OH", 5},
                                                          {"OW", 7}, {"OL", 8}};
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    const Parameter& row = c.op->parameters[i];
    if (!IsTensor(row.role) && row.role != Role::kInts) continue;
    Shape shape;
    for (const std::string& symbol : Symbols(row)) {
      const auto found = kExtents.find(symbol);
      shape.push_back(found != kExtents.end() ? found->second : std::stoll(symbol));
    }
    (IsTensor(row.role) ? c.arguments[i].shape : c.arguments[i].integers) = shape;
  }
}

std::vector<Case> Named(const std::string& kind, std::vector<Case> cases) {
  for (size_t i = 0; i < cases.size(); ++i) cases[i].name = fmt::format("{}-{:05}", kind, i + 1);
  return cases;
}

}  // namespace portacl::golden
