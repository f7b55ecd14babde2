// Help texts that fit a terminal of 80 columns.
#ifndef PORTACL_TOOLS_MANUAL_HELP_FORMATTER_H_
#define PORTACL_TOOLS_MANUAL_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace portacl::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_MANUAL_HELP_FORMATTER_H_
