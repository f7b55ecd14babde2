// `portacl golden CASES -o DIR`: inputs, golden outputs, exact values and error bounds in a folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/set_options.h"
#include "tools/terminal.h"
#include "tools/testing/golden_set.h"

namespace portacl::cli {
namespace {

struct GoldenCommand {
  CaseSource source;
  std::string folder;
  int jobs = 0;
  bool json = false;
};

// "1 case", "12 cases".
std::string CasesText(size_t count) {
  return fmt::format("{} case{}", count, count == 1 ? "" : "s");
}

std::string BytesText(uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return bytes < 1000      ? fmt::format("{} bytes", bytes)
         : bytes < 1000000 ? fmt::format("{:.1f} kB", size / 1e3)
                           : fmt::format("{:.1f} MB", size / 1e6);
}

int RunGolden(const GoldenCommand& options) {
  const std::vector<golden::Case> cases = CasesOf(options.source);
  golden::GoldenSummary summary;
  {
    Progress progress(static_cast<int>(cases.size()));
    golden::GoldenOptions golden{options.jobs, [&](int done) { progress.Show(done, "cases"); }};
    summary = golden::WriteGoldenSet(cases, options.folder, golden);
  }
  if (options.json) {
    Print(JsonText({{"folder", options.folder},
                    {"cases", summary.cases},
                    {"resumed", summary.resumed},
                    {"bytes", summary.bytes}}));
  } else {
    Print(fmt::format("golden: {} in {}, {} written{}\n", CasesText(summary.cases), options.folder,
                      BytesText(summary.bytes),
                      summary.resumed == 0 ? "" : fmt::format(", {} were there", summary.resumed)));
  }
  return kExitOk;
}

}  // namespace

void AddGoldenCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("golden", "Write inputs and golden outputs of a list of cases");
  const auto options = std::make_shared<GoldenCommand>();
  AddCaseSource(*command, options->source);
  command->add_option("-o,--output", options->folder, "folder for manifest.json and the cases")
      ->required()
      ->type_name("FOLDER");
  AddJobs(*command, options->jobs);
  command->add_flag("--json", options->json, "print a JSON object");
  command->footer(
      "Stopped, it goes on where it was when it is called again, with the same bytes.\n\n"
      "Example: one case, and the verdict of a kernel's results in\n"
      "mine/case/inputGrad.npy, ...\n"
      "  portacl golden -o want \\\n"
      "    --case 'grid_sampler_2d_backward input=1x3x8x8 grid=1x5x5x2'\n"
      "  portacl compare want mine");
  command->callback([options, &action] { action = [options] { return RunGolden(*options); }; });
}

}  // namespace portacl::cli
