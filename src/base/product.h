// Products of extents that may exceed 64 bits.
#ifndef PORTACL_BASE_PRODUCT_H_
#define PORTACL_BASE_PRODUCT_H_

#include <cstdint>
#include <initializer_list>

#include "base/checked.h"

namespace portacl::base {

// The product of numbers from 0 on; the largest int64 where 64 bits do not hold it.
constexpr int64_t SaturatedProduct(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool fits = true;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    fits = fits && CheckedMul(product, factor, &product);
  }
  return fits ? product : INT64_MAX;
}

}  // namespace portacl::base

#endif  // PORTACL_BASE_PRODUCT_H_
