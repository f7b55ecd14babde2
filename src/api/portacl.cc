// The native C API of include/portacl/portacl.h.
#include "portacl/portacl.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "api/info.h"
#include "api/shim.h"
#include "base/error_message.h"
#include "base/per_thread.h"
#include "ops/affine_grid.h"
#include "ops/call_timer.h"
#include "ops/executor.h"
#include "ops/grid_sampler.h"
#include "ops/grid_sampler_backward.h"
#include "ops/settings.h"
#include "ops/upsample.h"
#include "ops/upsample_nearest_exact.h"
#include "ops/upsample_nearest_exact_backward.h"
#include "ops/workspace_check.h"
#include "runtime/fp_env.h"
#include "runtime/parallel.h"
#include "runtime/scratch.h"

struct portaclPlan {
  std::shared_ptr<const portacl::ops::Plan> plan;
};

namespace {

// The native API speaks aclnn's codes.
static_assert(PORTACL_ERROR_NULL == ACLNN_ERR_PARAM_NULLPTR);
static_assert(PORTACL_ERROR_INVALID == ACLNN_ERR_PARAM_INVALID);
static_assert(PORTACL_ERROR_RUNTIME == ACLNN_ERR_RUNTIME_ERROR);
static_assert(PORTACL_ERROR_INTERNAL == ACLNN_ERR_INNER);
static_assert(PORTACL_ERROR_NO_KERNEL == ACLNN_ERR_INNER_FIND_KERNEL_ERROR);

using portacl::base::Status;
using portacl::base::TensorDesc;
using Mode = portacl::ops::UpsampleMode;

// The tensors of one call as the operators' checks want them.
class Tensors {
 public:
  explicit Tensors(const char* op) : op_(op) {}

  // Null stays null; the operator decides whether that is an error.
  const TensorDesc* Read(const char* name, const portaclTensor* tensor) {
    if (tensor == nullptr) return nullptr;
    TensorDesc& desc = descs_[count_++];
    if (tensor->rank < 1 || tensor->rank > PORTACL_MAX_RANK) {
      Fail(
          "{}: {} has rank {}, but must have 1 to {} (a C++ view gets rank -1 where shape and "
          "strides differ in length)",
          op_, name, tensor->rank, static_cast<int>(PORTACL_MAX_RANK));
      return &desc;
    }
    desc.dtype = static_cast<portacl::base::DType>(tensor->dtype);
    desc.shape = portacl::base::Dims(tensor->shape, tensor->rank);
    desc.strides = portacl::base::Dims(tensor->strides, tensor->rank);
    desc.has_storage = false;
    desc.data = tensor->data;
    for (int i = 0; i < tensor->rank; ++i) {
      if (tensor->shape[i] < 0) {
        Fail("{}: {} has shape {}, but extents must be at least 0", op_, name,
             desc.shape.ToString());
      }
    }
    if (status_.ok() && desc.NumElements() < 0) {
      Fail("{}: {} has shape {}, whose number of elements exceeds 64 bits", op_, name,
           desc.shape.ToString());
    }
    return &desc;
  }

  const Status& status() const { return status_; }

 private:
  template <class... Args>
  void Fail(fmt::format_string<Args...> text, Args&&... args) {
    if (status_.ok()) {
      status_ = Status(PORTACL_ERROR_INVALID, fmt::format(text, std::forward<Args>(args)...));
    }
  }

  const char* op_;
  size_t count_ = 0;
  std::array<TensorDesc, portacl::ops::kMaxTensors> descs_;
  Status status_;
};

using MadePlan = std::shared_ptr<const portacl::ops::Plan>;

// Plans with make(&plan) and hands the plan to the caller.
template <class Make>
int32_t MakePlan(const char* op, portaclPlan** plan, Make&& make) {
  if (plan != nullptr) *plan = nullptr;
  return portacl::api::GuardedNative(op, [&]() -> int32_t {
    if (plan == nullptr) {
      return portacl::base::Report(Status(PORTACL_ERROR_NULL, fmt::format("{}: plan is null", op)));
    }
    const portacl::ops::CallTimer timer;
    MadePlan made;
    if (const Status status = make(&made); !status.ok()) return portacl::base::Report(status);
    timer.Planned(*made);
    *plan = new portaclPlan{std::move(made)};
    return PORTACL_OK;
  });
}

// One value per spatial axis of an operator, zeros for null.
std::array<double, 3> ReadScales(const double* scales, int spatial) {
  std::array<double, 3> read{};
  if (scales != nullptr) std::copy_n(scales, spatial, read.begin());
  return read;
}

struct GridSamplerModes {
  int32_t interpolation, padding, align_corners;
};

// What the calls of all grid samplers have beside tensors.
template <class Call>
Call GridSamplerCallOf(const char* op, int spatial, const GridSamplerModes& modes) {
  Call call;
  call.op = op;
  call.spatial = spatial;
  call.interpolation = modes.interpolation;
  call.padding = modes.padding;
  call.align_corners = modes.align_corners != 0;
  return call;
}

// `tensors`: gradOutput, input, grid, inputGrad, gridGrad.
int32_t PlanGridSamplerBackward(const char* op, int spatial,
                                const std::array<const portaclTensor*, 5>& tensors,
                                const GridSamplerModes& modes, portaclPlan** plan) {
  return MakePlan(op, plan, [&](MadePlan* made) -> Status {
    Tensors reader(op);
    const std::vector<bool> mask = {tensors[3] != nullptr, tensors[4] != nullptr};
    auto call = GridSamplerCallOf<portacl::ops::GridSamplerBackwardCall>(op, spatial, modes);
    call.grad_output = reader.Read("gradOutput", tensors[0]);
    call.input = reader.Read("input", tensors[1]);
    call.grid = reader.Read("grid", tensors[2]);
    call.input_grad = reader.Read("inputGrad", tensors[3]);
    call.grid_grad = reader.Read("gridGrad", tensors[4]);
    call.output_mask = &mask;
    PORTACL_RETURN_IF_ERROR(reader.status());
    return PlanGridSamplerBackward(call, made);
  });
}

// `tensors`: input, grid, output.
int32_t PlanGridSampler(const char* op, int spatial,
                        const std::array<const portaclTensor*, 3>& tensors,
                        const GridSamplerModes& modes, portaclPlan** plan) {
  return MakePlan(op, plan, [&](MadePlan* made) -> Status {
    Tensors reader(op);
    auto call = GridSamplerCallOf<portacl::ops::GridSamplerCall>(op, spatial, modes);
    call.input = reader.Read("input", tensors[0]);
    call.grid = reader.Read("grid", tensors[1]);
    call.output = reader.Read("output", tensors[2]);
    PORTACL_RETURN_IF_ERROR(reader.status());
    return PlanGridSampler(call, made);
  });
}

// What a resizing call has beside tensors and scales.
struct UpsampleWords {
  const char* op;
  portacl::ops::UpsampleMode mode;
  bool backward;
  int32_t align_corners = 0;
  int32_t antialias = 0;
};

int32_t PlanUpsample(const UpsampleWords& words, const portaclTensor* from, const portaclTensor* to,
                     const double* scales, portaclPlan** plan) {
  return MakePlan(words.op, plan, [&](MadePlan* made) -> Status {
    Tensors tensors(words.op);
    portacl::ops::UpsampleCall call;
    call.op = words.op;
    call.mode = words.mode;
    call.backward = words.backward;
    call.align_corners = words.align_corners != 0;
    call.antialias = words.antialias != 0;
    call.from = tensors.Read(words.backward ? "gradOutput" : "input", from);
    call.to = tensors.Read(words.backward ? "gradInput" : "output", to);
    call.spatial = portacl::ops::SpatialOf(call.from);
    call.scales = ReadScales(scales, call.spatial);
    PORTACL_RETURN_IF_ERROR(tensors.status());
    return portacl::ops::PlanUpsample(call, made);
  });
}

int32_t PlanAffineGrid(const char* op, bool backward, const portaclTensor* theta,
                       const portaclTensor* grid, int32_t align_corners, portaclPlan** plan) {
  return MakePlan(op, plan, [&](MadePlan* made) -> Status {
    Tensors tensors(op);
    portacl::ops::AffineGridCall call;
    call.op = op;
    call.backward = backward;
    call.theta = tensors.Read(backward ? "thetaGrad" : "theta", theta);
    call.grid = tensors.Read(backward ? "gridGrad" : "grid", grid);
    call.align_corners = align_corners != 0;
    PORTACL_RETURN_IF_ERROR(tensors.status());
    return portacl::ops::PlanAffineGrid(call, made);
  });
}

// Where a run's tensors are: the planned addresses, replaced by the given ones.
portacl::ops::Storages StoragesOf(const portacl::ops::Plan& plan, void* const* tensors) {
  portacl::ops::Storages storages = plan.PlannedStorages();
  for (int i = 0; tensors != nullptr && i < plan.num_tensors(); ++i) {
    if (tensors[i] != nullptr) storages[static_cast<size_t>(i)] = tensors[i];
  }
  return storages;
}

Status RunPlan(const portacl::ops::Plan& plan, void* const* tensors, void* workspace,
               uint64_t workspace_size) {
  const portacl::ops::Storages storages = StoragesOf(plan, tensors);
  if (tensors != nullptr) PORTACL_RETURN_IF_ERROR(plan.CheckAddresses(storages));
  if (workspace != nullptr) {
    PORTACL_RETURN_IF_ERROR(portacl::ops::CheckWorkspaceSize(plan, workspace_size));
  }
  const portacl::runtime::Scratch scratch(workspace == nullptr ? plan.workspace_size() : 0);
  if (workspace == nullptr) {
    workspace = scratch.data();
    PORTACL_RETURN_IF_ERROR(portacl::ops::CheckOwnWorkspace(plan, workspace));
  }
  const portacl::runtime::FpEnvironment environment;
  const portacl::ops::CallTimer timer;
  plan.Run(plan.ElementsAt(storages), workspace);
  timer.Ran(plan);
  return {};
}

// Texts that stay valid until the thread asks for the same again.
struct InfoText {
  std::string text;
};
struct ImplText {
  std::string text;
};

template <class Kept>
const char* KeepText(std::string&& text) {
  Kept* const kept = portacl::base::PerThread<Kept>::Get();
  if (kept == nullptr) throw std::bad_alloc();
  kept->text = std::move(text);
  return kept->text.c_str();
}

int32_t Refuse(const char* function, int32_t code, const std::string& text) {
  return portacl::base::Report(Status(code, fmt::format("{}: {}", function, text)));
}

}  // namespace

extern "C" {

const char* portaclGetErrorMessage() { return portacl::base::PeekErrorMessage(); }

const char* portaclGetVersion() { return PORTACL_VERSION_STRING; }

const char* portaclGetInfo() {
  return portacl::api::GuardedValue<const char*>(
      __func__, "{}", [] { return KeepText<InfoText>(portacl::api::InfoJson()); });
}

int32_t portaclSetNumThreads(int32_t threads) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (portacl::runtime::SetNumThreads(threads)) return PORTACL_OK;
    return Refuse("portaclSetNumThreads", PORTACL_ERROR_INVALID,
                  fmt::format("threads is {}, but must be 0 (the default) to 1024", threads));
  });
}

int32_t portaclGetNumThreads() { return portacl::runtime::NumThreads(); }

int32_t portaclSetThreadPool(const portaclThreadPool* pool) {
  return portacl::api::GuardedNn(__func__, [&]() -> int32_t {
    if (portacl::runtime::SetThreadPool(pool)) return PORTACL_OK;
    return Refuse("portaclSetThreadPool", PORTACL_ERROR_INVALID,
                  "called from inside a task of a pool, it would wait for its own end");
  });
}

int32_t portaclSetProfile(const char* name) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (name == nullptr) return Refuse("portaclSetProfile", PORTACL_ERROR_NULL, "name is null");
    const auto profile = portacl::ops::ProfileFromName(name);
    if (!profile) {
      return Refuse("portaclSetProfile", PORTACL_ERROR_INVALID,
                    fmt::format("name is \"{}\", but must be one of {}", name,
                                portacl::ops::ProfileChoices()));
    }
    portacl::ops::SetProfile(*profile);
    return PORTACL_OK;
  });
}

const char* portaclGetProfile() {
  return portacl::api::GuardedValue<const char*>(
      __func__, portacl::ops::ProfileName(portacl::ops::Profile::kAtlasA2),
      [] { return portacl::ops::ProfileName(portacl::ops::CurrentProfile()); });
}

int32_t portaclSetStrict(int32_t strict) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    portacl::ops::SetStrict(strict != 0);
    return PORTACL_OK;
  });
}

int32_t portaclGetStrict() {
  return portacl::api::GuardedValue<int32_t>(__func__, 0,
                                             [] { return portacl::ops::Strict() ? 1 : 0; });
}

int32_t portaclSetImpl(const char* name) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    portacl::ops::SetForcedImpl(name == nullptr ? std::string() : std::string(name));
    return PORTACL_OK;
  });
}

const char* portaclGetImpl() {
  return portacl::api::GuardedValue<const char*>(
      __func__, "", [] { return KeepText<ImplText>(portacl::ops::ForcedImpl()); });
}

int32_t portaclPlanUpsampleNearestExactBackward(const portaclTensor* gradOutput,
                                                const portaclTensor* gradInput,
                                                const double* scales, portaclPlan** plan) {
  constexpr const char* kOp = "portacl::upsample_nearest_exact_backward";
  return MakePlan(kOp, plan, [&](MadePlan* made) -> Status {
    Tensors tensors(kOp);
    portacl::ops::UpsampleNearestExactBackwardCall call;
    call.op = kOp;
    call.grad_output = tensors.Read("gradOutput", gradOutput);
    call.grad_input = tensors.Read("gradInput", gradInput);
    call.spatial = portacl::ops::SpatialOf(call.grad_output);
    call.scales = ReadScales(scales, call.spatial);
    PORTACL_RETURN_IF_ERROR(tensors.status());
    return PlanUpsampleNearestExactBackward(call, made);
  });
}

int32_t portaclPlanUpsampleNearestExact(const portaclTensor* input, const portaclTensor* output,
                                        const double* scales, portaclPlan** plan) {
  constexpr const char* kOp = "portacl::upsample_nearest_exact";
  return MakePlan(kOp, plan, [&](MadePlan* made) -> Status {
    Tensors tensors(kOp);
    portacl::ops::UpsampleNearestExactCall call;
    call.input = tensors.Read("input", input);
    call.output = tensors.Read("output", output);
    call.spatial = portacl::ops::SpatialOf(call.input);
    call.scales = ReadScales(scales, call.spatial);
    PORTACL_RETURN_IF_ERROR(tensors.status());
    return PlanUpsampleNearestExact(call, made);
  });
}

int32_t portaclPlanGridSampler2DBackward(const portaclTensor* gradOutput,
                                         const portaclTensor* input, const portaclTensor* grid,
                                         const portaclTensor* inputGrad,
                                         const portaclTensor* gridGrad, int32_t interpolation,
                                         int32_t padding, int32_t alignCorners,
                                         portaclPlan** plan) {
  return PlanGridSamplerBackward("portacl::grid_sampler_2d_backward", 2,
                                 {gradOutput, input, grid, inputGrad, gridGrad},
                                 {interpolation, padding, alignCorners}, plan);
}

int32_t portaclPlanGridSampler3DBackward(const portaclTensor* gradOutput,
                                         const portaclTensor* input, const portaclTensor* grid,
                                         const portaclTensor* inputGrad,
                                         const portaclTensor* gridGrad, int32_t interpolation,
                                         int32_t padding, int32_t alignCorners,
                                         portaclPlan** plan) {
  return PlanGridSamplerBackward("portacl::grid_sampler_3d_backward", 3,
                                 {gradOutput, input, grid, inputGrad, gridGrad},
                                 {interpolation, padding, alignCorners}, plan);
}

int32_t portaclPlanGridSampler2D(const portaclTensor* input, const portaclTensor* grid,
                                 const portaclTensor* output, int32_t interpolation,
                                 int32_t padding, int32_t alignCorners, portaclPlan** plan) {
  return PlanGridSampler("portacl::grid_sampler_2d", 2, {input, grid, output},
                         {interpolation, padding, alignCorners}, plan);
}

int32_t portaclPlanGridSampler3D(const portaclTensor* input, const portaclTensor* grid,
                                 const portaclTensor* output, int32_t interpolation,
                                 int32_t padding, int32_t alignCorners, portaclPlan** plan) {
  return PlanGridSampler("portacl::grid_sampler_3d", 3, {input, grid, output},
                         {interpolation, padding, alignCorners}, plan);
}

int32_t portaclPlanUpsampleLinear(const portaclTensor* input, const portaclTensor* output,
                                  int32_t alignCorners, int32_t antialias, const double* scales,
                                  portaclPlan** plan) {
  return PlanUpsample({"portacl::upsample_linear", Mode::kLinear, false, alignCorners, antialias},
                      input, output, scales, plan);
}

int32_t portaclPlanUpsampleLinearBackward(const portaclTensor* gradOutput,
                                          const portaclTensor* gradInput, int32_t alignCorners,
                                          int32_t antialias, const double* scales,
                                          portaclPlan** plan) {
  return PlanUpsample(
      {"portacl::upsample_linear_backward", Mode::kLinear, true, alignCorners, antialias},
      gradOutput, gradInput, scales, plan);
}

int32_t portaclPlanUpsampleCubic(const portaclTensor* input, const portaclTensor* output,
                                 int32_t alignCorners, int32_t antialias, const double* scales,
                                 portaclPlan** plan) {
  return PlanUpsample({"portacl::upsample_cubic", Mode::kCubic, false, alignCorners, antialias},
                      input, output, scales, plan);
}

int32_t portaclPlanUpsampleCubicBackward(const portaclTensor* gradOutput,
                                         const portaclTensor* gradInput, int32_t alignCorners,
                                         int32_t antialias, const double* scales,
                                         portaclPlan** plan) {
  return PlanUpsample(
      {"portacl::upsample_cubic_backward", Mode::kCubic, true, alignCorners, antialias}, gradOutput,
      gradInput, scales, plan);
}

int32_t portaclPlanUpsampleNearest(const portaclTensor* input, const portaclTensor* output,
                                   const double* scales, portaclPlan** plan) {
  return PlanUpsample({"portacl::upsample_nearest", Mode::kNearest, false}, input, output, scales,
                      plan);
}

int32_t portaclPlanUpsampleNearestBackward(const portaclTensor* gradOutput,
                                           const portaclTensor* gradInput, const double* scales,
                                           portaclPlan** plan) {
  return PlanUpsample({"portacl::upsample_nearest_backward", Mode::kNearest, true}, gradOutput,
                      gradInput, scales, plan);
}

int32_t portaclPlanAffineGrid(const portaclTensor* theta, const portaclTensor* grid,
                              int32_t alignCorners, portaclPlan** plan) {
  return PlanAffineGrid("portacl::affine_grid", false, theta, grid, alignCorners, plan);
}

int32_t portaclPlanAffineGridBackward(const portaclTensor* gridGrad, const portaclTensor* thetaGrad,
                                      int32_t alignCorners, portaclPlan** plan) {
  return PlanAffineGrid("portacl::affine_grid_backward", true, thetaGrad, gridGrad, alignCorners,
                        plan);
}

uint64_t portaclPlanGetWorkspaceSize(const portaclPlan* plan) {
  return plan == nullptr ? 0 : plan->plan->workspace_size();
}

const char* portaclPlanGetKernel(const portaclPlan* plan) {
  return plan == nullptr ? "" : plan->plan->kernel().c_str();
}

int32_t portaclPlanRun(const portaclPlan* plan, void* const* tensors, void* workspace,
                       uint64_t workspaceSize) {
  return portacl::api::GuardedNative(__func__, [&]() -> int32_t {
    if (plan == nullptr) return Refuse("portaclPlanRun", PORTACL_ERROR_NULL, "plan is null");
    return portacl::base::Report(RunPlan(*plan->plan, tensors, workspace, workspaceSize));
  });
}

void portaclPlanDestroy(portaclPlan* plan) { delete plan; }

}  // extern "C"
