// The list of operators: one row each. Dispatch by name, `portacl info`, the profiles, the list of
// exported symbols and the tests' fixtures are made from these rows or checked against them.
#ifndef PORTACL_OPS_OPERATORS_H_
#define PORTACL_OPS_OPERATORS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "ops/refusal.h"
#include "ops/settings.h"
#include "ops/surface.h"

namespace portacl::ops {

enum class Op {
  kUpsampleNearestExactBackward,
  kUpsampleNearestExact,
  kGridSampler2DBackward,
  kGridSampler2D,
  kGridSampler3DBackward,
  kGridSampler3D,
  kUpsampleLinearBackward,
  kUpsampleLinear,
  kUpsampleCubicBackward,
  kUpsampleCubic,
  kUpsampleNearestBackward,
  kUpsampleNearest,
  kAffineGridBackward,
  kAffineGrid,
};

// Element types in the order in which messages name them.
using DTypes = std::array<base::DType, 4>;  // kUndefined where there are fewer
inline constexpr DTypes kNoDTypes{base::DType::kUndefined, base::DType::kUndefined,
                                  base::DType::kUndefined, base::DType::kUndefined};
inline constexpr DTypes kFloats{base::DType::kFloat, base::DType::kFloat16, base::DType::kUndefined,
                                base::DType::kUndefined};
inline constexpr DTypes kFloatsAndBFloat16{base::DType::kFloat, base::DType::kFloat16,
                                           base::DType::kBFloat16, base::DType::kUndefined};
inline constexpr DTypes kFloatsAndDouble{base::DType::kFloat, base::DType::kFloat16,
                                         base::DType::kDouble, base::DType::kUndefined};
inline constexpr DTypes kAllDTypes{base::DType::kFloat, base::DType::kFloat16,
                                   base::DType::kBFloat16, base::DType::kDouble};

struct OperatorRow {
  Op op;
  const char* name;    // its name in the native API and in `portacl info`
  const char* native;  // the function of portacl/portacl.h that plans it, or null
  // The functions of aclnnop/ that run it (phase 2; phase 1 is the name with GetWorkspaceSize), and
  // its names for aclop...: null where there are fewer.
  std::array<const char*, 3> aclnn;
  std::array<const char*, 2> graph;
  // What the aclnn and the graph API take in the profiles atlas-a2 and atlas-a3, in atlas-training,
  // and in open; a profile without dtypes does not have the operator. The native API takes all.
  DTypes dtypes;
  DTypes training_dtypes;
  DTypes open_dtypes;
};

inline constexpr OperatorRow kOperators[] = {
    {Op::kUpsampleNearestExactBackward,
     "upsample_nearest_exact_backward",
     "portaclPlanUpsampleNearestExactBackward",
     {"aclnnUpsampleNearestExact1dBackward", "aclnnUpsampleNearestExact2dBackward",
      "aclnnUpsampleNearestExact3dBackward"},
     {"UpsampleNearestExact2dGrad", "UpsampleNearestExact3dGrad"},
     kFloatsAndBFloat16,
     kNoDTypes,
     kFloatsAndBFloat16},
    {Op::kUpsampleNearestExact,
     "upsample_nearest_exact",
     "portaclPlanUpsampleNearestExact",
     {"aclnnUpsampleNearestExact1d", "aclnnUpsampleNearestExact2d", "aclnnUpsampleNearestExact3d"},
     {"UpsampleNearestExact2d", "UpsampleNearestExact3d"},
     kFloatsAndBFloat16,
     kNoDTypes,
     kFloatsAndBFloat16},
    {Op::kGridSampler2DBackward,
     "grid_sampler_2d_backward",
     "portaclPlanGridSampler2DBackward",
     {"aclnnGridSampler2DBackward"},
     {"GridSampler2DGrad"},
     kAllDTypes,
     kFloats,
     kAllDTypes},
    {Op::kGridSampler2D,
     "grid_sampler_2d",
     "portaclPlanGridSampler2D",
     {"aclnnGridSampler2D"},
     {"GridSampler2D"},
     kAllDTypes,
     kFloats,
     kAllDTypes},
    {Op::kGridSampler3DBackward,
     "grid_sampler_3d_backward",
     "portaclPlanGridSampler3DBackward",
     {"aclnnGridSampler3DBackward"},
     {"GridSampler3DGrad"},
     kFloatsAndDouble,
     kFloatsAndDouble,
     kAllDTypes},
    {Op::kGridSampler3D,
     "grid_sampler_3d",
     "portaclPlanGridSampler3D",
     {"aclnnGridSampler3D"},
     {"GridSampler3D"},
     kFloatsAndDouble,
     kFloatsAndDouble,
     kAllDTypes},
    {Op::kUpsampleLinearBackward, "upsample_linear_backward", "portaclPlanUpsampleLinearBackward", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kUpsampleLinear, "upsample_linear", "portaclPlanUpsampleLinear", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kUpsampleCubicBackward, "upsample_cubic_backward", "portaclPlanUpsampleCubicBackward", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kUpsampleCubic, "upsample_cubic", "portaclPlanUpsampleCubic", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kUpsampleNearestBackward, "upsample_nearest_backward", "portaclPlanUpsampleNearestBackward", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kUpsampleNearest, "upsample_nearest", "portaclPlanUpsampleNearest", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kAffineGridBackward, "affine_grid_backward", "portaclPlanAffineGridBackward", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
    {Op::kAffineGrid, "affine_grid", "portaclPlanAffineGrid", {}, {}, kNoDTypes, kNoDTypes, kNoDTypes},
};

// An operator without a row does not compile where it is used.
consteval const OperatorRow& RowOf(Op op) { return kOperators[static_cast<size_t>(op)]; }

namespace internal {

// Not constant: a name that is not in the list does not compile where it is used.
inline const char* NotInTheListOfOperators() { return ""; }

template <size_t kNames>
consteval const char* Listed(std::array<const char*, kNames> OperatorRow::*names,
                             std::string_view name) {
  for (const OperatorRow& row : kOperators) {
    for (const char* const listed : row.*names) {
      if (listed != nullptr && listed == name) return listed;
    }
  }
  return NotInTheListOfOperators();
}

template <size_t kNames>
consteval size_t Count(std::array<const char*, kNames> OperatorRow::*names) {
  size_t count = 0;
  for (const OperatorRow& row : kOperators) {
    for (const char* const listed : row.*names) count += listed == nullptr ? 0 : 1;
  }
  return count;
}

consteval bool RowsAreInOrder() {
  for (size_t i = 0; i < std::size(kOperators); ++i) {
    if (kOperators[i].op != static_cast<Op>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

}  // namespace internal

// The name as the list has it; one that the list lacks does not compile.
consteval const char* AclnnName(std::string_view name) {
  return internal::Listed(&OperatorRow::aclnn, name);
}
consteval const char* GraphName(std::string_view name) {
  return internal::Listed(&OperatorRow::graph, name);
}
// The operator of a graph name; null where none has it.
const OperatorRow* FindByGraphName(std::string_view name);
inline constexpr size_t kGraphNames = internal::Count(&OperatorRow::graph);

// ---- profiles ----------------------------------------------------------------------------------

// What a call through `surface` may have now.
const DTypes& DTypesOf(const OperatorRow& op, Surface surface);

// Refused where the current profile does not have the operator.
base::Status CheckAvailable(const Refusals& refusals, const OperatorRow& op, Surface surface);

// Refused where a tensor has another dtype than DTypesOf().
base::Status CheckDType(const Refusals& refusals, const OperatorRow& op, Surface surface,
                        const char* tensor, base::DType dtype);

// ---- kernels -----------------------------------------------------------------------------------

struct KernelState {
  std::string name;
  bool available;  // this CPU can run it
};

// An operator's kernels, best first.
std::vector<KernelState> KernelsOf(const OperatorRow& op);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_OPERATORS_H_
