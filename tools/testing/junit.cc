// Verdicts as JUnit XML.
#include "tools/testing/junit.h"

#include <fmt/format.h>

#include "tools/file/file_io.h"

namespace portacl::golden {
namespace {

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        // XML 1.0 has no other control characters.
        escaped += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return escaped;
}

std::string TestCaseXml(const CaseVerdict& verdict) {
  std::string text = fmt::format(R"(  <testcase classname="{}" name="{}" time="{:.6f}")",
                                 verdict.c.op->name, Escaped(verdict.c.name), verdict.seconds);
  if (verdict.passed()) return text + "/>\n";
  std::string message = verdict.fault, details;
  if (!verdict.error.empty()) message += (message.empty() ? "" : "; ") + verdict.error;
  for (const OutputVerdict& output : verdict.outputs) {
    if (output.passed) continue;
    message +=
        fmt::format("{}{}: {}", message.empty() ? "" : "; ", output.parameter, output.reason);
    for (const Element& element : output.worst) details += ElementText(output, element) + "\n";
  }
  const char* const kind = verdict.error.empty() ? "failure" : "error";
  return text + fmt::format(">\n    <{0} message=\"{1}\">{2}--case '{3}'</{0}>\n  </testcase>\n",
                            kind, Escaped(message), Escaped(details), Escaped(ToString(verdict.c)));
}

}  // namespace

void WriteJUnit(const std::string& path, const std::vector<CaseVerdict>& verdicts,
                const std::vector<FunctionFile>& functions) {
  size_t failures = 0, errors = 0;
  double seconds = 0;
  std::string cases;
  for (const CaseVerdict& verdict : verdicts) {
    if (!verdict.error.empty()) {
      ++errors;
    } else if (!verdict.passed()) {
      ++failures;
    }
    seconds += verdict.seconds;
    cases += TestCaseXml(verdict);
  }
  std::string properties;
  for (const FunctionFile& function : functions) {
    properties += fmt::format("   <property name=\"{}\" value=\"{}\"/>\n", Escaped(function.name),
                              Escaped(function.file));
  }
  if (!properties.empty()) properties = "  <properties>\n" + properties + "  </properties>\n";
  const std::string head = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite name=\"portacl\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.6f}\">\n",
      verdicts.size(), failures, errors, seconds);
  cli::WriteFile(path, head + properties + cases + " </testsuite>\n</testsuites>\n", nullptr, 0);
}

}  // namespace portacl::golden
