// Bilinear taps of a vector of points, straight from the planes: a point in each lane, both taps of
// an image row read as one pair of neighbours. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_GATHER_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_GATHER_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_GATHER_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_2d_layout.h"
#include "cpu/grid_sampler/grid_sampler_2d_point-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// ---- points -------------------------------------------------------------------------------------

// Calls Kernel(params).Run(n, first, last) for ranges of points that cover all images, on all
// threads.
template <class Kernel, class Params>
void RunOverChunks(const Params& params, const PointChunks& g) {
  const Kernel kernel(params);
  runtime::ParallelFor(params.shape.n * g.chunks, g.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % g.chunks * g.chunk_points;
      kernel.Run(i / g.chunks, first, std::min(first + g.chunk_points, g.points));
    }
  });
}

// x, y and, of volumes, z of `count` points of a grid from `first` on; the other lanes are some
// numbers.
template <class D, class T, class... V>
HWY_INLINE void ReadPoints(D d, const PointStrides& at, const T* grid, int64_t first, int64_t count,
                           V&... axes) {
  constexpr int64_t kAxes = sizeof...(V);
  if (HWY_LIKELY(HasDensePoints(at, kAxes) && count == Length(d))) {
    if constexpr (kAxes == 2) {
      return LoadDeinterleaved2(d, grid + 2 * first, axes...);
    } else {
      return LoadDeinterleaved3(d, grid + 3 * first, axes...);
    }
  }
  HWY_ALIGN hn::TFromD<D> copy[kAxes][hn::MaxLanes(d)] = {};
  for (int64_t k = 0; k < count; ++k) {
    const T* from = grid + at.OffsetOf(first + k);
    for (auto& axis : copy) {
      axis[k] = base::Widen(*from);
      from += at.channel_stride;
    }
  }
  size_t axis = 0;
  ((axes = hn::Load(d, copy[axis++])), ...);
}

// The plane at `from` at `count` points from `first` on; the other lanes are 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> ReadChannel(D d, const PointStrides& at, const T* from, int64_t first,
                                  int64_t count) {
  if (HWY_LIKELY(at.flat && at.pixel_stride == 1 && count == Length(d))) {
    return LoadWide(d, from + first);
  }
  HWY_ALIGN hn::TFromD<D> copy[hn::MaxLanes(D())] = {};
  for (int64_t k = 0; k < count; ++k) copy[k] = base::Widen(from[at.OffsetOf(first + k)]);
  return hn::Load(d, copy);
}

template <class D, class T>
HWY_INLINE void WriteChannel(D d, hn::Vec<D> v, const PointStrides& at, int64_t first,
                             int64_t count, T* to) {
  if (HWY_LIKELY(at.flat && at.pixel_stride == 1 && count == Length(d))) {
    return StoreNarrow(v, d, to + first);
  }
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (int64_t k = 0; k < count; ++k) to[at.OffsetOf(first + k)] = base::Narrow<T>(lanes[k]);
}

// Writes x, y and, of volumes, z of `count` points from `first` on, rounded once.
template <class D, class T, class... V>
HWY_INLINE void WritePoints(D d, const PointStrides& at, T* out, int64_t first, int64_t count,
                            V... axes) {
  using F = hn::TFromD<D>;
  constexpr int64_t kAxes = sizeof...(V);
  const auto interleave = [&](F* to) PORTACL_INLINE_LAMBDA {
    if constexpr (kAxes == 2) {
      hn::StoreInterleaved2(axes..., d, to);
    } else {
      hn::StoreInterleaved3(axes..., d, to);
    }
  };
  const bool dense = HasDensePoints(at, kAxes) && count == Length(d);
  if constexpr (std::is_same_v<T, F>) {
    if (HWY_LIKELY(dense)) return interleave(out + kAxes * first);
  }
  HWY_ALIGN F points[kAxes * hn::MaxLanes(d)];
  interleave(points);
  if (HWY_LIKELY(dense)) {
    for (int64_t part = 0; part < kAxes; ++part) {
      StoreNarrow(hn::Load(d, points + part * count), d, out + kAxes * first + part * count);
    }
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    T* to = out + at.OffsetOf(first + k);
    for (int64_t axis = 0; axis < kAxes; ++axis) {
      to[axis * at.channel_stride] = base::Narrow<T>(points[kAxes * k + axis]);
    }
  }
}

// ---- pairs --------------------------------------------------------------------------------------

// The planes that ServesPairs() allows.
struct PairPlane {
  int32_t height;
  int32_t width;
  int32_t row_stride;
};

inline PairPlane PairPlaneOf(const ops::GridSampler2DShape& s,
                             const std::array<int64_t, 4>& stride) {
  return {static_cast<int32_t>(s.h), static_cast<int32_t>(s.w),
          s.h == 1 ? 0 : static_cast<int32_t>(stride[2])};
}

// Whether Unpadded() coordinates are all strictly inside the image: padding then leaves them alone
// (but for reflection, which rounds), and all four taps of each point are inside.
template <class D, class V = hn::Vec<D>>
HWY_INLINE bool AreInside(D d, V x, V y, const PointGeometry<hn::TFromD<D>>& geometry) {
  const V zero = hn::Zero(d);
  const auto inside_x = hn::And(hn::Gt(x, zero), hn::Lt(x, hn::Set(d, geometry.x.last)));
  const auto inside_y = hn::And(hn::Gt(y, zero), hn::Lt(y, hn::Set(d, geometry.y.last)));
  return hn::AllTrue(d, hn::And(inside_x, inside_y));
}

// Planes and points of a call whose taps are gathered.
template <class F>
struct PairSource {
  using D = PointTag<F>;
  using V = hn::Vec<D>;

  PairPlane plane;
  PointGeometry<F> geometry;
  PointStrides grid_at;

  template <class Params>
  explicit PairSource(const Params& p)
      : plane(PairPlaneOf(p.shape, p.input_stride)),
        geometry(PointGeometryOf<F>(p.shape)),
        grid_at(GridPointsOf(p.shape, p.grid_stride)) {}

  // Coordinates that no padding concerns. False where it may concern one of them.
  HWY_INLINE bool LocateInside(V grid_x, V grid_y, V& x, V& y) const {
    const D d;
    x = Unpadded(d, grid_x, geometry.x, geometry.rule);
    y = Unpadded(d, grid_y, geometry.y, geometry.rule);
    return geometry.rule.padding != ops::Padding::kReflection && AreInside(d, x, y, geometry);
  }

  // Of the pixels at whole coordinates inside the image.
  HWY_INLINE hn::Vec<IndexTag<D>> OffsetsOf(V x, V y) const {
    const D d;
    const IndexTag<D> di;
    return hn::Add(hn::Mul(ToIndex(d, y), hn::Set(di, plane.row_stride)), ToIndex(d, x));
  }
};

// Where the pairs of taps of any points are, as offsets in a plane; points without taps have the
// coordinate kNowhere.
//
//   nw ne    at `upper`     Where a tap is outside the image the pair is the nearest one inside:
//   sw se    at `lower`     see KeepInside(), which needs the taps' column and row.
template <class D, class V = hn::Vec<D>, class VI = hn::Vec<IndexTag<D>>>
HWY_INLINE void PlacePairs(D d, V x0, V y0, const PairPlane& plane, VI& column, VI& row, VI& upper,
                           VI& lower) {
  const IndexTag<D> di;
  const VI zero = hn::Zero(di);
  const VI last_row = hn::Set(di, plane.height - 1);
  // Far away the index is one of the least or greatest: outside as well.
  column = ToIndex(d, x0);
  row = ToIndex(d, y0);
  const VI pair = hn::Min(hn::Max(column, zero), hn::Set(di, plane.width - 2));
  const auto at = [&](VI from) HWY_ATTR {
    const VI nearest = hn::Min(hn::Max(from, zero), last_row);
    return hn::Add(hn::Mul(nearest, hn::Set(di, plane.row_stride)), pair);
  };
  upper = at(row);
  lower = at(hn::Add(row, hn::Set(di, 1)));
}

#if HWY_TARGET == HWY_AVX3
inline constexpr size_t kVectorBytes = 64;

template <int kScale, class DI>
HWY_INLINE __m512i GatherAll(DI, __m512i offset, const void* base) {
  const __m512i zero = _mm512_setzero_si512();
  if constexpr (sizeof(hn::TFromD<DI>) == 8) {
    __mmask8 all = 0xFF;
    asm("" : "+Yk"(all));
    return _mm512_mask_i64gather_epi64(zero, all, offset, base, kScale);
  } else {
    __mmask16 all = 0xFFFF;
    asm("" : "+Yk"(all));
    return _mm512_mask_i32gather_epi32(zero, all, offset, base, kScale);
  }
}
#elif HWY_TARGET == HWY_AVX2
inline constexpr size_t kVectorBytes = 32;

template <int kScale, class DI>
HWY_INLINE __m256i GatherAll(DI, __m256i offset, const void* base) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i all = _mm256_set1_epi32(-1);
  asm("" : "+x"(all));
  if constexpr (sizeof(hn::TFromD<DI>) == 8) {
    return _mm256_mask_i64gather_epi64(zero, static_cast<const long long*>(base), offset, all,
                                       kScale);
  } else {
    return _mm256_mask_i32gather_epi32(zero, static_cast<const int*>(base), offset, all, kScale);
  }
}
#endif

// The element that starts kScale * offset bytes behind `base`, of each lane.
template <int kScale, class D, class VI>
HWY_INLINE hn::Vec<D> GatherAt(D d, const hn::TFromD<D>* base, VI offset) {
  const hn::RebindToSigned<D> di;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // A gather merges into its register, and waits for what was there. GCC clears that only where it
  // does not know that all lanes are wanted.
  if constexpr (sizeof(offset) == kVectorBytes) {
    return hn::BitCast(d, hn::Vec<decltype(di)>{GatherAll<kScale>(di, offset.raw, base)});
  }
#endif
  if constexpr (kScale == sizeof(hn::TFromD<D>)) {
    return hn::GatherIndex(d, base, hn::BitCast(di, offset));  // scaled in 64 bits
  } else {
    constexpr int kShift = kScale / 2;  // of 2 and 4; ServesPairs() bounds these offsets
    return hn::GatherOffset(d, base, hn::ShiftLeft<kShift>(hn::BitCast(di, offset)));
  }
}

// Element plane[at] of each lane and its neighbour to the right.
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE void GatherPairs(D d, const T* plane, hn::Vec<IndexTag<D>> at, V& west, V& east) {
  if constexpr (std::is_same_v<T, double>) {
    const hn::RebindToSigned<D> di;
    const auto wide = hn::PromoteTo(di, at);
    west = GatherAt<8>(d, plane, wide);
    east = GatherAt<8>(d, plane + 1, wide);
  } else if constexpr (std::is_same_v<T, float>) {
    // A pair is 64 bits: of even points in one vector, of odd points in another.
    const hn::Repartition<uint64_t, D> du;
    const auto* pairs = reinterpret_cast<const uint64_t*>(plane);
    const auto both = hn::BitCast(du, at);
    const auto even_at = hn::And(both, hn::Set(du, 0xFFFFFFFFu));
    const auto odd_at = hn::ShiftRight<32>(both);
    const auto even = hn::BitCast(d, GatherAt<4>(du, pairs, even_at));
    const auto odd = hn::BitCast(d, GatherAt<4>(du, pairs, odd_at));
    west = hn::OddEven(hn::DupEven(odd), even);
    east = hn::OddEven(odd, hn::DupOdd(even));
  } else {
    const hn::RebindToUnsigned<D> du;
    const IndexTag<D> di;
    const auto pair = GatherAt<2>(du, reinterpret_cast<const uint32_t*>(plane), at);
    if constexpr (std::is_same_v<T, base::BFloat16>) {
      west = hn::BitCast(d, hn::ShiftLeft<16>(pair));
      east = hn::BitCast(d, hn::And(pair, hn::Set(du, 0xFFFF0000u)));
    } else {
      const hn::Rebind<uint16_t, D> half;
      const auto widen = [&](auto bits) HWY_ATTR {
        const auto narrow = hn::DemoteTo(half, hn::BitCast(di, bits));
        return hn::PromoteTo(d, hn::BitCast(MemoryTag<T, D>(), narrow));
      };
      west = widen(hn::And(pair, hn::Set(du, 0xFFFFu)));
      east = widen(hn::ShiftRight<16>(pair));
    }
  }
}

// Where the pixels at (column, row), inside the image, of a vector of points are in every plane.
// `at`: of 16-bit types the pixel or its left neighbour, as nothing is gathered 16 bits at a time;
// `east`: of these 1 where it is the latter.
template <class T, class VI>
HWY_INLINE void LocatePixels(const PairPlane& size, VI column, VI row, VI& at, VI& east) {
  const hn::DFromV<VI> di;
  const VI line = hn::Mul(row, hn::Set(di, size.row_stride));
  const VI pair = sizeof(T) == 2 ? hn::Min(column, hn::Set(di, size.width - 2)) : column;
  at = hn::Add(line, pair);
  east = hn::Sub(column, pair);
}

// The pixel of each lane, from LocatePixels().
template <class T, class D, class VI>
HWY_INLINE hn::Vec<D> GatherPixels(D d, const T* plane, VI at, VI east_of_pair) {
  if constexpr (std::is_same_v<T, double>) {
    return GatherAt<8>(d, plane, hn::PromoteTo(hn::RebindToSigned<D>(), at));
  } else if constexpr (std::is_same_v<T, float>) {
    return GatherAt<4>(d, plane, at);
  } else {
    const IndexTag<D> di;
    auto west = hn::Zero(d);
    auto east = west;
    GatherPairs(d, plane, at, west, east);
    return hn::IfThenElse(hn::RebindMask(d, hn::Gt(east_of_pair, hn::Zero(di))), east, west);
  }
}

// A mask of index lanes for the lanes of values.
template <class D>
HWY_INLINE hn::Mask<D> ValueMask(D d, hn::Mask<IndexTag<D>> mask) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const auto lanes = hn::VecFromMask(IndexTag<D>(), mask);
    return hn::MaskFromVec(hn::BitCast(d, hn::PromoteTo(hn::RebindToSigned<D>(), lanes)));
  } else {
    return hn::RebindMask(d, mask);
  }
}

// Makes taps of the pairs that GatherPairs() read where PlacePairs() said: those outside the image
// become `nothing`.
template <class D, class V = hn::Vec<D>, class VI = hn::Vec<IndexTag<D>>>
HWY_INLINE void KeepInside(D d, const PairPlane& plane, VI column, VI row, V nothing, V& nw, V& ne,
                           V& sw, V& se) {
  const IndexTag<D> di;
  const VI one = hn::Set(di, 1);
  const VI width = hn::Set(di, plane.width);
  const VI height = hn::Set(di, plane.height);
  const auto left = ValueMask(d, hn::Lt(column, hn::Zero(di)));
  const auto right = ValueMask(d, hn::Eq(column, hn::Set(di, plane.width - 1)));
  const auto west = ValueMask(d, IsBelow(di, column, width));
  const auto east = ValueMask(d, IsBelow(di, hn::Add(column, one), width));
  const auto north = ValueMask(d, IsBelow(di, row, height));
  const auto south = ValueMask(d, IsBelow(di, hn::Add(row, one), height));
  const auto keep = [&](auto line, V& first, V& second) HWY_ATTR {
    const V pair_first = first;
    first = hn::IfThenElse(hn::And(line, west), hn::IfThenElse(right, second, first), nothing);
    second = hn::IfThenElse(hn::And(line, east), hn::IfThenElse(left, pair_first, second), nothing);
  };
  keep(north, nw, ne);
  keep(south, sw, se);
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
