// `portacl report DIR [OTHER] -o report.html`: a page about a golden folder and results beside it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/report_page.h"
#include "tools/set_options.h"
#include "tools/terminal.h"
#include "tools/testing/compare_set.h"

namespace portacl::cli {
namespace {

struct ReportCommand {
  std::string golden, other, file;
  JudgeOptions judge;
  int jobs = 0;
};

int RunReport(ReportCommand options) {
  golden::CompareSetOptions set;
  set.standard = StandardOf(options.judge);
  set.second = options.judge.second;
  set.jobs = options.jobs;
  set.with_pictures = true;
  // In either order, as `compare` takes them.
  if (!options.other.empty() && !golden::IsGoldenSet(options.golden) &&
      golden::IsGoldenSet(options.other)) {
    std::swap(options.golden, options.other);
  }
  const std::vector<golden::StoredCase> cases = golden::ReadManifest(options.golden);
  std::vector<golden::ReportRow> rows;
  {
    Progress progress(static_cast<int>(cases.size()));
    set.on_case_done = [&](int done) { progress.Show(done, "cases"); };
    rows = options.other.empty() ? golden::ShowSet(cases, set)
                                 : golden::CompareSets(cases, options.other, set);
  }
  const bool judged = !options.other.empty();
  WriteReport(options.file, rows,
              judged ? fmt::format("{} against {}", options.other, options.golden) : options.golden,
              golden::StandardText(set.standard), judged);
  size_t failed = 0;
  for (const golden::ReportRow& row : rows) failed += row.verdict.passed() ? 0 : 1;
  Print(fmt::format("report: {} case{} in {}{}\n", rows.size(), rows.size() == 1 ? "" : "s",
                    options.file, failed > 0 ? fmt::format(", {} of them failed", failed) : ""));
  return failed > 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace

void AddReportCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("report", "Write a page about golden results and others");
  const auto options = std::make_shared<ReportCommand>();
  command->add_option("DIR", options->golden, "the golden folder")->required()->type_name("FOLDER");
  command->add_option("OTHER", options->other, "results to judge (default: golden alone)")
      ->type_name("FOLDER");
  command->add_option("-o,--output", options->file, "the page, one self-contained file")
      ->required()
      ->type_name("FILE");
  AddJobs(*command, options->jobs);
  AddJudgeOptions(*command, options->judge);
  command->callback([options, &action] { action = [options] { return RunReport(*options); }; });
}

}  // namespace portacl::cli
