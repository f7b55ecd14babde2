// Parses the part right of "=" in functions.txt.
#include "aten/torch/parsed_row.h"

#include <c10/util/Exception.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "aten/torch/values.h"

namespace portacl::aten {
namespace {

std::string_view Strip(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

// Splits a text at commas outside brackets.
std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const auto part = Strip(text.substr(begin, i - begin)); !part.empty()) {
      parts.push_back(part);
    }
    begin = i + 1;
  }
  return parts;
}

c10::IValue Literal(std::string_view text) {
  if (text == "none") return {};
  if (text == "true") return true;
  if (text == "false") return false;
  if (text[0] == '\'') return std::string(text.substr(1, text.size() - 2));
  if (text[0] == '[') {
    c10::List<int64_t> list;
    for (const auto part : Split(text.substr(1, text.size() - 2))) {
      list.push_back(std::stoll(std::string(part)));
    }
    return list;
  }
  TORCH_CHECK(text.find_first_not_of("-0123456789.e") == text.npos, "no parameter ", text);
  if (text.find_first_of(".e") != text.npos) return std::stod(std::string(text));
  return static_cast<int64_t>(std::stoll(std::string(text)));
}

Conversion ConversionOf(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Conversion>, 8> kWords{
      {{"", Conversion::kNone},
       {"[0]", Conversion::kFirst},
       {".long", Conversion::kLong},
       {".c", Conversion::kContiguous},
       {".p", Conversion::kCommon},
       {".f", Conversion::kOutput},
       {".type", Conversion::kType},
       {".some", Conversion::kSome}}};
  for (const auto& [word, conversion] : kWords) {
    if (word == text) return conversion;
  }
  TORCH_CHECK(false, "no conversion ", text);
}

Mapped ParseArgument(const Row& row, std::string_view text) {
  Mapped mapped;
  const std::string_view name = text.substr(0, text.find_first_of(".["));
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    if (name != row.parameters[i].name) continue;
    mapped.parameter = static_cast<int>(i);
    mapped.conversion = ConversionOf(text.substr(name.size()));
    return mapped;
  }
  mapped.literal = Literal(text);
  return mapped;
}

// Splits "keyword=argument". Without "=" the keyword is "".
std::pair<std::string_view, std::string_view> KeywordOf(std::string_view text) {
  const size_t equals = text[0] == '\'' ? text.npos : text.find('=');
  if (equals == text.npos) return {{}, text};
  return {Strip(text.substr(0, equals)), Strip(text.substr(equals + 1))};
}

bool TakesTensors(const c10::TypePtr& type) {
  using c10::TypeKind;
  if (type->kind() == TypeKind::OptionalType) {
    return TakesTensors(type->castRaw<c10::OptionalType>()->getElementType());
  }
  if (type->kind() == TypeKind::ListType) {
    return TakesTensors(type->castRaw<c10::ListType>()->getElementType());
  }
  return type->kind() == TypeKind::TensorType;
}

void CheckKind(const Row& row, const Mapped& mapped, const c10::Argument& argument) {
  if (mapped.parameter < 0) return;
  const Parameter& parameter = row.parameters[static_cast<size_t>(mapped.parameter)];
  const bool given = parameter.tensor() && mapped.conversion != Conversion::kType;
  const bool wanted = TakesTensors(argument.type());
  TORCH_CHECK(given == wanted, argument.name(), " of the operator is ", wanted ? "a" : "no",
              " tensor, but ", parameter.name, " is ", given ? "one" : "none");
}

void CheckResults(const Row& row, const c10::FunctionSchema& schema) {
  size_t outputs = 0;
  for (const Parameter& parameter : row.parameters) outputs += parameter.output() ? 1 : 0;
  TORCH_CHECK(outputs <= schema.returns().size(), "the operator has ", schema.returns().size(),
              " results, but the function ", outputs, " outputs");
}

void ParseArguments(std::string_view list, ParsedRow* parsed) {
  const c10::FunctionSchema& schema = parsed->op->schema();
  const size_t count = schema.arguments().size();
  parsed->arguments.resize(count);
  std::vector<bool> given(count);
  size_t position = 0;
  for (const std::string_view text : Split(list)) {
    const auto [keyword, argument] = KeywordOf(text);
    size_t at = position++;
    if (!keyword.empty()) {
      const auto index = schema.argumentIndexWithName(std::string(keyword));
      TORCH_CHECK(index.has_value(), "the operator has no argument ", keyword);
      at = static_cast<size_t>(*index);
    }
    TORCH_CHECK(at < count, "too many arguments");
    parsed->arguments[at] = ParseArgument(*parsed->row, argument);
    CheckKind(*parsed->row, parsed->arguments[at], schema.arguments()[at]);
    given[at] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    const c10::Argument& argument = schema.arguments()[i];
    TORCH_CHECK(argument.default_value().has_value(), "the operator needs ", argument.name());
    parsed->arguments[i].literal = *argument.default_value();
  }
}

void ParseOperator(std::string_view right, ParsedRow* parsed) {
  const size_t open = right.find('(');
  const std::string_view full = Strip(right.substr(0, open));
  const size_t dot = full.find('.');
  const std::string name = "aten::" + std::string(full.substr(0, dot));
  const std::string overload(dot == full.npos ? "" : full.substr(dot + 1));
  parsed->op = c10::Dispatcher::singleton().findSchema({name, overload});
  TORCH_CHECK(parsed->op.has_value(), "PyTorch ", kTorchVersion, " has no operator ", full);
  for (const c10::Argument& argument : parsed->op->schema().arguments()) {
    TORCH_CHECK(argument.alias_info() == nullptr || !argument.alias_info()->isWrite(), full,
                " writes its argument ", argument.name());
  }
  CheckResults(*parsed->row, parsed->op->schema());
  ParseArguments(right.substr(open + 1, right.rfind(')') - open - 1), parsed);
}

const ParsedRow* MakeParsed(const Row& row) {
  auto parsed = std::make_unique<ParsedRow>();
  parsed->row = &row;
  const std::string_view right = row.right;
  try {
    if (right[0] == '@') {
      parsed->composition = CompositionOf(right.substr(1));
      TORCH_CHECK(parsed->composition != nullptr, "no composition ", right);
    } else {
      ParseOperator(right, parsed.get());
    }
  } catch (const c10::Error& error) {
    parsed->error = WordsOf(error);
  }
  return parsed.release();
}

}  // namespace

bool Accepted::Has(const std::string& call) {
  const std::lock_guard lock(mutex_);
  return calls_.count(call) != 0;
}

void Accepted::Add(std::string call) {
  const std::lock_guard lock(mutex_);
  if (calls_.size() >= kMost) calls_.clear();
  calls_.insert(std::move(call));
}

const ParsedRow& Parse(const Row& row) {
  const void* made = row.parsed.load(std::memory_order_acquire);
  if (made == nullptr) {
    static auto& mutex = *new std::mutex;
    const std::lock_guard lock(mutex);
    made = row.parsed.load(std::memory_order_relaxed);
    if (made == nullptr) row.parsed.store(made = MakeParsed(row), std::memory_order_release);
  }
  return *static_cast<const ParsedRow*>(made);
}

}  // namespace portacl::aten
