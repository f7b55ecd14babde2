// The only place that names the affine grid's kernels: best first, the reference last.
#include "ops/affine_grid_impls.h"

#include <memory>

#include "base/fork.h"
#include "ref/affine_grid.h"

namespace portacl::ops {
namespace {

using List = KernelList<AffineGridParams>;

}  // namespace

const List& AffineGridImpls() {
  static constinit base::Immortal<const List> list;
  return list.Get([] { return std::make_unique<List>(List{&ref::kAffineGrid}).release(); });
}

const List& AffineGridBackwardImpls() {
  static constinit base::Immortal<const List> list;
  return list.Get([] { return std::make_unique<List>(List{&ref::kAffineGridBackward}).release(); });
}

}  // namespace portacl::ops
