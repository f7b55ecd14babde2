// Verdicts as JSON.
#ifndef PORTACL_TOOLS_TESTING_VERDICT_JSON_H_
#define PORTACL_TOOLS_TESTING_VERDICT_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/testing/verdict.h"

namespace portacl::golden {

// `golden_folder` may be "" (nothing was written); the names of its files are then left out.
nlohmann::ordered_json VerdictsJson(const std::vector<CaseVerdict>& verdicts,
                                    const StandardOptions& standard,
                                    const std::string& golden_folder,
                                    const std::vector<FunctionFile>& functions);

// The file of each function, by its name.
nlohmann::ordered_json FunctionsJson(const std::vector<FunctionFile>& functions);

nlohmann::ordered_json VerdictJson(const CaseVerdict& verdict, const std::string& golden_folder);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_VERDICT_JSON_H_
