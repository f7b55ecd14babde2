// Checks, index tables and kernel choice of the forward function.
#include "ops/upsample_nearest_exact.h"

#include <optional>
#include <utility>

#include "ops/nearest_axis.h"
#include "ops/planned_kernel.h"
#include "ops/upsample_nearest_exact_backward.h"
#include "ops/upsample_nearest_exact_impls.h"
#include "runtime/fp_env.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;
using Params = UpsampleNearestExactParams;

constexpr const char* kOp = "portacl::upsample_nearest_exact";

// The backward function's rules, with gradOutput and gradInput played by output and input.
Status Check(const TensorDesc* input, const TensorDesc* output,
             const std::array<double, 2>& scales) {
  UpsampleNearestExactBackwardCall call;
  call.op = kOp;
  call.surface = Surface::kNative;
  call.spatial = input != nullptr && input->shape.rank() == 3 ? 1 : 2;
  call.grad_output = output;
  call.grad_input = input;
  call.scales = scales;
  call.forward = true;
  return CheckUpsampleNearestExactBackward(call);
}

class UpsampleNearestExactPlan final : public Plan {
 public:
  UpsampleNearestExactPlan(const TensorDesc& input, const TensorDesc& output,
                           const std::array<double, 2>& scales)
      : Plan(kOp, Surface::kNative), scales_(scales) {
    AddTensor("input", input, false, true);
    AddTensor("output", output, true, true);
    params_.dtype = input.dtype;
    params_.n = input.shape[0];
    params_.c = input.shape[1];
    params_.input_stride = As4D(input.strides, 0);
    params_.output_stride = As4D(output.strides, 0);
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0 || params_.c == 0) return {};
    MakeTables();
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), UpsampleNearestExactImpls(), params_));
    kernel_ = chosen_.label();
    workspace_size_ = chosen_.workspace_size();
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.input = elements[0];
    params.output = elements[1];
    chosen_.Run(params, workspace);
  }

 private:
  // After the checks on memory: extents that no memory holds must not cost tables of their size.
  void MakeTables() {
    const base::Dims& in = tensor(0).desc.shape;
    const base::Dims& out = tensor(1).desc.shape;
    const bool flat = in.rank() == 3;
    h_.emplace(flat ? 1 : in[2], flat ? 1 : out[2], flat ? 0.0 : scales_[0]);
    w_.emplace(in[flat ? 2 : 3], out[flat ? 2 : 3], scales_[flat ? 0 : 1]);
    params_.h = h_->axis();
    params_.w = w_->axis();
  }

  const std::array<double, 2> scales_;
  std::optional<NearestTable> h_;
  std::optional<NearestTable> w_;
  Params params_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanUpsampleNearestExact(const TensorDesc* input, const TensorDesc* output,
                                const std::array<double, 2>& scales,
                                std::shared_ptr<const Plan>* plan) {
  const runtime::FpEnvironment environment;  // the caller's rounding mode must not reach tables
  PORTACL_RETURN_IF_ERROR(Check(input, output, scales));
  auto made = std::make_shared<UpsampleNearestExactPlan>(*input, *output, scales);
  PORTACL_RETURN_IF_ERROR(made->Make());
  *plan = std::move(made);
  return {};
}

}  // namespace portacl::ops
