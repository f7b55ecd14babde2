// Completion of commands, options and their words, for bash and zsh, from the parser's tables.
#ifndef PORTACL_TOOLS_MANUAL_COMPLETION_H_
#define PORTACL_TOOLS_MANUAL_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>

namespace portacl::cli {

// The file bash-completion/completions/portacl.
std::string BashCompletion(const CLI::App& app);

// The file _portacl of a folder in zsh's fpath.
std::string ZshCompletion(const CLI::App& app);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_MANUAL_COMPLETION_H_
