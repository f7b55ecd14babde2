// Taps of a vector of points that lie close together, as on smooth grids. They are looked up in a
// few whole vectors of the rows that they share, not gathered one by one. In volumes, the rows lie
// in one plane or two successive ones. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_WINDOW_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_WINDOW_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_WINDOW_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_gather-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Two vectors of each of up to kMaxWindowRows rows, which hold the pixels of all lanes. More rows
// cost what gathering does.
//
//   first ->  . . . a . b c . | . . . . . . . .      row 0
//             . . . . . . . d | . e . . . . . .      row 1
struct TapWindow {
  int64_t first = 0;  // offset in a channel
  int32_t rows = 0;   // 0: the points are too far apart
  bool two = false;   // of upper taps: in two planes; the lower ones are a plane further
};
inline constexpr int32_t kMaxWindowRows = 4;

// Only floats in 512 bits, where one instruction looks 16 lanes up in 32 elements. With two of 8
// and a blend, to find and read a window takes longer than to gather.
inline constexpr bool kHasFloatWindows = HWY_TARGET == HWY_AVX3;

#if HWY_TARGET == HWY_AVX3

using WindowTag = PointTag<float>;
using WindowVec = hn::Vec<WindowTag>;
using WindowIndex = hn::Vec<IndexTag<WindowTag>>;

// The window of the pixels at (column, row). They are inside the image, and so are their neighbours
// up to `reach` columns and rows away. It spans the first and the last lane; if other lanes lie
// outside of it, there is none. `column` and `row` become places in the window.
HWY_INLINE TapWindow FindWindow(const VolumeStrides& size, int32_t reach, WindowIndex& column,
                                WindowIndex& row) {
  const IndexTag<WindowTag> di;
  constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(di));
  constexpr int32_t kWidth = 2 * kLanes;
  if (size.width < kWidth) return {};
  HWY_ALIGN int32_t columns[kLanes];
  HWY_ALIGN int32_t rows[kLanes];
  hn::Store(column, di, columns);
  hn::Store(row, di, rows);
  const int32_t left = std::min({columns[0], columns[kLanes - 1], size.width - kWidth});
  const int32_t top = std::min(rows[0], rows[kLanes - 1]);
  const int32_t count = std::max(rows[0], rows[kLanes - 1]) - top + 1;
  const WindowIndex across = hn::Sub(column, hn::Set(di, left));
  const WindowIndex down = hn::Sub(row, hn::Set(di, top));
  const auto fits = hn::And(IsBelow(di, across, hn::Set(di, kWidth - reach)),
                            IsBelow(di, down, hn::Set(di, std::min(count, kMaxWindowRows))));
  if (!hn::AllTrue(di, fits)) return {};
  column = across;
  row = down;
  return {int64_t{top} * size.row + left, count};
}

// The same of the elements at (column, row, plane) of images or volumes, which have all their next
// neighbours inside.
template <int kAxes>
HWY_INLINE TapWindow FindWindow(const VolumeStrides& size, WindowIndex& column, WindowIndex& row,
                                WindowIndex& plane) {
  if constexpr (kAxes == 2) return FindWindow(size, 1, column, row);
  const IndexTag<WindowTag> di;
  constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(di));
  HWY_ALIGN int32_t planes[kLanes];
  hn::Store(plane, di, planes);
  const int32_t top = std::min(planes[0], planes[kLanes - 1]);
  const int32_t count = std::max(planes[0], planes[kLanes - 1]) - top + 1;
  const WindowIndex below = hn::Sub(plane, hn::Set(di, top));
  if (!hn::AllTrue(di, IsBelow(di, below, hn::Set(di, std::min(count, 2))))) return {};
  TapWindow window = FindWindow(size, 1, column, row);
  window.first += int64_t{top} * size.plane;
  window.two = count == 2;
  plane = below;
  return window;
}

// The row below a window's last one, `line`: the next row of points looks there, and no prefetcher
// follows a grid that crosses the rows. Not into L1, which many channels fill.
HWY_INLINE void FetchRowBelow(const float* line, int32_t row_stride) {
  FetchElement<2>(line, row_stride);
}

// Of the two vectors that follow each other from `line` on, the element `at` of each lane.
HWY_INLINE WindowVec LookUp(const float* line, WindowIndex at) {
  const WindowTag d;
  const WindowVec low = hn::LoadU(d, line);
  const WindowVec high = hn::LoadU(d, line + hn::Lanes(d));
  return WindowVec{_mm512_permutex2var_ps(low.raw, at.raw, high.raw)};
}

// Lanes with row `k` or one below.
HWY_INLINE hn::Mask<WindowTag> AreFromRow(WindowIndex row, int32_t k) {
  return ValueMask(WindowTag(), hn::Gt(row, hn::Set(IndexTag<WindowTag>(), k - 1)));
}

// The pixel of each lane.
HWY_INLINE WindowVec PixelsInWindow(const float* plane, const TapWindow& window, int32_t row_stride,
                                    WindowIndex column, WindowIndex row) {
  const float* line = plane + window.first;
  WindowVec pixels = LookUp(line, column);
  for (int32_t k = 1; k < window.rows; ++k) {
    line += row_stride;
    pixels = hn::IfThenElse(AreFromRow(row, k), LookUp(line, column), pixels);
  }
  FetchRowBelow(line, row_stride);
  return pixels;
}

// The pixel of each lane, its neighbour to the right, and the two below these.
HWY_INLINE void PairsInWindow(const float* plane, const TapWindow& window, int32_t row_stride,
                              WindowIndex column, WindowIndex row, WindowVec& nw, WindowVec& ne,
                              WindowVec& sw, WindowVec& se) {
  const WindowIndex next = hn::Add(column, hn::Set(IndexTag<WindowTag>(), 1));
  const float* line = plane + window.first;
  nw = LookUp(line, column);
  ne = LookUp(line, next);
  line += row_stride;
  sw = LookUp(line, column);
  se = LookUp(line, next);
  WindowVec upper_west = sw;
  WindowVec upper_east = se;
  for (int32_t k = 1; k < window.rows; ++k) {
    line += row_stride;
    const WindowVec west = LookUp(line, column);
    const WindowVec east = LookUp(line, next);
    const auto below = AreFromRow(row, k);
    nw = hn::IfThenElse(below, upper_west, nw);
    ne = hn::IfThenElse(below, upper_east, ne);
    sw = hn::IfThenElse(below, west, sw);
    se = hn::IfThenElse(below, east, se);
    upper_west = west;
    upper_east = east;
  }
  FetchRowBelow(line, row_stride);
}

// The same in the planes of images or volumes from `channel` on.
template <int kAxes>
HWY_INLINE void PairsInWindow(const float* channel, const TapWindow& window,
                              const VolumeStrides& size, WindowIndex column, WindowIndex row,
                              WindowIndex plane, WindowVec& nw, WindowVec& ne, WindowVec& sw,
                              WindowVec& se) {
  PairsInWindow(channel, window, size.row, column, row, nw, ne, sw, se);
  if (kAxes == 2 || !window.two) return;
  WindowVec low_nw, low_ne, low_sw, low_se;
  PairsInWindow(channel + size.plane, window, size.row, column, row, low_nw, low_ne, low_sw,
                low_se);
  const auto lower = AreFromRow(plane, 1);
  nw = hn::IfThenElse(lower, low_nw, nw);
  ne = hn::IfThenElse(lower, low_ne, ne);
  sw = hn::IfThenElse(lower, low_sw, sw);
  se = hn::IfThenElse(lower, low_se, se);
}

#endif  // AVX-512

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
