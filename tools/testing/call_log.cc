// Turns lines of the log into fields, and fields into cases. A case keeps only fields that do not
// follow from others.
#include "tools/testing/call_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/parse.h"
#include "tools/testing/call.h"

namespace portacl::golden {
namespace {

using cli::BadInput;

constexpr std::string_view kMark = "portacl_call,";
constexpr const char* kVersion = "v1";
constexpr size_t kFields = 9;
enum { kOperator = 3, kTensors = 6, kArguments = 7 };  // of the fields

struct Line {
  std::string place;  // "FILE:LINE"
  std::vector<std::string> fields;
};

// "NAME:DTYPE:FORMAT:SHAPE:STRIDES:OFFSET".
void AddTensor(const std::string& word, const std::string& place, std::vector<Field>& fields) {
  const std::vector<std::string> parts = cli::Split(word, ':');
  if (parts.size() != 6) {
    throw BadInput(
        fmt::format("{}: '{}' is not NAME:DTYPE:FORMAT:SHAPE:STRIDES:OFFSET", place, word));
  }
  if (fields.size() == 1) fields.push_back({"dtype", parts[1], 0});  // one for all tensors
  fields.push_back({parts[0], parts[3], 0});
  if (parts[2] != "ND") fields.push_back({parts[0] + ".format", parts[2], 0});
  fields.push_back({parts[0] + ".strides", parts[4], 0});
  fields.push_back({parts[0] + ".offset", parts[5], 0});
}

// "NAME:VALUE".
void AddArgument(const std::string& word, const std::string& place, std::vector<Field>& fields) {
  const size_t colon = word.find(':');
  if (colon == std::string::npos) {
    throw BadInput(fmt::format("{}: '{}' is not NAME:VALUE", place, word));
  }
  fields.push_back({word.substr(0, colon), word.substr(colon + 1), 0});
}

// The sizes that functions take beside their tensors. They are the tensors' extents, in the order
// (N, C, ...); the checks of the call made sure of that.
void AddSizes(Case& c) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.arguments.size(); ++i) {
    if (!IsTensor(c.op->parameters[i].role) || !c.arguments[i].shape) continue;
    Shape& shape = shapes.emplace_back(*c.arguments[i].shape);
    const bool moved = c.arguments[i].format == "NHWC" || c.arguments[i].format == "NDHWC";
    if (moved && shape.size() > 2) std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  }
  if (shapes.size() != 2) return;
  const Shape& large = c.op->backward() ? shapes[0] : shapes[1];
  if (const auto at = c.op->Find("outputSize"); at && large.size() > 2) {
    c.arguments[*at].integers = Shape(large.begin() + 2, large.end());
  }
  if (const auto at = c.op->Find("inputSize")) c.arguments[*at].integers = shapes[1];
}

Case CaseOf(const Line& line) {
  std::vector<Field> fields = {{"operator", line.fields[kOperator], 0}};
  for (const std::string& word : cli::Split(line.fields[kTensors], ' ')) {
    AddTensor(word, line.place, fields);
  }
  const std::string& arguments = line.fields[kArguments];  // a function may have none
  for (const std::string& word :
       arguments.empty() ? std::vector<std::string>() : cli::Split(arguments, ' ')) {
    AddArgument(word, line.place, fields);
  }
  Case c = CaseFromFields(fields, line.place, 0);
  AddSizes(c);
  return c;
}

// Leaves out the fields of a case that follow from its other fields and the defaults: outputs
// first, inputs' shapes last, the rest between.
class Shortener {
 public:
  explicit Shortener(Case c) : case_(std::move(c)), outline_(OutlineOf(case_)) {}

  Case Short() && {
    for (size_t i = case_.arguments.size(); i-- > 0;) {
      const Role role = case_.op->parameters[i].role;
      if (IsTensor(role)) Without(i, &ArgumentCase::strides);
      if (IsTensor(role)) Without(i, &ArgumentCase::offset);
      if (role == Role::kOutput) Without(i, &ArgumentCase::shape);
      Without(i, &ArgumentCase::integers);
      Without(i, &ArgumentCase::real);
    }
    for (size_t i = 0; i < case_.arguments.size(); ++i) Without(i, &ArgumentCase::shape);
    return std::move(case_);
  }

 private:
  template <class T>
  void Without(size_t i, std::optional<T> ArgumentCase::*property) {
    std::optional<T>& value = case_.arguments[i].*property;
    if (!value) return;
    const std::optional<T> kept = std::exchange(value, std::nullopt);
    if (!Same()) value = kept;
  }

  bool Same() const {
    try {
      return OutlineOf(case_) == outline_;
    } catch (const BadInput&) {  // a shape that follows from nothing
      return false;
    }
  }

  Case case_;
  const std::vector<ArgumentOutline> outline_;
};

Case ShortCase(const Line& line) {
  Case c = CaseOf(line);
  try {
    return Shortener(std::move(c)).Short();
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", line.place, error.what()));
  }
}

// The line's part from kMark on, if it has one. Text that a program wrote without an end of line
// may stand before it.
std::optional<Line> LineOf(std::string_view text, const std::string& place) {
  const size_t mark = text.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  text.remove_prefix(mark);
  if (text.ends_with('\r')) text.remove_suffix(1);
  Line line{place, cli::Split(std::string(text), ',')};
  if (line.fields[1] != kVersion) {
    throw BadInput(fmt::format("{}: a line of version '{}', but this program reads {}", place,
                               line.fields[1], kVersion));
  }
  if (line.fields.size() != kFields) {
    throw BadInput(fmt::format("{}: {} fields, but a line of {}{} has {}", place,
                               line.fields.size(), kMark, kVersion, kFields));
  }
  return line;
}

}  // namespace

std::vector<Case> ReadCallLog(const std::string& path) {
  const std::string text = cli::ReadText(path);
  const std::string_view all = text;
  std::vector<Case> cases;
  std::set<std::string> calls, strings;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(all.find('\n', begin), all.size());
    const std::string_view words = all.substr(begin, end - begin);
    begin = end + 1;
    const auto line = LineOf(words, fmt::format("{}:{}", path, ++number));
    if (!line) continue;
    // A call that ran before, by any kernel and through any API, without a look into it.
    if (!calls.insert(line->fields[kOperator] + line->fields[kTensors] + line->fields[kArguments])
             .second) {
      continue;
    }
    Case c = ShortCase(*line);
    if (strings.insert(ToString(c)).second) cases.push_back(std::move(c));
  }
  if (!cases.empty()) return cases;
  throw BadInput(
      fmt::format("{}: no line of PORTACL_LOG=calls in it ({}{},...)", path, kMark, kVersion));
}

}  // namespace portacl::golden
