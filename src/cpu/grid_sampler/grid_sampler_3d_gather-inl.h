// Points of volumes, one in each lane of a vector: their coordinates, and their taps gathered
// straight from a channel's volume. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_3D_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_3D_GATHER_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_3D_GATHER_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_3D_GATHER_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_2d_gather-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_layout.h"
#include "cpu/grid_sampler/grid_sampler_3d_window-inl.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

using ops::Interpolation;

// ---- tensors of points --------------------------------------------------------------------------

// `count` points of a volume from `first` on, one in each lane of a vector. `values` is what there
// is for each point and channel, gradOutput or output.
template <class T, class Value>
struct VolumePointVector {
  const T* input;
  Value* values;
  int64_t first;
  int64_t count;
};

// Calls use(p, count, x, y, z) for the points [first, last) of a volume, vector by vector: the
// coordinates on the grid of `count` points from p on.
template <class T, class Use>
HWY_INLINE void ForGridVectors(const PointStrides& grid_at, const T* grid, int64_t first,
                               int64_t last, const Use& use) {
  const PointTag<base::ComputeType<T>> d;
  auto x = hn::Zero(d);
  auto y = x;
  auto z = x;
  for (int64_t p = first; p < last; p += Length(d)) {
    const int64_t count = std::min(Length(d), last - p);
    ReadPoints(d, grid_at, grid, p, count, x, y, z);
    use(p, count, x, y, z);
  }
}

// The same for step(points, x, y, z).
template <class T, class Value, class Step>
HWY_INLINE void ForPointVectors(const PointStrides& grid_at, const T* grid, const T* input,
                                Value* values, int64_t first, int64_t last, const Step& step) {
  ForGridVectors(grid_at, grid, first, last,
                 [&](int64_t p, int64_t count, auto& x, auto& y, auto& z) PORTACL_INLINE_LAMBDA {
                   step(VolumePointVector<T, Value>{input, values, p, count}, x, y, z);
                 });
}

// ---- coordinates --------------------------------------------------------------------------------

// Padded coordinates and their slopes of a vector of points; those without taps, unusable ones and
// those outside among them, are nowhere.
template <class D, class V = hn::Vec<D>, class M = hn::Mask<D>>
HWY_INLINE void LocatePoints(D d, const VolumeGeometry<hn::TFromD<D>>& geometry, V& x, V& y, V& z,
                             V& slope_x, V& slope_y, V& slope_z, M& unusable, M& outside) {
  using F = hn::TFromD<D>;
  unusable = hn::MaskFromVec(hn::Zero(d));
  outside = unusable;
  x = Locate(d, x, geometry.x, geometry.rule, slope_x, unusable, outside);
  y = Locate(d, y, geometry.y, geometry.rule, slope_y, unusable, outside);
  z = Locate(d, z, geometry.z, geometry.rule, slope_z, unusable, outside);
  const auto none = hn::Or(unusable, outside);
  const V nowhere =
      hn::Set(d, geometry.rule.bicubic ? std::numeric_limits<F>::quiet_NaN() : F{kNowhere});
  x = hn::IfThenElse(none, nowhere, x);
  y = hn::IfThenElse(none, nowhere, y);
  z = hn::IfThenElse(none, nowhere, z);
}

// Coordinates that no padding concerns: strictly inside the volume, with all taps. False where it
// may concern one of them.
template <class D, class V = hn::Vec<D>>
HWY_INLINE bool LocateInside(D d, const VolumeGeometry<hn::TFromD<D>>& geometry, V grid_x, V grid_y,
                             V grid_z, V& x, V& y, V& z) {
  x = Unpadded(d, grid_x, geometry.x, geometry.rule);
  y = Unpadded(d, grid_y, geometry.y, geometry.rule);
  z = Unpadded(d, grid_z, geometry.z, geometry.rule);
  const auto inside = hn::And(hn::Gt(z, hn::Zero(d)), hn::Lt(z, hn::Set(d, geometry.z.last)));
  return geometry.rule.padding != ops::Padding::kReflection && hn::AllTrue(d, inside) &&
         AreInside(d, x, y, geometry);
}

// ---- taps ---------------------------------------------------------------------------------------

// Offsets of elements from a channel's first one.
template <class VI>
HWY_INLINE VI ElementsAt(const VolumeStrides& size, VI column, VI row, VI plane) {
  const hn::DFromV<VI> di;
  const VI line =
      hn::Add(hn::Mul(plane, hn::Set(di, size.plane)), hn::Mul(row, hn::Set(di, size.row)));
  return hn::Add(line, size.pixel == 1 ? column : hn::Mul(column, hn::Set(di, size.pixel)));
}

// The element at each lane's offset from `base`.
template <class D, class T>
HWY_INLINE hn::Vec<D> GatherElements(D d, const T* base, hn::Vec<IndexTag<D>> at) {
  if constexpr (std::is_same_v<T, double>) {
    return GatherAt<8>(d, base, hn::PromoteTo(hn::RebindToSigned<D>(), at));
  } else if constexpr (std::is_same_v<T, float>) {
    return GatherAt<4>(d, base, at);
  } else {  // nothing is gathered 16 bits at a time
    HWY_ALIGN int32_t offset[hn::MaxLanes(d)];
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(at, IndexTag<D>(), offset);
    for (size_t k = 0; k < hn::Lanes(d); ++k) lanes[k] = base[offset[k]];
    return LoadWide(d, lanes);
  }
}

// Elements base[at] of each lane and their neighbours to the right; kPairs: ServesVolumePairs().
template <bool kPairs, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void GatherRow(D d, const T* base, hn::Vec<IndexTag<D>> at, int32_t pixel, V& west,
                          V& east) {
  if constexpr (kPairs) {
    GatherPairs(d, base, at, west, east);
  } else {
    west = GatherElements(d, base, at);
    east = GatherElements(d, base + pixel, at);
  }
}

// Volumes and points of a call whose taps are gathered.
template <class F>
struct VolumeSource {
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;

  VolumeStrides size;
  VolumeGeometry<F> geometry;
  PointStrides grid_at;
  bool windows;  // taps are looked up in whole vectors where they lie together

  template <class Params>
  explicit VolumeSource(const Params& p)
      : size(VolumeStridesOf(p.shape, p.input_stride)),
        geometry(VolumeGeometryOf<F>(p.shape)),
        grid_at(GridPointsOf(p.shape, p.grid_stride)),
        windows(kHasFloatWindows && GathersAreSlow() && p.shape.dtype == base::DType::kFloat) {}

  HWY_INLINE VI OffsetsOf(VI column, VI row, VI plane) const {
    return ElementsAt(size, column, row, plane);
  }

  // Where both planes' upper and lower taps of points anywhere are: at the nearest ones inside.
  HWY_INLINE void PlaceRows(VI column, VI row, VI plane, VI& top_upper, VI& top_lower,
                            VI& bottom_upper, VI& bottom_lower) const {
    const DI di;
    const VI zero = hn::Zero(di);
    const auto inside = [&](VI at, int32_t last)
                            HWY_ATTR { return hn::Min(hn::Max(at, zero), hn::Set(di, last)); };
    const VI one = hn::Set(di, 1);
    const VI pair = inside(column, std::max(size.width - 2, 0));
    const VI upper = inside(row, size.height - 1);
    const VI lower = inside(hn::Add(row, one), size.height - 1);
    const VI top = inside(plane, size.depth - 1);
    const VI bottom = inside(hn::Add(plane, one), size.depth - 1);
    top_upper = OffsetsOf(pair, upper, top);
    top_lower = OffsetsOf(pair, lower, top);
    bottom_upper = OffsetsOf(pair, upper, bottom);
    bottom_lower = OffsetsOf(pair, lower, bottom);
  }

  // Makes taps of one plane's pairs at these places: those outside the volume become `nothing`.
  HWY_INLINE void KeepTaps(VI column, VI row, VI plane, V nothing, V& nw, V& ne, V& sw,
                           V& se) const {
    const D d;
    const DI di;
    KeepInside(d, PairPlane{size.height, size.width, size.row}, column, row, nothing, nw, ne, sw,
               se);
    const auto inside = ValueMask(d, IsBelow(di, plane, hn::Set(di, size.depth)));
    nw = hn::IfThenElse(inside, nw, nothing);
    ne = hn::IfThenElse(inside, ne, nothing);
    sw = hn::IfThenElse(inside, sw, nothing);
    se = hn::IfThenElse(inside, se, nothing);
  }

  // Calls use(gather) for points strictly inside the volume, floored: gather(volume, plane, nw, ne,
  // sw, se) reads the taps in the plane above them (0) or below them (1).
  template <bool kPairs, class Use>
  HWY_INLINE void WithTapsInside(V x0, V y0, V z0, const Use& use) const {
    const D d;
    VI column = ToIndex(d, x0);
    VI row = ToIndex(d, y0);
    VI above = ToIndex(d, z0);
    const VI at = OffsetsOf(column, row, above);
    constexpr bool kWindows = kPairs && kHasFloatWindows && std::is_same_v<F, float>;
    VolumeWindow window;
    if constexpr (kWindows) {
      if (windows) window = FindWindow(size, column, row, above);
    }
    use([&](const auto* volume, auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      const auto* upper = volume + (decltype(plane)::value == 0 ? 0 : size.plane);
      if constexpr (kWindows && std::is_same_v<decltype(volume), const float*>) {
        if (HWY_LIKELY(window.plane.rows > 0)) {
          return PairsInWindow(upper, window, size, column, row, above, nw, ne, sw, se);
        }
      }
      GatherRow<kPairs>(d, upper, at, size.pixel, nw, ne);
      GatherRow<kPairs>(d, upper + size.row, at, size.pixel, sw, se);
    });
  }

  // The same for points anywhere.
  template <bool kPairs, class Use>
  HWY_INLINE void WithTaps(V x0, V y0, V z0, V nothing, const Use& use) const {
    const D d;
    // Far away the index is one of the least or greatest: outside as well.
    const VI column = ToIndex(d, x0);
    const VI row = ToIndex(d, y0);
    const VI above = ToIndex(d, z0);
    const VI below = hn::Add(above, hn::Set(DI(), 1));
    VI top_upper, top_lower, bottom_upper, bottom_lower;
    PlaceRows(column, row, above, top_upper, top_lower, bottom_upper, bottom_lower);
    use([&](const auto* volume, auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      if constexpr (decltype(plane)::value == 0) {
        GatherRow<kPairs>(d, volume, top_upper, size.pixel, nw, ne);
        GatherRow<kPairs>(d, volume, top_lower, size.pixel, sw, se);
        KeepTaps(column, row, above, nothing, nw, ne, sw, se);
      } else {
        GatherRow<kPairs>(d, volume, bottom_upper, size.pixel, nw, ne);
        GatherRow<kPairs>(d, volume, bottom_lower, size.pixel, sw, se);
        KeepTaps(column, row, below, nothing, nw, ne, sw, se);
      }
    });
  }
};

// Planes of a trilinear point's taps, as arguments of its gather.
inline constexpr std::integral_constant<int, 0> kAbove;
inline constexpr std::integral_constant<int, 1> kBelow;

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
