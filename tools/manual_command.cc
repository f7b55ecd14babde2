// `portacl manual bash|zsh|man [DATE]`: completion scripts and the manual page, from the parser's
// tables.
#include <CLI/CLI.hpp>
#include <memory>
#include <regex>
#include <string>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/manual/completion.h"
#include "tools/manual/man_page.h"
#include "tools/terminal.h"

namespace portacl::cli {
namespace {

// Nothing if it is one, otherwise the problem.
std::string IsDate(const std::string& text) {
  static const std::regex date("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  return std::regex_match(text, date) ? "" : "'" + text + "' is not a date such as 2026-12-01";
}

}  // namespace

void AddManualCommand(CLI::App& app, Action& action) {
  CLI::App* manual = app.add_subcommand("manual", "Print a completion script or the manual page");
  manual->group("");
  const auto kind = std::make_shared<std::string>();
  manual->add_option("KIND", *kind, "what to print")
      ->required()
      ->type_name("bash|zsh|man")
      ->check(CLI::IsMember({"bash", "zsh", "man"}).description(""));
  const auto date = std::make_shared<std::string>();
  manual->add_option("DATE", *date, "of the manual page")->check(IsDate);
  manual->callback([kind, date, &app, &action] {
    action = [kind, date, &app] {
      Print(*kind == "bash"  ? BashCompletion(app)
            : *kind == "zsh" ? ZshCompletion(app)
                             : ManPage(app, *date));
      return kExitOk;
    };
  });
}

}  // namespace portacl::cli
