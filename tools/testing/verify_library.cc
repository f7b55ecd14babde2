// Golden here, the library's results from another process or a folder, and the verdict.
#include "tools/testing/verify_library.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>

#include "tools/cli_error.h"
#include "tools/testing/call_native.h"
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
      process = std::make_unique<OtherProcess>(options_.library_folder, options_.library_files,
                                               options_.seconds_of_patience);
    }
    Answer answer = process->Ask(c);
    const std::lock_guard lock(mutex_);
    for (const FunctionFile& function : answer.functions) files_[function.name] = function.file;
    free_.push_back(std::move(process));
    return answer;
  }

  std::vector<FunctionFile> Functions() const {
    std::vector<FunctionFile> functions;
    for (const auto& [name, file] : files_) functions.push_back({name, file});
    return functions;
  }

 private:
  const VerifyOptions& options_;
  std::mutex mutex_;
  std::map<std::string, std::string> files_;  // of functions
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

// PORTACL_IMPL forces a family of portacl's kernels, here and in a portacl under test: golden
// results would be those that they judge. They are ref's then, and cases whose kernel is not of the
// family are counted: ref stands in for what it does not serve.
class ForcedImpl {
 public:
  ForcedImpl(const std::vector<Case>& cases, const VerifyOptions& options)
      : impl_(options.outputs.empty() ? portaclGetImpl() : "") {
    if (impl_.empty()) return;
    std::atomic<size_t> others{0};
    ForEachCase(cases.size(), options.jobs, {}, [&](size_t i) {
      if (cases[i].expect != 0) return;
      const std::string kernel = KernelOf(MakeCall(cases[i]));
      const bool path = impl_.find(':') != std::string::npos;
      if ((path ? kernel : kernel.substr(0, kernel.find(':'))) != impl_) ++others;
    });
    if (others > 0) {
      note_ = fmt::format("PORTACL_IMPL={}: {} of {} cases are not served by it, ref is or none",
                          impl_, others.load(), cases.size());
    }
    static_cast<void>(portaclSetImpl("ref"));
  }
  ~ForcedImpl() {
    if (!impl_.empty()) static_cast<void>(portaclSetImpl(impl_.c_str()));
  }
  ForcedImpl(const ForcedImpl&) = delete;
  ForcedImpl& operator=(const ForcedImpl&) = delete;

  // Of a library that is portacl, by the functions that were called.
  std::string Note(const std::vector<FunctionFile>& functions) const {
    const bool portacl = std::any_of(functions.begin(), functions.end(), [](const FunctionFile& f) {
      return f.name == "portaclSetProfile";
    });
    return portacl ? note_ : "";
  }

 private:
  const std::string impl_;
  std::string note_;
};

}  // namespace

Verification VerifyLibrary(const std::vector<Case>& cases, const VerifyOptions& options) {
  Verification verification;
  std::vector<ReportRow>& rows = verification.rows;
  rows.resize(cases.size());
  StandardOptions standard = options.standard;
  standard.knows_unwritten = options.outputs.empty();
  const ForcedImpl forced(cases, options);
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
      row.Add(golden.outputs[k], answer.outputs[k], standard, options.with_pictures);
    }
  });
  verification.functions = processes.Functions();
  verification.note = forced.Note(verification.functions);
  return verification;
}

}  // namespace portacl::golden
