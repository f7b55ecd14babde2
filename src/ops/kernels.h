// The kernels of every operator: a list for each kind of parameters, the best first.
#ifndef PORTACL_OPS_KERNELS_H_
#define PORTACL_OPS_KERNELS_H_

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

}  // namespace portacl::ops

#endif  // PORTACL_OPS_KERNELS_H_
