// Verdicts as JUnit XML.
#ifndef PORTACL_TOOLS_TESTING_JUNIT_H_
#define PORTACL_TOOLS_TESTING_JUNIT_H_

#include <string>
#include <vector>

#include "tools/testing/verdict.h"

namespace portacl::golden {

// A test case for each; failures say the worst element and the string that repeats the case. The
// functions of the library are properties of the suite.
void WriteJUnit(const std::string& path, const std::vector<CaseVerdict>& verdicts,
                const std::vector<FunctionFile>& functions);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_JUNIT_H_
