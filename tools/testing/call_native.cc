// One planning call for each operator family.
#include "tools/testing/call_native.h"

#include <fmt/format.h>
#include <portacl/portacl.h>

#include "tools/cli_error.h"

namespace portacl::golden {
namespace {

Tensor ViewOf(const CallArgument& argument) {
  const ViewTensor& t = argument.tensor;
  if (!argument.wanted) return Tensor();
  return Tensor(t.first(), static_cast<DataType>(t.dtype()), t.shape().size(), t.shape().data(),
                t.strides().data());
}

Status MakeSamplerPlan(const Call& call, Plan& plan) {
  const auto view = [&](const char* name) { return ViewOf(call.at(name)); };
  const auto interpolation = static_cast<Interpolation>(call.integer("interpolationMode"));
  const auto padding = static_cast<Padding>(call.integer("paddingMode"));
  const bool align_corners = call.integer("alignCorners") != 0;
  const bool volume = call.op->axes == 3;
  if (!call.op->backward()) {
    const auto sample = volume ? &Plan::grid_sampler_3d : &Plan::grid_sampler_2d;
    return (plan.*sample)(view("input"), view("grid"), view("out"), interpolation, padding,
                          align_corners);
  }
  const auto gradients = volume ? &Plan::grid_sampler_3d_backward : &Plan::grid_sampler_2d_backward;
  return (plan.*gradients)(view("gradOutput"), view("input"), view("grid"), view("inputGrad"),
                           view("gridGrad"), interpolation, padding, align_corners);
}

Status MakePlan(const Call& call, Plan& plan) {
  const auto view = [&](const char* name) { return ViewOf(call.at(name)); };
  const std::vector<double> scales = call.reals();
  switch (call.op->family) {
    case Family::kNearest:
      return plan.upsample_nearest_exact(view("self"), view("out"), scales.data());
    case Family::kNearestBackward:
      return plan.upsample_nearest_exact_backward(view("gradOutput"), view("out"), scales.data());
    case Family::kSampler:
    case Family::kSamplerBackward:
      return MakeSamplerPlan(call, plan);
  }
  return Status(PORTACL_ERROR_INTERNAL);
}

}  // namespace

std::string KernelOf(const Call& call) {
  Plan plan;
  return MakePlan(call, plan).ok() ? plan.kernel() : "";
}

void RunNative(Call& call) {
  Plan plan;
  Status status = MakePlan(call, plan);
  if (status.ok()) status = plan.run();
  cli::ThrowOnStatus(status.code(), call.op->name,
                     fmt::format("case '{}': {}", ToString(call.source), status.message()));
}

}  // namespace portacl::golden
