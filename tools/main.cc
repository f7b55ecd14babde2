// `portacl`: the command line program. Parses, runs the chosen subcommand, and turns every failure
// into one line on standard error and an exit code (cli_error.h).
#include <portacl/portacl.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/manual/help_formatter.h"
#include "tools/usage_error.h"

namespace portacl::cli {
namespace {

constexpr const char* kExitCodes =
    "`portacl help COMMAND` lists a command's options.\n\n"
    "Exit codes: 0 ok, 1 a verification or comparison failed, 2 wrong usage or input,\n"
    "3 the machine or the library failed.";

// One line. It throws nothing: main's handlers end with it.
int Complain(int code, std::string_view message) {
  std::fputs("portacl: ", stderr);
  for (const char c : message) std::fputc(c == '\n' ? ' ' : c, stderr);
  std::fputc('\n', stderr);
  return code;
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
  CLI::App app("Image resampling and its gradients (aclnn operators) on any machine.", "portacl");
  Action action;
  app.set_version_flag("-V,--version", std::string("portacl ") + portaclGetVersion(),
                       "Print the version and exit");
  app.require_subcommand(1);
  app.footer(kExitCodes);
  app.formatter(std::make_shared<HelpFormatter>());
  AddRunCommand(app, action);
  AddInfoCommand(app, action);
  AddCasesCommand(app, action);
  AddGoldenCommand(app, action);
  AddCompareCommand(app, action);
  AddVerifyCommand(app, action);
  AddReportCommand(app, action);
  AddDemoCommand(app, action);
  AddManualCommand(app, action);
  CheckCommand(app, arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last one first
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Complain(kExitBadInput, ParseErrorText(app, error.what()));
  }
  return action();
}

// Main, with every failure as a line on stderr and an exit code.
int GuardedMain(int argc, char** argv) {
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

}  // namespace
}  // namespace portacl::cli

int main(int argc, char** argv) { return portacl::cli::GuardedMain(argc, argv); }
