// Tables, colours and the progress line; some places leave them out.
#include "tools/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/cli_error.h"

namespace portacl::cli {
namespace {

constexpr double kPatience = 0.4;  // seconds without a progress line

bool UseColours() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Characters of UTF-8 text; none that is used here is wider than one column.
size_t Columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string Styled(const std::string& text, Style style) {
  static const bool colours = UseColours();
  if (!colours || style == Style::kPlain) return text;
  const char* code = style == Style::kBold   ? "1"
                     : style == Style::kDim  ? "2"
                     : style == Style::kGood ? "32"
                                             : "1;31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Table::AddRow(std::vector<std::string> cells, Style last_cell) {
  rows_.push_back({std::move(cells), false, last_cell});
}

void Table::AddHeading(std::vector<std::string> cells) {
  rows_.push_back({std::move(cells), true, Style::kPlain});
}

std::string Table::Text() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_) {
    for (size_t i = 0; i < row.cells.size() && row.cells.size() > 1; ++i) {
      widths[i] = std::max(widths[i], Columns(row.cells[i]));
    }
  }
  std::string text;
  for (const Row& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const std::string padding(widths[i] - std::min(widths[i], Columns(row.cells[i])), ' ');
      const bool last = i + 1 == row.cells.size();
      const std::string cell = last ? Styled(row.cells[i], row.last_cell) : row.cells[i];
      const bool right = columns_[i] == Align::kRight;
      line += (i > 0 ? "  " : "") + (right ? padding + cell : last ? cell : cell + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (row.heading ? Styled(line, Style::kDim) : line) + "\n";
  }
  return text;
}

Progress::Progress(int total)
    : total_(std::max(total, 1)), terminal_(isatty(STDERR_FILENO) != 0), started_(Now()) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::Show(int done, const std::string& what) {
  if (!terminal_ || Now() - started_ < kPatience) return;
  constexpr int kWidth = 24;
  const int filled = std::clamp(static_cast<int>(int64_t{done} * kWidth / total_), 0, kWidth);
  const std::string line =
      fmt::format("\r\x1b[K[{}{}] {}/{} {}", std::string(static_cast<size_t>(filled), '#'),
                  std::string(static_cast<size_t>(kWidth - filled), '.'), done, total_, what);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

std::string SecondsText(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

void Print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw RuntimeFailure("standard output: writing failed");
}

std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace portacl::cli
