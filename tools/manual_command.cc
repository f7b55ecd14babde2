// `portacl manual bash|zsh|man`: completion scripts and the manual page, from the parser's
// tables.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/manual/completion.h"
#include "tools/manual/man_page.h"
#include "tools/terminal.h"

namespace portacl::cli {

void AddManualCommand(CLI::App& app, Action& action) {
  CLI::App* manual = app.add_subcommand("manual", "Print a completion script or the manual page");
  manual->group("");
  const auto kind = std::make_shared<std::string>();
  manual->add_option("KIND", *kind, "what to print")
      ->required()
      ->type_name("bash|zsh|man")
      ->check(CLI::IsMember({"bash", "zsh", "man"}).description(""));
  manual->callback([kind, &app, &action] {
    action = [kind, &app] {
      Print(*kind == "bash"  ? BashCompletion(app)
            : *kind == "zsh" ? ZshCompletion(app)
                             : ManPage(app));
      return kExitOk;
    };
  });
}

}  // namespace portacl::cli
