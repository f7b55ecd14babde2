// Lists of cases made by rule.
#ifndef PORTACL_TOOLS_TESTING_GENERATE_CASES_H_
#define PORTACL_TOOLS_TESTING_GENERATE_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/testing/case.h"

namespace portacl::golden {

struct GenerateOptions {
  int64_t count = 0;    // smoke and random: how many; 0: 200
  uint64_t seed = 1;    // random
  bool small = false;   // models: the rows' small form
  std::string profile;  // "" for open: only what it accepts
  std::string op;       // "" for all: only this operator
};

// The words for `kind`, with one line each.
struct CaseKind {
  const char* word;
  const char* help;
};
const std::vector<CaseKind>& CaseKinds();

// Named "<kind>-00001", ...; models by their rows' names. `kind` is one of CaseKinds().
std::vector<Case> GenerateCases(const std::string& kind, const GenerateOptions& options);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_GENERATE_CASES_H_
