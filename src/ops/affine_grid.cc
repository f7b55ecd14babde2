// The affine grid and its gradient: the checks, and the plan, which computes the coordinates of
// points along each axis and chooses the kernel.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ops/affine_grid_params.h"
#include "ops/call.h"
#include "ops/kernels.h"
#include "ops/plan.h"
#include "ops/shared_checks.h"
#include "ops/table_limit.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;
using base::TensorDesc;

// ---- checks ------------------------------------------------------------------------------------

class AffineGridChecker {
 public:
  explicit AffineGridChecker(const Call& call)
      : call_(call),
        refusals_(call.op(), call.surface()),
        backward_(call.signature().op == Op::kAffineGridBackward) {}

  Status Run() const {
    const SharedChecks shared(call_);
    PORTACL_RETURN_IF_ERROR(shared.Tensors());
    PORTACL_RETURN_IF_ERROR(shared.Formats());
    PORTACL_RETURN_IF_ERROR(Theta());
    PORTACL_RETURN_IF_ERROR(Grid());
    return Size();
  }

 private:
  const Dims& theta() const { return (backward_ ? call_.output(0) : call_.input(0))->shape; }
  const Dims& grid() const { return (backward_ ? call_.input(0) : call_.output(0))->shape; }
  const char* theta_name() const { return backward_ ? call_.output_name(0) : call_.input_name(0); }
  const char* grid_name() const { return backward_ ? call_.input_name(0) : call_.output_name(0); }
  Rule ThetaRule() const { return backward_ ? Rule::kOutput : Rule::kInput; }
  Rule GridRule() const { return backward_ ? Rule::kInput : Rule::kOutput; }

  Status Theta() const {
    if (theta().rank() != 3) {
      return refusals_.Refuse(ThetaRule(), "{} has shape {} of rank {}, but must have rank 3",
                              theta_name(), theta().ToString(), theta().rank());
    }
    const auto* const size = call_.ints(0);
    if (size != nullptr && size->size() != 4 && size->size() != 5) {
      return refusals_.Refuse(Rule::kAttribute, "{} has {} elements, but must have 4 or 5",
                              call_.ints_name(0), size->size());
    }
    const int64_t axes = size != nullptr ? static_cast<int64_t>(size->size()) - 2 : theta()[1];
    const bool fits = (axes == 2 || axes == 3) && theta()[1] == axes && theta()[2] == axes + 1 &&
                      (size == nullptr || (*size)[0] == theta()[0]);
    if (fits) return {};
    return refusals_.Refuse(ThetaRule(), "{} has shape {}, but must be {}", theta_name(),
                            theta().ToString(), Wanted(size));
  }

  std::string Wanted(const std::vector<int64_t>* size) const {
    if (size == nullptr) return "(N, 2, 3) or (N, 3, 4)";
    return fmt::format("({}, {}), since {} is {}", (*size)[0], size->size() == 4 ? "2, 3" : "3, 4",
                       call_.ints_name(0), SizeText(*size));
  }
  static std::string SizeText(const std::vector<int64_t>& size) {
    return Dims(size.data(), static_cast<int>(size.size())).ToString();
  }

  Status Grid() const {
    const auto* const size = call_.ints(0);
    const auto axes = static_cast<int>(theta()[1]);
    bool fits = grid().rank() == axes + 2 && grid()[axes + 1] == axes && grid()[0] == theta()[0];
    for (int axis = 1; fits && size != nullptr && axis <= axes; ++axis) {
      fits = grid()[axis] == (*size)[static_cast<size_t>(axis) + 1];
    }
    if (!fits) {
      return refusals_.Refuse(GridRule(), "{} has shape {}, but {} {}{} asks for {}", grid_name(),
                              grid().ToString(), theta_name(), theta().ToString(),
                              size == nullptr ? "" : fmt::format(" with size {}", SizeText(*size)),
                              axes == 2 ? "(N, H, W, 2)" : "(N, D, H, W, 3)");
    }
    if (size != nullptr) return {};
    for (int axis = 1; axis <= axes; ++axis) {
      if (grid()[axis] >= 1) continue;
      return refusals_.Refuse(GridRule(), "{} has shape {}, but its extents must be at least 1",
                              grid_name(), grid().ToString());
    }
    return {};
  }

  Status Size() const {
    const auto* const size = call_.ints(0);
    if (size == nullptr) return {};
    constexpr int64_t kLongest = 100 * 1000;  // the page states it, but no error
    for (size_t i = 0; i < size->size(); ++i) {
      if ((*size)[i] >= 1) continue;
      return refusals_.Refuse(Rule::kAttribute, "{}[{}] is {}, but must be at least 1",
                              call_.ints_name(0), i, (*size)[i]);
    }
    if (*std::max_element(size->begin(), size->end()) <= kLongest) return {};
    return refusals_.Warn(Rule::kAttribute,
                          fmt::format("{} is {}, but the page's longest is {}", call_.ints_name(0),
                                      SizeText(*size), kLongest));
  }

  const Call& call_;
  const Refusals refusals_;
  const bool backward_;
};

// ---- plans -------------------------------------------------------------------------------------

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

Status CheckAffineGrid(const Call& call) { return AffineGridChecker(call).Run(); }

Status PlanCheckedAffineGrid(const Call& call, std::shared_ptr<const Plan>* plan) {
  return MakePlanOf<AffineGridPlan>(plan, call);
}

}  // namespace portacl::ops
