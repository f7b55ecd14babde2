// What failing cases have in common that others have not.
#ifndef PORTACL_TOOLS_TESTING_COMMON_TRAITS_H_
#define PORTACL_TOOLS_TESTING_COMMON_TRAITS_H_

#include <string>
#include <vector>

#include "tools/testing/verdict.h"

namespace portacl::golden {

// What may be said of a case beside its values: "dtype float16", "paddingMode border", "a layout
// (input flipped)", "scales", "W 1", "C above 16", ...
std::vector<std::string> TraitsOf(const Case& c);

// Sentences, the most telling first: kinds of faults, where in the tensors all errors lie, what all
// that failed have, and what only those have. The last two if some cases passed, all but the
// first if two failed.
std::vector<std::string> CommonTraits(const std::vector<CaseVerdict>& verdicts);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_COMMON_TRAITS_H_
