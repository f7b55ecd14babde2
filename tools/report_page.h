// The HTML page of `portacl report` and `portacl verify --report`.
#ifndef PORTACL_TOOLS_REPORT_PAGE_H_
#define PORTACL_TOOLS_REPORT_PAGE_H_

#include <string>
#include <vector>

#include "tools/testing/report.h"

namespace portacl::cli {

// One file without anything from outside: tools/data/report.html with the data in it.
void WriteReport(const std::string& path, const std::vector<golden::ReportRow>& rows,
                 const std::string& title, const std::string& standard, bool judged,
                 const std::vector<golden::FunctionFile>& functions = {});

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_REPORT_PAGE_H_
