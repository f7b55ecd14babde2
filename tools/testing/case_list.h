// Lists of cases in files: .json, .csv, and .txt with one string a line (# begins a comment).
#ifndef PORTACL_TOOLS_TESTING_CASE_LIST_H_
#define PORTACL_TOOLS_TESTING_CASE_LIST_H_

#include <string>
#include <vector>

#include "tools/testing/case.h"

namespace portacl::golden {

// JSON: {"version": 1, "cases": [...]}, each case an object of fields or its string. CSV: the first
// row has the fields' names, an empty cell is a field that is not given. Every case gets a name
// ("case-0001" by its place, if it has none); two of one name are refused. Throws BadInput
// ("FILE:LINE: field NAME: ...").
std::vector<Case> ReadCases(const std::string& path);

// One case for `--case`; its name is "case" if it has none.
std::vector<Case> CasesOfString(const std::string& text);

// Written as the extension of `path` says, whole or not at all.
void CheckCasesPath(const std::string& path);
void WriteCases(const std::string& path, const std::vector<Case>& cases);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CASE_LIST_H_
