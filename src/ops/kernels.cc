// Makes the lists of kernels from the list of operators: the GPU's kernel first, then vectorised
// kernels, the reference last.
#include "ops/kernels.h"

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>

#include "base/fork.h"
#include "cuda/kernels.h"
#include "ops/listed_kernels.h"

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

#define PORTACL_KERNEL_LIST(Name, vectorised)                                     \
  template <>                                                                     \
  const KernelList<Name##Params>& KernelsFor<Name##Params>() {                    \
    static constinit base::Immortal<const KernelList<Name##Params>> list;         \
    return list.Get([] { return List<Name##Params>(vectorised, ref::k##Name); }); \
  }
#define PORTACL_REFERENCE(Name) PORTACL_KERNEL_LIST(Name, {})
#if defined(PORTACL_SCALAR_ONLY)
#define PORTACL_VECTORISED(Name) PORTACL_REFERENCE(Name)
#else
#define PORTACL_VECTORISED(Name) PORTACL_KERNEL_LIST(Name, cpu::Name##Kernels())
#endif
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
