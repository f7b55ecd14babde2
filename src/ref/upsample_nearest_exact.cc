// Nearest-exact and its gradient, exact adjoints of each other. Forward copies every input to the
// box of outputs that belong to it, bits unchanged; a box may be empty. Backward sums the box of
// gradOutput, row-major, in the compute type.
#include <array>
#include <cstdint>

#include "base/dispatch.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
#include "ref/for_each_index.h"

namespace portacl::ref {
namespace {

// Calls body(n, c, k, i) for each row of the small side: plane k, row i.
template <class Body>
void ForInputRows(const ops::NearestParams& p, const Body& body) {
  // A thread gets some microseconds of rows.
  const int64_t outputs = p.w.out * (1 + p.h.out / p.h.in) * (1 + p.d.out / p.d.in);
  const int64_t grain = 1 + 8192 / outputs;
  ForEachIndex(p.n * p.c * p.d.in * p.h.in, grain, [&](int64_t row) {
    const int64_t plane = row / p.h.in;
    const int64_t channel = plane / p.d.in;
    body(channel / p.c, channel % p.c, plane % p.d.in, row % p.h.in);
  });
}

// Calls body(od, oh, ow), row-major, for the large-side elements of the small-side element `at`.
template <class Body>
void ForSources(const ops::NearestParams& p, const std::array<int64_t, 3>& at, const Body& body) {
  const auto [k, i, j] = at;
  for (int64_t od = p.d.begin[k]; od < p.d.begin[k + 1]; ++od) {
    for (int64_t oh = p.h.begin[i]; oh < p.h.begin[i + 1]; ++oh) {
      for (int64_t ow = p.w.begin[j]; ow < p.w.begin[j + 1]; ++ow) body(od, oh, ow);
    }
  }
}

template <class T>
void Run(const ops::UpsampleNearestExactParams& p) {
  const auto& from = p.from_stride;
  const auto& to = p.to_stride;
  ForInputRows(p, [&](int64_t n, int64_t c, int64_t k, int64_t i) {
    const T* in = static_cast<const T*>(p.from) + n * from[0] + c * from[1] +
                  k * p.from_depth_stride + i * from[2];
    T* volume = static_cast<T*>(p.to) + n * to[0] + c * to[1];
    for (int64_t j = 0; j < p.w.in; ++j) {
      ForSources(p, {k, i, j}, [&](int64_t od, int64_t oh, int64_t ow) {
        volume[od * p.to_depth_stride + oh * to[2] + ow * to[3]] = in[j * from[3]];
      });
    }
  });
}

template <class T>
void Run(const ops::UpsampleNearestExactBackwardParams& p) {
  const auto& from = p.from_stride;
  const auto& to = p.to_stride;
  ForInputRows(p, [&](int64_t n, int64_t c, int64_t k, int64_t i) {
    const T* volume = static_cast<const T*>(p.from) + n * from[0] + c * from[1];
    T* out = static_cast<T*>(p.to) + n * to[0] + c * to[1] + k * p.to_depth_stride + i * to[2];
    for (int64_t j = 0; j < p.w.in; ++j) {
      base::ComputeType<T> sum = 0;
      ForSources(p, {k, i, j}, [&](int64_t od, int64_t oh, int64_t ow) {
        sum += base::Widen(volume[od * p.from_depth_stride + oh * from[2] + ow * from[3]]);
      });
      out[j * to[3]] = base::Narrow<T>(sum);
    }
  });
}

template <class Params>
void RunAnyType(const Params& p) {
  base::DispatchFloating(p.dtype, [&](auto tag) { Run<typename decltype(tag)::type>(p); });
}

template <class Params>
constexpr base::Kernel<Params> kKernel = base::ReferenceOf<Params, RunAnyType<Params>>::Make();

}  // namespace

const base::Kernel<ops::UpsampleNearestExactParams> kUpsampleNearestExact =
    kKernel<ops::UpsampleNearestExactParams>;
const base::Kernel<ops::UpsampleNearestExactBackwardParams> kUpsampleNearestExactBackward =
    kKernel<ops::UpsampleNearestExactBackwardParams>;

}  // namespace portacl::ref
