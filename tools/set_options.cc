// Reading of the options, and the words about verdicts.
#include "tools/set_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/cli_error.h"
#include "tools/parse.h"
#include "tools/report_page.h"
#include "tools/terminal.h"
#include "tools/testing/case_list.h"
#include "tools/testing/common_traits.h"
#include "tools/testing/junit.h"
#include "tools/testing/verdict_json.h"

namespace portacl::cli {
namespace {

using golden::CaseVerdict;
using golden::OutputVerdict;
using golden::Standard;

double AtLeastZero(const std::string& text, const char* option) {
  const double value = ParseFinite(text, option);
  if (value < 0) throw BadInput(fmt::format("{}: '{}' is below 0", option, text));
  return value;
}

std::string FailureText(const CaseVerdict& verdict) {
  std::string text = fmt::format("{} {}\n", Styled("FAILED", Style::kBad), verdict.c.name);
  if (!verdict.fault.empty()) text += fmt::format("  {}\n", verdict.fault);
  if (!verdict.error.empty()) text += fmt::format("  {}\n", verdict.error);
  if (!verdict.error.empty() && verdict.outputs.empty() && verdict.c.expect == 0) {
    text += "  its outputs are not judged\n";
  }
  for (const OutputVerdict& output : verdict.outputs) {
    if (output.passed) continue;
    text += fmt::format("  {}: {}\n", output.parameter, output.reason);
    if (output.nan_mismatch + output.infinity_mismatch > 0) {
      text += fmt::format("  {}: NaN on one side only: {}, infinities that differ: {}\n",
                          output.parameter, output.nan_mismatch, output.infinity_mismatch);
    }
    if (!output.worst.empty()) {
      text += fmt::format("  {}\n", golden::ElementText(output, output.worst[0]));
    }
  }
  return text + fmt::format("  --case '{}'\n", golden::ToString(verdict.c));
}

// Two digits that count, or all before the point.
std::string PlainNumber(double value) {
  if (value > 0 && value < 0.01) return "below 0.01";
  return value < 9.95 || value >= 1e9 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
}

// How far the worst element is off.
std::string LargestErrorText(double excess) {
  if (std::isinf(excess)) return "the largest error is beyond every bound";
  if (excess > 1 && excess < 1.05) return "the largest error is just above what is allowed";
  return excess <= 1
             ? fmt::format("the largest error is {} % of what is allowed",
                           PlainNumber(100 * excess))
             : fmt::format("the largest error is {} times what is allowed", PlainNumber(excess));
}

// Bits that differ from golden's, and errors, which are distances from the exact values. Golden's
// bits have the errors of their rounding, which say nothing.
std::string DifferencesText(int64_t different, double excess, bool by_bound) {
  if (different == 0) return "all elements have golden's bits";
  const std::string bits = fmt::format("{} elements differ from golden's bits", different);
  return by_bound ? bits + ", " + LargestErrorText(excess) : bits;
}

std::string SummaryText(const std::vector<CaseVerdict>& verdicts,
                        const golden::StandardOptions& standard) {
  size_t failed = 0, unjudged = 0, outputs = 0, right = 0;
  double excess = 0;
  int64_t different = 0;
  for (const CaseVerdict& verdict : verdicts) {
    failed += verdict.passed() ? 0 : 1;
    // A refusal's verdict is its error.
    const bool judged = verdict.error.empty() || verdict.c.expect != 0 || !verdict.outputs.empty();
    unjudged += judged ? 0 : 1;
    outputs += verdict.outputs.size();
    for (const OutputVerdict& output : verdict.outputs) {
      right += output.passed ? 1 : 0;
      excess = std::max(excess, output.largest_excess);
      different += output.different_bits;
    }
  }
  std::string text = failed == 0
                         ? fmt::format("{}: {} of {} cases passed", Styled("ok", Style::kGood),
                                       verdicts.size(), verdicts.size())
                         : fmt::format("{}: {} of {} cases failed", Styled("FAILED", Style::kBad),
                                       failed, verdicts.size());
  if (unjudged > 0) text += fmt::format(", {} of them not judged", unjudged);
  if (outputs == 0) return text + "\n";
  return text +
         fmt::format("; {} of {} outputs are {}; {}\n", right, outputs,
                     golden::StandardText(standard),
                     DifferencesText(different, excess, standard.standard == Standard::kBound));
}

// "called functions: 2 in /lib/libopapi.so, 14 in /usr/lib/libportacl.so"; "" for none.
std::string FunctionsText(const std::vector<golden::FunctionFile>& functions) {
  std::map<std::string, int> files;
  for (const golden::FunctionFile& function : functions) ++files[function.file];
  std::string text;
  for (const auto& [file, count] : files) {
    text += fmt::format("{}{} in {}", text.empty() ? "called functions: " : ", ", count, file);
  }
  return text.empty() ? text : text + "\n";
}

}  // namespace

void AddCaseSource(CLI::App& command, CaseSource& source) {
  command.add_option("CASES", source.file, "list of cases (.json, .csv, .txt)")->type_name("FILE");
  command.add_option("--case", source.text, "one case as a string, instead of a list")
      ->type_name("STRING");
}

std::vector<golden::Case> CasesOf(const CaseSource& source) {
  if (source.file.empty() == source.text.empty()) {
    throw BadInput("wanted either a list of cases or --case '...'");
  }
  return source.text.empty() ? golden::ReadCases(source.file) : golden::CasesOfString(source.text);
}

void AddJudgeOptions(CLI::App& command, JudgeOptions& options) {
  const std::string group = "Standard (default: each element within its error bound)";
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    command.add_option(name, value, help)->type_name(type)->group(group);
  };
  command.add_flag("--binary", options.binary, "the same bits as golden")->group(group);
  add("--rtol", options.rtol, "|a - g| <= atol + rtol |g|", "X");
  add("--atol", options.atol, "the same", "X");
  add("--ulp", options.ulp, "at most N representable numbers from golden", "N");
  add("--standard", options.standard,
      "stat: MERE and MARE; mixed: the vendor's mixed tolerance; dual: the error at most --factor "
      "times --second's",
      "bound|binary|stat|mixed|dual");
  add("--second", options.second, "dual: the folder of a second library's results", "FOLDER");
  add("--factor", options.factor, "dual: default 2", "X");
}

bool AnyStandard(const JudgeOptions& o) {
  return o.binary || !(o.rtol + o.atol + o.ulp + o.standard + o.second + o.factor).empty();
}

golden::StandardOptions StandardOf(const JudgeOptions& options) {
  golden::StandardOptions standard;
  int asked = options.binary ? 1 : 0;
  if (options.binary) standard.standard = Standard::kBinary;
  if (!options.rtol.empty() || !options.atol.empty()) {
    standard.standard = Standard::kTolerance;
    if (!options.rtol.empty()) standard.rtol = AtLeastZero(options.rtol, "--rtol");
    if (!options.atol.empty()) standard.atol = AtLeastZero(options.atol, "--atol");
    ++asked;
  }
  if (!options.ulp.empty()) {
    standard.standard = Standard::kUlp;
    standard.ulp = ParseInteger(options.ulp, "--ulp");
    if (standard.ulp < 0) throw BadInput(fmt::format("--ulp: '{}' is below 0", options.ulp));
    ++asked;
  }
  if (!options.standard.empty()) {
    static const std::vector<std::pair<std::string, Standard>> kWords = {
        {"bound", Standard::kBound},
        {"binary", Standard::kBinary},
        {"stat", Standard::kStat},
        {"mixed", Standard::kMixed},
        {"dual", Standard::kDual}};
    const auto word = std::find_if(kWords.begin(), kWords.end(),
                                   [&](const auto& w) { return w.first == options.standard; });
    if (word == kWords.end()) {
      throw BadInput(fmt::format("--standard: '{}' is not one of bound, binary, stat, mixed, dual",
                                 options.standard));
    }
    standard.standard = word->second;
    ++asked;
  }
  if (asked > 1) throw BadInput("give one of --binary, --rtol with --atol, --ulp and --standard");
  const bool dual = standard.standard == Standard::kDual;
  if (dual != !options.second.empty()) {
    throw BadInput("--standard dual and --second belong together");
  }
  if (!options.factor.empty()) standard.factor = AtLeastZero(options.factor, "--factor");
  return standard;
}

void AddVerdictOutput(CLI::App& command, VerdictOutput& output) {
  const std::string group = "Results";
  command.add_flag("--json", output.json, "print a JSON object")->group(group);
  command.add_option("--junit", output.junit, "write JUnit XML")->type_name("FILE")->group(group);
}

void AddReportFile(CLI::App& command, VerdictOutput& output) {
  command.add_option("--report", output.report, "write a page (HTML)")
      ->type_name("FILE")
      ->group("Results");
}

void AddJobs(CLI::App& command, int& jobs) {
  command.add_option("--jobs", jobs, "cases at a time (default: one for each CPU)")
      ->check(CLI::Range(1, 1024).description(""))
      ->type_name("N");
}

int Conclude(const std::vector<golden::ReportRow>& rows, const golden::StandardOptions& standard,
             const VerdictOutput& output, const std::string& golden_folder, const std::string& what,
             const std::vector<golden::FunctionFile>& functions) {
  std::vector<CaseVerdict> verdicts;
  verdicts.reserve(rows.size());
  for (const golden::ReportRow& row : rows) verdicts.push_back(row.verdict);
  if (!output.report.empty()) {
    WriteReport(output.report, rows, what, golden::StandardText(standard), true, functions);
  }
  if (!output.junit.empty()) golden::WriteJUnit(output.junit, verdicts, functions);
  int code = kExitOk;
  std::string text;
  constexpr size_t kMostShown = 20;
  size_t failed = 0;
  for (const CaseVerdict& verdict : verdicts) {
    if (verdict.passed()) continue;
    if (++failed <= kMostShown) text += FailureText(verdict);
    if (code != kExitBadInput) code = verdict.bad_input ? kExitBadInput : kExitCheckFailed;
  }
  if (failed > kMostShown) text += fmt::format("... and {} more\n", failed - kMostShown);
  if (output.json) {
    Print(JsonText(golden::VerdictsJson(verdicts, standard, golden_folder, functions)));
  } else {
    for (const std::string& sentence : golden::CommonTraits(verdicts)) text += sentence + "\n";
    Print(text + SummaryText(verdicts, standard) + FunctionsText(functions));
  }
  if (code == kExitBadInput) {
    for (const CaseVerdict& verdict : verdicts) {
      if (verdict.bad_input) throw BadInput(verdict.error);
    }
  }
  return code;
}

}  // namespace portacl::cli
