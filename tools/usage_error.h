// What is said of words on the command line that the parser does not take.
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

// What is said of a parse that failed with `message`: what nobody takes, if there is such a word
// (the first option among them, else the first, as the words after an unknown option may be its
// value), else the parser's message with the command that it is about.
std::string ParseErrorText(const CLI::App& app, const std::string& message);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_USAGE_ERROR_H_
