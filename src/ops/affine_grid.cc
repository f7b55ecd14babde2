// Plans the affine grid and its gradient: computes the coordinates of points along each axis and
// chooses the kernel.
#include <array>
#include <cmath>
#include <vector>

#include "ops/affine_grid_params.h"
#include "ops/call.h"
#include "ops/plan.h"
#include "ops/kernels.h"
#include "ops/table_limit.h"

namespace portacl::ops {
namespace {

using base::Status;
using base::TensorDesc;

// Returns the coordinates of `count` points: from -1 to 1 (align_corners), else the middles of
// `count` pixels. Steps are fused, as in PyTorch on CPUs with fused operations. So nearest sampling
// decides its ties as PyTorch does.
template <class T>
std::vector<T> PlacesAs(int64_t count, bool align_corners) {
  std::vector<T> places(static_cast<size_t>(count), T{0});
  if (count == 1) return places;
  const T last = static_cast<T>(count - 1);
  const T step = T{2} / last;
  for (int64_t i = 0; i < count; ++i) {
    const T place = i < count / 2 ? std::fma(step, static_cast<T>(i), T{-1})
                                  : std::fma(-step, static_cast<T>(count - 1 - i), T{1});
    places[static_cast<size_t>(i)] = align_corners ? place : (place * last) / static_cast<T>(count);
  }
  return places;
}

class AffineGridPlan final : public Plan {
 public:
  explicit AffineGridPlan(const Call& call) : Plan(call), align_corners_(call.flag(0)) {
    AddTensor(call.input_name(0), *call.input(0), false, true);
    AddTensor(call.output_name(0), *call.output(0), true, true);
    params_.backward = call.signature().op == Op::kAffineGridBackward;
    const TensorDesc& theta = params_.backward ? *call.output(0) : *call.input(0);
    params_.dtype = theta.dtype;
    params_.n = theta.shape[0];
    params_.axes = static_cast<int>(theta.shape[1]);
    for (int k = 0; k < 3; ++k) params_.theta_stride[static_cast<size_t>(k)] = theta.strides[k];
    SetGrid(params_.backward ? *call.input(0) : *call.output(0));
  }

  Status Make() {
    PORTACL_RETURN_IF_ERROR(CheckMemory());
    if (params_.n == 0) return {};
    double places = 0;
    for (const int64_t extent : params_.extents) places += static_cast<double>(extent);
    PORTACL_RETURN_IF_ERROR(CheckTable(*this, places));
    for (size_t k = 0; k < 3; ++k) MakePlaces(k);
    constexpr int64_t kSmall = 4096;  // elements
    return Choose(KernelsFor<Params>(), params_, kSmall, &chosen_);
  }

  void Run(const Elements& elements, void* workspace) const noexcept override {
    Params params = params_;
    params.theta = elements[params_.backward ? 1 : 0];
    params.grid = elements[params_.backward ? 0 : 1];
    chosen_.Run(params, workspace);
  }

 private:
  using Params = AffineGridParams;

  void SetGrid(const TensorDesc& grid) {
    const bool volume = params_.axes == 3;
    const int last = grid.shape.rank() - 1;
    params_.extents = {volume ? grid.shape[1] : 1, grid.shape[last - 2], grid.shape[last - 1]};
    params_.grid_stride = {grid.strides[0], volume ? grid.strides[1] : 0, grid.strides[last - 2],
                           grid.strides[last - 1], grid.strides[last]};
  }

  // Computes the points' coordinate k: x (along the last axis) for 0, y for 1, z for 2.
  void MakePlaces(size_t k) {
    const int64_t count = params_.extents[2 - k];
    if (params_.dtype == base::DType::kDouble) {
      doubles_[k] = PlacesAs<double>(count, align_corners_);
      params_.place[k] = doubles_[k].data();
    } else {
      floats_[k] = PlacesAs<float>(count, align_corners_);
      params_.place[k] = floats_[k].data();
    }
  }

  const bool align_corners_;
  Params params_;
  std::array<std::vector<float>, 3> floats_;
  std::array<std::vector<double>, 3> doubles_;
  PlannedKernel<Params> chosen_;
};

}  // namespace

Status PlanCheckedAffineGrid(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<AffineGridPlan>(plan, call);
}

}  // namespace portacl::ops
