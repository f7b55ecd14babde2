// The subcommands of the CLI. Each adds itself to the parser, with an action for when it is chosen.
#ifndef PORTACL_TOOLS_COMMANDS_H_
#define PORTACL_TOOLS_COMMANDS_H_

#include <functional>

namespace CLI {
class App;
}

namespace portacl::cli {

// The action of the chosen subcommand after parsing; returns the exit code.
using Action = std::function<int()>;

void AddRunCommand(CLI::App& app, Action& action);
void AddInfoCommand(CLI::App& app, Action& action);
void AddCasesCommand(CLI::App& app, Action& action);
void AddGoldenCommand(CLI::App& app, Action& action);
void AddCompareCommand(CLI::App& app, Action& action);
void AddVerifyCommand(CLI::App& app, Action& action);
void AddReportCommand(CLI::App& app, Action& action);
void AddDemoCommand(CLI::App& app, Action& action);

// Hidden: for the build. `app` must live until the action is done.
void AddManualCommand(CLI::App& app, Action& action);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_COMMANDS_H_
