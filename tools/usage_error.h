// The message for words on the command line that the parser does not take.
#ifndef PORTACL_TOOLS_USAGE_ERROR_H_
#define PORTACL_TOOLS_USAGE_ERROR_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace portacl::cli {

// Throws BadInput with the commands that there are; CLI11 would only say that one is required.
void CheckCommand(const CLI::App& app, const std::vector<std::string>& arguments);

// The message for a parse that failed with `message`. If no option or command takes a word, the
// message names that word: the first unknown option, else the first unknown word, because words
// after an unknown option may be its value. Otherwise it is the parser's message, with the command.
std::string ParseErrorText(const CLI::App& app, const std::string& message);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_USAGE_ERROR_H_
