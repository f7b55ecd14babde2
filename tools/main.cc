// `portacl`: the command line program. Parses, runs the chosen subcommand, and turns every failure
// into one line on standard error and an exit code (cli_error.h).
#include <fmt/format.h>
#include <portacl/portacl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/manual/help_formatter.h"

namespace portacl::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 a verification or comparison failed, 2 wrong usage or input,\n"
    "3 the machine or the library failed. `portacl help COMMAND` lists a command's options.";

// One line. It throws nothing: main's handlers end with it.
int Complain(int code, std::string_view message) {
  std::fputs("portacl: ", stderr);
  for (const char c : message) std::fputc(c == '\n' ? ' ' : c, stderr);
  std::fputc('\n', stderr);
  return code;
}

// CLI11 would only say that a command is required.
void CheckCommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with('-')) return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == arguments[0]) return;
    if (!command->get_group().empty()) names += command->get_name() + ", ";
  }
  throw BadInput(fmt::format("unknown command '{}'; there are {}help", arguments[0], names));
}

// Letters to insert, remove or replace until the words are the same.
size_t EditDistance(const std::string& from, const std::string& to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (const char letter : from) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = diagonal + (letter == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// "; did you mean --grid-grad?" where an option of the command is spelled much like the word.
std::string Suggestion(const CLI::App& command, const std::string& word) {
  const size_t enough = word.size() / 3 + 1;
  std::pair<size_t, std::string> nearest{enough, ""};
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      nearest = std::min(nearest, {EditDistance(word, "--" + name), "--" + name});
    }
  }
  return nearest.first < enough ? "; did you mean " + nearest.second + "?" : "";
}

bool IsOption(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

// The words that `app` itself did not take.
std::vector<std::string> Unexpected(const CLI::App& app) {
  std::vector<std::string> words = app.remaining();
  std::erase(words, "--");
  return words;
}

// What nobody takes: the first option among it, else the first word, as the words after an unknown
// option may be its value. Empty where there is nothing.
std::string UnexpectedText(const CLI::App& app) {
  const CLI::App* command = &app;
  std::vector<std::string> words = Unexpected(app);  // before the command
  if (!app.get_subcommands().empty()) {
    const CLI::App* chosen = app.get_subcommands()[0];
    if (words.empty()) {
      words = Unexpected(*chosen);
      command = chosen;
    } else if (chosen->get_option_no_throw(words[0]) != nullptr) {
      return fmt::format("option '{0}' belongs behind the command: portacl {1} {0}", words[0],
                         chosen->get_name());
    }
  }
  if (words.empty()) return "";
  const std::string help = fmt::format(" (portacl help{} lists what there is)",
                                       command == &app ? "" : " " + command->get_name());
  const auto option = std::find_if(words.begin(), words.end(), IsOption);
  if (option == words.end()) return fmt::format("unexpected argument '{}'", words[0]) + help;
  const std::string word = option->substr(0, option->find('='));
  return fmt::format("unknown option '{}'", word) + Suggestion(*command, word) + help;
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
  AddGenerateCommand(app, action);
  CheckCommand(app, arguments);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last one first
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    // What is there and unknown first, then what is missing.
    const std::string unexpected = UnexpectedText(app);
    if (!unexpected.empty()) return Complain(kExitBadInput, unexpected);
    return Complain(kExitBadInput, std::string(error.what()) + " (--help lists what there is)");
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
