// One destination at a time: the sum over its box of sources, row-major, in the compute type.

#include <cstdint>

#include "base/dispatch.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_backward_params.h"
#include "ref/upsample_nearest_exact_sources.h"

namespace portacl::ref {
namespace {

using Params = ops::UpsampleNearestExactBackwardParams;

template <class T>
void Run(const Params& p) {
  const auto* grad_output = static_cast<const T*>(p.grad_output);
  auto* grad_input = static_cast<T*>(p.grad_input);
  const auto& from = p.grad_output_stride;
  const auto& to = p.grad_input_stride;

  ForInputRows(p, [&](int64_t n, int64_t c, int64_t k, int64_t i) {
    const T* volume = grad_output + n * from[0] + c * from[1];
    T* out = grad_input + n * to[0] + c * to[1] + k * p.grad_input_depth_stride + i * to[2];
    for (int64_t j = 0; j < p.w.in; ++j) {
      base::ComputeType<T> sum = 0;
      ForSources(p, {k, i, j}, [&](int64_t od, int64_t oh, int64_t ow) {
        sum += base::Widen(volume[od * p.grad_output_depth_stride + oh * from[2] + ow * from[3]]);
      });
      out[j * to[3]] = base::Narrow<T>(sum);
    }
  });
}

void RunAnyType(const Params& p) {
  base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
}

}  // namespace

const base::Kernel<Params> kUpsampleNearestExactBackward =
    base::ReferenceOf<Params, RunAnyType>::Make();

}  // namespace portacl::ref
