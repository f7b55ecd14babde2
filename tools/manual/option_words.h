// The words that may stand behind an option, by the parser's own table: for completion.
#ifndef PORTACL_TOOLS_MANUAL_OPTION_WORDS_H_
#define PORTACL_TOOLS_MANUAL_OPTION_WORDS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace portacl::cli {

struct OptionWords {
  std::vector<std::string> words;  // one that ends with ':' goes on with a value
  bool files = false;
  bool folders = false;
};

// Made from the option's type name: "FILE|ones|random:SEED" gives files, `ones` and `random:`.
// Words in capitals are values that only the user knows.
OptionWords WordsOf(const CLI::Option& option);

// Whether the option takes a value at all.
bool TakesValue(const CLI::Option& option);

// "--json", "-V", "--version": all spellings.
std::vector<std::string> SpellingsOf(const CLI::Option& option);

// The options and the positional arguments of a command, in the order of its table.
std::vector<const CLI::Option*> NamedOptions(const CLI::App& command);
std::vector<const CLI::Option*> Positionals(const CLI::App& command);

// The commands that are not hidden.
std::vector<const CLI::App*> Commands(const CLI::App& app);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_MANUAL_OPTION_WORDS_H_
