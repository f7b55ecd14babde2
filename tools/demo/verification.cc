// Runs of one job in every way, and the first bit that differs.
#include "tools/demo/verification.h"

#include <fmt/format.h>

#include "tools/cli_error.h"
#include "tools/job/library_info.h"
#include "tools/tensor/checksum.h"

namespace portacl::cli {
namespace {

constexpr int kTimedRuns = 3;

// Sets the kernel family for a scope, and the library's own choice after it.
class ForcedImpl {
 public:
  explicit ForcedImpl(const std::string& name) {
    ThrowOnStatus(portaclSetImpl(name.c_str()), "portaclSetImpl", portaclGetErrorMessage());
  }
  ~ForcedImpl() { static_cast<void>(portaclSetImpl(nullptr)); }
  ForcedImpl(const ForcedImpl&) = delete;
  ForcedImpl& operator=(const ForcedImpl&) = delete;
};

HostTensor Copied(const HostTensor& tensor) {
  return tensor.empty() ? HostTensor() : tensor.ConvertedTo(tensor.dtype(), "copy");
}

// The job's inputs and options with results of its own.
Job CopyOf(const Job& job) {
  Job copy;
  copy.op = job.op;
  copy.grad_output = Copied(job.grad_output);
  copy.grad_input = Copied(job.grad_input);
  copy.scales = job.scales;
  copy.input = Copied(job.input);
  copy.grid = Copied(job.grid);
  copy.input_grad = Copied(job.input_grad);
  copy.grid_grad = Copied(job.grid_grad);
  copy.interpolation = job.interpolation;
  copy.padding = job.padding;
  copy.align_corners = job.align_corners;
  return copy;
}

// "" or where the results of `job` differ from those of `ref`.
std::string DifferenceFrom(const Job& ref, const Job& job, const std::string& who) {
  const std::vector<NamedTensor> expected = Outputs(ref), actual = Outputs(job);
  for (size_t i = 0; i < expected.size(); ++i) {
    const int64_t at = FirstDifference(*expected[i].tensor, *actual[i].tensor);
    if (at >= 0) {
      return fmt::format("{}: {}[{}] is {:.9g}, but ref has {:.9g}", who, actual[i].name, at,
                         actual[i].tensor->Get(at), expected[i].tensor->Get(at));
    }
  }
  return "";
}

// The aclnn API takes double for the grid sampler only.
bool AclTakes(const Job& job) {
  return !IsUpsample(job.op) || job.grad_output.dtype() != DataType::kFloat64;
}

// Runs again in some other way and notes whether the bits agree.
void CompareRun(const Job& ref, Job& again, const RunSettings& settings, const std::string& who,
                Verification& result) {
  RunJob(again, settings);
  result.compared.push_back(who);
  if (result.problem.empty()) result.problem = DifferenceFrom(ref, again, who);
}

}  // namespace

Verification VerifyAgainstRef(Job& job) {
  Verification result;
  const RunReport report = RunJob(job, {"native", kTimedRuns, {}});
  result.kernel = report.kernel;
  result.seconds = report.best();
  result.gb_per_s = BytesMoved(job) / report.best() / 1e9;
  result.checksum = ChecksumText(*Outputs(job).front().tensor);

  Job ref = CopyOf(job);
  {
    const ForcedImpl forced("ref");
    RunJob(ref, {});
  }
  result.problem = DifferenceFrom(ref, job, report.kernel);
  Job again = CopyOf(job);
  for (const std::string& family : AvailableKernels(job.op)) {
    if (family == "ref") continue;
    const ForcedImpl forced(family);
    CompareRun(ref, again, {}, family, result);
  }
  const int threads = portaclGetNumThreads();
  static_cast<void>(portaclSetNumThreads(1));
  CompareRun(ref, again, {}, "1 thread", result);
  static_cast<void>(portaclSetNumThreads(threads));
  if (AclTakes(job)) CompareRun(ref, again, {"open", 1, {}}, "aclnn", result);
  return result;
}

}  // namespace portacl::cli
