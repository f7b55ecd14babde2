// Help texts that fit a terminal of 100 columns.
#ifndef PORTACL_TOOLS_MANUAL_HELP_FORMATTER_H_
#define PORTACL_TOOLS_MANUAL_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace portacl::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_MANUAL_HELP_FORMATTER_H_
