// The calls of a program for the C++ API: plan, workspace, execute.
#include "tools/job/run_native.h"

#include "tools/cli_error.h"
#include "tools/job/stopwatch.h"

namespace portacl::cli {
namespace {

void Check(const Status& status, const Job& job) {
  ThrowOnStatus(status.code(), OperatorName(job.op), status.message());
}

Tensor ViewOf(const HostTensor& tensor) { return tensor.empty() ? Tensor() : tensor.View(); }

}  // namespace

Plan MakePlan(const Job& job) {
  Plan plan;
  if (IsUpsample(job.op)) {
    Check(plan.upsample_nearest_exact_backward(ViewOf(job.grad_output), ViewOf(job.grad_input),
                                               job.scales.empty() ? nullptr : job.scales.data()),
          job);
  } else {
    const auto gradients = SpatialAxes(job.op) == 3 ? &Plan::grid_sampler_3d_backward
                                                    : &Plan::grid_sampler_2d_backward;
    Check((plan.*gradients)(ViewOf(job.grad_output), ViewOf(job.input), ViewOf(job.grid),
                            ViewOf(job.input_grad), ViewOf(job.grid_grad), job.interpolation,
                            job.padding, job.align_corners),
          job);
  }
  return plan;
}

RunReport RunNative(const Job& job, const RunSettings& settings) {
  RunReport report;
  report.api = "native C++ API";
  const Stopwatch planning;
  const Plan plan = MakePlan(job);
  report.plan_seconds = planning.Seconds();
  report.kernel = plan.kernel();
  report.workspace_size = plan.workspace_size();
  if (settings.repeat > 1) Check(plan.run(), job);
  for (int i = 0; i < settings.repeat; ++i) {
    const Stopwatch running;
    Check(plan.run(), job);
    report.seconds.push_back(running.Seconds());
    if (settings.on_run_done) settings.on_run_done(i + 1);
  }
  return report;
}

}  // namespace portacl::cli
