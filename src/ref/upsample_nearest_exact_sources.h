// The loops that the two reference kernels of nearest-exact share. They walk rows of the small
// side, and the box of large-side elements that belong to one small-side element.
#ifndef PORTACL_REF_UPSAMPLE_NEAREST_EXACT_SOURCES_H_
#define PORTACL_REF_UPSAMPLE_NEAREST_EXACT_SOURCES_H_

#include <array>
#include <cstdint>

#include "runtime/parallel.h"

namespace portacl::ref {

// Calls body(n, c, k, i) for each row of the small side: plane k, row i.
template <class Params, class Body>
void ForInputRows(const Params& p, const Body& body) {
  // A thread gets some microseconds of rows.
  const int64_t outputs = p.w.out * (1 + p.h.out / p.h.in) * (1 + p.d.out / p.d.in);
  const int64_t grain = 1 + 8192 / outputs;
  runtime::ParallelFor(p.n * p.c * p.d.in * p.h.in, grain, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t plane = row / p.h.in;
      const int64_t channel = plane / p.d.in;
      body(channel / p.c, channel % p.c, plane % p.d.in, row % p.h.in);
    }
  });
}

// Calls body(od, oh, ow), row-major, for the large-side elements of the small-side element `at`.
template <class Params, class Body>
void ForSources(const Params& p, const std::array<int64_t, 3>& at, const Body& body) {
  const auto [k, i, j] = at;
  for (int64_t od = p.d.begin[k]; od < p.d.begin[k + 1]; ++od) {
    for (int64_t oh = p.h.begin[i]; oh < p.h.begin[i + 1]; ++oh) {
      for (int64_t ow = p.w.begin[j]; ow < p.w.begin[j + 1]; ++ow) body(od, oh, ow);
    }
  }
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_UPSAMPLE_NEAREST_EXACT_SOURCES_H_
