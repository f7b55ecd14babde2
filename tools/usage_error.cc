// Words on the command line that nothing takes: finds them, and suggests the words that were meant.
#include "tools/usage_error.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <regex>

#include "tools/cli_error.h"
#include "tools/parse.h"

namespace portacl::cli {
namespace {

std::string OptionSuggestion(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return Suggestion(word, names);
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

// The words that nothing takes; empty if there are none.
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
  return fmt::format("unknown option '{}'", word) + OptionSuggestion(*command, word) + help;
}

// CLI11's words about an option that has no value, or that stands twice, in this program's words.
std::string Reworded(const std::string& message) {
  static const std::regex kTwice("(.*): At Most 1 required but received ([0-9]+)");
  static const std::regex kNoValue("(.*): 1 required (.*) missing");
  std::smatch match;
  if (std::regex_match(message, match, kTwice)) {
    return fmt::format("{}: wanted once, but it stands {} times", match.str(1), match.str(2));
  }
  if (std::regex_match(message, match, kNoValue)) {
    return fmt::format("{}: wanted {}, but nothing follows", match.str(1), match.str(2));
  }
  return message;
}

}  // namespace

void CheckCommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0].starts_with('-')) return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!arguments.empty() && command->get_name() == arguments[0]) return;
    if (!command->get_group().empty()) names += command->get_name() + ", ";
  }
  const std::string problem =
      arguments.empty() ? "wanted a command" : fmt::format("unknown command '{}'", arguments[0]);
  throw BadInput(fmt::format("{}; there are {}help", problem, names));
}

std::string ParseErrorText(const CLI::App& app, const std::string& cli11_message) {
  const std::string message = Reworded(cli11_message);
  std::string unexpected = UnexpectedText(app);
  if (!unexpected.empty()) return unexpected;
  if (app.get_subcommands().empty()) return message + " (portacl help lists what there is)";
  const std::string command = app.get_subcommands()[0]->get_name();
  return fmt::format("{0}: {1} (portacl help {0} lists what there is)", command, message);
}

}  // namespace portacl::cli
