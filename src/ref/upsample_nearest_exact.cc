// Every input element is copied to the outputs that map to it: the exact adjoint of the backward
// function, bits unchanged.
#include "ref/upsample_nearest_exact.h"

#include <cstdint>

#include "base/dispatch.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

using Params = ops::UpsampleNearestExactParams;

template <class T>
void Run(const Params& p) {
  const auto* input = static_cast<const T*>(p.input);
  auto* output = static_cast<T*>(p.output);
  const auto& from = p.input_stride;
  const auto& to = p.output_stride;

  // An index of the loop is one row (n, c, i) of input; a thread gets some microseconds of them.
  const int64_t grain = 1 + 8192 / (p.w.out * (1 + p.h.out / p.h.in));
  runtime::ParallelFor(p.n * p.c * p.h.in, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t i = row % p.h.in;
      const int64_t c = row / p.h.in % p.c;
      const int64_t n = row / p.h.in / p.c;
      const T* in = input + n * from[0] + c * from[1] + i * from[2];
      T* plane = output + n * to[0] + c * to[1];
      for (int64_t oh = p.h.begin[i]; oh < p.h.begin[i + 1]; ++oh) {
        for (int64_t j = 0; j < p.w.in; ++j) {
          for (int64_t ow = p.w.begin[j]; ow < p.w.begin[j + 1]; ++ow) {
            plane[oh * to[2] + ow * to[3]] = in[j * from[3]];
          }
        }
      }
    }
  });
}

}  // namespace

const base::Kernel<Params> kUpsampleNearestExact = {
    "ref",
    [] { return true; },
    [](const Params&, base::KernelPlan*) { return true; },
    [](const Params& p, const base::KernelPlan&, void*) {
      base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
    },
};

}  // namespace portacl::ref
