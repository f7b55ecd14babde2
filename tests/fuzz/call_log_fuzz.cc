// Logs of calls (PORTACL_LOG=calls): a case that is read from a log is written as a string; the
// string is read as the same call.
#include <algorithm>
#include <cmath>

#include "fuzz/files.h"
#include "tools/testing/call.h"
#include "tools/testing/call_log.h"

namespace {

namespace golden = portacl::golden;
using portacl_fuzz::Require;
using Outline = std::vector<golden::ArgumentOutline>;

// An outline with a scale that is not a number is not even equal to itself.
bool IsOrdered(const Outline& outline) {
  return std::none_of(outline.begin(), outline.end(),
                      [](const auto& argument) { return std::isnan(argument.real); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = portacl_fuzz::TheFolder().Write("calls.log", {data, size});
  std::vector<golden::Case> cases;
  const bool read = portacl_fuzz::Reads([&] { cases = golden::ReadCallLog(path); });
  Require(read != cases.empty(), "a log without a call is refused");
  for (const golden::Case& c : cases) {
    const std::string text = golden::ToString(c);
    const golden::Case again = golden::ParseCase(text);
    Require(golden::ToString(again) == text, "a case's string is that case");
    const Outline outline = golden::OutlineOf(c);
    Require(!IsOrdered(outline) || golden::OutlineOf(again) == outline,
            "a case's string is the same call");
  }
  return 0;
}
