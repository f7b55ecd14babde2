// The parallel loop for kernels that compute one index after the other.
#ifndef PORTACL_REF_FOR_EACH_INDEX_H_
#define PORTACL_REF_FOR_EACH_INDEX_H_

#include <cstdint>

#include "runtime/parallel.h"

namespace portacl::ref {

// Like runtime::ParallelFor(), but calls body(index) for each index.
template <class Body>
void ForEachIndex(int64_t count, int64_t grain, const Body& body) {
  runtime::ParallelFor(count, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) body(i);
  });
}

}  // namespace portacl::ref

#endif  // PORTACL_REF_FOR_EACH_INDEX_H_
