// The kernel "cuda" for each kind of parameters.
#ifndef PORTACL_CUDA_KERNELS_H_
#define PORTACL_CUDA_KERNELS_H_

#include "base/kernel.h"
#include "cuda/backend.h"

namespace portacl::cuda {

// Returns null if the GPU has no kernel for these parameters.
template <class Params>
const base::Kernel<Params>* KernelFor() {
  return nullptr;
}

#define PORTACL_CUDA_DECLARE(Params, function) \
  template <>                                  \
  const base::Kernel<ops::Params>* KernelFor();
PORTACL_CUDA_OPERATORS(PORTACL_CUDA_DECLARE)
#undef PORTACL_CUDA_DECLARE

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_KERNELS_H_
