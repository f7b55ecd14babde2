// The index tables of nearest, nearest-exact and nearest with aligned corners, one per axis. A
// table says which source each destination takes, rounded as in docs/ops (Position()).
#ifndef PORTACL_OPS_NEAREST_AXIS_H_
#define PORTACL_OPS_NEAREST_AXIS_H_

#include <array>
#include <cstdint>
#include <memory>

#include "base/tensor_desc.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {

// Which element of `in` an output takes. Exact: the element with the nearest middle. Floor: the
// element that holds the output's beginning (PyTorch's "nearest"). Corners: the nearest element if
// the middles of the border elements are aligned (scales do not count).
enum class Nearest { kExact, kFloor, kCorners };

// src(o) on one axis: which of the `in` elements the output o belongs to.
class NearestIndexRule {
 public:
  // `scale`: gradOutput extent / gradInput extent as the caller gave it, 0 to use the extents.
  // Extents at least 1, scale not negative and not NaN.
  NearestIndexRule(int64_t in, int64_t out, double scale, Nearest rule = Nearest::kExact);
  int64_t operator()(int64_t o) const;
  // Whether (*this)(o) >= i, for 0 <= i < in.
  bool Reaches(int64_t o, int64_t i) const { return Position(o) >= static_cast<double>(i); }

 private:
  template <class T>
  double Rounded(T value) const {
    return in_float_ ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
  }
  double Position(int64_t o) const {
    const double from = rule_ == Nearest::kExact ? static_cast<double>(o) + 0.5 : Rounded(o);
    const double at = Rounded(from * ratio_);
    return rule_ == Nearest::kCorners ? at + 0.5 : at;
  }

  int64_t last_;
  Nearest rule_;
  double ratio_;  // `in` elements per output
  bool in_float_;
};

// Owns the table that a NearestAxis points to, unless it gets a place for its in + 1 entries.
class NearestTable {
 public:
  NearestTable(int64_t in, int64_t out, double scale, Nearest rule = Nearest::kExact,
               int64_t* place = nullptr);
  NearestTable(const NearestTable&) = delete;
  NearestTable& operator=(const NearestTable&) = delete;
  const NearestAxis& axis() const { return axis_; }

 private:
  std::unique_ptr<int64_t[]> begin_;
  NearestAxis axis_;
};

// The extents or strides of N, C, H, W (As4D) and of D (DepthOf). The tensor is (N, C, L), (N, C,
// H, W) or (N, C, D, H, W). An axis that it lacks gets `missing`.
std::array<int64_t, 4> As4D(const base::Dims& dims, int64_t missing);
int64_t DepthOf(const base::Dims& dims, int64_t missing);

// The index tables of all axes; an axis that the tensors lack has one element on both sides.
class NearestTables {
 public:
  NearestTables(const base::Dims& small, const base::Dims& large,
                const std::array<double, 3>& scales, Nearest rule = Nearest::kExact);
  const NearestAxis& d() const { return d_.axis(); }
  const NearestAxis& h() const { return h_.axis(); }
  const NearestAxis& w() const { return w_.axis(); }

 private:
  std::unique_ptr<int64_t[]> begins_;
  NearestTable d_;
  NearestTable h_;
  NearestTable w_;
};

}  // namespace portacl::ops

#endif  // PORTACL_OPS_NEAREST_AXIS_H_
