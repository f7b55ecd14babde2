// Text for people on a terminal: aligned tables, colours if they help, a progress line.
#ifndef PORTACL_TOOLS_TERMINAL_H_
#define PORTACL_TOOLS_TERMINAL_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace portacl::cli {

enum class Style { kPlain, kBold, kDim, kGood, kBad };

// Wrapped in escape codes if standard output is a terminal and NO_COLOR is not set.
std::string Styled(const std::string& text, Style style);

// Columns as wide as their widest cell, two spaces apart.
class Table {
 public:
  enum class Align { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<std::string> cells, Style last_cell = Style::kPlain);
  void AddHeading(std::vector<std::string> cells);
  // A line of its own, whatever its width.
  void AddTitle(std::string text) { rows_.push_back({{std::move(text)}, false, Style::kPlain}); }
  std::string Text() const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool heading = false;
    Style last_cell = Style::kPlain;
  };
  std::vector<Align> columns_;
  std::vector<Row> rows_;
};

// "[#####.....] 12/40 WHAT" on one line of standard error, if that is a terminal and the work takes
// longer than a moment. The line is gone afterwards.
class Progress {
 public:
  explicit Progress(int total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(int done, const std::string& what);

 private:
  int total_;
  bool terminal_;
  bool shown_ = false;
  double started_;
};

// "1.23 ms", "45.6 us", "2.50 s".
std::string SecondsText(double seconds);

// Writes to standard output; throws RuntimeFailure if that fails (a full disk, a closed pipe).
void Print(const std::string& text);

// The object as indented text. Paths need not be UTF-8; JSON must be, so U+FFFD stands for bytes
// that are not.
std::string JsonText(const nlohmann::ordered_json& json);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_TERMINAL_H_
