// Runs of one call in every way, and the first bit that differs.
#include "tools/demo/verification.h"

#include <fmt/format.h>

#include "tools/cli_error.h"
#include "tools/library_info.h"
#include "tools/run_call.h"
#include "tools/run_names.h"
#include "tools/tensor/checksum.h"
#include "tools/testing/host_tensors.h"

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

// "" or where the results of `call` differ from the results of `ref`.
std::string DifferenceFrom(const golden::Call& ref, const golden::Call& call,
                           const std::string& who) {
  for (const size_t i : ref.With(golden::Role::kOutput)) {
    if (!ref.arguments[i].wanted) continue;
    const HostTensor expected = golden::HostCopy(ref.arguments[i].tensor);
    const HostTensor actual = golden::HostCopy(call.arguments[i].tensor);
    const int64_t at = FirstDifference(expected, actual);
    if (at >= 0) {
      return fmt::format("{}: {}[{}] is {:.9g}, but ref has {:.9g}", who,
                         WithSeparator(call.op->parameters[i].native, '_'), at, actual.Get(at),
                         expected.Get(at));
    }
  }
  return "";
}

// Runs again in some other way, with results of its own, and notes whether the bits agree.
void CompareRun(const golden::Call& ref, const std::string& profile, const std::string& who,
                Verification& result) {
  golden::Call again = ref;
  for (const size_t i : again.With(golden::Role::kOutput)) {
    again.arguments[i].tensor.FillUnwritten();
  }
  RunCall(again, profile);
  result.compared.push_back(who);
  if (result.problem.empty()) result.problem = DifferenceFrom(ref, again, who);
}

}  // namespace

Verification VerifyAgainstRef(golden::Call call) {
  golden::Call ref = call;
  {
    const ForcedImpl forced("ref");
    RunCall(ref, "native");
  }
  golden::Timing timing;
  timing.repeat = kTimedRuns;
  const CallReport report = RunCall(call, "native", nullptr, std::move(timing));
  Verification result;
  result.kernel = report.kernel;
  result.seconds = report.timing.best();
  result.gb_per_s = BytesMoved(call) / report.timing.best() / 1e9;
  result.checksum =
      ChecksumText(golden::HostCopy(call.arguments[call.op->First(golden::Role::kOutput)].tensor));
  result.problem = DifferenceFrom(ref, call, report.kernel);
  for (const std::string& family : AvailableKernels(ops::RowOf(call.op->op).name)) {
    if (family == "ref") continue;
    const ForcedImpl forced(family);
    CompareRun(ref, "native", family, result);
  }
  const int threads = portaclGetNumThreads();
  static_cast<void>(portaclSetNumThreads(1));
  CompareRun(ref, "native", "1 thread", result);
  static_cast<void>(portaclSetNumThreads(threads));
  result.aclnn = call.op->traits->dtypes.open.Has(static_cast<int32_t>(call.source.dtype));
  if (result.aclnn) CompareRun(ref, "open", "aclnn", result);
  return result;
}

}  // namespace portacl::cli
