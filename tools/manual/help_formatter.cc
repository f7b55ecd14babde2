// Breaking of descriptions into lines.
#include "tools/manual/help_formatter.h"

#include <sstream>
#include <utility>

namespace portacl::cli {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kDescription = 28;  // the column where descriptions begin

}  // namespace

HelpFormatter::HelpFormatter() { column_width(kDescription); }

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::istringstream words(option->get_description());
  std::string text, word;
  size_t column = kDescription;
  while (words >> word) {
    const bool breaks = column > kDescription && column + 1 + word.size() > kColumns;
    if (breaks) column = kDescription;
    if (!text.empty()) text += breaks ? '\n' : ' ';
    if (column > kDescription) ++column;
    text += word;
    column += word.size();
  }
  return text;
}

// CLI11 puts an empty line before each group and another behind each but the last.
std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  const bool first = is_positional || group == "Options";
  const std::string text =
      CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  return first ? text : text.substr(1);
}

}  // namespace portacl::cli
