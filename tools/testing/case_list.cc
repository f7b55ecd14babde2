// Readers that keep the line of every field, and the writers.
#include "tools/testing/case_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/cli_error.h"
#include "tools/file/file_io.h"
#include "tools/terminal.h"
#include "tools/testing/call.h"

namespace portacl::golden {
namespace {

using cli::BadInput;

constexpr int kVersion = 1;

// The fields of one case, or its string.
struct Entry {
  int line = 0;
  bool is_string = false;
  std::string text;
  std::vector<Field> fields;
};

// Characters of a text that count the lines as a parser takes them.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, int* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    // A parser reads one character behind a number; that may be the line's end.
    *line_ += pending_;
    pending_ = *at_ == '\n' ? 1 : 0;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int* line_;
  int pending_ = 0;
};

// Takes the events of the parser: {"version": 1, "cases": [{fields}, "string", ...]}.
class JsonReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonReader(const std::string& path, const int& line) : path_(path), line_(line) {}

  std::vector<Entry> entries;
  bool has_cases = false;

  bool null() override { return Scalar(""); }
  bool boolean(bool value) override { return Scalar(value ? "1" : "0"); }
  bool number_integer(number_integer_t value) override { return Scalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(std::to_string(value)); }
  bool number_float(number_float_t value, const string_t&) override {
    return Scalar(fmt::format("{}", value));
  }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& value) override {
    if (depth_ != 2 || key_ != "cases") return Scalar(value);
    entries.push_back({line_, true, value, {}});
    return true;
  }
  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ == 3 && key_ == "cases" && in_cases_) {
      entries.push_back({line_, false, "", {}});
    } else if (depth_ != 1) {
      Fail("an object where a value is wanted");
    }
    return true;
  }
  bool end_object() override {
    if (--depth_ == 2) key_ = "cases";
    return true;
  }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool start_array(std::size_t) override {
    ++depth_;
    if (depth_ == 2 && key_ == "cases") {
      in_cases_ = has_cases = true;
    } else if (depth_ == 4) {
      entries.back().fields.push_back({key_, "", line_});
      in_list_ = true;
    } else {
      Fail(depth_ == 1 ? R"(wanted an object, {"version": 1, "cases": [...]})"
                       : "a list where none is wanted");
    }
    return true;
  }
  bool end_array() override {
    --depth_;
    if (depth_ == 1) in_cases_ = false;
    if (in_list_ && entries.back().fields.back().value.empty()) {
      entries.back().fields.back().value = "none";
    }
    in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::string text = error.what();
    const size_t detail = text.find("syntax error");
    Fail(detail == std::string::npos ? "is not JSON" : text.substr(detail));
  }

 private:
  [[noreturn]] void Fail(const std::string& message) const {
    throw BadInput(fmt::format("{}:{}: {}", path_, line_, message));
  }

  bool Scalar(const std::string& value) {
    if (in_list_) {
      std::string& list = entries.back().fields.back().value;
      list += (list.empty() ? "" : ",") + value;
    } else if (depth_ == 3) {
      if (!value.empty()) entries.back().fields.push_back({key_, value, line_});
    } else if (depth_ == 1 && key_ == "version") {
      if (value != std::to_string(kVersion)) {
        Fail(fmt::format("field version: {}, but this program reads version {}", value, kVersion));
      }
    } else if (depth_ != 1) {
      Fail("a case is an object of fields or a string");
    }
    return true;
  }

  const std::string& path_;
  const int& line_;
  int depth_ = 0;
  bool in_cases_ = false, in_list_ = false;
  std::string key_;
};

std::vector<Entry> EntriesOfJson(const std::string& text, const std::string& path) {
  int line = 1;
  JsonReader reader(path, line);
  const char* const begin = text.data();
  nlohmann::json::sax_parse(CountingIterator(begin, &line),
                            CountingIterator(begin + text.size(), &line), &reader);
  if (!reader.has_cases) throw BadInput(path + ": there is no list called cases");
  return std::move(reader.entries);
}

// Rows of cells with their lines: RFC 4180, quotes around cells that hold commas.
struct CsvRow {
  int line = 1;
  std::vector<std::string> cells;
};

std::vector<CsvRow> RowsOfCsv(const std::string& text, const std::string& path) {
  std::vector<CsvRow> rows;
  CsvRow row{1, {""}};
  bool quoted = false;
  int line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        row.cells.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        row.cells.back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.cells.emplace_back();
    } else if (c == '\n') {
      rows.push_back(std::move(row));
      row = {line, {""}};
    } else if (c != '\r') {
      row.cells.back() += c;
    }
  }
  if (quoted) throw BadInput(fmt::format("{}:{}: a quoted cell does not end", path, row.line));
  if (row.cells.size() > 1 || !row.cells[0].empty()) rows.push_back(std::move(row));
  return rows;
}

std::vector<Entry> EntriesOfCsv(const std::string& text, const std::string& path) {
  const std::vector<CsvRow> rows = RowsOfCsv(text, path);
  if (rows.empty()) throw BadInput(path + ": no row with the names of the fields");
  const std::vector<std::string>& names = rows[0].cells;
  for (const std::string& name : names) {
    if (!name.empty() && !IsField(name)) {
      throw BadInput(fmt::format("{}:{}: field {}: no operator has it", path, rows[0].line, name));
    }
  }
  std::vector<Entry> entries;
  for (size_t r = 1; r < rows.size(); ++r) {
    const CsvRow& row = rows[r];
    if (row.cells.size() == 1 && row.cells[0].empty()) continue;
    if (row.cells.size() != names.size()) {
      throw BadInput(fmt::format("{}:{}: {} cells, but the first row names {} fields", path,
                                 row.line, row.cells.size(), names.size()));
    }
    Entry entry{row.line, false, "", {}};
    for (size_t i = 0; i < names.size(); ++i) {
      if (!row.cells[i].empty()) entry.fields.push_back({names[i], row.cells[i], row.line});
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<Entry> EntriesOfText(const std::string& text) {
  std::vector<Entry> entries;
  int line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string words = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    words = words.substr(0, words.find('#'));
    words.resize(words.find_last_not_of(" \t\r") + 1);
    if (words.empty()) continue;
    entries.push_back({line, true, words, {}});
  }
  return entries;
}

// Of a list that an editor of any system wrote: without the mark that some put first.
std::string ReadList(const std::string& path) {
  const std::string text = cli::ReadText(path);
  if (text.find('\0') != std::string::npos) {
    throw BadInput(path + ": is not text in UTF-8: a byte of it is 0");
  }
  return text.rfind("\xEF\xBB\xBF", 0) == 0 ? text.substr(3) : text;
}

Case CaseOf(const Entry& entry, const std::string& path) {
  if (!entry.is_string) return CaseFromFields(entry.fields, path, entry.line);
  try {
    return ParseCase(entry.text);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}:{}: {}", path, entry.line, error.what()));
  }
}

// Refuses a case if its shapes do not fit together or are not known, by its line.
void CheckShapes(const Case& c, const std::string& path, int line) {
  try {
    static_cast<void>(CountElementsOf(c));
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}:{}: {}", path, line, error.what()));
  }
}

void NameCases(std::vector<Case>& cases, const std::vector<Entry>& entries,
               const std::string& path) {
  std::map<std::string, int> lines;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].name.empty()) cases[i].name = fmt::format("case-{:04}", i + 1);
    const auto [first, added] = lines.emplace(cases[i].name, entries[i].line);
    if (!added) {
      throw BadInput(fmt::format("{}:{}: field name: '{}' is also the name of the case in line {}",
                                 path, entries[i].line, cases[i].name, first->second));
    }
  }
}

// ---- writing -----------------------------------------------------------------------------------

std::string JsonOf(const std::vector<Case>& cases) {
  std::string text = fmt::format(R"({{"version": {}, "cases": [)", kVersion);
  for (size_t i = 0; i < cases.size(); ++i) {
    nlohmann::ordered_json json;
    for (const Field& field : FieldsOf(cases[i])) json[field.name] = field.value;
    text += (i > 0 ? ",\n  " : "\n  ") + json.dump();
  }
  return text + "\n]}\n";
}

std::string Quoted(const std::string& cell) {
  return cell.find(',') == std::string::npos ? cell : "\"" + cell + "\"";
}

std::string CsvOf(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  std::vector<std::map<std::string, std::string>> rows;
  for (const Case& c : cases) {
    rows.emplace_back();
    for (const Field& field : FieldsOf(c)) {
      if (std::find(names.begin(), names.end(), field.name) == names.end()) {
        names.push_back(field.name);
      }
      rows.back()[field.name] = field.value;
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  text += "\n";
  for (auto& row : rows) {
    for (size_t i = 0; i < names.size(); ++i) text += (i > 0 ? "," : "") + Quoted(row[names[i]]);
    text += "\n";
  }
  return text;
}

std::string TextOf(const std::vector<Case>& cases) {
  std::string text;
  for (const Case& c : cases) text += ToString(c) + "\n";
  return text;
}

}  // namespace

std::vector<Case> ReadCases(const std::string& path) {
  CheckCasesPath(path);
  const std::string text = ReadList(path), extension = cli::Extension(path);
  const std::vector<Entry> entries = extension == "json"  ? EntriesOfJson(text, path)
                                     : extension == "csv" ? EntriesOfCsv(text, path)
                                                          : EntriesOfText(text);
  if (entries.empty()) throw BadInput(path + ": there is no case in it");
  std::vector<Case> cases;
  cases.reserve(entries.size());
  for (const Entry& entry : entries) cases.push_back(CaseOf(entry, path));
  NameCases(cases, entries, path);
  for (size_t i = 0; i < cases.size(); ++i) CheckShapes(cases[i], path, entries[i].line);
  return cases;
}

std::vector<Case> CasesOfString(const std::string& text) {
  std::vector<Case> cases = {ParseCase(text)};
  if (cases[0].name.empty()) cases[0].name = "case";
  static_cast<void>(CountElementsOf(cases[0]));  // refuses shapes that do not fit or are not known
  return cases;
}

void CheckCasesPath(const std::string& path) {
  const std::string extension = cli::Extension(path);
  if (extension != "json" && extension != "csv" && extension != "txt") {
    throw BadInput(fmt::format("{}: wanted a name that ends with .json, .csv or .txt", path));
  }
}

void WriteCases(const std::string& path, const std::vector<Case>& cases) {
  CheckCasesPath(path);
  const std::string extension = cli::Extension(path);
  cli::WriteFile(path,
                 extension == "json"  ? JsonOf(cases)
                 : extension == "csv" ? CsvOf(cases)
                                      : TextOf(cases),
                 nullptr, 0);
}

}  // namespace portacl::golden
