// The only place that names kernels beside the list of operators: a GPU's first, then those of an
// instruction set, the reference last.
#include "ops/kernels.h"

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>

#include "base/fork.h"
#include "cuda/kernels.h"
#if !defined(PORTACL_SCALAR_ONLY)
#include "cpu/affine_grid/affine_grid.h"
#include "cpu/detection/ms_deform_attn.h"
#include "cpu/grid_sampler/grid_sampler.h"
#include "cpu/resize/nearest.h"
#include "cpu/resize/nearest_backward.h"
#include "cpu/resize/resample.h"
#endif
#include "ref/grid_sampler.h"
#include "ref/grid_sampler_backward.h"
#include "ref/resample.h"
#include "ref/upsample_nearest_exact.h"
#include "ref/upsample_nearest_exact_backward.h"

namespace portacl::ref {

#define PORTACL_REFERENCE(Params) extern const base::Kernel<ops::Params> k##Params;
#include "ops/operator_list.inc"

}  // namespace portacl::ref

namespace portacl::ops {
namespace {

template <class Params>
const KernelList<Params>* List(std::span<const base::Kernel<Params>> vectorised,
                               const base::Kernel<Params>& reference) {
  auto made = std::make_unique<KernelList<Params>>();
  if (const auto* const cuda = cuda::KernelFor<Params>()) made->push_back(cuda);
  for (const auto& kernel : vectorised) made->push_back(&kernel);
  made->push_back(&reference);
  return made.release();
}

template <class Params>
std::vector<KernelState> StatesOf() {
  std::vector<KernelState> states;
  for (const auto* kernel : KernelsFor<Params>()) {
    if (IsOnGpu(*kernel)) continue;
    states.push_back({kernel->name, kernel->available(), kernel->paths, kernel->variants});
  }
  return states;
}

}  // namespace

#if defined(PORTACL_SCALAR_ONLY)
#define PORTACL_VECTORISED(Name) std::span<const base::Kernel<Name##Params>>()
#else
#define PORTACL_VECTORISED(Name) cpu::Name##Kernels()
#endif

// The kernels of NameParams are cpu::NameKernels() and ref::kName.
#define PORTACL_KERNEL_LIST(Name)                                                 \
  template <>                                                                     \
  const KernelList<Name##Params>& KernelsFor<Name##Params>() {                    \
    static constinit base::Immortal<const KernelList<Name##Params>> list;         \
    return list.Get([] { return List(PORTACL_VECTORISED(Name), ref::k##Name); }); \
  }

PORTACL_KERNEL_LIST(GridSampler2D)
PORTACL_KERNEL_LIST(GridSampler2DBackward)
PORTACL_KERNEL_LIST(GridSampler3D)
PORTACL_KERNEL_LIST(GridSampler3DBackward)
PORTACL_KERNEL_LIST(Resample)
PORTACL_KERNEL_LIST(UpsampleNearestExact)
PORTACL_KERNEL_LIST(UpsampleNearestExactBackward)

// Those of the list's PORTACL_REFERENCE: before ref::kParams come Vectorised<Params>().
template <class Params>
std::span<const base::Kernel<Params>> Vectorised() {
  return {};
}
template <>
std::span<const base::Kernel<AffineGridParams>> Vectorised<AffineGridParams>() {
  return PORTACL_VECTORISED(AffineGrid);
}
template <>
std::span<const base::Kernel<MsDeformAttnParams>> Vectorised<MsDeformAttnParams>() {
  return PORTACL_VECTORISED(MsDeformAttn);
}
template <>
std::span<const base::Kernel<MsDeformAttnBackwardParams>> Vectorised<MsDeformAttnBackwardParams>() {
  return PORTACL_VECTORISED(MsDeformAttnBackward);
}
#define PORTACL_REFERENCE(Params)                                               \
  template <>                                                                   \
  const KernelList<Params>& KernelsFor<Params>() {                              \
    static constinit base::Immortal<const KernelList<Params>> list;             \
    return list.Get([] { return List(Vectorised<Params>(), ref::k##Params); }); \
  }
#include "ops/operator_list.inc"

std::vector<KernelState> KernelsOf(Op op) {
  using States = std::vector<KernelState> (*)();
  static constexpr States kStates[] = {
#define PORTACL_OPERATOR(Name, name, Checks, Params) StatesOf<Params>,
#include "ops/operator_list.inc"
  };
  return kStates[static_cast<size_t>(op)]();
}

LeftOutNames CheckLeftOut(const std::string& kernel, const std::string& path) {
  std::set<std::string> known;
  for (const OperatorRow& op : kOperators) {
    for (const KernelState& state : KernelsOf(op.op)) {
      if (state.name != kernel) continue;
      known.insert(state.paths.begin(), state.paths.end());
      known.insert(state.variants.begin(), state.variants.end());
    }
  }
  LeftOutNames names;
  std::istringstream words(path.substr(1));  // behind the first '-'
  for (std::string word; std::getline(words, word, '-');) {
    if (!known.contains(word)) names.unknown.push_back(word);
  }
  if (path.ends_with('-')) names.unknown.emplace_back();
  names.known.assign(known.begin(), known.end());
  return names;
}

std::vector<std::string> AvailableImpls() {
  std::vector<std::string> names;
  for (const OperatorRow& op : kOperators) {
    for (const KernelState& kernel : KernelsOf(op.op)) {
      const bool listed = std::find(names.begin(), names.end(), kernel.name) != names.end();
      if (kernel.available && !listed) names.push_back(kernel.name);
    }
  }
  return names;
}

}  // namespace portacl::ops
