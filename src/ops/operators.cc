// What the rows of the list of operators mean under the current profile, and their kernels.
#include "ops/operators.h"

#include <algorithm>

#include "ops/affine_grid_impls.h"
#include "ops/grid_sampler_2d_backward_impls.h"
#include "ops/grid_sampler_2d_impls.h"
#include "ops/grid_sampler_3d_backward_impls.h"
#include "ops/grid_sampler_3d_impls.h"
#include "ops/resample_impls.h"
#include "ops/select_kernel.h"
#include "ops/upsample_nearest_exact_backward_impls.h"
#include "ops/upsample_nearest_exact_impls.h"

namespace portacl::ops {
namespace {

bool Has(const DTypes& dtypes, base::DType dtype) {
  return dtype != base::DType::kUndefined &&
         std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

const DTypes& DTypesIn(const OperatorRow& op, Profile profile) {
  if (profile == Profile::kAtlasTraining) return op.training_dtypes;
  return profile == Profile::kOpen ? op.open_dtypes : op.dtypes;
}

// "FLOAT, FLOAT16 or BF16"
std::string Choices(const DTypes& dtypes) {
  std::string text;
  const auto* const undefined = std::find(dtypes.begin(), dtypes.end(), base::DType::kUndefined);
  const auto count = static_cast<size_t>(std::distance(dtypes.begin(), undefined));
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += i + 1 == count ? " or " : ", ";
    text += base::DTypeName(dtypes[i]);
  }
  return text;
}

// "atlas-a2, atlas-a3, open"
std::string ProfilesWith(const OperatorRow& op) {
  std::string text;
  for (const Profile profile :
       {Profile::kAtlasA2, Profile::kAtlasA3, Profile::kAtlasTraining, Profile::kOpen}) {
    if (DTypesIn(op, profile) == kNoDTypes) continue;
    if (!text.empty()) text += ", ";
    text += ProfileName(profile);
  }
  return text;
}

template <class Params>
std::vector<KernelState> StatesOf(const KernelList<Params>& kernels) {
  std::vector<KernelState> states;
  for (const auto* kernel : kernels) states.push_back({kernel->name, kernel->available()});
  return states;
}

}  // namespace

const OperatorRow* FindByGraphName(std::string_view name) {
  for (const OperatorRow& op : kOperators) {
    for (const char* const listed : op.graph) {
      if (listed != nullptr && listed == name) return &op;
    }
  }
  return nullptr;
}

const DTypes& DTypesOf(const OperatorRow& op, Surface surface) {
  return surface == Surface::kNative ? kAllDTypes : DTypesIn(op, CurrentProfile());
}

base::Status CheckAvailable(const Refusals& refusals, const OperatorRow& op, Surface surface) {
  if (DTypesOf(op, surface) != kNoDTypes) return {};
  return refusals.Refuse(Rule::kUnknownOperator,
                         "the profile {} does not have this operator; these have it: {}",
                         ProfileName(CurrentProfile()), ProfilesWith(op));
}

base::Status CheckDType(const Refusals& refusals, const OperatorRow& op, Surface surface,
                        const char* tensor, base::DType dtype) {
  const DTypes& dtypes = DTypesOf(op, surface);
  if (Has(dtypes, dtype)) return {};
  return refusals.Refuse(Rule::kDType, "{} has dtype {}, but must be {}{}", tensor,
                         base::DTypeName(dtype), Choices(dtypes),
                         surface == Surface::kNative
                             ? ""
                             : fmt::format(" (profile {})", ProfileName(CurrentProfile())));
}

std::vector<std::string> AvailableImpls() {
  std::vector<std::string> names;
  for (const OperatorRow& op : kOperators) {
    for (const KernelState& kernel : KernelsOf(op)) {
      const bool listed = std::find(names.begin(), names.end(), kernel.name) != names.end();
      if (kernel.available && !listed) names.push_back(kernel.name);
    }
  }
  return names;
}

// Without a default: an operator without its line does not compile.
std::vector<KernelState> KernelsOf(const OperatorRow& op) {
  switch (op.op) {
    case Op::kUpsampleNearestExactBackward:
      return StatesOf(UpsampleNearestExactBackwardImpls());
    case Op::kUpsampleNearestExact:
      return StatesOf(UpsampleNearestExactImpls());
    case Op::kGridSampler2DBackward:
      return StatesOf(GridSampler2DBackwardImpls());
    case Op::kGridSampler2D:
      return StatesOf(GridSampler2DImpls());
    case Op::kGridSampler3DBackward:
      return StatesOf(GridSampler3DBackwardImpls());
    case Op::kGridSampler3D:
      return StatesOf(GridSampler3DImpls());
    case Op::kUpsampleLinearBackward:
    case Op::kUpsampleLinear:
    case Op::kUpsampleCubicBackward:
    case Op::kUpsampleCubic:
      return StatesOf(ResampleImpls());
    case Op::kUpsampleNearestBackward:
      return StatesOf(UpsampleNearestExactBackwardImpls());
    case Op::kUpsampleNearest:
      return StatesOf(UpsampleNearestExactImpls());
    case Op::kAffineGridBackward:
      return StatesOf(AffineGridBackwardImpls());
    case Op::kAffineGrid:
      return StatesOf(AffineGridImpls());
  }
  return {};
}

}  // namespace portacl::ops
