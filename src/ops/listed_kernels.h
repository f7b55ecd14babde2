// Declares the kernels of every family in the list of operators: ref::kName, and cpu::NameKernels()
// if the family has vectorised kernels.
#ifndef PORTACL_OPS_LISTED_KERNELS_H_
#define PORTACL_OPS_LISTED_KERNELS_H_

#include <span>

#include "base/kernel.h"

// ref::kName is the reference: scalar, for any strides, written for reading.
#define PORTACL_REFERENCE(Name)                         \
  namespace portacl::ops {                              \
  struct Name##Params;                                  \
  }                                                     \
  namespace portacl::ref {                              \
  extern const base::Kernel<ops::Name##Params> k##Name; \
  }
// cpu::NameKernels() has one kernel per compiled instruction set, the best first. Its results have
// the reference's bits.
#define PORTACL_VECTORISED(Name)                                    \
  PORTACL_REFERENCE(Name)                                           \
  namespace portacl::cpu {                                          \
  std::span<const base::Kernel<ops::Name##Params>> Name##Kernels(); \
  }
#include "ops/operator_list.inc"

#endif  // PORTACL_OPS_LISTED_KERNELS_H_
