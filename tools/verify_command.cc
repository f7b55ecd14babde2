// `portacl verify CASES --lib-dir DIR`: a verdict on any aclnn library, or on files that a device
// wrote.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <system_error>

#include "tools/cli_error.h"
#include "tools/commands.h"
#include "tools/file/file_io.h"
#include "tools/parse.h"
#include "tools/set_options.h"
#include "tools/terminal.h"
#include "tools/testing/verify_library.h"

namespace portacl::cli {
namespace {

struct VerifyCommand {
  CaseSource source;
  std::string library, outputs, seed;
  std::vector<std::string> files;
  JudgeOptions judge;
  VerdictOutput output;
  double timeout = 60;
  int jobs = 0;
};

// A file in the current folder as its path: the loader looks for a bare name elsewhere alone.
std::string LibraryPath(const std::string& file) {
  if (IsFolder(file)) throw BadInput(file + " is a folder: wanted --lib-dir " + file);
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(file, ignored);
  if (is_there) return std::filesystem::absolute(file, ignored).string();
  if (file.find('/') != std::string::npos) throw BadInput(file + ": no such file");
  return file;
}

int RunVerify(const VerifyCommand& options) {
  const bool library = !options.library.empty() || !options.files.empty();
  if (library == !options.outputs.empty()) {
    throw BadInput(
        "wanted either --lib-dir or --lib (a library to run) or --outputs (files it wrote)");
  }
  const std::string& folder = library ? options.library : options.outputs;
  if (!folder.empty() && !IsFolder(folder)) throw BadInput(folder + ": no such folder");
  golden::VerifyOptions verify;
  verify.library_folder = options.library;
  for (const std::string& file : options.files) verify.library_files.push_back(LibraryPath(file));
  verify.outputs = options.outputs;
  verify.standard = StandardOf(options.judge);
  if (verify.standard.standard == golden::Standard::kDual) {
    throw BadInput("--standard dual: write golden results and compare folders");
  }
  verify.seconds_of_patience = options.timeout;
  verify.jobs = options.jobs;
  if (!options.seed.empty()) verify.seed = ParseSeed(options.seed, "--seed");
  verify.with_pictures = !options.output.report.empty();
  const std::vector<golden::Case> cases = CasesOf(options.source);
  golden::Verification result;
  {
    Progress progress(static_cast<int>(cases.size()));
    verify.on_case_done = [&](int done) { progress.Show(done, "cases"); };
    result = golden::VerifyLibrary(cases, verify);
  }
  if (!result.note.empty()) fmt::print(stderr, "portacl: {}\n", result.note);
  return Conclude(result.rows, verify.standard, options.output, "",
                  folder.empty() ? options.files[0] : folder, result.functions);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("verify", "Run any aclnn library on a list and judge it");
  const auto options = std::make_shared<VerifyCommand>();
  AddCaseSource(*command, options->source);
  command->add_option("--lib-dir", options->library, "folder with the library (libopapi.so, ...)")
      ->type_name("FOLDER");
  command
      ->add_option("--lib", options->files,
                   "a library by its file, whatever its name; may be given several times")
      ->type_name("FILE");
  command
      ->add_option("--outputs", options->outputs,
                   "instead: folder of results that were written elsewhere")
      ->type_name("FOLDER");
  command->add_option("--timeout", options->timeout, "seconds for one case (default: 60)")
      ->check(CLI::Range(0.1, 86400.0).description(""))
      ->type_name("S");
  command->add_option("--seed", options->seed, "another order of the cases (default: 0)")
      ->type_name("N");
  AddJobs(*command, options->jobs);
  AddJudgeOptions(*command, options->judge);
  AddVerdictOutput(*command, options->output);
  AddReportFile(*command, options->output);
  command->footer(
      "The library runs in processes of its own: a crash or a hang costs one case. Each\n"
      "case is called twice, with other inputs at other addresses. Only functions that\n"
      "lie in FOLDER, or in a FILE, are judged, but not functions of a library\n"
      "that it is linked to.\n\n"
      "Example: portacl itself, on 1000 small cases\n"
      "  portacl cases generate smoke --count 1000 -o smoke.json\n"
      "  portacl verify smoke.json --lib-dir $ASCEND_HOME_PATH/lib64 \\\n"
      "    --report report.html");
  command->callback([options, &action] { action = [options] { return RunVerify(*options); }; });
}

}  // namespace portacl::cli
