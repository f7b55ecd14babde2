// The manual page portacl(1), from the parser's tables.
#ifndef PORTACL_TOOLS_MANUAL_MAN_PAGE_H_
#define PORTACL_TOOLS_MANUAL_MAN_PAGE_H_

#include <CLI/CLI.hpp>
#include <string>

namespace portacl::cli {

// In the macros of man(7). `date`: of the sources, 2026-12-01; may be empty.
std::string ManPage(const CLI::App& app, const std::string& date);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_MANUAL_MAN_PAGE_H_
