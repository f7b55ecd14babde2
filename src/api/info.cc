// Collects the facts for `portacl info`.
#include "api/info.h"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <span>
#include <vector>

#include "api/aclnn_aten.h"
#include "base/json_text.h"
#include "companion/operators.h"
#include "cuda/library.h"
#include "ops/kernels.h"
#include "ops/settings.h"
#include "portacl/version.h"
#include "runtime/parallel.h"
#include "runtime/thread_policy.h"

namespace portacl::api {
namespace {

using base::JsonString;
using base::JsonStrings;

// Returns the processor's name from /proc/cpuinfo, or "unknown".
std::string CpuName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string Kernels(ops::Op op, std::set<std::string>* sets) {
  std::string list;
  for (const ops::KernelState& kernel : KernelsOf(op)) {
    list += fmt::format(R"({}{{"name":{},"available":{}}})", list.empty() ? "" : ",",
                        JsonString(kernel.name), kernel.available);
    if (kernel.available && kernel.name != "ref") sets->insert(kernel.name);
  }
  return "[" + list + "]";
}

// Returns the names by which one API calls an operator.
std::vector<std::string> NamesOf(ops::Op op, std::span<const ops::Signature* const> functions) {
  std::vector<std::string> names;
  for (const ops::Signature* const function : functions) {
    if (function->op == op) names.emplace_back(function->name);
  }
  return names;
}

#define PORTACL_NAME(Name, Arguments, function) "aclnn" #Name,
constexpr const char* kCompanions[] = {PORTACL_COMPANION_OPERATORS(PORTACL_NAME)};
#undef PORTACL_NAME

// Lists the functions that PyTorch's kernels compute, each with its operator.
std::string AtenFunctions() {
  std::string list = "{";
  for (const aten::Row* const row : AtenRows()) {
    if (list.size() > 1) list += ',';
    base::AppendJsonString(row->function, &list);
    list += ':';
    base::AppendJsonString(row->right, &list);
  }
  return list + "}";
}

}  // namespace

std::string InfoJson() {
  std::set<std::string> instruction_sets;
  std::string operators;
  std::string functions;
  for (const ops::OperatorRow& op : ops::kOperators) {
    const char* const comma = operators.empty() ? "" : ",";
    const std::string name = JsonString(op.name);
    operators += fmt::format("{}{}:{}", comma, name, Kernels(op.op, &instruction_sets));
    functions += fmt::format(R"({}{}:{{"native":{},"aclnn":{},"graph":{}}})", comma, name,
                             JsonStrings(NamesOf(op.op, ops::kNativeFunctions)),
                             JsonStrings(NamesOf(op.op, ops::kAclnnFunctions)),
                             JsonStrings(NamesOf(op.op, ops::kGraphOperators)));
  }
  const runtime::SharingCounts calls = runtime::CountsOfSharing();
  return fmt::format(
      R"({{"version":{},"cpu":{},"instruction_sets":{},"threads":{},"thread_pool":{},)"
      R"("cuda":{{"devices":{},"why_none":{}}},"adapt_threads":{},"calls_shared":{},"calls_alone":{},"calls_lost":{},"profile":{},"edition":{},"strict":{},"impl":{},"operators":{{{}}},"functions":{{{}}},"companion":{},"aten":{}}})",
      JsonString(PORTACL_VERSION_STRING), JsonString(CpuName()), JsonStrings(instruction_sets),
      runtime::NumThreads(), JsonString(runtime::ThreadPoolName()), cuda::DeviceCount(),
      JsonString(cuda::WhyNone()), runtime::AdaptsThreads(), calls.shared, calls.alone, calls.lost,
      JsonString(ops::ProfileName(ops::CurrentProfile())),
      JsonString(ops::EditionName(ops::CurrentEdition())), ops::Strict(),
      JsonString(ops::ForcedImpl()), operators, functions, JsonStrings(kCompanions),
      AtenFunctions());
}

}  // namespace portacl::api
