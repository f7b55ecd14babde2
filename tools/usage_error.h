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

// What nobody takes, after a parse that failed: the first option among it, else the first word, as
// the words after an unknown option may be its value. Empty where there is nothing.
std::string UnexpectedText(const CLI::App& app);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_USAGE_ERROR_H_
