// Breaking of descriptions into lines.
#include "tools/manual/help_formatter.h"

#include <sstream>

namespace portacl::cli {
namespace {

constexpr size_t kColumns = 100;
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

}  // namespace portacl::cli
