// The index table of nearest-exact, one per axis, from the float rule of docs/ops.
#ifndef PORTACL_OPS_NEAREST_AXIS_H_
#define PORTACL_OPS_NEAREST_AXIS_H_

#include <cstdint>
#include <vector>

#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {

// src(o) on one axis: which of the `in` elements the output o belongs to.
class NearestIndexRule {
 public:
  // `scale`: gradOutput extent / gradInput extent as the caller gave it, 0 to use the extents.
  // Extents at least 1, scale not negative and not NaN.
  NearestIndexRule(int64_t in, int64_t out, double scale);
  int64_t operator()(int64_t o) const;
  // Whether (*this)(o) >= i, for 0 <= i < in.
  bool Reaches(int64_t o, int64_t i) const { return Position(o) >= static_cast<double>(i); }

 private:
  double Position(int64_t o) const {
    const double at = (static_cast<double>(o) + 0.5) * ratio_;
    return in_float_ ? static_cast<double>(static_cast<float>(at)) : at;
  }

  int64_t last_;
  double ratio_;  // `in` elements per output
  bool in_float_;
};

// Owns the table that a NearestAxis points to.
class NearestTable {
 public:
  NearestTable(int64_t in, int64_t out, double scale);
  NearestTable(const NearestTable&) = delete;
  NearestTable& operator=(const NearestTable&) = delete;
  const NearestAxis& axis() const { return axis_; }

 private:
  std::vector<int64_t> begin_;
  NearestAxis axis_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_NEAREST_AXIS_H_
