// Values of options from text: strict (the whole text must be the value) and with one-line errors.
#ifndef PORTACL_TOOLS_PARSE_H_
#define PORTACL_TOOLS_PARSE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tensor/checked_size.h"

namespace portacl::cli {

// Each throws BadInput("OPTION: ..."): "'TEXT' is not WANTED".
double ParseFinite(const std::string& text, const std::string& option);
int64_t ParseInteger(const std::string& text, const std::string& option,
                     const char* wanted = "an integer");
uint64_t ParseSeed(const std::string& text, const std::string& option);

// "2,3,8,8"; each extent at least 0.
Shape ParseShape(const std::string& text, const std::string& option);

// "1.5" or "1.5,2"; each positive and finite.
std::vector<double> ParseScales(const std::string& text, const std::string& option);

// "; did you mean upsample_linear or upsample_bilinear2d?": the names that are spelled most like
// the word, else the shortest names that contain it; at most three. "" if there is none.
std::string Suggestion(const std::string& word, const std::vector<std::string>& names);
std::string DidYouMean(std::vector<std::string> meant);  // of any names, the first three

std::vector<std::string> Split(const std::string& text, char separator);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_PARSE_H_
