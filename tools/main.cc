// `portacl`: the command line program. Parses, runs the chosen subcommand, and turns every failure
// into one line on standard error and an exit code (cli_error.h).
#include <fmt/format.h>
#include <portacl/portacl.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "tools/cli_error.h"
#include "tools/commands.h"

namespace portacl::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 a verification or comparison failed, 2 wrong usage or input,\n"
    "3 the machine or the library failed. docs/cli.md describes everything.";

int Complain(int code, const std::string& message) {
  std::string line = message;
  for (char& c : line) c = c == '\n' ? ' ' : c;
  fmt::print(stderr, "portacl: {}\n", line);
  return code;
}

// CLI11 would only say that a command is required.
void CheckCommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == arguments[0]) return;
    names += command->get_name() + ", ";
  }
  throw BadInput(fmt::format("unknown command '{}'; there are {}help", arguments[0], names));
}

// `help` and `help COMMAND` are --help and COMMAND --help.
std::vector<std::string> ArgumentsOf(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

int Main(const std::vector<std::string>& arguments) {
  CLI::App app("Gradients of image resampling (aclnn operators) on any machine.", "portacl");
  Action action;
  app.set_version_flag("--version", std::string("portacl ") + portaclGetVersion());
  app.require_subcommand(1);
  app.footer(kExitCodes);
  app.get_formatter()->column_width(28);
  AddRunCommand(app, action);
  AddInfoCommand(app, action);
  AddCompareCommand(app, action);
  AddDemoCommand(app, action);
  CheckCommand(app, arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last one first
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Complain(kExitBadInput, std::string(error.what()) + " (--help lists what there is)");
  }
  return action();
}

}  // namespace
}  // namespace portacl::cli

int main(int argc, char** argv) {
  using namespace portacl::cli;
  try {
    return Main(ArgumentsOf(argc, argv));
  } catch (const BadInput& error) {
    return Complain(kExitBadInput, error.what());
  } catch (const std::bad_alloc&) {
    return Complain(kExitRuntimeError, "out of memory");
  } catch (const std::exception& error) {
    return Complain(kExitRuntimeError, error.what());
  }
}
