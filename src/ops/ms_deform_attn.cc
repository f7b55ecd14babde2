// Plans of multi-scale deformable attention and of its gradient: kernel choice, tensors, and the
// table of levels. The table is read from the tensors when the work runs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>
#include <string>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "ops/plan.h"
#include "ops/select_kernel.h"
#include "ops/settings.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

// Element `index` of a tensor of INT32 or INT64.
int64_t IndexAt(base::DType dtype, const void* first, int64_t index) {
  if (dtype == base::DType::kInt32) return static_cast<const int32_t*>(first)[index];
  return static_cast<const int64_t*>(first)[index];
}

template <size_t kRank>
void SetStrides(const TensorDesc& tensor, std::array<int64_t, kRank>* strides) {
  if (tensor.NumElements() == 0) return;  // kernels step from no address of it
  std::copy_n(tensor.strides.data(), kRank, strides->begin());
}

class MsDeformAttnPlan final : public Plan {
 public:
  explicit MsDeformAttnPlan(const Call& call) : Plan(call) {
    const TensorDesc& value = *call.input(0);
    const TensorDesc& location = *call.input(3);
    params_.backward = call.signature().op == Op::kMsDeformAttnBackward;
    params_.dtype = value.dtype;
    params_.point_dtype = location.dtype;
    params_.batch = value.shape[0];
    params_.keys = value.shape[1];
    params_.heads = value.shape[2];
    params_.channels = value.shape[3];
    params_.queries = location.shape[1];
    params_.levels = call.input(1)->shape[0];
    SetPoints(location);
    SetStrides(value, &params_.value_stride);
    SetPointStrides(location, &params_.location_stride);
    SetPointStrides(*call.input(4), &params_.weight_stride);
    for (size_t i = 0; i < call.signature().CountOf(Form::kRead); ++i) {
      AddTensor(call.input_name(i), *call.input(i), false, true);
    }
    SetOutputStrides(params_.backward ? *call.input(kOutput) : *call.output(0));
    if (params_.backward) {
      AddGrads(call);
    } else {
      AddTensor(call.output_name(0), *call.output(0), true, true);
    }
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    const auto is_empty = [](const TensorSlot& slot) { return !slot.has_elements(); };
    bool empty = true;
    for (int i = 0; i < num_outputs(); ++i) empty = empty && is_empty(tensor(output(i)));
    if (empty) return {};
    PORTACL_RETURN_IF_ERROR(chosen_.Choose(refusals(), KernelsFor<Params>(), params_));
    kernel_ = chosen_.label();
    int64_t size = 0;
    const bool fits = base::CheckedMul(params_.levels, int64_t{sizeof(MsDeformAttnLevel)}, &size) &&
                      base::CheckedAdd(size, 2 * kAlign, &size);
    if (!fits) return refusals().Refuse(Rule::kNoKernel, "the workspace would exceed 64 bits");
    level_bytes_ = size;
    workspace_size_ = chosen_.workspace_size() + static_cast<uint64_t>(size);
    constexpr int64_t kSmall = 4096;  // elements
    small_ = true;
    for (int i = 0; i < num_tensors(); ++i) {
      small_ = small_ && (is_empty(tensor(i)) || tensor(i).desc.NumElements() <= kSmall);
    }
    return {};
  }

  Status CheckContents(const Elements& elements) const override {
    if (params_.keys == 0) return {};
    for (int64_t l = 0; l < params_.levels; ++l) {
      const MsDeformAttnLevel level = ReadLevel(elements, l);
      if (Fits(level)) continue;
      try {
        return BadLevel(l, level);
      } catch (const std::bad_alloc&) {
        // Work on a stream goes on without its warning.
        if (Strict() || refusals().surface() == Surface::kNative) throw;
      }
      break;
    }
    return {};
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    if (kernel_ == "none") return;
    Params params = params_;
    const auto at = (reinterpret_cast<uintptr_t>(workspace) + kAlign - 1) / kAlign * kAlign;
    auto* const levels = reinterpret_cast<MsDeformAttnLevel*>(at);
    for (int64_t l = 0; l < params_.levels; ++l) {
      const MsDeformAttnLevel level = ReadLevel(elements, l);
      levels[l] = Fits(level) ? level : MsDeformAttnLevel{};
    }
    params.level = levels;
    params.value = elements[0];
    params.location = elements[3];
    params.weight = elements[4];
    params.output = elements[kOutput];
    if (params.backward) {
      params.value_grad = elements[6];
      params.location_grad = elements[7];
      params.weight_grad = elements[8];
    }
    chosen_.Run(params, static_cast<char*>(workspace) + level_bytes_);
  }

 private:
  Status BadLevel(int64_t l, const MsDeformAttnLevel& level) const {
    const std::string text = fmt::format(
        "{} gives level {} {} x {} pixels, and {} key {}, but {} has {} keys", tensor(1).name, l,
        level.height, level.width, tensor(2).name, level.start, tensor(0).name, params_.keys);
    if (refusals().surface() == Surface::kNative) {
      return refusals().Refuse(Rule::kInput, "{}", text);
    }
    return refusals().Warn(Rule::kInput, text + ": the level contributes nothing");
  }

  using Params = MsDeformAttnParams;
  static constexpr size_t kOutput = 5;  // the output's tensor, or its gradient's
  static constexpr int64_t kAlign = 64;

  // For the native API too, which has the points of all levels on one axis.
  void SetPoints(const TensorDesc& location) {
    const bool joined = location.shape.rank() == 5;
    params_.points =
        joined ? location.shape[3] / std::max<int64_t>(1, params_.levels) : location.shape[4];
  }
  template <size_t kRank>
  void SetPointStrides(const TensorDesc& tensor, std::array<int64_t, kRank>* strides) const {
    if (tensor.NumElements() == 0 || tensor.shape.rank() == static_cast<int>(kRank)) {
      return SetStrides(tensor, strides);
    }
    const base::Dims& s = tensor.strides;
    std::copy_n(s.data(), 3, strides->begin());
    (*strides)[3] = s[3] * params_.points;
    std::copy_n(s.data() + 3, kRank - 4, strides->begin() + 4);
  }

  // The output or its gradient as (batch, query, head, channel).
  void SetOutputStrides(const TensorDesc& tensor) {
    if (tensor.shape.rank() == 4) return SetStrides(tensor, &params_.output_stride);
    if (tensor.NumElements() == 0) return;
    const base::Dims& s = tensor.strides;
    params_.output_stride = {s[0], s[1], s[2] * params_.channels, s[2]};
  }

  void AddGrads(const Call& call) {
    const auto add = [&](size_t index, auto* strides) {
      const TensorDesc* const grad = call.output(index);
      if (grad != nullptr) SetPointStrides(*grad, strides);
      AddTensor(call.output_name(index), grad != nullptr ? *grad : TensorDesc(), true,
                grad != nullptr);
      return grad != nullptr && grad->NumElements() > 0;
    };
    params_.want_value_grad = add(0, &params_.value_grad_stride);
    const bool location = add(1, &params_.location_grad_stride);
    const bool weight = add(2, &params_.weight_grad_stride);
    params_.want_point_grad = location || weight;
  }

  MsDeformAttnLevel ReadLevel(const Elements& elements, int64_t l) const {
    const TensorDesc& shapes = tensor(1).desc;
    const TensorDesc& starts = tensor(2).desc;
    const int64_t at = l * shapes.strides[0];
    return {IndexAt(shapes.dtype, elements[1], at),
            IndexAt(shapes.dtype, elements[1], at + shapes.strides[1]),
            IndexAt(starts.dtype, elements[2], l * starts.strides[0])};
  }

  bool Fits(const MsDeformAttnLevel& level) const {
    int64_t end = 0;
    return level.height >= 1 && level.width >= 1 && level.start >= 0 &&
           base::CheckedMul(level.height, level.width, &end) &&
           base::CheckedAdd(end, level.start, &end) && end <= params_.keys;
  }

  Params params_;
  PlannedKernel<Params> chosen_;
  int64_t level_bytes_ = 0;
};

}  // namespace

Status PlanCheckedMsDeformAttn(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<MsDeformAttnPlan>(plan, call);
}

}  // namespace portacl::ops
