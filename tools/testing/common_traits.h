// Traits that failing cases share and other cases lack.
#ifndef PORTACL_TOOLS_TESTING_COMMON_TRAITS_H_
#define PORTACL_TOOLS_TESTING_COMMON_TRAITS_H_

#include <string>
#include <vector>

#include "tools/testing/verdict.h"

namespace portacl::golden {

// The traits of a case, except its values: "dtype float16", "paddingMode border", "a layout (input
// flipped)", "scales", "W 1", "C above 16", ...
std::vector<std::string> TraitsOf(const Case& c);

// Sentences, the most telling first: kinds of faults, the places in the tensors where all errors
// lie, traits of all failing cases, and traits of failing cases only. The last two need a passed
// case; all but the first need two failed cases.
std::vector<std::string> CommonTraits(const std::vector<CaseVerdict>& verdicts);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_COMMON_TRAITS_H_
