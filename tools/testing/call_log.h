// Cases from the log of calls that libportacl.so writes with PORTACL_LOG=calls.
#ifndef PORTACL_TOOLS_TESTING_CALL_LOG_H_
#define PORTACL_TOOLS_TESTING_CALL_LOG_H_

#include <string>
#include <vector>

#include "tools/testing/case.h"

namespace portacl::golden {

// The calls of a log in the order of their first runs, equal ones once; other text in the file is
// passed over. Each case says only what does not follow from the rest. Throws BadInput
// ("FILE:LINE: ...") if a line is not as docs/cases.md says, or there is none.
std::vector<Case> ReadCallLog(const std::string& path);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_LOG_H_
