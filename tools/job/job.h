// One call of an operator with its tensors and options, whichever API then runs it.
#ifndef PORTACL_TOOLS_JOB_JOB_H_
#define PORTACL_TOOLS_JOB_JOB_H_

#include <portacl/portacl.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tools/tensor/host_tensor.h"

namespace portacl::cli {

enum class Operator {
  kUpsampleNearestExact1dBackward,
  kUpsampleNearestExact2dBackward,
  kUpsampleNearestExact3dBackward,
  kGridSampler2dBackward,
  kGridSampler3dBackward,
  // By graph name; the same maths as those above.
  kUpsampleNearestExact2dGrad,
  kUpsampleNearestExact3dGrad,
  kGridSampler2dGrad,
  kGridSampler3dGrad,
};

// "upsample_nearest_exact1d_backward", ...
const char* OperatorName(Operator op);

// The operators that a name stands for: one for these names, those of the aclnn functions and of
// the graph operators; one for each rank for a name without 1d, 2d, 3d; none for any other.
std::vector<Operator> ParseOperator(const std::string& name);

// Spatial axes of its tensors.
size_t SpatialAxes(Operator op);

// What the library calls it where it lists its kernels: "upsample_nearest_exact_backward".
const char* LibraryName(Operator op);

// Whether the name is that of an aclnn function or of a graph operator.
bool IsVendorName(const std::string& name);

// Whether it is a graph operator, and what that is called.
bool IsGraph(Operator op);
const char* VendorName(Operator op);

// An operator's own name, that of the vendor, what the library calls it, and its name without 1d,
// 2d or 3d ("" for none).
struct OperatorNaming {
  const char* name;
  const char* alias;
  const char* library;
  const char* any_rank;
};
std::vector<OperatorNaming> OperatorNamings();

// The names that ParseOperator takes: one line each with its aliases, and as a list.
std::string OperatorNames();
std::vector<std::string> OperatorWords();
// The names without a rank and what they stand for.
std::string AnyRankText();
// The names without a rank and the first names in one line.
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

inline constexpr std::array kInterpolations = {Interpolation::kBilinear, Interpolation::kNearest,
                                               Interpolation::kBicubic};
inline constexpr std::array kPaddings = {Padding::kZeros, Padding::kBorder, Padding::kReflection};

// The words of the options and of graph operators' attributes.
const char* InterpolationName(Interpolation mode);
const char* PaddingName(Padding mode);

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
