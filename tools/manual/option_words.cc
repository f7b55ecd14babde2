// Reading of type names, and walks over the parser's tables.
#include "tools/manual/option_words.h"

#include <algorithm>
#include <cctype>

#include "tools/parse.h"
#include "tools/run_names.h"
#include "tools/testing/operators.h"

namespace portacl::cli {
namespace {

bool IsWord(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::islower(c) != 0; });
}

}  // namespace

OptionWords WordsOf(const CLI::Option& option) {
  OptionWords result;
  for (const std::string& part : Split(option.get_type_name(), '|')) {
    if (part == "FILE") {
      result.files = true;
    } else if (part == "FOLDER") {
      result.folders = true;
    } else if (part == "OPERATOR") {
      result.words = RunWords();
    } else if (part == "CASE_OPERATOR") {
      result.words = golden::OperatorWords();
    } else if (IsWord(part)) {
      const size_t colon = part.find(':');
      result.words.push_back(colon == std::string::npos ? part : part.substr(0, colon + 1));
    }
  }
  return result;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> SpellingsOf(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames()) spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spellings.push_back("--" + name);
  return spellings;
}

std::vector<const CLI::Option*> NamedOptions(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

std::vector<const CLI::Option*> Positionals(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

}  // namespace portacl::cli
