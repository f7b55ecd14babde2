// Words on the command line that nothing takes: finds them, and suggests the words that were meant.
#include "tools/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <regex>

#include "src/base/spelling.h"
#include "tools/cli_error.h"
#include "tools/parse.h"

namespace portacl::cli {
namespace {

// Options that are the beginning of a word ("--padding-mode"; "--library" for --lib-dir), or else
// its end ("--num-threads").
std::vector<std::string> OptionsIn(const std::string& word, const std::vector<std::string>& names) {
  std::vector<std::string> begin, end;
  for (const std::string& name : names) {
    if (word.starts_with(name.substr(0, name.find('-', 2)))) begin.push_back(name);
    if (word.ends_with(name.substr(1))) end.push_back(name);
  }
  return begin.empty() ? end : begin;
}

// "-o": options that begin with this letter, short ones first.
std::vector<std::string> OptionsOf(char letter, std::vector<std::string> names) {
  std::erase_if(names, [letter](const std::string& name) { return name[2] != letter; });
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return names;
}

std::string OptionSuggestion(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  if (word.size() == 2) return DidYouMean(OptionsOf(word[1], names));
  const bool is_typo = std::ranges::any_of(
      names, [&](const std::string& name) { return base::EditDistance(word, name) < 3; });
  const std::string text = is_typo ? "" : DidYouMean(OptionsIn(word, names));
  return text.empty() ? Suggestion(word, names) : text;
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

// Returns "usage: portacl report DIR [OTHER] [options]".
std::string UsageText(const CLI::App& command) {
  std::string words;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_name(true);
    words += option->get_required() ? " " + name : " [" + name + "]";
  }
  return fmt::format("usage: portacl {}{} [options]", command.get_name(), words);
}

// CLI11's words about an option or an argument of `command` in this program's words.
std::string Reworded(const CLI::App& command, const std::string& message) {
  static const std::regex kTwice("(.*): At Most 1 required but received ([0-9]+)");
  static const std::regex kNoValue("(.*): 1 required (.*) missing");
  static const std::regex kMissing("(.*) is required");
  static const std::regex kChoice("(.*): (.*) not in \\{(.*)\\}");
  static const std::regex kType("Could not convert: (.*) = (.*)");
  // Decimals are written with six digits: "0.100000", "86400.000000".
  static const std::string kNumber = "([0-9]+(?:\\.[0-9]*[1-9])?)\\.?0*";
  static const std::regex kRange("(.*): Value (.*) not in range " + kNumber + " to " + kNumber);
  std::smatch match;
  const auto is = [&](const std::regex& words) { return std::regex_match(message, match, words); };
  if (is(kTwice)) {
    return fmt::format("{}: wanted once, but it stands {} times", match.str(1), match.str(2));
  }
  if (is(kNoValue)) {
    return fmt::format("{}: wanted {}, but nothing follows", match.str(1), match.str(2));
  }
  if (is(kChoice)) {
    return fmt::format("{}: '{}' is not one of {}", match.str(1), match.str(2),
                       fmt::join(Split(match.str(3), ','), ", "));
  }
  if (is(kRange)) {
    return fmt::format("{}: '{}' is not a number from {} to {}", match.str(1), match.str(2),
                       match.str(3), match.str(4));
  }
  if (!is(kMissing) && !is(kType)) return message;
  const CLI::Option* const option = command.get_option_no_throw(match.str(1));
  if (match.size() > 2) {
    const bool is_flag = option != nullptr && option->get_items_expected_max() == 0;
    return fmt::format("{}: '{}' is not {}", match.str(1), match.str(2),
                       is_flag ? "true or false" : "a number of the wanted kind");
  }
  return fmt::format("{} is missing{}; {}", match.str(1),
                     option == nullptr ? "" : ": " + option->get_description(), UsageText(command));
}

}  // namespace

void CheckCommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0].starts_with('-')) return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!arguments.empty() && command->get_name() == arguments[0]) return;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  names.emplace_back("help");
  const std::string problem =
      arguments.empty()
          ? "wanted a command"
          : fmt::format("unknown command '{}'{}", arguments[0], Suggestion(arguments[0], names));
  throw BadInput(fmt::format("{}; there are {}", problem, fmt::join(names, ", ")));
}

std::string ParseErrorText(const CLI::App& app, const std::string& cli11_message) {
  std::string unexpected = UnexpectedText(app);
  if (!unexpected.empty()) return unexpected;
  const bool has_command = !app.get_subcommands().empty();
  const CLI::App& command = has_command ? *app.get_subcommands()[0] : app;
  const std::string message = Reworded(command, cli11_message);
  if (!has_command) return message + " (portacl help lists what there is)";
  return fmt::format("{0}: {1} (portacl help {0} lists what there is)", command.get_name(),
                     message);
}

}  // namespace portacl::cli
