// Fields to a case and back, by the operator's row: the string, JSON and CSV all end here.
#include "tools/testing/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tools/cli_error.h"
#include "tools/parse.h"
#include "tools/testing/values.h"

namespace portacl::golden {
namespace {

using cli::BadInput;

struct AclType {
  const char* name;
  int32_t value;
  size_t size;
};
constexpr AclType kAclTypes[] = {
    {"float32", 0, 4}, {"float16", 1, 2}, {"int8", 2, 1},     {"int32", 3, 4}, {"uint8", 4, 1},
    {"int16", 6, 2},   {"int64", 9, 8},   {"float64", 11, 8}, {"bool", 12, 1}, {"bfloat16", 27, 2}};

constexpr std::array kFormats = {"ND", "NCHW", "NHWC", "NCL", "NCDHW", "NDHWC"};

// Reads the fields of one case. Every failure names the field and, in files, the line.
class Reader {
 public:
  Reader(const std::vector<Field>& fields, const std::string& source, int line)
      : fields_(fields), source_(source), line_(line) {}

  Case Read() {
    std::string direction;
    for (const Field& field : fields_) {
      if (!seen_.insert(field.name).second) Fail(field, "is given twice");
      if (field.name == "operator") operator_ = &field;
      if (field.name == "direction") direction = Word(field, {"forward", "backward"});
    }
    if (operator_ == nullptr) Fail("field operator is missing");
    case_.op = RowThatFits(*Operator(direction));
    case_.arguments.resize(case_.op->parameters.size());
    for (const Field& field : fields_) ReadField(field);
    CheckWhole();
    return std::move(case_);
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const {
    throw BadInput(Place(line_) + message);
  }
  [[noreturn]] void Fail(const Field& field, const std::string& message) const {
    throw BadInput(fmt::format("{}field {}: {}", Place(field.line > 0 ? field.line : line_),
                               field.name, message));
  }
  std::string Place(int line) const {
    if (source_.empty()) return "";
    return line > 0 ? fmt::format("{}:{}: ", source_, line) : source_ + ": ";
  }

  const OperatorRow* Operator(const std::string& direction) const {
    const std::string& name = operator_->value;
    const OperatorRow* op = FindOperator(name);
    const bool other = op == nullptr || (direction == "backward") != op->backward();
    if (!direction.empty() && other) {
      op = direction == "backward" ? FindOperator(name + "_backward") : nullptr;
      if (op == nullptr) {
        Fail(*operator_, fmt::format("'{}' has no direction {}", name, direction));
      }
    }
    if (op != nullptr) return op;
    Fail(*operator_, UnknownOperator(name, OperatorWords()));
  }

  // Among the rows with the name of `op`, the first with the most patterns that match the given
  // extents. (A call that must be refused need not match any.)
  const OperatorRow* RowThatFits(const OperatorRow& op) const {
    const OperatorRow* best = &op;
    int64_t most = -1;
    for (const OperatorRow& row : Operators()) {
      if (std::string_view(row.name) != op.name) continue;
      const auto fitting = std::count_if(fields_.begin(), fields_.end(),
                                         [&](const Field& field) { return Fits(field, row); });
      if (fitting > most) best = &row;
      most = std::max<int64_t>(most, fitting);
    }
    return best;
  }

  bool Fits(const Field& field, const OperatorRow& row) const {
    const auto at = row.Find(field.name);
    if (!at) return true;
    const Parameter& parameter = row.parameters[*at];
    if (!IsTensor(parameter.role) && parameter.role != Role::kInts) return true;
    const std::vector<std::string> symbols = Symbols(parameter);
    const std::vector<int64_t> given = Integers(field);
    if (given.size() != symbols.size()) return false;
    // "2x3" and "3x4" of an affine grid's theta.
    return !IsTensor(parameter.role) || symbols.back().find_first_not_of("0123456789") == 0 ||
           std::to_string(given.back()) == symbols.back();
  }

  std::string Word(const Field& field, const std::vector<std::string>& words) const {
    if (std::find(words.begin(), words.end(), field.value) == words.end()) {
      Fail(field, fmt::format("'{}' is not one of {}", field.value, fmt::join(words, ", ")));
    }
    return field.value;
  }

  // Calls a parser of tools/parse.h. Its message begins with the text that it gets as the option.
  template <class Parse>
  auto Parsed(const Field& field, Parse parse) const {
    return parse(field.value,
                 fmt::format("{}field {}", Place(field.line > 0 ? field.line : line_), field.name));
  }

  int64_t Integer(const Field& field) const {
    return Parsed(field, [](const std::string& text, const std::string& option) {
      return cli::ParseInteger(text, option);
    });
  }

  std::vector<int64_t> Integers(const Field& field) const {
    std::vector<int64_t> values;
    if (field.value == "none") return values;
    std::string text = field.value;
    if (text.find(',') == std::string::npos) std::replace(text.begin(), text.end(), 'x', ',');
    for (const std::string& part : cli::Split(text, ',')) {
      values.push_back(Integer({field.name, part, field.line}));
    }
    return values;
  }

  void ReadField(const Field& field) {
    const std::string& name = field.name;
    if (name == "operator" || name == "direction") return;
    if (name == "name") return ReadName(field);
    if (name == "dtype") {
      const auto dtype = cli::ParseDataType(field.value);
      if (!dtype)
        Fail(field, fmt::format("'{}' is not one of {}", field.value, cli::DataTypeNames()));
      case_.dtype = *dtype;
    } else if (name == "seed") {
      case_.seed = Parsed(field, cli::ParseSeed);
    } else if (name == "profile") {
      case_.profile = Word(field, {"atlas-a2", "atlas-a3", "atlas-training", "ascend-950", "open"});
    } else if (name == "expect") {
      const int64_t status = Integer(field);
      if (status < 0 || status > 999999) Fail(field, "is not a status");
      case_.expect = static_cast<int32_t>(status);
    } else if (name == "null") {
      for (const std::string& part : cli::Split(field.value, ',')) {
        const auto at = case_.op->Find(part);
        if (!at) Fail(field, Unknown(part));
        case_.arguments[*at].null = true;
      }
    } else {
      ReadArgument(field);
    }
  }

  void ReadName(const Field& field) {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '.' || c == '_' || c == '-';
    };
    const std::string& text = field.value;
    if (text.empty() || text.size() > 200 || text[0] == '.' || text[0] == '-' ||
        !std::all_of(text.begin(), text.end(), allowed)) {
      Fail(field, fmt::format("'{}' is not a name: letters, digits, '.', '_' and '-', at most 200, "
                              "neither '.' nor '-' first",
                              text));
    }
    case_.name = text;
  }

  std::string Unknown(const std::string& parameter) const {
    std::string names;
    for (const Parameter& p : case_.op->parameters) names += fmt::format(" {}", p.name);
    return fmt::format("{} has no parameter '{}'; it has{}", case_.op->name, parameter, names);
  }

  void ReadArgument(const Field& field) {
    const size_t dot = field.name.find('.');
    const std::string parameter = field.name.substr(0, dot);
    const auto at = case_.op->Find(parameter);
    if (!at) Fail(field, Unknown(parameter));
    const Parameter& row = case_.op->parameters[*at];
    ArgumentCase& argument = case_.arguments[*at];
    if (dot != std::string::npos) {
      if (!IsTensor(row.role)) Fail(field, fmt::format("{} is not a tensor", parameter));
      return ReadProperty(field, field.name.substr(dot + 1), row, argument);
    }
    switch (row.role) {
      case Role::kInput:
      case Role::kOutput:
        argument.shape = field.value == "scalar" ? Shape{} : Extents(field);
        break;
      case Role::kInts:
      case Role::kMask:
        argument.integers = Integers(field);
        break;
      case Role::kReal:
        argument.real = Real(field);
        break;
      case Role::kInteger:
        argument.integers = {Integer(field)};
        break;
      case Role::kMode:
        argument.integers = {Mode(field, row)};
        break;
      case Role::kFlag:
        argument.integers = {Flag(field)};
        break;
    }
  }

  Shape Extents(const Field& field) const {
    Shape shape = Integers(field);
    if (shape.size() > 8) Fail(field, "has more than 8 axes");
    for (const int64_t extent : shape) {
      if (extent < 0) Fail(field, fmt::format("extent {} is negative", extent));
    }
    return shape;
  }

  // NaN and infinity are arguments too: a refusal may ask for them.
  double Real(const Field& field) const {
    if (field.value == "nan") return std::nan("");
    if (field.value == "inf") return HUGE_VAL;
    if (field.value == "-inf") return -HUGE_VAL;
    return Parsed(field, cli::ParseFinite);
  }

  int64_t Mode(const Field& field, const Parameter& row) const {
    const std::vector<std::string> words = ModeWords(row);
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] == field.value) return static_cast<int64_t>(i);
    }
    const bool number = field.value.find_first_not_of("-0123456789") == std::string::npos;
    if (!number || field.value.empty()) {
      Fail(field, fmt::format("'{}' is neither a number nor one of {}", field.value,
                              fmt::join(words, ", ")));
    }
    return Integer(field);
  }

  int64_t Flag(const Field& field) const {
    if (field.value == "1" || field.value == "true") return 1;
    if (field.value == "0" || field.value == "false") return 0;
    Fail(field, fmt::format("'{}' is neither 0 nor 1", field.value));
  }

  void ReadProperty(const Field& field, const std::string& property, const Parameter& row,
                    ArgumentCase& argument) {
    if (property == "layout") {
      argument.layout = Word(field, LayoutWords());
    } else if (property == "strides") {
      argument.strides = Integers(field);
    } else if (property == "offset") {
      argument.offset = Integer(field);
      if (*argument.offset < 0) Fail(field, "is negative");
    } else if (property == "dtype") {
      argument.dtype = ParseAclDataType(field.value);
      if (!argument.dtype) Fail(field, fmt::format("'{}' is not an element type", field.value));
    } else if (property == "format") {
      argument.format = Word(field, {kFormats.begin(), kFormats.end()});
    } else if (property == "values") {
      if (row.role != Role::kInput) Fail(field, fmt::format("{} is an output", row.name));
      argument.values = field.value;
      const std::string problem = ValuesProblem(field.value, row.is_grid);
      if (!problem.empty()) Fail(field, problem);
    } else {
      Fail(field, fmt::format("a tensor has no '{}'; it has layout, strides, offset, dtype, format "
                              "and values",
                              property));
    }
  }

  void CheckWhole() const {
    if (case_.expect == 0 && case_.dtype == cli::kUInt8 && !TakesBytes(*case_.op)) {
      Fail(fmt::format("{} has no dtype uint8; only these have it: {}", case_.op->name,
                       fmt::join(NamesThatTakeBytes(), ", ")));
    }
    for (size_t i = 0; i < case_.arguments.size(); ++i) {
      const ArgumentCase& argument = case_.arguments[i];
      const char* const name = case_.op->parameters[i].name;
      if (argument.layout && argument.strides) {
        Fail(fmt::format("fields {0}.layout and {0}.strides exclude each other", name));
      }
      const int32_t dtype =
          case_.op->parameters[i].dtype.value_or(static_cast<int32_t>(case_.dtype));
      const bool only_refused = argument.null || (argument.dtype && *argument.dtype != dtype);
      if (case_.expect == 0 && only_refused) {
        Fail(fmt::format("{} of another dtype or null is refused: field expect is missing", name));
      }
    }
  }

  static std::vector<std::string> NamesThatTakeBytes() {
    std::vector<std::string> names;
    for (const OperatorRow& row : Operators()) {
      if (TakesBytes(row)) names.emplace_back(row.name);
    }
    return names;
  }

  const std::vector<Field>& fields_;
  const std::string& source_;
  int line_;
  std::set<std::string> seen_;
  const Field* operator_ = nullptr;
  Case case_;
};

std::string Joined(const std::vector<int64_t>& values, const char* separator) {
  return values.empty() ? "none" : fmt::format("{}", fmt::join(values, separator));
}

std::string RealText(double value) {
  return std::isnan(value)   ? "nan"
         : std::isinf(value) ? (value > 0 ? "inf" : "-inf")
                             : fmt::format("{}", value);
}

std::string ModeText(const Parameter& row, int64_t mode) {
  const std::vector<std::string> words = ModeWords(row);
  const bool known = mode >= 0 && mode < static_cast<int64_t>(words.size());
  return known ? words[static_cast<size_t>(mode)] : std::to_string(mode);
}

void AddTensorFields(const std::string& name, const ArgumentCase& argument,
                     std::vector<Field>& fields) {
  const auto add = [&](const char* property, const std::string& value) {
    fields.push_back({name + property, value, 0});
  };
  if (argument.shape) {
    add("", argument.shape->empty() ? "scalar" : Joined(*argument.shape, "x"));
  }
  if (argument.dtype) add(".dtype", AclDataTypeName(*argument.dtype));
  if (argument.format) add(".format", *argument.format);
  if (argument.layout) add(".layout", *argument.layout);
  if (argument.strides) add(".strides", Joined(*argument.strides, ","));
  if (argument.offset) add(".offset", std::to_string(*argument.offset));
  if (argument.values) add(".values", *argument.values);
}

void AddArgumentFields(const Parameter& row, const ArgumentCase& argument,
                       std::vector<Field>& fields) {
  if (IsTensor(row.role)) return AddTensorFields(row.name, argument, fields);
  if (argument.real) fields.push_back({row.name, RealText(*argument.real), 0});
  if (!argument.integers) return;
  const std::vector<int64_t>& values = *argument.integers;
  const std::string text = row.role == Role::kMode ? ModeText(row, values[0]) : Joined(values, ",");
  fields.push_back({row.name, text, 0});
}

}  // namespace

Case SecondOf(const Case& c) {
  Case second = c;
  ++second.seed;
  return second;
}

Case CaseFromFields(const std::vector<Field>& fields, const std::string& source, int line) {
  return Reader(fields, source, line).Read();
}

bool IsField(const std::string& name) {
  static const std::set<std::string> kOfEveryCase = {"operator", "direction", "name",   "dtype",
                                                     "seed",     "profile",   "expect", "null"};
  const std::string parameter = name.substr(0, name.find('.'));
  const std::vector<OperatorRow>& rows = Operators();
  return kOfEveryCase.contains(name) ||
         std::any_of(rows.begin(), rows.end(),
                     [&](const OperatorRow& row) { return row.Find(parameter).has_value(); });
}

std::vector<Field> FieldsOf(const Case& c) {
  std::vector<Field> fields = {{"operator", c.op->name, 0}};
  if (!c.name.empty()) fields.push_back({"name", c.name, 0});
  fields.push_back({"dtype", cli::DataTypeName(c.dtype), 0});
  std::vector<std::string> null;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    AddArgumentFields(c.op->parameters[i], c.arguments[i], fields);
    if (c.arguments[i].null) null.emplace_back(c.op->parameters[i].name);
  }
  if (!null.empty()) fields.push_back({"null", fmt::format("{}", fmt::join(null, ",")), 0});
  if (!c.profile.empty()) fields.push_back({"profile", c.profile, 0});
  if (c.expect != 0) fields.push_back({"expect", std::to_string(c.expect), 0});
  if (c.seed != 0) fields.push_back({"seed", std::to_string(c.seed), 0});
  return fields;
}

Case ParseCase(const std::string& text) {
  std::vector<Field> fields;
  std::string spaced = text;
  std::replace_if(
      spaced.begin(), spaced.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  for (const std::string& word : cli::Split(spaced, ' ')) {
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    if (equals == std::string::npos && fields.empty()) {
      fields.push_back({"operator", word, 0});
    } else if (equals == std::string::npos) {
      throw BadInput(fmt::format("case '{}': '{}' is not FIELD=VALUE", text, word));
    } else {
      fields.push_back({word.substr(0, equals), word.substr(equals + 1), 0});
    }
  }
  return CaseFromFields(fields, fmt::format("case '{}'", text), 0);
}

std::string ToString(const Case& c) {
  std::string text;
  for (const Field& field : FieldsOf(c)) {
    text += text.empty() ? field.value : fmt::format(" {}={}", field.name, field.value);
  }
  return text;
}

std::vector<FieldHelp> FieldsOfOperator(const OperatorRow& op) {
  std::vector<FieldHelp> fields;
  for (const Parameter& p : op.parameters) {
    const std::string pattern = p.pattern;
    switch (p.role) {
      case Role::kInput:
      case Role::kOutput:
        fields.push_back(
            {p.name,
             fmt::format("{} tensor ({})", p.role == Role::kInput ? "input" : "output", pattern)});
        break;
      case Role::kInts:
        fields.push_back({p.name, fmt::format("integers ({})", pattern)});
        break;
      case Role::kReal:
        fields.push_back({p.name, fmt::format("number; {} where it is left out", p.unset)});
        break;
      case Role::kInteger:
        fields.push_back(
            {p.name, pattern.empty()
                         ? fmt::format("whole number; {} where it is left out", p.unset)
                         : fmt::format("whole number; {} where it is left out", pattern)});
        break;
      case Role::kMode:
        fields.push_back({p.name, pattern});
        break;
      case Role::kFlag:
        fields.push_back({p.name, "0 or 1"});
        break;
      case Role::kMask:
        fields.push_back({p.name, "0 or 1 for each output; all 1 where it is left out"});
        break;
    }
  }
  return fields;
}

const std::vector<std::string>& LayoutWords() {
  static const std::vector<std::string> words = {"contiguous", "channels_last", "transposed",
                                                 "flipped",    "step2",         "offset",
                                                 "padded",     "expanded"};
  return words;
}

std::optional<int32_t> ParseAclDataType(const std::string& name) {
  for (const AclType& type : kAclTypes) {
    if (name == type.name) return type.value;
  }
  return std::nullopt;
}

std::string AclDataTypeName(int32_t dtype) {
  for (const AclType& type : kAclTypes) {
    if (dtype == type.value) return type.name;
  }
  return std::to_string(dtype);
}

size_t AclElementSize(int32_t dtype) {
  for (const AclType& type : kAclTypes) {
    if (dtype == type.value) return type.size;
  }
  return 0;
}

}  // namespace portacl::golden
