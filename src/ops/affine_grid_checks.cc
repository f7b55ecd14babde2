// The checks of the affine grid and of its gradient, but for those on memory.
#include "ops/affine_grid.h"
#include "ops/operators.h"
#include "ops/refusal.h"

namespace portacl::ops {
namespace {

using base::Dims;
using base::Status;

class Checker {
 public:
  explicit Checker(const AffineGridCall& call)
      : call_(call), refusals_(call.op, call.surface),
        theta_(call.backward ? "thetaGrad" : "theta"),
        grid_(call.backward ? "gridGrad" : call.surface == Surface::kNative ? "grid" : "out") {}

  Status Run() const {
    PORTACL_RETURN_IF_ERROR(Nulls());
    PORTACL_RETURN_IF_ERROR(DTypes());
    return Shapes();
  }

 private:
  Status Nulls() const {
    if (call_.theta == nullptr) return refusals_.Refuse(Rule::kNull, "{} is null", theta_);
    if (call_.grid == nullptr) return refusals_.Refuse(Rule::kNull, "{} is null", grid_);
    return {};
  }

  Status DTypes() const {
    const OperatorRow& row =
        call_.backward ? RowOf(Op::kAffineGridBackward) : RowOf(Op::kAffineGrid);
    PORTACL_RETURN_IF_ERROR(
        CheckDType(refusals_, row, call_.surface, theta_, call_.theta->dtype));
    PORTACL_RETURN_IF_ERROR(CheckDType(refusals_, row, call_.surface, grid_, call_.grid->dtype));
    if (call_.theta->dtype == call_.grid->dtype) return {};
    return refusals_.Refuse(Rule::kDType, "{} has dtype {}, but {} has {}: they must be equal",
                            grid_, base::DTypeName(call_.grid->dtype), theta_,
                            base::DTypeName(call_.theta->dtype));
  }

  Rule ThetaRule() const { return call_.backward ? Rule::kOutput : Rule::kInput; }
  Rule GridRule() const { return call_.backward ? Rule::kInput : Rule::kOutput; }

  Status Shapes() const {
    const Dims& theta = call_.theta->shape;
    const bool plane = theta.rank() == 3 && theta[1] == 2 && theta[2] == 3;
    const bool volume = theta.rank() == 3 && theta[1] == 3 && theta[2] == 4;
    if (!plane && !volume) {
      return refusals_.Refuse(ThetaRule(), "{} has shape {}, but must be (N, 2, 3) or (N, 3, 4)",
                              theta_, theta.ToString());
    }
    const Dims& grid = call_.grid->shape;
    const int axes = plane ? 2 : 3;
    const bool fits = grid.rank() == axes + 2 && grid[axes + 1] == axes && grid[0] == theta[0];
    if (!fits) {
      return refusals_.Refuse(GridRule(), "{} has shape {}, but {} {} asks for {} with N = {}",
                              grid_, grid.ToString(), theta_, theta.ToString(),
                              plane ? "(N, H, W, 2)" : "(N, D, H, W, 3)", theta[0]);
    }
    for (int axis = 1; axis <= axes; ++axis) {
      if (grid[axis] >= 1) continue;
      return refusals_.Refuse(GridRule(), "{} has shape {}, but its extents must be at least 1",
                              grid_, grid.ToString());
    }
    return {};
  }

  const AffineGridCall& call_;
  const Refusals refusals_;
  const char* theta_;
  const char* grid_;
};

}  // namespace

Status CheckAffineGrid(const AffineGridCall& call) { return Checker(call).Run(); }

}  // namespace portacl::ops
