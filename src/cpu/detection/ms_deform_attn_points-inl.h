// Tiles of sampling points: locations and weights read from tensors of any strides, then located
// among the keys a vector of points at a time. Per target.
#if defined(PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_POINTS_INL_H_
#undef PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_POINTS_INL_H_
#else
#define PORTACL_CPU_DETECTION_MS_DEFORM_ATTN_POINTS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/detection/booking.h"
#include "cpu/machine/fetch.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "ops/ms_deform_attn_params.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

template <class F>
using PointVector = hn::CappedTag<F, kPointLanes>;
template <class F>
using PointIndex = hn::TFromD<hn::RebindToSigned<PointVector<F>>>;

// The level of each point of a row, and of kPointLanes points behind it: a vector of points may
// begin anywhere in a row. A level that does not fit among the keys has NaN for extents.
template <class F>
struct PointLevels {
  PointLevels(const ops::MsDeformAttnParams& s, int64_t row_points, void* memory)
      : count(row_points),
        width(static_cast<F*>(memory)),
        height(width + count + kPointLanes),
        start(height + count + kPointLanes) {
    if (count == 0) return;
    for (int64_t i = 0; i < count + kPointLanes; ++i) {
      const ops::MsDeformAttnLevel& level = s.level[i % count / s.points];
      constexpr F kNone = std::numeric_limits<F>::quiet_NaN();
      width[i] = level.height == 0 ? kNone : static_cast<F>(level.width);
      height[i] = level.height == 0 ? kNone : static_cast<F>(level.height);
      start[i] = static_cast<F>(level.start);
    }
  }

  int64_t count;
  F* width;
  F* height;
  F* start;
};

// The arrays of a tile. What is written by whom: see the functions below.
template <class F>
struct PointTile {
  using Index = PointIndex<F>;

  PointTile(int64_t points, void* memory) : room(points), xy(static_cast<F*>(memory)) {
    attention = xy + 2 * room;
    for (F** const array : {&tx, &ty, &ux, &uy}) *array = Next();
    for (F*& array : weight) array = Next();
    dot = Next();
    taken_ += 3;  // a dot has four values
    for (Index*& array : key) array = reinterpret_cast<Index*>(Next());
    state = reinterpret_cast<Index*>(Next());
  }

  int64_t room;
  F* xy;         // locations, then the gradients of locations
  F* attention;  // the points' weights, then their gradients
  F *tx, *ty, *ux, *uy;
  F* weight[4];   // attention times the tap's weight; -0 outside, so that it adds nothing to a sum
  F* dot;         // of the gradient and each tap, four for a point
  Index* key[4];  // -1 outside
  Index* state;   // 0: contributes nothing, 1: located, 2: NaN

 private:
  F* Next() { return xy + room * taken_++; }
  int64_t taken_ = 3;
};

// The rows of a tile: row r is (batch, query, head) number `first + r * step`, heads fastest.
struct TileRows {
  int64_t first;
  int64_t step;
  int64_t count;
};

// Where the points of a row begin, in a tensor with the strides of locations or of weights.
template <size_t kRank>
int64_t RowOffset(const ops::MsDeformAttnParams& s, const std::array<int64_t, kRank>& stride,
                  int64_t row) {
  const int64_t query = row / s.heads;
  return query / s.queries * stride[0] + query % s.queries * stride[1] + row % s.heads * stride[2];
}

// Whether the elements of a row stand side by side, `last` for each point.
template <size_t kRank>
bool IsRowDense(const ops::MsDeformAttnParams& s, const std::array<int64_t, kRank>& stride) {
  constexpr int64_t kOfPoint = kRank == 6 ? 2 : 1;
  return (kRank < 6 || stride[kRank - 1] == 1) && (s.points == 1 || stride[4] == kOfPoint) &&
         (s.levels == 1 || stride[3] == kOfPoint * s.points);
}

// Calls use(element of the tensor, element of the row) for a row's elements.
template <size_t kRank, class Use>
void ForRowElements(const ops::MsDeformAttnParams& s, const std::array<int64_t, kRank>& stride,
                    const Use& use) {
  int64_t at = 0;
  for (int64_t l = 0; l < s.levels; ++l) {
    for (int64_t p = 0; p < s.points; ++p) {
      const int64_t from = l * stride[3] + p * stride[4];
      use(from, at++);
      if constexpr (kRank == 6) use(from + stride[5], at++);
    }
  }
}

// Copies rows of locations (kRank 6) or of weights (5): of a constant tensor to `row`, widened, of
// another one from there, each rounded once.
template <class T, size_t kRank, class F>
void CopyRows(const ops::MsDeformAttnParams& s, T* tensor, const std::array<int64_t, kRank>& stride,
              TileRows rows, F* row) {
  const int64_t count = s.levels * s.points * (kRank == 6 ? 2 : 1);
  const bool dense = IsRowDense(s, stride);
  for (int64_t r = 0; r < rows.count; ++r, row += count) {
    T* const elements = tensor + RowOffset(s, stride, rows.first + r * rows.step);
    const auto copy = [&](int64_t element, int64_t at) {
      if constexpr (std::is_const_v<T>) {
        row[at] = base::Widen(elements[element]);
      } else {
        elements[element] = base::Narrow<T>(row[at]);
      }
    };
    if (!dense) {
      ForRowElements(s, stride, copy);
    } else if constexpr (std::is_const_v<T>) {
      ReadRun(elements, 1, count, row);
    } else {
      WriteRun(row, count, elements, 1);
    }
  }
}

// Locates one vector of points, from point i of the tile on, at pixel coordinates (x, y) of images
// of height x width pixels. Pixel 0 is key `start`. If width is NaN, the image has no pixels.
template <class F, class V = hn::Vec<PointVector<F>>>
HWY_INLINE void LocateAt(const PointTile<F>& tile, int64_t i, V x, V y, V height, V width,
                         V start) {
  const PointVector<F> d;
  const hn::RebindToSigned<PointVector<F>> di;
  const V one = hn::Set(d, F{1});
  const auto is_number = hn::And(hn::Eq(x, x), hn::Eq(y, y));
  const auto is_nan = hn::AndNot(is_number, hn::Eq(width, width));
  const auto usable = hn::And(hn::And(hn::Ge(x, hn::Neg(one)), hn::Lt(x, width)),
                              hn::And(hn::Ge(y, hn::Neg(one)), hn::Lt(y, height)));
  x = hn::IfThenElseZero(usable, x);
  y = hn::IfThenElseZero(usable, y);
  const V left = hn::Floor(x), top = hn::Floor(y);
  const V right = hn::Add(left, one), bottom = hn::Add(top, one);
  const V tx = hn::Sub(x, left), ty = hn::Sub(y, top);
  const V ux = hn::Sub(right, x), uy = hn::Sub(bottom, y);
  hn::StoreU(tx, d, tile.tx + i);
  hn::StoreU(ty, d, tile.ty + i);
  hn::StoreU(ux, d, tile.ux + i);
  hn::StoreU(uy, d, tile.uy + i);

  const V attention = hn::LoadU(d, tile.attention + i);
  const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
  const V first = hn::Add(start, hn::Add(hn::Mul(top, width), left));
  const auto store = [&](size_t tap, auto inside, V key, V weight) PORTACL_INLINE_LAMBDA {
    const V outside = hn::IfThenElse(is_nan, nan, hn::Set(d, F{-0.0}));
    hn::StoreU(hn::IfThenElse(inside, hn::Mul(attention, weight), outside), d,
               tile.weight[tap] + i);
    hn::StoreU(hn::ConvertTo(di, hn::IfThenElse(inside, key, hn::Neg(one))), di, tile.key[tap] + i);
  };
  const V zero = hn::Zero(d);
  const auto in_left = hn::And(usable, hn::Ge(left, zero));
  const auto in_right = hn::And(usable, hn::Lt(right, width));
  const auto in_top = hn::Ge(top, zero);
  const auto in_bottom = hn::Lt(bottom, height);
  const V below = hn::Add(first, width);
  store(0, hn::And(in_left, in_top), first, hn::Mul(ux, uy));
  store(1, hn::And(in_right, in_top), hn::Add(first, one), hn::Mul(tx, uy));
  store(2, hn::And(in_left, in_bottom), below, hn::Mul(ux, ty));
  store(3, hn::And(in_right, in_bottom), hn::Add(below, one), hn::Mul(tx, ty));
  const V state = hn::IfThenElse(is_nan, hn::Set(d, F{2}), hn::IfThenElseZero(usable, one));
  hn::StoreU(hn::ConvertTo(di, state), di, tile.state + i);
}

// Reads the rows and locates their points: attention, tx to uy, weight, key and state.
template <class F>
void LocateRows(const ops::MsDeformAttnParams& s, const PointLevels<F>& levels, TileRows rows,
                const PointTile<F>& tile) {
  const int64_t points = rows.count * levels.count;
  if (points == 0) return;
  base::DispatchFloating(s.point_dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<base::ComputeType<T>, F>) {
      CopyRows(s, static_cast<const T*>(s.location), s.location_stride, rows, tile.xy);
      CopyRows(s, static_cast<const T*>(s.weight), s.weight_stride, rows, tile.attention);
    }
  });
  const PointVector<F> d;
  const auto half = hn::Set(d, F{0.5});
  for (int64_t i = 0; i < points; i += Length(d)) {
    const int64_t at = i % levels.count;
    hn::Vec<PointVector<F>> x, y;
    hn::LoadInterleaved2(d, tile.xy + 2 * i, x, y);
    const auto width = hn::LoadU(d, levels.width + at);
    const auto height = hn::LoadU(d, levels.height + at);
    LocateAt(tile, i, hn::Sub(hn::Mul(x, width), half), hn::Sub(hn::Mul(y, height), half), height,
             width, hn::LoadU(d, levels.start + at));
  }
}

// Addresses of vectors of channels in (batch, key or query, head, channel), with these
// strides.
template <class T, class Pointer>
T* HeadAt(Pointer* first, const std::array<int64_t, 4>& stride, int64_t b, int64_t i, int64_t h) {
  return static_cast<T*>(first) + b * stride[0] + i * stride[1] + h * stride[2];
}

// The same for row number `row`.
template <class T, class Pointer>
T* RowAt(const ops::MsDeformAttnParams& s, Pointer* first, const std::array<int64_t, 4>& stride,
         int64_t row) {
  const int64_t query = row / s.heads;
  return HeadAt<T>(first, stride, query / s.queries, query % s.queries, row % s.heads);
}

// Keys; the channels of a key lie side by side.
template <class T>
struct Taps {
  T* first;       // channels of key 0
  int64_t pitch;  // from a key to the next
  T* outside;     // of a tap outside
};

// Prefetches, to read or (kWrite 1) to write them, the first lines of the channels of each key that
// the row's points touch.
template <int kWrite, class F, class T>
HWY_INLINE void FetchRow(const PointTile<F>& tile, int64_t first, int64_t points,
                         const Taps<T>& taps, int64_t channels) {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  const int64_t elements = std::min(channels, 4 * kLine);
  for (int64_t i = first; i < first + points; ++i) {
    for (size_t tap = 0; tap < 4; ++tap) {
      const int64_t key = tile.key[tap][i];
      if (key < 0) continue;
      for (int64_t at = 0; at < elements; at += kLine) {
        FetchElement<3, kWrite>(taps.first, key * taps.pitch + at);
      }
    }
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
