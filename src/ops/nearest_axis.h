// The index tables of nearest, nearest-exact and nearest with aligned corners, one per axis. A
// table gives the source of each destination, rounded as in docs/ops (Position()).
#ifndef PORTACL_OPS_NEAREST_AXIS_H_
#define PORTACL_OPS_NEAREST_AXIS_H_

#include <array>
#include <cstdint>
#include <memory>

#include "base/tensor_desc.h"
#include "ops/upsample_nearest_exact_params.h"

namespace portacl::ops {

// Which element of `in` an output takes. kExact: the element with the nearest middle. kFloor: the
// element that holds the output's beginning (PyTorch's "nearest"). kCorners: the nearest element,
// if the middles of the border elements are aligned (scales do not count).
enum class Nearest { kExact, kFloor, kCorners };

// Returns the element of `in` that output o takes, on one axis.
class NearestIndexRule {
 public:
  // `scale`: outputs per input, as the caller gave it; 0: from the extents. Extents are at least 1.
  // The scale is neither negative nor NaN.
  NearestIndexRule(int64_t in, int64_t out, double scale, Nearest rule = Nearest::kExact);
  int64_t operator()(int64_t o) const;
  // Returns the place of output o, not yet rounded down or limited. `number`: o as a double.
  double Position(int64_t o) const { return Position(o, static_cast<double>(o)); }
  double Position(int64_t o, double number) const {
    const double middle = number + before_;
    if (quick_) [[likely]]
      return static_cast<double>(static_cast<float>(middle * ratio_)) + behind_;
    return Rounded((before_ == 0 ? Rounded(o) : middle) * ratio_) + behind_;
  }
  // Returns true if (*this)(o) >= i, for 0 <= i < in.
  bool Reaches(int64_t o, int64_t i) const { return Position(o) >= static_cast<double>(i); }

 private:
  template <class T>
  double Rounded(T value) const {
    return in_float_ ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
  }
  int64_t last_;
  double ratio_;  // `in` elements per output
  bool in_float_;
  bool quick_;              // floats hold all inputs and outputs
  double before_, behind_;  // what is added before and after the multiplication
};

// Makes a NearestAxis and owns its table. If `place` is given, writes the in + 1 entries there.
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

// Return the extents or strides of N, C, H, W (As4D) or of D (DepthOf). The tensor is (N, C, L),
// (N, C, H, W) or (N, C, D, H, W). Axes that it lacks get `missing`.
std::array<int64_t, 4> As4D(const base::Dims& dims, int64_t missing);
int64_t DepthOf(const base::Dims& dims, int64_t missing);

// The index tables of D, H and W. An axis that the tensors lack has extent 1 on both sides.
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
