// Options that the commands on sets of cases share. They say where cases come from, by which
// standard they are judged, how many run at a time, and which verdicts are printed and written.
#ifndef PORTACL_TOOLS_SET_OPTIONS_H_
#define PORTACL_TOOLS_SET_OPTIONS_H_

#include <string>
#include <vector>

#include "tools/testing/case.h"
#include "tools/testing/report.h"

namespace CLI {
class App;
}

namespace portacl::cli {

// CASES or --case; exactly one of them.
struct CaseSource {
  std::string file, text;
};
void AddCaseSource(CLI::App& command, CaseSource& source);
std::vector<golden::Case> CasesOf(const CaseSource& source);

struct JudgeOptions {
  std::string rtol, atol, ulp, standard, second, factor;
  bool binary = false;
};
void AddJudgeOptions(CLI::App& command, JudgeOptions& options);
golden::StandardOptions StandardOf(const JudgeOptions& options);
bool AnyStandard(const JudgeOptions& options);

struct VerdictOutput {
  std::string junit, report;
  bool json = false;
};
void AddVerdictOutput(CLI::App& command, VerdictOutput& output);
void AddReportFile(CLI::App& command, VerdictOutput& output);
void AddJobs(CLI::App& command, int& jobs);

// Prints the verdicts (failures in full, then a summary), writes the files that are asked for, and
// returns the exit code: 2 if a file could not be judged, 1 if one failed. `what` was judged: the
// report's title. `functions`: the files of a library's functions.
int Conclude(const std::vector<golden::ReportRow>& rows, const golden::StandardOptions& standard,
             const VerdictOutput& output, const std::string& golden_folder, const std::string& what,
             const std::vector<golden::FunctionFile>& functions = {});

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_SET_OPTIONS_H_
