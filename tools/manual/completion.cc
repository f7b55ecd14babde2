// The two scripts: fixed text around one line for each option.
#include "tools/manual/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/manual/option_words.h"

namespace portacl::cli {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : Commands(app)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> AllSpellings(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::Option* option : NamedOptions(command)) {
    for (const std::string& spelling : SpellingsOf(*option)) all.push_back(spelling);
  }
  return all;
}

// "words='ones random:' kind=file": the words behind an option or in a position.
std::string BashWords(const OptionWords& words) {
  return fmt::format("words='{}' kind={}", fmt::join(words.words, " "),
                     words.files     ? "file"
                     : words.folders ? "directory"
                                     : "''");
}

OptionWords WordsOfPositions(const CLI::App& command) {
  OptionWords all;
  for (const CLI::Option* option : Positionals(command)) {
    const OptionWords words = WordsOf(*option);
    all.words.insert(all.words.end(), words.words.begin(), words.words.end());
    all.files = all.files || words.files;
    all.folders = all.folders || words.folders;
  }
  return all;
}

std::string BashCases(const CLI::App& command) {
  std::string cases;
  for (const CLI::Option* option : NamedOptions(command)) {
    if (!TakesValue(*option)) continue;
    for (const std::string& spelling : SpellingsOf(*option)) {
      cases += fmt::format("      '{} {}') {} ;;\n", command.get_name(), spelling,
                           BashWords(WordsOf(*option)));
    }
  }
  return cases + fmt::format(
                     "      '{} '*)\n"
                     "        case $current in\n"
                     "          -*) words='{}' ;;\n"
                     "          *) {} ;;\n"
                     "        esac\n"
                     "        ;;\n",
                     command.get_name(), fmt::join(AllSpellings(command), " "),
                     BashWords(WordsOfPositions(command)));
}

// For text between single quotes of zsh, inside [...] of an option's table.
std::string ZshText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

// ":name:action": the words behind an option or in a position.
std::string ZshValue(const CLI::Option& option) {
  const OptionWords words = WordsOf(option);
  const std::string name =
      ZshText(option.get_type_name().empty() ? "value" : option.get_type_name());
  if (words.folders) return fmt::format(":{}:_directories", name);
  if (words.files && words.words.empty()) return fmt::format(":{}:_files", name);
  if (words.words.empty()) return fmt::format(":{}: ", name);
  std::string list;
  for (const std::string& word : words.words) list += " " + ZshText(word);
  return fmt::format(":{}: _portacl_words {}{}", name, words.files ? "files" : "only", list);
}

std::string ZshArguments(const CLI::App& command) {
  std::string lines;
  for (const CLI::Option* option : NamedOptions(command)) {
    const std::vector<std::string> spellings = SpellingsOf(*option);
    const std::string text = ZshText(option->get_description());
    const std::string value = TakesValue(*option) ? ZshValue(*option) : "";
    for (const std::string& spelling : spellings) {
      lines += fmt::format(" \\\n            '({}){}{}[{}]{}'", fmt::join(spellings, " "), spelling,
                           value.empty() ? "" : "=", text, value);
    }
  }
  for (const CLI::Option* option : Positionals(command)) {
    lines += fmt::format(" \\\n            '{}'", ZshValue(*option));
  }
  return lines;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* command : Commands(app)) cases += BashCases(*command);
  return fmt::format(
      R"(# bash completion for portacl, made from its options by `portacl manual bash`.
_portacl() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words='' kind=''
  # `--option=value` comes as three words.
  if [ "$current" = '=' ]; then
    current=''
  elif [ "$before" = '=' ]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='{0} help {1}'
  else
    case "${{COMP_WORDS[1]}} $before" in
      'help '*) words='{0}' ;;
{2}    esac
  fi
  mapfile -t COMPREPLY < <(
    compgen -W "$words" -- "$current"
    [ -z "$kind" ] || compgen -A "$kind" -- "$current"
  )
  if [ -n "$kind" ]; then compopt -o filenames 2>/dev/null; fi
  case ${{COMPREPLY[0]-}} in *:) compopt -o nospace 2>/dev/null ;; esac
}}
complete -F _portacl portacl
)",
      fmt::join(CommandNames(app), " "), fmt::join(AllSpellings(app), " "), cases);
}

std::string ZshCompletion(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : Commands(app)) {
    commands +=
        fmt::format("        '{}:{}'\n", command->get_name(), ZshText(command->get_description()));
    cases += fmt::format("        {})\n          _arguments{}\n          ;;\n", command->get_name(),
                         ZshArguments(*command));
  }
  return fmt::format(R"(#compdef portacl
# zsh completion for portacl, made from its options by `portacl manual zsh`.

# _portacl_words files|only WORD...: a word that ends with ':' goes on with a value.
_portacl_words() {{
  local kind=$1
  shift
  local -a list=("$@")
  compadd -S '' -- ${{(M)list:#*:}}
  compadd -- ${{list:#*:}}
  if [[ $kind == files ]]; then _files; fi
}}

_portacl() {{
  local context state line
  typeset -A opt_args
  _arguments -C{0} \
            '1: :->command' \
            '*:: :->arguments'
  case $state in
    command)
      local -a names=(
{1}        'help:Show the options of a command'
      )
      _describe -t commands command names
      ;;
    arguments)
      case $words[1] in
        help)
          _arguments '1:command:({2})'
          ;;
{3}      esac
      ;;
  esac
}}

if [[ $funcstack[1] == _portacl ]]; then
  _portacl "$@"
else
  compdef _portacl portacl
fi
)",
                     ZshArguments(app), commands, fmt::join(CommandNames(app), " "), cases);
}

}  // namespace portacl::cli
