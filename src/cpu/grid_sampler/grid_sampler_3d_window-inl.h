// Taps of a vector of points of a volume that lie close together: as grid_sampler_2d_window-inl.h
// has them, in one plane or two that follow each other. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_WINDOW_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_WINDOW_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_WINDOW_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/grid_sampler/grid_sampler_2d_window-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_layout.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Of the upper taps; the lower ones are a plane further.
struct VolumeWindow {
  TapWindow plane;   // in the first of the planes; no rows: the points are too far apart
  bool two = false;  // planes
};

#if HWY_TARGET == HWY_AVX3

// The window of the voxels at (column, row, plane), which are inside the volume, as are their next
// ones on each axis. `column`, `row` and `plane` become places in the window.
HWY_INLINE VolumeWindow FindWindow(const VolumeStrides& size, WindowIndex& column, WindowIndex& row,
                                   WindowIndex& plane) {
  const IndexTag<WindowTag> di;
  constexpr auto kLanes = static_cast<int32_t>(hn::MaxLanes(di));
  HWY_ALIGN int32_t planes[kLanes];
  hn::Store(plane, di, planes);
  const int32_t top = std::min(planes[0], planes[kLanes - 1]);
  const int32_t count = std::max(planes[0], planes[kLanes - 1]) - top + 1;
  const WindowIndex below = hn::Sub(plane, hn::Set(di, top));
  if (!hn::AllTrue(di, IsBelow(di, below, hn::Set(di, std::min(count, 2))))) return {};
  VolumeWindow window;
  window.plane = FindWindow(PairPlane{size.height, size.width, size.row}, 1, column, row);
  window.plane.first += int64_t{top} * size.plane;
  window.two = count == 2;
  plane = below;
  return window;
}

// The voxel of each lane in the planes from `volume` on, and its neighbours there: PairsInWindow().
HWY_INLINE void PairsInWindow(const float* volume, const VolumeWindow& window,
                              const VolumeStrides& size, WindowIndex column, WindowIndex row,
                              WindowIndex plane, WindowVec& nw, WindowVec& ne, WindowVec& sw,
                              WindowVec& se) {
  PairsInWindow(volume, window.plane, size.row, column, row, nw, ne, sw, se);
  if (!window.two) return;
  WindowVec low_nw, low_ne, low_sw, low_se;
  PairsInWindow(volume + size.plane, window.plane, size.row, column, row, low_nw, low_ne, low_sw,
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
