// Gathers the taps of a vector of points from a channel's image or volume: one point in each lane.
// Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_SOURCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_SOURCE_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_SOURCE_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_SOURCE_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// ---- gathers ------------------------------------------------------------------------------------

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

// Reads in each lane the element that begins kScale * offset bytes behind `base`.
template <int kScale, class D, class VI>
HWY_INLINE hn::Vec<D> GatherAt(D d, const hn::TFromD<D>* base, VI offset) {
  const hn::RebindToSigned<D> di;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // A gather merges into its register, so it waits for the register's old value. GCC clears the
  // register only if it cannot see that all lanes are gathered: GatherAll() hides that.
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

// Reads in each lane plane[at] (west) and its right neighbour (east).
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE void GatherPairs(D d, const T* plane, hn::Vec<IndexTag<D>> at, V& west, V& east) {
  if constexpr (std::is_same_v<T, double>) {
    const hn::RebindToSigned<D> di;
    const auto wide = hn::PromoteTo(di, at);
    west = GatherAt<8>(d, plane, wide);
    east = GatherAt<8>(d, plane + 1, wide);
  } else if constexpr (std::is_same_v<T, float>) {
    // A pair has 64 bits: even points are in one vector, odd points in another.
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

// Returns the mask for lanes of values that has the same bits as a mask for lanes of indices.
template <class D>
HWY_INLINE hn::Mask<D> ValueMask(D d, hn::Mask<IndexTag<D>> mask) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const auto lanes = hn::VecFromMask(IndexTag<D>(), mask);
    return hn::MaskFromVec(hn::BitCast(d, hn::PromoteTo(hn::RebindToSigned<D>(), lanes)));
  } else {
    return hn::RebindMask(d, mask);
  }
}

// ---- windows ------------------------------------------------------------------------------------

// The pixels of all lanes, if they lie in two adjacent vectors of up to kMaxWindowRows rows. More
// rows would cost as much as gathers.
//
//   first ->  . . . a . b c . | . . . . . . . .      row 0
//             . . . . . . . d | . e . . . . . .      row 1
struct TapWindow {
  int64_t first = 0;  // offset in a channel
  int32_t rows = 0;   // 0: the points are too far apart
  bool two = false;   // upper taps are in two planes, lower taps one plane further
};
inline constexpr int32_t kMaxWindowRows = 4;

// Windows are only for floats in 512-bit vectors: one instruction looks up 16 lanes in 32 elements.
// With 8 lanes it takes two instructions and a blend, longer than a gather.
inline constexpr bool kHasFloatWindows = HWY_TARGET == HWY_AVX3;

#if HWY_TARGET == HWY_AVX3

using WindowTag = PointTag<float>;
using WindowVec = hn::Vec<WindowTag>;
using WindowIndex = hn::Vec<IndexTag<WindowTag>>;

// Finds the window of pixels (column, row). They and their neighbours up to `reach` columns and
// rows away must be inside. The window spans the pixels of the first and last lane. No window if
// another lane is not in it. `column` and `row` become places in the window.
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

// Finds the window of elements (column, row, plane) of images or volumes, as above. The elements
// at +1 along each axis must be inside.
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

// Fetches the row below a window's last row `line`: the next row of points reads it. No prefetcher
// follows a grid across rows. Not into L1, which many channels would fill.
HWY_INLINE void FetchRowBelow(const float* line, int32_t row_stride) {
  FetchElement<2>(line, row_stride);
}

// Returns in each lane element `at` of the two adjacent vectors from `line` on.
HWY_INLINE WindowVec LookUp(const float* line, WindowIndex at) {
  const WindowTag d;
  const WindowVec low = hn::LoadU(d, line);
  const WindowVec high = hn::LoadU(d, line + hn::Lanes(d));
  return WindowVec{_mm512_permutex2var_ps(low.raw, at.raw, high.raw)};
}

// Returns the lanes with row >= k.
HWY_INLINE hn::Mask<WindowTag> AreFromRow(WindowIndex row, int32_t k) {
  return ValueMask(WindowTag(), hn::Gt(row, hn::Set(IndexTag<WindowTag>(), k - 1)));
}

// Returns the pixel of each lane.
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

// Reads each lane's pixel (nw), its right neighbour (ne) and the two pixels below (sw, se).
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

// Looks up the pairs in a plane of the volume from `channel` on, or in the image.
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

using ops::Interpolation;

// Calls run(constant) with a call's interpolation as a compile-time constant.
template <class Run>
void WithInterpolation(Interpolation interpolation, const Run& run) {
  switch (interpolation) {
    case Interpolation::kBilinear:
      return run(std::integral_constant<Interpolation, Interpolation::kBilinear>());
    case Interpolation::kNearest:
      return run(std::integral_constant<Interpolation, Interpolation::kNearest>());
    default:
      return run(std::integral_constant<Interpolation, Interpolation::kBicubic>());
  }
}

// Calls use(p, count, x, y, z) for each vector of the points [first, last) of an image or volume.
// x, y, z are the grid coordinates of `count` points from p on.
template <int kAxes, class T, class Use>
HWY_INLINE void ForGridVectors(const PointStrides& grid_at, const T* grid, int64_t first,
                               int64_t last, const Use& use) {
  const PointTag<base::ComputeType<T>> d;
  auto x = hn::Zero(d);
  auto y = x;
  auto z = x;
  for (int64_t p = first; p < last; p += Length(d)) {
    const int64_t count = std::min(Length(d), last - p);
    ReadPoints<kAxes>(d, grid_at, grid, p, count, Axes(x, y, z));
    use(p, count, x, y, z);
  }
}

// ---- joined images ------------------------------------------------------------------------------

// Offsets for kLength points from point k of an image on, relative to that image; entries from [k]
// on. image: offset of each point's image. value: offset of its element in a tensor of values.
template <int64_t kLength>
struct JoinedImages {
  int64_t points;  // of one image
  bool dense;      // values have no gaps between images
  int32_t image[kMostJoinedPoints + kLength];
  int64_t value[kMostJoinedPoints + kLength];
  int64_t point_elements;  // elements of the images per point
  int64_t fetched;         // elements of the images per kLength points; 0: none are fetched ahead

  // `image_elements`: distance between two images. `value_stride` and `value_at`: strides of the
  // tensor of values and of its points.
  void Prepare(const ops::GridSampler2DShape& s, int64_t image_elements,
               const std::array<int64_t, 4>& value_stride, const PointStrides& value_at) {
    points = s.oh * s.ow;
    dense = s.c == 1 && value_stride[0] == points && value_at.flat && value_at.pixel_stride == 1;
    const bool most_lines = points * 32 >= s.h * s.w && image_elements <= 2 * s.c * s.h * s.w;
    point_elements = image_elements / points;
    fetched = most_lines ? image_elements * kLength / points : 0;
    int64_t n = 0;
    int64_t point = 0;
    for (int64_t k = 0; k < points + kLength; ++k) {
      image[k] = static_cast<int32_t>(n * image_elements);
      value[k] = n * value_stride[0] + value_at.OffsetOf(point);
      if (++point < points) continue;
      point = 0;
      ++n;
    }
  }

  // Fetches the cache lines of a block of points, two blocks after point k of the image at `from`,
  // if points read most lines of the images. Hardware does not prefetch these lines.
  template <class T>
  HWY_INLINE void FetchAhead(const T* from, int64_t k) const {
    const int64_t first = k * point_elements + 2 * fetched;
    for (int64_t i = 0; i < fetched; i += int64_t{64 / sizeof(T)}) FetchElement<3>(from, first + i);
  }
};

// Loads the image offset of each lane; 0 behind the last of `count` points.
template <class DI>
HWY_INLINE hn::Vec<DI> LoadImages(DI di, const int32_t* image, int64_t count) {
  const auto images = hn::LoadU(di, image);
  if (HWY_LIKELY(count == Length(di))) return images;
  return hn::IfThenElseZero(hn::FirstN(di, static_cast<size_t>(count)), images);
}

// ---- elements -----------------------------------------------------------------------------------

// Returns offsets of the elements (column, row, plane) from the channel's first element.
template <int kAxes, class VI>
HWY_INLINE VI ElementsAt(const VolumeStrides& size, VI column, VI row, VI plane) {
  const hn::DFromV<VI> di;
  VI line = hn::Mul(row, hn::Set(di, size.row));
  if constexpr (kAxes == 3) line = hn::Add(hn::Mul(plane, hn::Set(di, size.plane)), line);
  return hn::Add(line, size.pixel == 1 ? column : hn::Mul(column, hn::Set(di, size.pixel)));
}

// Reads the element at each lane's offset from `base`.
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

// Reads base[at] (west) and the right neighbour (east) in each lane. kPairs: both are read at once,
// where ServesPairs() or ServesVolumePairs() allows it.
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

// Planes of a point's taps, the argument `plane` of gather(). Images have only kAbove.
inline constexpr std::integral_constant<int, 0> kAbove;
inline constexpr std::integral_constant<int, 1> kBelow;

// ---- taps ---------------------------------------------------------------------------------------

// Gathers the taps of a call's points from its images or volumes. kPairs: see GatherRow().
template <class F, class Params, bool kPairs>
struct TapSource {
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  static constexpr int kAxes = kAxesOf<Params>;
  static constexpr bool kInPairs = kPairs;

  VolumeStrides size;
  decltype(PointGeometryOf<F>(Params().shape)) geometry;
  PointStrides grid_at;
  bool windows;  // taps that lie together are looked up in windows

  TapSource(const Params& p, bool has_windows)
      : size(VolumeStridesOf(p.shape, p.input_stride)),
        geometry(PointGeometryOf<F>(p.shape)),
        grid_at(GridPointsOf(p.shape, p.grid_stride)),
        windows(has_windows) {}

  HWY_INLINE VI OffsetsOf(VI column, VI row, VI plane) const {
    if constexpr (kPairs && kAxes == 2) {
      return hn::Add(hn::Mul(row, hn::Set(DI(), size.row)), column);
    } else {
      return ElementsAt<kAxes>(size, column, row, plane);
    }
  }

  // Computes where elements inside are, in every channel. `at`: offset of the element, or of its
  // left neighbour if a 16-bit element is read in a pair. `east`: 1 if `at` is the neighbour.
  template <class T>
  HWY_INLINE void PlaceElements(VI column, VI row, VI plane, VI& at, VI& east) const {
    const bool in_pairs = kPairs && sizeof(T) == 2;
    const VI pair = in_pairs ? hn::Min(column, hn::Set(DI(), size.width - 2)) : column;
    at = OffsetsOf(pair, row, plane);
    east = hn::Sub(column, pair);
  }

  // Reads the element of each lane at the place from PlaceElements().
  template <class T>
  HWY_INLINE V Elements(const T* channel, VI at, VI east_of_pair) const {
    const D d;
    if constexpr (kPairs && sizeof(T) == 2) {
      V west = hn::Zero(d);
      V east = west;
      GatherPairs(d, channel, at, west, east);
      return hn::IfThenElse(hn::RebindMask(d, hn::Gt(east_of_pair, hn::Zero(DI()))), east, west);
    } else {
      return GatherElements(d, channel, at);
    }
  }

  // Returns lanes with an element inside the image or volume.
  HWY_INLINE hn::Mask<DI> AreInside(VI column, VI row, VI plane) const {
    const DI di;
    const auto inside = hn::And(IsBelow(di, column, hn::Set(di, size.width)),
                                IsBelow(di, row, hn::Set(di, size.height)));
    if constexpr (kAxes == 2) return inside;
    return hn::And(inside, IsBelow(di, plane, hn::Set(di, size.depth)));
  }

  bool wraps() const { return geometry.rule.padding == ops::Padding::kCircular; }

  // Returns the value of taps outside: the constant of constant padding, else
  // `otherwise`.
  HWY_INLINE V Nothing(F otherwise) const {
    const PointRule& rule = geometry.rule;
    const bool fills = rule.padding == ops::Padding::kConstant;
    return hn::Set(D(), fills ? static_cast<F>(rule.fill) : otherwise);
  }

  // Calls use(gather) for points strictly inside. gather(channel, plane, nw, ne, sw, se) reads the
  // taps of plane 0 (above the points) or 1 (below). kWindows: windows may be used. `image`: offset
  // of each lane's image in the channel.
  template <bool kWindows, class Use>
  HWY_INLINE void WithTapsInside(const Axes<V>& point, VI image, Trial& window_trial,
                                 const Use& use) const {
    const D d;
    VI column = ToIndex(d, hn::Floor(point.x));
    VI row = ToIndex(d, hn::Floor(point.y));
    VI above = kAxes == 3 ? ToIndex(d, hn::Floor(point.z)) : row;
    const VI at = hn::Add(OffsetsOf(column, row, above), image);
    constexpr bool kInWindows = kWindows && kPairs && kHasFloatWindows && std::is_same_v<F, float>;
    TapWindow window;
    if constexpr (kInWindows) {
      if (windows && window_trial.IsDue()) {
        window = FindWindow<kAxes>(size, column, row, above);
        window_trial.Note(window.rows > 0);
      }
    }
    use([&](const auto* channel, auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      const auto* upper = channel + (decltype(plane)::value == 0 ? 0 : size.plane);
      if constexpr (kInWindows && std::is_same_v<decltype(channel), const float*>) {
        if (HWY_LIKELY(window.rows > 0)) {
          return PairsInWindow<kAxes>(upper, window, size, column, row, above, nw, ne, sw, se);
        }
      }
      GatherRow<kPairs>(d, upper, at, size.pixel, nw, ne);
      GatherRow<kPairs>(d, upper + size.row, at, size.pixel, sw, se);
    });
  }

  // Calls use() with the taps of points anywhere. Reads each row of taps as the
  // nearest pair inside the image: nw and ne at `upper`, sw and se at `lower`.
  // Then KeepTaps() finds the taps in these pairs. Points without taps have the
  // coordinate kNowhere.
  template <class Use>
  HWY_INLINE void WithTaps(const Axes<V>& point, VI image, V nothing, const Use& use) const {
    const D d;
    const DI di;
    const VI zero = hn::Zero(di);
    const VI one = hn::Set(di, 1);
    const auto nearest = [&](VI at, int32_t last)
                             HWY_ATTR { return hn::Min(hn::Max(at, zero), hn::Set(di, last)); };
    // A coordinate far away gets the least or greatest index, which is outside as well.
    const VI column = ToIndex(d, hn::Floor(point.x));
    const VI row = ToIndex(d, hn::Floor(point.y));
    const VI pair = nearest(column, std::max(size.width - 2, 0));
    const VI upper = nearest(row, size.height - 1);
    const VI lower = nearest(hn::Add(row, one), size.height - 1);
    const VI above = kAxes == 3 ? ToIndex(d, hn::Floor(point.z)) : zero;
    const VI below = hn::Add(above, one);
    const VI top = kAxes == 3 ? nearest(above, size.depth - 1) : zero;
    const VI bottom = kAxes == 3 ? nearest(below, size.depth - 1) : zero;
    const VI top_upper = hn::Add(OffsetsOf(pair, upper, top), image);
    const VI top_lower = hn::Add(OffsetsOf(pair, lower, top), image);
    const VI bottom_upper = hn::Add(OffsetsOf(pair, upper, bottom), image);
    const VI bottom_lower = hn::Add(OffsetsOf(pair, lower, bottom), image);
    use([&](const auto* channel, auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      constexpr bool kTop = decltype(plane)::value == 0;
      GatherRow<kPairs>(d, channel, kTop ? top_upper : bottom_upper, size.pixel, nw, ne);
      GatherRow<kPairs>(d, channel, kTop ? top_lower : bottom_lower, size.pixel, sw, se);
      KeepTaps(column, row, nothing, nw, ne, sw, se);
      if constexpr (kAxes == 3) {
        const VI depth = hn::Set(di, size.depth);
        const auto inside = ValueMask(d, IsBelow(di, kTop ? above : below, depth));
        nw = hn::IfThenElse(inside, nw, nothing);
        ne = hn::IfThenElse(inside, ne, nothing);
        sw = hn::IfThenElse(inside, sw, nothing);
        se = hn::IfThenElse(inside, se, nothing);
      }
    });
  }

  // Calls WithTaps() or, for circular padding, WithWrappedTaps().
  template <class T, class Use>
  HWY_INLINE void WithTapsOfRule(const Axes<V>& point, VI image, V nothing, const Use& use) const {
    if (wraps()) {
      WithWrappedTaps<T>(point, image, use);
    } else {
      WithTaps(point, image, nothing, use);
    }
  }

 private:
  // Calls use() with the taps in circular images or volumes: each tap is read by itself.
  template <class T, class Use>
  HWY_INLINE void WithWrappedTaps(const Axes<V>& point, VI image, const Use& use) const {
    const D d;
    const DI di;
    const VI zero = hn::Zero(di);
    const VI one = hn::Set(di, 1);
    // Points without taps read some element inside.
    const auto wrapped = [&](VI at, int32_t extent) HWY_ATTR {
      const VI index = WrappedIndex(di, at, extent);
      return hn::IfThenElseZero(IsBelow(di, index, hn::Set(di, extent)), index);
    };
    const VI column = ToIndex(d, hn::Floor(point.x));
    const VI row = ToIndex(d, hn::Floor(point.y));
    VI west, east, west_of_pair, east_of_pair;
    PlaceElements<T>(wrapped(column, size.width), zero, zero, west, west_of_pair);
    PlaceElements<T>(wrapped(hn::Add(column, one), size.width), zero, zero, east, east_of_pair);
    const VI north = wrapped(row, size.height);
    const VI south = wrapped(hn::Add(row, one), size.height);
    VI top = zero;
    VI bottom = zero;
    if constexpr (kAxes == 3) {
      const VI plane = ToIndex(d, hn::Floor(point.z));
      top = wrapped(plane, size.depth);
      bottom = wrapped(hn::Add(plane, one), size.depth);
    }
    use([&](const T* channel, auto plane, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
      const VI at_plane = decltype(plane)::value == 0 ? top : bottom;
      const VI upper = hn::Add(OffsetsOf(zero, north, at_plane), image);
      const VI lower = hn::Add(OffsetsOf(zero, south, at_plane), image);
      nw = Elements(channel, hn::Add(upper, west), west_of_pair);
      ne = Elements(channel, hn::Add(upper, east), east_of_pair);
      sw = Elements(channel, hn::Add(lower, west), west_of_pair);
      se = Elements(channel, hn::Add(lower, east), east_of_pair);
    });
  }

  // Turns the pairs of one plane into taps; taps outside the image become `nothing`.
  HWY_INLINE void KeepTaps(VI column, VI row, V nothing, V& nw, V& ne, V& sw, V& se) const {
    const D d;
    const DI di;
    const VI one = hn::Set(di, 1);
    const VI width = hn::Set(di, size.width);
    const VI height = hn::Set(di, size.height);
    const auto left = ValueMask(d, hn::Lt(column, hn::Zero(di)));
    const auto right = ValueMask(d, hn::Eq(column, hn::Set(di, size.width - 1)));
    const auto west = ValueMask(d, IsBelow(di, column, width));
    const auto east = ValueMask(d, IsBelow(di, hn::Add(column, one), width));
    const auto north = ValueMask(d, IsBelow(di, row, height));
    const auto south = ValueMask(d, IsBelow(di, hn::Add(row, one), height));
    const auto keep = [&](auto line, V& first, V& second) HWY_ATTR {
      const V pair_first = first;
      first = hn::IfThenElse(hn::And(line, west), hn::IfThenElse(right, second, first), nothing);
      second =
          hn::IfThenElse(hn::And(line, east), hn::IfThenElse(left, pair_first, second), nothing);
    };
    keep(north, nw, ne);
    keep(south, sw, se);
  }
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
