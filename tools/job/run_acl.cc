// The calls of a vendor-style program: memory, stream, two phases or a graph operator.
#include "tools/job/run_acl.h"

#include <aclnnop/aclnn_grid_sampler2d_backward.h>
#include <aclnnop/aclnn_grid_sampler3d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact1d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact3d_backward.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "tools/cli_error.h"
#include "tools/job/acl_handles.h"
#include "tools/job/run_native.h"
#include "tools/job/stopwatch.h"

namespace portacl::cli {
namespace {

// A host tensor's copy on the device.
struct DeviceTensor {
  explicit DeviceTensor(const HostTensor& host) : memory(host.bytes()) {
    memory.CopyFrom(host);
    const int64_t count = host.count();
    tensor.reset(aclCreateTensor(host.shape().data(), host.shape().size(),
                                 static_cast<aclDataType>(host.dtype()), host.strides().data(), 0,
                                 ACL_FORMAT_ND, &count, 1, memory.data()));
    if (tensor == nullptr) CheckAcl(ACL_ERROR_INVALID_PARAM, "aclCreateTensor");
  }
  DeviceMemory memory;
  AclTensor tensor;
};

AclIntArray MakeIntArray(const std::vector<int64_t>& values) {
  return AclIntArray(aclCreateIntArray(values.data(), values.size()));
}

// What phase 1 gives.
struct Phase1 {
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
};

using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// The spatial extents of a gradOutput.
std::vector<int64_t> SpatialExtents(const HostTensor& tensor) {
  const Shape& shape = tensor.shape();
  return {shape.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(2, shape.size())),
          shape.end()};
}

double ScaleOf(const Job& job, size_t axis) {
  return axis < job.scales.size() ? job.scales[axis] : 0;
}

Phase1 PlanUpsample(const Job& job, const aclTensor* grad_output, aclTensor* grad_input) {
  const AclIntArray output_size = MakeIntArray(SpatialExtents(job.grad_output));
  const AclIntArray input_size = MakeIntArray(job.grad_input.shape());
  Phase1 phase;
  if (job.op == Operator::kUpsampleNearestExact1dBackward) {
    CheckAcl(aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
                 grad_output, output_size.get(), input_size.get(), ScaleOf(job, 0), grad_input,
                 &phase.workspace_size, &phase.executor),
             "aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize");
  } else if (job.op == Operator::kUpsampleNearestExact3dBackward) {
    CheckAcl(aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
                 grad_output, output_size.get(), input_size.get(), ScaleOf(job, 0), ScaleOf(job, 1),
                 ScaleOf(job, 2), grad_input, &phase.workspace_size, &phase.executor),
             "aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize");
  } else {
    CheckAcl(aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
                 grad_output, output_size.get(), input_size.get(), ScaleOf(job, 0), ScaleOf(job, 1),
                 grad_input, &phase.workspace_size, &phase.executor),
             "aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize");
  }
  return phase;
}

// Enqueues the work `repeat` times (and once before) and times each with its wait.
void TimeRuns(AclSession& session, const RunSettings& settings, RunReport& report,
              const std::function<void()>& enqueue) {
  for (int i = settings.repeat > 1 ? -1 : 0; i < settings.repeat; ++i) {
    const Stopwatch running;
    enqueue();
    session.Synchronize();
    if (i < 0) continue;
    report.seconds.push_back(running.Seconds());
    if (settings.on_run_done) settings.on_run_done(i + 1);
  }
}

void RunPhase2(AclSession& session, const RunSettings& settings, RunReport& report, Phase1 phase,
               Phase2 run, const char* call) {
  CheckAcl(aclSetAclOpExecutorRepeatable(phase.executor), "aclSetAclOpExecutorRepeatable");
  const AclExecutor executor(phase.executor);
  const DeviceMemory workspace(phase.workspace_size);
  report.workspace_size = phase.workspace_size;
  TimeRuns(session, settings, report, [&] {
    CheckAcl(run(workspace.data(), phase.workspace_size, executor.get(), session.stream()), call);
  });
}

void RunUpsample(AclSession& session, Job& job, const RunSettings& settings, RunReport& report) {
  const DeviceTensor grad_output(job.grad_output), grad_input(job.grad_input);
  struct Entry {
    const char* name;
    Phase2 run;
  };
  static constexpr Entry kByAxes[] = {
      {"aclnnUpsampleNearestExact1dBackward", aclnnUpsampleNearestExact1dBackward},
      {"aclnnUpsampleNearestExact2dBackward", aclnnUpsampleNearestExact2dBackward},
      {"aclnnUpsampleNearestExact3dBackward", aclnnUpsampleNearestExact3dBackward}};
  const Entry& entry = kByAxes[SpatialAxes(job.op) - 1];
  report.api = entry.name;
  const Stopwatch planning;
  const Phase1 phase = PlanUpsample(job, grad_output.tensor.get(), grad_input.tensor.get());
  report.plan_seconds = planning.Seconds();
  RunPhase2(session, settings, report, phase, entry.run, entry.name);
  grad_input.memory.CopyTo(job.grad_input);
}

// A result that the mask leaves out is asked for all the same: it gets memory of the right shape.
DeviceTensor ResultTensor(const HostTensor& result, const HostTensor& like, const char* what) {
  if (!result.empty()) return DeviceTensor(result);
  HostTensor unused(like.dtype(), like.shape(), what);
  unused.FillWithNaN();
  return DeviceTensor(unused);
}

void RunGridSampler(AclSession& session, Job& job, const RunSettings& settings, RunReport& report) {
  const bool mask[2] = {!job.input_grad.empty(), !job.grid_grad.empty()};
  const DeviceTensor grad_output(job.grad_output), input(job.input), grid(job.grid);
  const DeviceTensor input_grad = ResultTensor(job.input_grad, job.input, "input_grad");
  const DeviceTensor grid_grad = ResultTensor(job.grid_grad, job.grid, "grid_grad");
  const bool volume = SpatialAxes(job.op) == 3;
  const auto plan = volume ? aclnnGridSampler3DBackwardGetWorkspaceSize
                           : aclnnGridSampler2DBackwardGetWorkspaceSize;
  report.api = volume ? "aclnnGridSampler3DBackward" : "aclnnGridSampler2DBackward";
  const AclBoolArray output_mask(aclCreateBoolArray(mask, 2));
  Phase1 phase;
  const Stopwatch planning;
  CheckAcl(plan(grad_output.tensor.get(), input.tensor.get(), grid.tensor.get(),
                static_cast<int64_t>(job.interpolation), static_cast<int64_t>(job.padding),
                job.align_corners, output_mask.get(), input_grad.tensor.get(),
                grid_grad.tensor.get(), &phase.workspace_size, &phase.executor),
           (report.api + "GetWorkspaceSize").c_str());
  report.plan_seconds = planning.Seconds();
  RunPhase2(session, settings, report, phase,
            volume ? aclnnGridSampler3DBackward : aclnnGridSampler2DBackward, report.api.c_str());
  if (mask[0]) input_grad.memory.CopyTo(job.input_grad);
  if (mask[1]) grid_grad.memory.CopyTo(job.grid_grad);
}

AclDescription Describe(const HostTensor& tensor) {
  AclDescription description(aclCreateTensorDesc(static_cast<aclDataType>(tensor.dtype()),
                                                 static_cast<int>(tensor.shape().size()),
                                                 tensor.shape().data(), ACL_FORMAT_ND));
  if (description == nullptr) CheckAcl(ACL_ERROR_INVALID_PARAM, "aclCreateTensorDesc");
  return description;
}

void SetInts(aclopAttr* attributes, const char* name, const std::vector<int64_t>& values) {
  CheckAcl(aclopSetAttrListInt(attributes, name, static_cast<int>(values.size()), values.data()),
           "aclopSetAttrListInt");
}

AclAttributes GraphAttributes(const Job& job) {
  AclAttributes owned(aclopCreateAttr());
  aclopAttr* const attributes = owned.get();
  if (!IsUpsample(job.op)) {
    CheckAcl(
        aclopSetAttrString(attributes, "interpolation_mode", InterpolationName(job.interpolation)),
        "aclopSetAttrString");
    CheckAcl(aclopSetAttrString(attributes, "padding_mode", PaddingName(job.padding)),
             "aclopSetAttrString");
    CheckAcl(aclopSetAttrBool(attributes, "align_corners", job.align_corners ? 1 : 0),
             "aclopSetAttrBool");
    return owned;
  }
  SetInts(attributes, "output_size", SpatialExtents(job.grad_output));
  SetInts(attributes, "input_size", job.grad_input.shape());
  static constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  const size_t first = std::size(kNames) - SpatialAxes(job.op);
  for (size_t axis = 0; axis < job.scales.size(); ++axis) {
    CheckAcl(
        aclopSetAttrFloat(attributes, kNames[first + axis], static_cast<float>(job.scales[axis])),
        "aclopSetAttrFloat");
  }
  return owned;
}

// The tensors of one side of a call by name, which takes dense ones only.
struct GraphSide {
  void Add(const HostTensor& tensor) {
    memory.emplace_back(tensor.bytes());
    memory.back().CopyFrom(tensor);
    owned_descriptions.push_back(Describe(tensor));
    owned_buffers.emplace_back(aclCreateDataBuffer(memory.back().data(), memory.back().size()));
    descriptions.push_back(owned_descriptions.back().get());
    buffers.push_back(owned_buffers.back().get());
  }
  int count() const { return static_cast<int>(buffers.size()); }

  std::vector<DeviceMemory> memory;
  std::vector<AclDescription> owned_descriptions;
  std::vector<AclDataBuffer> owned_buffers;
  std::vector<const aclTensorDesc*> descriptions;
  std::vector<aclDataBuffer*> buffers;
};

void RunGraphOperator(AclSession& session, Job& job, const RunSettings& settings,
                      RunReport& report) {
  GraphSide inputs, outputs;
  for (const NamedTensor& input : Inputs(job)) {
    inputs.Add(input.tensor->ConvertedTo(input.tensor->dtype(), input.name));
  }
  for (const NamedTensor& output : Outputs(job)) outputs.Add(*output.tensor);
  const AclAttributes attributes = GraphAttributes(job);
  const char* const type = VendorName(job.op);
  const std::vector<const aclDataBuffer*> sources(inputs.buffers.begin(), inputs.buffers.end());
  report.api = fmt::format("aclopCompileAndExecute {}", type);
  TimeRuns(session, settings, report, [&] {
    CheckAcl(aclopCompileAndExecute(type, inputs.count(), inputs.descriptions.data(),
                                    sources.data(), outputs.count(), outputs.descriptions.data(),
                                    outputs.buffers.data(), attributes.get(), ACL_ENGINE_SYS,
                                    ACL_COMPILE_SYS, nullptr, session.stream()),
             "aclopCompileAndExecute");
  });
  if (IsUpsample(job.op)) {
    outputs.memory[0].CopyTo(job.grad_input);
  } else {
    outputs.memory[0].CopyTo(job.input_grad);
    outputs.memory[1].CopyTo(job.grid_grad);
  }
}

}  // namespace

RunReport RunAcl(Job& job, const RunSettings& settings) {
  ThrowOnStatus(portaclSetProfile(settings.profile.c_str()), "portaclSetProfile",
                portaclGetErrorMessage());
  RunReport report;
  AclSession session;
  const auto run = IsGraph(job.op)      ? RunGraphOperator
                   : IsUpsample(job.op) ? RunUpsample
                                        : RunGridSampler;
  run(session, job, settings, report);
  // Both APIs choose from one list by one rule, and only the native one tells what it chose.
  report.kernel = MakePlan(job).kernel();
  return report;
}

}  // namespace portacl::cli
