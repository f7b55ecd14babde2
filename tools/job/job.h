// One call of an operator with its tensors and options, whichever API then runs it.
#ifndef PORTACL_TOOLS_JOB_JOB_H_
#define PORTACL_TOOLS_JOB_JOB_H_

#include <portacl/portacl.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

enum class Operator {
  kUpsampleNearestExact1dBackward,
  kUpsampleNearestExact2dBackward,
  kUpsampleNearestExact2dGrad,  // the graph operator; the same maths as the one above
  kGridSampler2dBackward,
};

// "upsample_nearest_exact1d_backward", ...
const char* OperatorName(Operator op);

// Takes these names, those of the aclnn functions and those of the graph operator.
std::optional<Operator> ParseOperator(const std::string& name);

// Whether the name is that of an aclnn function or of the graph operator.
bool IsVendorName(const std::string& name);

// The names that ParseOperator takes, one line each with its aliases.
std::string OperatorNames();
// Their first names in one line.
std::string OperatorList();

bool IsUpsample(Operator op);

struct Job {
  Operator op = Operator::kUpsampleNearestExact2dBackward;
  HostTensor grad_output;

  // Upsample: the result, and the scales (empty, or one per spatial axis).
  HostTensor grad_input;
  std::vector<double> scales;

  // Grid sampler. A result that is not wanted is an empty HostTensor.
  HostTensor input, grid, input_grad, grid_grad;
  Interpolation interpolation = Interpolation::kBilinear;
  Padding padding = Padding::kZeros;
  bool align_corners = false;
};

struct NamedTensor {
  const char* name;
  const HostTensor* tensor;
};

// The tensors that the job has, in the operator's order.
std::vector<NamedTensor> Inputs(const Job& job);
std::vector<NamedTensor> Outputs(const Job& job);

// Bytes of all inputs and results, each counted once: the least that has to move.
double BytesMoved(const Job& job);

// How a job is run.
struct RunSettings {
  // "native" for the C++ API, or a profile of the aclnn API: atlas-a2, atlas-a3, atlas-training,
  // open.
  std::string profile = "native";
  int repeat = 1;                               // timed runs; more than one are preceded by another
  std::function<void(int done)> on_run_done{};  // called after each timed run
};

struct RunReport {
  std::string api;              // what was called
  std::string kernel;           // the kernel that the plan chose
  uint64_t workspace_size = 0;  // bytes
  double plan_seconds = 0;      // checks and planning (phase 1)
  std::vector<double> seconds;  // per timed run, in order

  double best() const;
  double median() const;
};

// Fills the results of the job, which were NaN before. Throws BadInput where the library refuses
// the parameters, RuntimeFailure where it fails.
RunReport RunJob(Job& job, const RunSettings& settings);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_JOB_JOB_H_
