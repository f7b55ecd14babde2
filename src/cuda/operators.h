// Declares the planning functions of this backend.
#ifndef PORTACL_CUDA_OPERATORS_H_
#define PORTACL_CUDA_OPERATORS_H_

#include "cuda/backend.h"

namespace portacl::cuda::operators {

#define PORTACL_CUDA_DECLARE(Params, function) extern const PlanFunction<ops::Params> function;
PORTACL_CUDA_OPERATORS(PORTACL_CUDA_DECLARE)
#undef PORTACL_CUDA_DECLARE

}  // namespace portacl::cuda::operators

#endif  // PORTACL_CUDA_OPERATORS_H_
