// Rows, dtypes, plain shapes and names.
#include "tools/testing/generate_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/cli_error.h"

namespace portacl::golden {

namespace {

const ops::DTypeWords& DTypesOf(const OperatorRow& op, const GenerateOptions& options) {
  const ops::DTypesOfProfiles& profiles = op.traits->dtypes;
  if (options.profile == "atlas-training") return profiles.atlas_training;
  if (options.profile == "ascend-950") return profiles.ascend_950;
  return IsOpen(options) ? profiles.open : profiles.atlas_a2;
}

// If a profile takes a type of some calls only.
bool IsLimited(const OperatorRow& op, DataType dtype) {
  const std::string_view function = op.function;
  return (function == "aclnnUpsampleLinear1dBackward" && dtype == DataType::kBFloat16) ||
         (function == "aclnnUpsampleBilinear2d" && dtype == DataType::kFloat64);
}

}  // namespace

bool IsOpen(const GenerateOptions& options) {
  return options.profile.empty() || options.profile == "open";
}

std::vector<const OperatorRow*> RowsFor(const GenerateOptions& options) {
  std::vector<const OperatorRow*> rows;
  for (const OperatorRow& row : Operators()) {
    // Without a function of the aclnn API there is nothing to verify.
    const bool asked = options.op.empty() ? row.function[0] != '\0'
                                          : options.op == row.name || options.op == row.function;
    if (asked && !DTypesOf(row, options).empty()) rows.push_back(&row);
  }
  if (rows.empty()) {
    throw cli::BadInput(
        FindOperator(options.op) != nullptr
            ? fmt::format("--operator: profile {} refuses {}", options.profile, options.op)
            : "--operator: " + UnknownOperator(options.op, OperatorWords()));
  }
  return rows;
}

std::vector<DataType> TypesFor(const OperatorRow& op, const GenerateOptions& options) {
  std::vector<DataType> dtypes;
  for (const DataType dtype : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                               DataType::kFloat64, cli::kUInt8}) {
    const bool listed = DTypesOf(op, options).Has(static_cast<int32_t>(dtype));
    const bool weighed = dtype == cli::kUInt8 && !TakesBytes(op);
    if (listed && !weighed && (IsOpen(options) || !IsLimited(op, dtype))) dtypes.push_back(dtype);
  }
  return dtypes;
}

const ops::FormatWords& FormatsFor(const OperatorRow& op, const GenerateOptions& options) {
  const ops::FormatWords& newest = op.traits->ascend_950_formats;
  if (options.profile == "ascend-950" && !newest.empty()) return newest;
  const ops::FormatWords& open = op.traits->open_formats;
  return IsOpen(options) && !open.empty() ? open : op.traits->formats;
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
  const ops::FormatWords& formats = FormatsFor(op, options);
  const std::string_view words = formats.text();
  constexpr int32_t kNd = 2;
  for (size_t i = 0; i < c.arguments.size() && !words.empty() && !formats.Has(kNd); ++i) {
    if (IsTensor(op.parameters[i].role)) {
      c.arguments[i].format = std::string(words.substr(0, words.find(' ')));
    }
  }
  return c;
}

ArgumentCase& ArgumentOf(Case& c, const char* parameter) {
  return c.arguments[*c.op->Find(parameter)];
}

void SetSizes(Case& c, const Shape& small, const Shape& large) {
  InputOf(c).shape = c.op->backward() ? large : small;
  OutputOf(c).shape = c.op->backward() ? small : large;
}

void SetPlainShapes(Case& c) {
  static const std::map<std::string, int64_t> kExtents = {
      {"N", 2},  {"C", 3},  {"D", 5},  {"H", 6},  {"W", 4},  {"L", 5},
      {"OD", 4}, {"OH", 5}, {"OW", 7}, {"OL", 8}, {"K", 34}, {"XH", 6},
      {"XW", 5}, {"PT", 2}, {"PB", 2}, {"PL", 2}, {"PR", 2}};
  constexpr int64_t kOther = 3;  // symbols of an operator's own
  SetShapes(c, [](const std::string& symbol) {
    const auto found = kExtents.find(symbol);
    return found == kExtents.end() ? kOther : found->second;
  });
}

int64_t MostOf(const std::string& symbol, int64_t most) {
  if (symbol == "N" || symbol == "B") return 2;
  return symbol == "M" || symbol == "L" || symbol == "P" ? 3 : most;
}

bool IsRoiScale(const Parameter& parameter) {
  return parameter.role == Role::kReal && std::string_view(parameter.name) == "spatialScale";
}

const std::vector<double>& RoiScales() {
  // The aclnn API takes a float: each is one.
  static const std::vector<double> scales = {1, 0.25, 0.375, 0.5, 1.5, 4};
  return scales;
}

// Makes drawn extents fit a deformable convolution. Kernels, steps and padding are small, groups
// divide the channels, and the image has all positions. The planes of offsets follow from them.
static void FitConvolution(Case& c, std::map<std::string, int64_t>& e) {
  const auto fold = [&e](const char* symbol, int64_t least, int64_t count) {
    int64_t& extent = e[symbol];
    extent = least + (extent + count - 1) % count;
  };
  for (const char* const symbol : {"GR", "DG", "SH", "SW", "DH", "DW"}) fold(symbol, 1, 2);
  for (const char* const symbol : {"PT", "PB", "PL", "PR"}) fold(symbol, 0, 2);
  for (const char* const symbol : {"KH", "KW"}) fold(symbol, 1, 3);
  const auto multiple = [](int64_t extent, int64_t of) { return (extent + of - 1) / of * of; };
  if (!c.op->Find("groups")) e["GR"] = 1;
  e["C"] = multiple(e["C"], e["GR"] * e["DG"]);
  e["O"] = multiple(e["O"], e["GR"]);
  e["G"] = e["C"] / e["GR"];
  const auto positions = [&e](const std::string& axis, const char* before, const char* behind) {
    const int64_t reach = e["D" + axis] * (e["K" + axis] - 1) + 1;
    const int64_t padding = e[before] + e[behind];
    int64_t& extent = e["X" + axis];
    extent = std::max({extent, reach - padding, int64_t{1}});
    e["Y" + axis] = (extent + padding - reach) / e["S" + axis] + 1;
    e["C" + axis] = e["Y" + axis] * e["K" + axis];
  };
  positions("H", "PT", "PB");
  positions("W", "PL", "PR");
  const int64_t points = e["DG"] * e["KH"] * e["KW"];
  const bool modulated = e["F"] % 2 == 1;
  e["F"] = (modulated ? 3 : 2) * points;
  if (const auto flag = c.op->Find("modulated")) {
    c.arguments[*flag].integers = {modulated ? 1 : 0};
  }
}

void SetShapes(Case& c, const std::function<int64_t(const std::string& symbol)>& extent_of) {
  std::map<std::string, int64_t> extents;
  const auto for_extents = [&c](const auto& visit) {
    for (size_t i = 0; i < c.arguments.size(); ++i) {
      const Parameter& row = c.op->parameters[i];
      const bool number = row.role == Role::kInteger && *row.pattern != '\0';
      if (IsTensor(row.role) || row.role == Role::kInts || number) visit(i, row);
    }
  };
  for_extents([&](size_t /*i*/, const Parameter& row) {
    for (const std::string& symbol : Symbols(row)) {
      const bool fixed = symbol[0] >= '0' && symbol[0] <= '9';
      if (extents.contains(symbol)) continue;
      extents[symbol] = fixed ? std::stoll(symbol) : extent_of(symbol);
    }
  });
  if (extents.contains("DG")) FitConvolution(c, extents);
  for_extents([&](size_t i, const Parameter& row) {
    Shape shape;
    for (const std::string& symbol : Symbols(row)) shape.push_back(extents[symbol]);
    (IsTensor(row.role) ? c.arguments[i].shape : c.arguments[i].integers) = shape;
  });
}

std::vector<Case> Named(const std::string& kind, std::vector<Case> cases) {
  for (size_t i = 0; i < cases.size(); ++i) cases[i].name = fmt::format("{}-{:05}", kind, i + 1);
  return cases;
}

}  // namespace portacl::golden
