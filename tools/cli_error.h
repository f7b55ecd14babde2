// Exit codes of the CLI and the two exceptions that carry a message to main().
#ifndef PORTACL_TOOLS_CLI_ERROR_H_
#define PORTACL_TOOLS_CLI_ERROR_H_

#include <stdexcept>
#include <string>

namespace portacl::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitCheckFailed = 1,   // a verification or a comparison says no
  kExitBadInput = 2,      // wrong usage, file or parameter: the user can put it right
  kExitRuntimeError = 3,  // out of memory, disk full, a fault of the library
};

// Thrown for errors that the user can put right; what() is one line.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown for failures of the machine or of the library; what() is one line.
class RuntimeFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws for a status of the library: BadInput for its refusals (null, invalid, the 1000xx codes of
// the graph operator), RuntimeFailure for the rest. Does nothing for 0.
void ThrowOnStatus(int status, const std::string& call, const std::string& message);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_CLI_ERROR_H_
