// One destination at a time: the sum over its block of sources, rows first, in the compute type.
#include "ref/upsample_nearest_exact_backward.h"

#include <cstdint>

#include "base/dispatch.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

using Params = ops::UpsampleNearestExactBackwardParams;

template <class T>
void Run(const Params& p) {
  const auto* grad_output = static_cast<const T*>(p.grad_output);
  auto* grad_input = static_cast<T*>(p.grad_input);
  const auto& from = p.grad_output_stride;
  const auto& to = p.grad_input_stride;

  // An index of the loop is one row (n, c, i) of gradInput; a thread gets some microseconds of
  // them.
  const int64_t grain = 1 + 8192 / (p.w.out * (1 + p.h.out / p.h.in));
  runtime::ParallelFor(p.n * p.c * p.h.in, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t i = row % p.h.in;
      const int64_t c = row / p.h.in % p.c;
      const int64_t n = row / p.h.in / p.c;
      const T* plane = grad_output + n * from[0] + c * from[1];
      T* out = grad_input + n * to[0] + c * to[1] + i * to[2];
      for (int64_t j = 0; j < p.w.in; ++j) {
        base::ComputeType<T> sum = 0;
        for (int64_t oh = p.h.begin[i]; oh < p.h.begin[i + 1]; ++oh) {
          for (int64_t ow = p.w.begin[j]; ow < p.w.begin[j + 1]; ++ow) {
            sum += base::Widen(plane[oh * from[2] + ow * from[3]]);
          }
        }
        out[j * to[3]] = base::Narrow<T>(sum);
      }
    }
  });
}

}  // namespace

const base::Kernel<Params> kUpsampleNearestExactBackward = {
    "ref",
    [] { return true; },
    [](const Params&, base::KernelPlan*) { return true; },
    [](const Params& p, const base::KernelPlan&, void*) {
      base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
    },
};

}  // namespace portacl::ref
