// Lists of cases as JSON, CSV and text, and the string of one case. Cases that are read are
// written, and read again as the same cases. The first byte of an input gives the kind.
#include <array>

#include "fuzz/files.h"
#include "tools/testing/case_list.h"

namespace {

namespace golden = portacl::golden;
using portacl_fuzz::Require;

constexpr std::array kNames = {"cases.json", "cases.csv", "cases.txt"};

// Compared as strings: a scale that is not a number is equal to none.
std::vector<std::string> StringsOf(const std::vector<golden::Case>& cases) {
  std::vector<std::string> strings;
  for (const golden::Case& c : cases) strings.push_back(golden::ToString(c));
  return strings;
}

void CheckRoundTrips(const std::vector<golden::Case>& cases) {
  const std::vector<std::string> strings = StringsOf(cases);
  for (const std::string& text : strings) {
    Require(golden::ToString(golden::ParseCase(text)) == text, "a case's string is that case");
  }
  for (const char* name : kNames) {
    const std::string copy = portacl_fuzz::TheFolder().path() + "/copy-" + name;
    golden::WriteCases(copy, cases);
    Require(StringsOf(golden::ReadCases(copy)) == strings, "a written list is read to its cases");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return -1;
  const size_t kind = data[0] % (kNames.size() + 1);
  const portacl_fuzz::Bytes text(data + 1, size - 1);
  std::vector<golden::Case> cases;
  const bool read = portacl_fuzz::Reads([&] {
    if (kind == kNames.size()) {
      cases = golden::CasesOfString(std::string(text.begin(), text.end()));
    } else {
      cases = golden::ReadCases(portacl_fuzz::TheFolder().Write(kNames[kind], text));
    }
  });
  if (read && !cases.empty()) CheckRoundTrips(cases);
  return 0;
}
