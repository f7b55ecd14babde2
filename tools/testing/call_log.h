// Cases from the log of calls that libportacl.so writes with PORTACL_LOG=calls.
#ifndef PORTACL_TOOLS_TESTING_CALL_LOG_H_
#define PORTACL_TOOLS_TESTING_CALL_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/testing/case.h"

namespace portacl::golden {

// The calls of a log in the order of their first runs, equal ones once; other text in the file is
// passed over. Each case says only what does not follow from the rest. Calls of bytes, which cases
// do not have, are left out and counted. Throws BadInput ("FILE:LINE: ...") where a line is not as
// docs/cases.md says, or there is none.
std::vector<Case> ReadCallLog(const std::string& path, int64_t* left_out = nullptr);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_LOG_H_
