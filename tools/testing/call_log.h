// Cases from the log of calls that libportacl.so writes with PORTACL_LOG=calls.
#ifndef PORTACL_TOOLS_TESTING_CALL_LOG_H_
#define PORTACL_TOOLS_TESTING_CALL_LOG_H_

#include <string>
#include <vector>

#include "tools/testing/case.h"

namespace portacl::golden {

// The calls of a log in the order of their first runs; equal calls occur once. Other text in the
// file is ignored. Cases leave out fields that follow from other fields. Throws BadInput
// ("FILE:LINE: ...") if a line differs from docs/cases.md, or there is none.
std::vector<Case> ReadCallLog(const std::string& path);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_LOG_H_
