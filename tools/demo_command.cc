#include <CLI/CLI.hpp>
#include "tools/commands.h"
namespace portacl::cli {
void AddDemoCommand(CLI::App&, Action&) {}
}  // namespace portacl::cli
