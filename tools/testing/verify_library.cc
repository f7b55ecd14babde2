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
#include <numeric>

#include "tools/cli_error.h"
#include "tools/testing/call_native.h"
#include "tools/testing/compare_set.h"
#include "tools/testing/other_process.h"
#include "tools/testing/parallel_cases.h"
#include "tools/testing/values.h"

namespace portacl::golden {
namespace {

// After so many cases of a function without an answer in time, nobody waits for more of them.
constexpr int kMostHangs = 3;
// How many failing cases of a function are examined for the kind of fault, and after how many cases
// without a finding this ends.
constexpr int kMostLooks = 20, kMostInVain = 2, kMostInVainOfAll = 8;

// As many processes as cases run at a time; each case borrows one.
class Processes {
 public:
  explicit Processes(const VerifyOptions& options) : options_(options) {}

  std::unique_ptr<OtherProcess> New() const {
    return std::make_unique<OtherProcess>(options_.library_folder, options_.library_files,
                                          options_.seconds_of_patience);
  }

  Answer Ask(const Case& c) {
    std::unique_ptr<OtherProcess> process;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        process = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (process == nullptr) process = New();
    Answer answer = process->Ask(c, kAllHardships);
    const std::lock_guard lock(mutex_);
    missing_ = process->missing();
    for (const FunctionFile& function : answer.functions) files_[function.name] = function.file;
    free_.push_back(std::move(process));
    return answer;
  }

  std::vector<FunctionFile> Functions() const {
    std::vector<FunctionFile> functions;
    for (const auto& [name, file] : files_) functions.push_back({name, file});
    return functions;
  }

  std::string Note() const {
    return missing_.empty() ? ""
                            : fmt::format(
                                  "the library's runtime has no {}: whether calls keep to "
                                  "the order of their stream was not looked at",
                                  missing_);
  }

 private:
  const VerifyOptions& options_;
  std::mutex mutex_;
  std::map<std::string, std::string> files_;  // of functions
  std::string missing_;
  std::vector<std::unique_ptr<OtherProcess>> free_;
};

// Counts by the names of functions, on any thread.
class Counts {
 public:
  int Of(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return counts_[name];
  }
  // Returns the count from before.
  int Add(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return counts_[name]++;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// The results that both calls of a case must give.
struct Wanted {
  explicit Wanted(const Case& c)
      : first(ComputeGolden(c)), second(c.expect == 0 ? ComputeGolden(SecondOf(c)) : first) {}
  GoldenCase first, second;
};

// The problem of an answer before its elements are looked at.
std::string ProblemOf(const CallAnswer& answer, const Case& c, size_t outputs) {
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

ReportRow JudgeCall(const GoldenCase& golden, const CallAnswer& answer,
                    const StandardOptions& standard, bool with_pictures) {
  ReportRow row;
  row.verdict.c = golden.c;
  row.verdict.error = ProblemOf(answer, golden.c, golden.outputs.size());
  for (size_t k = 0; k < answer.outputs.size() && k < golden.outputs.size(); ++k) {
    if (answer.outputs[k].size() != golden.outputs[k].golden.size()) {
      row.verdict.error = golden.outputs[k].parameter + ": came back with another size";
      continue;
    }
    row.Add(golden.outputs[k], answer.outputs[k], standard, with_pictures);
  }
  return row;
}

// The first call's row, or the second's if that alone is wrong.
ReportRow JudgeCalls(const Wanted& wanted, const Answer& answer, Hardships hardships,
                     const StandardOptions& standard, bool with_pictures) {
  if (answer.calls.empty()) {
    ReportRow row;
    row.verdict.c = wanted.first.c;
    row.verdict.error = answer.problem;
    return row;
  }
  ReportRow row = JudgeCall(wanted.first, answer.calls[0], standard, with_pictures);
  if (answer.calls.size() < 2) return row;
  if (!row.verdict.passed()) {
    // Wrong numbers may come from memory beside a tensor. Only the second call watches that memory.
    if (row.verdict.error.empty() && answer.calls[1].status == 0) {
      row.verdict.error = answer.calls[1].message;
    }
    return row;
  }
  const GoldenCase& golden = (hardships & kOtherData) != 0 ? wanted.second : wanted.first;
  ReportRow second = JudgeCall(golden, answer.calls[1], standard, with_pictures);
  if (second.verdict.passed()) {
    for (size_t k = 0; k < row.verdict.outputs.size(); ++k) {
      row.verdict.outputs[k].TakeExtremes(second.verdict.outputs[k]);
    }
    return row;
  }
  second.verdict.c = wanted.first.c;
  second.verdict.error =
      fmt::format("in the second call, with seed={} and other addresses{}{}", golden.c.seed,
                  second.verdict.error.empty() ? "" : ": ", second.verdict.error);
  return second;
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

// PORTACL_IMPL forces portacl's kernels of one name, here and in a portacl under test. Golden
// results would then come from the kernels that they judge; so golden results take "ref". Cases
// that run on other kernels are counted, because "ref" computes calls that the forced kernel does
// not serve.
class ForcedImpl {
 public:
  ForcedImpl(const std::vector<Case>& cases, const VerifyOptions& options)
      : impl_(portaclGetImpl()) {
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

  // A note on the cases that did not run the forced family. Empty if the called functions show that
  // the library is not portacl.
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

// Names the kinds of faults of cases that failed, each by calls in new processes.
class FaultFinder {
 public:
  FaultFinder(const Processes& processes, const StandardOptions& standard)
      : processes_(processes), standard_(standard) {}

  // Any thread.
  void Look(CaseVerdict& verdict) {
    const std::string function = verdict.c.op->function;
    if (in_vain_.Of(function) >= kMostInVain || in_vain_.Of(kAll) >= kMostInVainOfAll ||
        looks_.Add(function) >= kMostLooks) {
      return;
    }
    verdict.fault = FaultOf(verdict.c);
    if (!verdict.fault.empty()) return;
    in_vain_.Add(function);
    in_vain_.Add(kAll);
  }

 private:
  static constexpr const char* kAll = "";

  bool IsRight(const Wanted& wanted, Hardships hardships) const {
    const Answer answer = processes_.New()->Ask(wanted.first.c, hardships);
    return JudgeCalls(wanted, answer, hardships, standard_, false).verdict.passed();
  }

  std::string FaultOf(const Case& c) const {
    const Wanted wanted(c);
    if (!IsRight(wanted, 0)) return "";
    for (const HardshipRow& row : kHardshipRows) {
      if (!IsRight(wanted, kAllHardships & ~row.without)) continue;
      return IsRightEachTime(wanted, row.without) ? row.fault : kNotAlwaysRight;
    }
    return SeveralFaults(wanted);
  }

  // Whether the kernel is right without these hardships, and wrong with all of them, in every try.
  bool IsRightEachTime(const Wanted& wanted, Hardships without) const {
    constexpr int kTries = 2;
    for (int i = 0; i < kTries; ++i) {
      if (!IsRight(wanted, kAllHardships & ~without)) return false;
      if (without != 0 && IsRight(wanted, kAllHardships)) return false;
    }
    return true;
  }

  // Turns hardships on again one by one. If one makes the kernel wrong, its fault is named.
  // kOnTheStream is never alone, because before phase 1 the stream has not written the inputs.
  std::string SeveralFaults(const Wanted& wanted) const {
    Hardships borne = 0;
    std::string faults;
    for (const HardshipRow& row : kHardshipRows) {
      if (row.without == 0 || row.without == kOnTheStream) continue;
      if (IsRight(wanted, borne | row.without)) {
        borne |= row.without;
        continue;
      }
      const bool by_the_stream =
          (row.without & kOnTheStream) != 0 && IsRight(wanted, borne | kAfterPhase1);
      if (by_the_stream) borne |= kAfterPhase1;
      faults += fmt::format("{}{}", faults.empty() ? "" : "; and ",
                            by_the_stream ? FaultWithout(kOnTheStream) : row.fault);
    }
    return faults;
  }

  const Processes& processes_;
  const StandardOptions& standard_;
  Counts looks_, in_vain_;
};

// Whether calling a case again can tell more: an output is wrong, phase 2 failed, or the
// process ended.
bool IsWorthALook(const CaseVerdict& verdict, bool late) {
  if (late || verdict.c.expect != 0) return false;
  const auto begins = [&](const std::string& text) { return verdict.error.rfind(text, 0) == 0; };
  return std::any_of(verdict.outputs.begin(), verdict.outputs.end(),
                     [](const OutputVerdict& o) { return !o.passed; }) ||
         begins("the library crashed") || begins("the library ended the process") ||
         begins(std::string(verdict.c.op->function) + " returned");
}

std::vector<size_t> Shuffled(size_t count, uint64_t seed) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[Draw(seed, i) % i]);
  return order;
}

class LibraryRun {
 public:
  LibraryRun(const std::vector<Case>& cases, const VerifyOptions& options,
             const StandardOptions& standard, std::vector<ReportRow>& rows)
      : cases_(cases), options_(options), standard_(standard), rows_(rows), processes_(options) {}

  void Run() {
    const std::vector<size_t> order = Shuffled(cases_.size(), options_.seed);
    std::vector<uint8_t> worth(cases_.size());
    ForEachCase(cases_.size(), options_.jobs, options_.on_case_done,
                [&](size_t k) { worth[order[k]] = RunCase(order[k]) ? 1 : 0; });
    FaultFinder finder(processes_, standard_);
    ForEachCase(cases_.size(), options_.jobs, {}, [&](size_t i) {
      if (worth[i] != 0) finder.Look(rows_[i].verdict);
    });
  }

  const Processes& processes() const { return processes_; }

 private:
  // Whether it is worth a look.
  bool RunCase(size_t i) {
    const Case& c = cases_[i];
    const std::string function = c.op->function;
    if (hangs_.Of(function) >= kMostHangs) {
      rows_[i].verdict.c = c;
      rows_[i].verdict.error =
          fmt::format("not run: {} gave no answer in time in {} cases", function, kMostHangs);
      return false;
    }
    const Wanted wanted(c);
    const auto begin = std::chrono::steady_clock::now();
    const Answer answer = processes_.Ask(c);
    if (answer.late) hangs_.Add(function);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    rows_[i] = JudgeCalls(wanted, answer, kAllHardships, standard_, options_.with_pictures);
    rows_[i].verdict.seconds = seconds.count();
    return IsWorthALook(rows_[i].verdict, answer.late);
  }

  const std::vector<Case>& cases_;
  const VerifyOptions& options_;
  const StandardOptions& standard_;
  std::vector<ReportRow>& rows_;
  Processes processes_;
  Counts hangs_;
};

}  // namespace

Verification VerifyLibrary(const std::vector<Case>& cases, const VerifyOptions& options) {
  Verification verification;
  verification.rows.resize(cases.size());
  StandardOptions standard = options.standard;
  standard.knows_unwritten = options.outputs.empty();
  if (!options.outputs.empty()) {
    ForEachCase(cases.size(), options.jobs, options.on_case_done, [&](size_t i) {
      verification.rows[i].verdict.c = cases[i];
      JudgeFolder(ComputeGolden(cases[i]), options, verification.rows[i]);
    });
    return verification;
  }
  const ForcedImpl forced(cases, options);
  LibraryRun run(cases, options, standard, verification.rows);
  run.Run();
  verification.functions = run.processes().Functions();
  verification.note = forced.Note(verification.functions);
  const std::string note = run.processes().Note();
  if (!note.empty()) verification.note += (verification.note.empty() ? "" : "; ") + note;
  return verification;
}

}  // namespace portacl::golden
