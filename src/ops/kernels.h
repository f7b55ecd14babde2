// The kernels of every operator: a list for each kind of parameters, the best first. SelectKernel()
// of select_kernel.h chooses one of them for a call.
#ifndef PORTACL_OPS_KERNELS_H_
#define PORTACL_OPS_KERNELS_H_

#include <span>
#include <string>
#include <vector>

#include "ops/operator_list.h"
#include "ops/select_kernel.h"

namespace portacl::ops {

template <class Params>
const KernelList<Params>& KernelsFor();

// Operators with the same parameters share a list.
#define PORTACL_OPERATOR(Name, name, Checks, Params) \
  struct Params;                                     \
  template <>                                        \
  const KernelList<Params>& KernelsFor<Params>();
#include "ops/operator_list.inc"

struct KernelState {
  std::string name;
  bool available;  // this CPU can run it
  std::span<const char* const> paths;
  std::span<const char* const> variants;
};

// An operator's kernels for CPUs, best first.
std::vector<KernelState> KernelsOf(Op op);

}  // namespace portacl::ops

#endif  // PORTACL_OPS_KERNELS_H_
