// Names of operators, the tensors of a job, and the choice of the API that runs it.
#include "tools/job/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/job/run_acl.h"
#include "tools/job/run_native.h"

namespace portacl::cli {
namespace {

struct OperatorEntry {
  Operator op;
  const char* name;
  const char* alias;
};

constexpr OperatorEntry kOperators[] = {
    {Operator::kUpsampleNearestExact1dBackward, "upsample_nearest_exact1d_backward",
     "aclnnUpsampleNearestExact1dBackward"},
    {Operator::kUpsampleNearestExact2dBackward, "upsample_nearest_exact2d_backward",
     "aclnnUpsampleNearestExact2dBackward"},
    {Operator::kUpsampleNearestExact2dGrad, "upsample_nearest_exact2d_grad",
     "UpsampleNearestExact2dGrad"},
    {Operator::kGridSampler2dBackward, "grid_sampler_2d_backward", "aclnnGridSampler2DBackward"},
};

}  // namespace

const char* OperatorName(Operator op) {
  for (const OperatorEntry& entry : kOperators) {
    if (entry.op == op) return entry.name;
  }
  return "?";
}

std::optional<Operator> ParseOperator(const std::string& name) {
  for (const OperatorEntry& entry : kOperators) {
    if (name == entry.name || name == entry.alias) return entry.op;
  }
  return std::nullopt;
}

bool IsVendorName(const std::string& name) {
  return std::any_of(std::begin(kOperators), std::end(kOperators),
                     [&](const OperatorEntry& entry) { return name == entry.alias; });
}

std::string OperatorNames() {
  std::string names;
  for (const OperatorEntry& entry : kOperators) {
    names += fmt::format("  {:<34} {}\n", entry.name, entry.alias);
  }
  return names;
}

std::string OperatorList() {
  std::string names;
  for (const OperatorEntry& entry : kOperators) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
  }
  return names;
}

bool IsUpsample(Operator op) { return op != Operator::kGridSampler2dBackward; }

std::vector<NamedTensor> Inputs(const Job& job) {
  if (IsUpsample(job.op)) return {{"grad_output", &job.grad_output}};
  return {{"grad_output", &job.grad_output}, {"input", &job.input}, {"grid", &job.grid}};
}

std::vector<NamedTensor> Outputs(const Job& job) {
  if (IsUpsample(job.op)) return {{"grad_input", &job.grad_input}};
  std::vector<NamedTensor> outputs;
  if (!job.input_grad.empty()) outputs.push_back({"input_grad", &job.input_grad});
  if (!job.grid_grad.empty()) outputs.push_back({"grid_grad", &job.grid_grad});
  return outputs;
}

double BytesMoved(const Job& job) {
  double bytes = 0;
  for (const NamedTensor& named : Inputs(job)) bytes += static_cast<double>(named.tensor->bytes());
  for (const NamedTensor& named : Outputs(job)) bytes += static_cast<double>(named.tensor->bytes());
  return bytes;
}

double RunReport::best() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

double RunReport::median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

RunReport RunJob(Job& job, const RunSettings& settings) {
  for (HostTensor* output : {&job.grad_input, &job.input_grad, &job.grid_grad}) {
    if (!output->empty()) output->FillWithNaN();
  }
  return settings.profile == "native" ? RunNative(job, settings) : RunAcl(job, settings);
}

}  // namespace portacl::cli
