// Every input element is copied to the outputs that map to it: the exact adjoint of the backward
// function, bits unchanged.

#include <cstdint>

#include "base/dispatch.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
#include "ref/upsample_nearest_exact_sources.h"

namespace portacl::ref {
namespace {

using Params = ops::UpsampleNearestExactParams;

template <class T>
void Run(const Params& p) {
  const auto* input = static_cast<const T*>(p.input);
  auto* output = static_cast<T*>(p.output);
  const auto& from = p.input_stride;
  const auto& to = p.output_stride;

  ForInputRows(p, [&](int64_t n, int64_t c, int64_t k, int64_t i) {
    const T* in = input + n * from[0] + c * from[1] + k * p.input_depth_stride + i * from[2];
    T* volume = output + n * to[0] + c * to[1];
    for (int64_t j = 0; j < p.w.in; ++j) {
      ForSources(p, {k, i, j}, [&](int64_t od, int64_t oh, int64_t ow) {
        volume[od * p.output_depth_stride + oh * to[2] + ow * to[3]] = in[j * from[3]];
      });
    }
  });
}

void RunAnyType(const Params& p) {
  base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
}

}  // namespace

const base::Kernel<Params> kUpsampleNearestExact = base::ReferenceOf<Params, RunAnyType>::Make();

}  // namespace portacl::ref
