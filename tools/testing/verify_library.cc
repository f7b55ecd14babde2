// Golden here, the library's results from another process or a folder, and the verdict.
#include "tools/testing/verify_library.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "tools/cli_error.h"
#include "tools/testing/compare_set.h"
#include "tools/testing/other_process.h"
#include "tools/testing/parallel_cases.h"

namespace portacl::golden {
namespace {

// As many processes as cases run at a time; each case borrows one.
class Processes {
 public:
  explicit Processes(const VerifyOptions& options) : options_(options) {}

  Answer Ask(const Case& c) {
    std::unique_ptr<OtherProcess> process;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        process = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (process == nullptr) {
      process =
          std::make_unique<OtherProcess>(options_.library_folder, options_.seconds_of_patience);
    }
    Answer answer = process->Ask(c);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(process));
    return answer;
  }

 private:
  const VerifyOptions& options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<OtherProcess>> free_;
};

// What is wrong with an answer before its elements are looked at.
std::string ProblemOf(const Answer& answer, const Case& c, size_t outputs) {
  if (!answer.problem.empty()) return answer.problem;
  if (answer.call.empty() && !answer.message.empty()) return answer.message;
  const std::string said = answer.message.empty() ? "" : ": " + answer.message;
  if (c.expect != 0) {
    if (answer.status == c.expect) return "";
    return answer.status == 0 ? fmt::format("accepted, but status {} is wanted", c.expect)
                              : fmt::format("{} returned status {}, but {} is wanted{}",
                                            answer.call, answer.status, c.expect, said);
  }
  if (answer.status != 0)
    return fmt::format("{} returned status {}{}", answer.call, answer.status, said);
  if (!answer.message.empty()) return answer.message;
  return answer.outputs.size() == outputs ? "" : "not all outputs came back";
}

void JudgeFolder(const GoldenCase& golden, const VerifyOptions& options, ReportRow& row) {
  for (size_t i = 0; i < golden.outputs.size(); ++i) {
    const GoldenOutput& output = golden.outputs[i];
    const std::string folder = options.outputs + "/" + golden.c.name;
    try {
      row.Add(output, ReadActual(folder, output.parameter, i, output.dtype, output.shape),
              options.standard, options.with_pictures);
      row.verdict.outputs.back().actual_file = ActualFile(folder, output.parameter, i);
    } catch (const cli::BadInput& error) {
      row.verdict.error = error.what();
      row.verdict.bad_input = true;
    }
  }
}

}  // namespace

std::vector<ReportRow> VerifyLibrary(const std::vector<Case>& cases, const VerifyOptions& options) {
  std::vector<ReportRow> rows(cases.size());
  Processes processes(options);
  ForEachCase(cases.size(), options.jobs, options.on_case_done, [&](size_t i) {
    ReportRow& row = rows[i];
    row.verdict.c = cases[i];
    const GoldenCase golden = ComputeGolden(cases[i]);
    if (!options.outputs.empty()) return JudgeFolder(golden, options, row);
    const auto begin = std::chrono::steady_clock::now();
    const Answer answer = processes.Ask(cases[i]);
    row.verdict.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    row.verdict.error = ProblemOf(answer, cases[i], golden.outputs.size());
    for (size_t k = 0; k < answer.outputs.size() && k < golden.outputs.size(); ++k) {
      if (answer.outputs[k].size() != golden.outputs[k].golden.size()) {
        row.verdict.error = golden.outputs[k].parameter + ": came back with another size";
        continue;
      }
      row.Add(golden.outputs[k], answer.outputs[k], options.standard, options.with_pictures);
    }
  });
  return rows;
}

}  // namespace portacl::golden
