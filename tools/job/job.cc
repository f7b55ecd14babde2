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
  OperatorNaming names;
  size_t axes;
  bool upsample;
};

constexpr const char* kUpsample = "upsample_nearest_exact_backward";

constexpr OperatorEntry kRunOperators[] = {
    {Operator::kUpsampleNearestExact1dBackward,
     {"upsample_nearest_exact1d_backward", "aclnnUpsampleNearestExact1dBackward", kUpsample,
      kUpsample},
     1,
     true},
    {Operator::kUpsampleNearestExact2dBackward,
     {"upsample_nearest_exact2d_backward", "aclnnUpsampleNearestExact2dBackward", kUpsample,
      kUpsample},
     2,
     true},
    {Operator::kUpsampleNearestExact3dBackward,
     {"upsample_nearest_exact3d_backward", "aclnnUpsampleNearestExact3dBackward", kUpsample,
      kUpsample},
     3,
     true},
    {Operator::kGridSampler2dBackward,
     {"grid_sampler_2d_backward", "aclnnGridSampler2DBackward", "grid_sampler_2d_backward",
      "grid_sampler_backward"},
     2,
     false},
    {Operator::kGridSampler3dBackward,
     {"grid_sampler_3d_backward", "aclnnGridSampler3DBackward", "grid_sampler_3d_backward",
      "grid_sampler_backward"},
     3,
     false},
    {Operator::kUpsampleNearestExact2dGrad,
     {"upsample_nearest_exact2d_grad", "UpsampleNearestExact2dGrad", kUpsample, ""},
     2,
     true},
    {Operator::kUpsampleNearestExact3dGrad,
     {"upsample_nearest_exact3d_grad", "UpsampleNearestExact3dGrad", kUpsample, ""},
     3,
     true},
    {Operator::kGridSampler2dGrad,
     {"grid_sampler_2d_grad", "GridSampler2DGrad", "grid_sampler_2d_backward", ""},
     2,
     false},
    {Operator::kGridSampler3dGrad,
     {"grid_sampler_3d_grad", "GridSampler3DGrad", "grid_sampler_3d_backward", ""},
     3,
     false},
};

const OperatorEntry& EntryOf(Operator op) {
  return *std::find_if(std::begin(kRunOperators), std::end(kRunOperators),
                       [op](const OperatorEntry& entry) { return entry.op == op; });
}

// The names without a rank, each once.
std::vector<std::string> NamesOfAnyRank() {
  std::vector<std::string> names;
  for (const OperatorEntry& entry : kRunOperators) {
    const std::string name = entry.names.any_rank;
    if (!name.empty() && (names.empty() || names.back() != name)) names.push_back(name);
  }
  return names;
}

}  // namespace

const char* OperatorName(Operator op) { return EntryOf(op).names.name; }

std::vector<Operator> ParseOperator(const std::string& name) {
  std::vector<Operator> found;
  for (const OperatorEntry& entry : kRunOperators) {
    if (name == entry.names.name || name == entry.names.alias ||
        (!name.empty() && name == entry.names.any_rank)) {
      found.push_back(entry.op);
    }
  }
  return found;
}

size_t SpatialAxes(Operator op) { return EntryOf(op).axes; }

const char* LibraryName(Operator op) { return EntryOf(op).names.library; }

bool IsVendorName(const std::string& name) {
  return std::any_of(std::begin(kRunOperators), std::end(kRunOperators),
                     [&](const OperatorEntry& entry) { return name == entry.names.alias; });
}

std::string OperatorNames() {
  std::string names;
  for (const OperatorEntry& entry : kRunOperators) {
    names += fmt::format("  {:<34} {}\n", entry.names.name, entry.names.alias);
  }
  return names + AnyRankText();
}

std::string AnyRankText() {
  return fmt::format("Without 1d, 2d or 3d the rank of the tensors decides:\n  {}",
                     fmt::join(NamesOfAnyRank(), ", "));
}

std::vector<std::string> OperatorWords() {
  std::vector<std::string> words = NamesOfAnyRank();
  for (const OperatorEntry& entry : kRunOperators) {
    words.insert(words.end(), {entry.names.name, entry.names.alias});
  }
  return words;
}

std::vector<OperatorNaming> OperatorNamings() {
  std::vector<OperatorNaming> namings;
  for (const OperatorEntry& entry : kRunOperators) namings.push_back(entry.names);
  return namings;
}

std::string OperatorList() {
  std::vector<std::string> names = NamesOfAnyRank();
  for (const OperatorEntry& entry : kRunOperators) names.emplace_back(entry.names.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool IsUpsample(Operator op) { return EntryOf(op).upsample; }

bool IsGraph(Operator op) { return op >= Operator::kUpsampleNearestExact2dGrad; }

const char* VendorName(Operator op) { return EntryOf(op).names.alias; }

const char* InterpolationName(Interpolation mode) {
  return mode == Interpolation::kBilinear  ? "bilinear"
         : mode == Interpolation::kNearest ? "nearest"
                                           : "bicubic";
}

const char* PaddingName(Padding mode) {
  return mode == Padding::kZeros ? "zeros" : mode == Padding::kBorder ? "border" : "reflection";
}

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
