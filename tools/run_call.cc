// The choice of the API, and its errors as exceptions.
#include "tools/run_call.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <portacl/portacl.h>

#include <utility>

#include "tools/cli_error.h"
#include "tools/testing/call_aclnn.h"
#include "tools/testing/call_graph.h"
#include "tools/testing/call_native.h"

namespace portacl::cli {

CallReport RunCall(golden::Call& call, const std::string& profile, const ops::Signature* graph,
                   golden::Timing timing) {
  CallReport report{"native C++ API", "", std::move(timing)};
  if (profile != "native" && graph == nullptr && *call.op->function == '\0') {
    throw BadInput(
        fmt::format("{} is not in the aclnn API: wanted --profile native", call.op->name));
  }
  if (profile == "native") {
    golden::RunNative(call, report.timing);
  } else {
    ThrowOnStatus(portaclSetProfile(profile.c_str()), "portaclSetProfile",
                  portaclGetErrorMessage());
    call.source.profile = profile;
    golden::AclnnCaller caller([](const char* name) { return dlsym(RTLD_DEFAULT, name); });
    if (graph != nullptr) {
      report.api = fmt::format("aclopCompileAndExecute {}", graph->name);
      golden::RunGraph(call, *graph, caller.stream(), report.timing);
    } else {
      report.api = call.op->function;
      const golden::AclnnOutcome outcome = caller.Run(call, &report.timing);
      ThrowOnStatus(outcome.status, outcome.call, outcome.message);
      if (!outcome.message.empty()) throw RuntimeFailure(outcome.message);
    }
  }
  // All APIs choose from one list by one rule, and only the native one tells what it chose.
  report.kernel = golden::KernelOf(call);
  return report;
}

double BytesMoved(const golden::Call& call) {
  double bytes = 0;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const golden::CallArgument& argument = call.arguments[i];
    if (!golden::IsTensor(call.op->parameters[i].role) || !argument.wanted) continue;
    bytes += static_cast<double>(argument.tensor.count()) *
             static_cast<double>(argument.tensor.element_size());
  }
  return bytes;
}

}  // namespace portacl::cli
