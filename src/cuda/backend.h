// The interface between libportacl.so and libportacl_cuda.so, which is loaded when a program asks
// for a GPU. Both libraries come from one build, so the table has no version except the product's.
#ifndef PORTACL_CUDA_BACKEND_H_
#define PORTACL_CUDA_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/kernel.h"
#include "ops/affine_grid_params.h"
#include "ops/grid_sampler_params.h"
#include "ops/resample_params.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::cuda {

template <class Params>
using PlanFunction = std::unique_ptr<const base::KernelPlan<Params>> (*)(const Params& params,
                                                                         std::string_view path);

// Each operator's parameters, and the name of the function that plans it.
#define PORTACL_CUDA_OPERATORS(X)                          \
  X(AffineGridParams, affine_grid)                         \
  X(GridSampler2DParams, grid_sampler_2d)                  \
  X(GridSampler2DBackwardParams, grid_sampler_2d_backward) \
  X(GridSampler3DParams, grid_sampler_3d)                  \
  X(GridSampler3DBackwardParams, grid_sampler_3d_backward) \
  X(ResampleParams, resample)                              \
  X(UpsampleNearestExactParams, upsample_nearest_exact)    \
  X(UpsampleNearestExactBackwardParams, upsample_nearest_exact_backward)

struct Backend {
  const char* version;        // PORTACL_VERSION_STRING
  int32_t (*device_count)();  // if it returns 0, unavailable() says why
  const char* (*unavailable)();

  // Between enter() and leave(), this thread plans for `device` and runs on `stream` (a
  // cudaStream_t). Both return null or CUDA's message; leave() returns the message of the first
  // call that failed between them. The texts are valid until the thread's next call.
  const char* (*enter)(int32_t device, void* stream);
  const char* (*leave)();

  // Returns true if kernels of `device` can reach the memory.
  bool (*is_on_device)(const void* address, int32_t device);

  // Between enter() and leave(): allocate memory in the order of the stream (null: no memory is
  // left), free it, and wait for the stream.
  void* (*allocate)(uint64_t bytes);
  void (*free)(void* memory);
  void (*wait)();

  // Plan an operator, also between enter() and leave(). Null if the parameters are not served.
#define PORTACL_CUDA_PLAN(Params, function) PlanFunction<ops::Params> function;
  PORTACL_CUDA_OPERATORS(PORTACL_CUDA_PLAN)
#undef PORTACL_CUDA_PLAN
};

// The only exported function: const Backend* portaclCudaBackend().
inline constexpr char kBackendFunction[] = "portaclCudaBackend";
using BackendFunction = const Backend* (*)();

// In libportacl.so: returns the loaded library's table, or null if no GPU can be used.
const Backend* LoadedBackend();

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_BACKEND_H_
