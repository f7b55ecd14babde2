// The table of the loaded backend.
#ifndef PORTACL_CUDA_LOADED_H_
#define PORTACL_CUDA_LOADED_H_

#include "cuda/backend.h"

namespace portacl::cuda {

// Null where no GPU can be used.
const Backend* LoadedBackend();

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_LOADED_H_
