// The files of tools/data that are compiled into the program, so that an installed `portacl` needs
// no data folder.
#ifndef PORTACL_TOOLS_DATA_EMBEDDED_H_
#define PORTACL_TOOLS_DATA_EMBEDDED_H_

#include <span>
#include <string_view>

namespace portacl::cli {

// Contents of tools/data/NAME. Throws RuntimeFailure for a name that is not there.
std::span<const unsigned char> EmbeddedFile(std::string_view name);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_DATA_EMBEDDED_H_
