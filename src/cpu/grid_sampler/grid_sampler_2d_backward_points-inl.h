// Locates the points of an image and lists them by the row strips that they touch: groups of points
// where neighbours stay together, single points in a stable counting sort where not. Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_POINTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_POINTS_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_POINTS_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_2D_BACKWARD_POINTS_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "cpu/grid_sampler/grid_sampler_2d_backward_slab-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_taps-inl.h"
#include "cpu/grid_sampler/grid_sampler_gather-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// How an image's points wander through its strips.
enum class PointOrder {
  kSmooth,  // neighbours stay together: lists of groups
  kMixed,   // lists of points, or one strip, which needs none
  kRandom,  // ... that jump: reading gradOutput in their order would touch memory at random
};

// One image.
template <class T>
class PointLister {
 public:
  using F = base::ComputeType<T>;

  // The i-th of these images.
  PointLister(const SlabCall<T>& call, const ImageRange& images, int64_t i)
      : call_(call),
        s_(call.s),
        g_(call.g),
        geometry_(call.geometry),
        grid_(call.GridOf(images.first + i)),
        scratch_(call.ScratchOf(images, i)) {}

  // Fills the lists of the strips of these images: lists of groups if few groups touch more than
  // one strip, else lists of points.
  static PointOrder List(const SlabCall<T>& call, const ImageRange& images) {
    if (call.g.strips == 1) {
      ForChunks(call, images, [](const PointLister& image, int64_t, int64_t first, int64_t last) {
        image.LocateChunk(first, last);
      });
      return PointOrder::kMixed;
    }
    if (ListGroups(call, images)) return PointOrder::kSmooth;
    ForChunks(call, images,
              [](const PointLister& image, int64_t chunk, int64_t first, int64_t last) {
                image.CountChunk(first, last, image.CursorOf(chunk));
              });
    StartCursors(call, images);
    std::atomic<int64_t> split_groups{0};
    ForChunks(call, images,
              [&](const PointLister& image, int64_t chunk, int64_t first, int64_t last) {
                split_groups.fetch_add(image.PlaceChunk(first, last, image.CursorOf(chunk)),
                                       std::memory_order_relaxed);
              });
    const int64_t split_points = split_groups.load(std::memory_order_relaxed) * int64_t{kGroup};
    return 2 * split_points > call.g.points * images.count ? PointOrder::kRandom
                                                           : PointOrder::kMixed;
  }

 private:
  // body(image, chunk, first point, last point) for every chunk of the images' points.
  template <class Body>
  static void ForChunks(const SlabCall<T>& call, const ImageRange& images, const Body& body) {
    call.ForChunks(images, [&](int64_t i, int64_t chunk, int64_t first, int64_t last) {
      body(PointLister(call, images, i), chunk, first, last);
    });
  }

  int32_t* CursorOf(int64_t chunk) const { return scratch_.cursor + chunk * g_.strips; }

  void LocateChunk(int64_t first, int64_t last) const {
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      HWY_ALIGN F x[kGroup];
      HWY_ALIGN F y[kGroup];
      LocateGroup(p, last, x, y);
      StorePoints(x, y, p);
    }
  }

  // The points from `first` on, a group of them. Behind the last one it is repeated.
  void LocateGroup(int64_t first, int64_t last, F* x, F* y) const {
    const PointTag<F> d;
    for (int64_t i = 0; i < int64_t{kGroup}; i += Length(d)) {
      auto at_x = hn::Zero(d);
      auto at_y = at_x;
      ReadPoints(d, call_.grid_at, grid_, first + i, std::min(Length(d), last - first - i), at_x,
                 at_y);
      LocatePoints(d, geometry_, Axes(at_x, at_y));
      hn::Store(at_x, d, x + i);
      hn::Store(at_y, d, y + i);
    }
    for (int64_t k = last - first; k < int64_t{kGroup}; ++k) {
      x[k] = x[k - 1];
      y[k] = y[k - 1];
    }
  }

  // A whole group.
  void StorePoints(const F* x, const F* y, int64_t first) const {
    const PointTag<F> d;
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      const int64_t at = first + static_cast<int64_t>(i);
      hn::Store(hn::Load(d, x + i), d, scratch_.x + at);
      hn::Store(hn::Load(d, y + i), d, scratch_.y + at);
    }
  }

  // The strips of the first and the last row that points of a group touch.
  void StripsOf(const F* y, int32_t* first_strip, int32_t* last_strip) const {
    const PointTag<F> d;
    const IndexTag<PointTag<F>> di;
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      auto low = hn::Zero(d);
      auto high = low;
      RowsOf(d, hn::LoadU(d, y + i), low, high);
      hn::StoreU(hn::ShiftRightSame(ToIndex(d, low), g_.shift), di, first_strip + i);
      hn::StoreU(hn::ShiftRightSame(ToIndex(d, high), g_.shift), di, last_strip + i);
    }
  }

  // The first and last row that the points at y touch, the nearest row if they touch none.
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void RowsOf(D d, V y, V& low, V& high) const {
    const V zero = hn::Zero(d);
    const V bottom = hn::Set(d, geometry_.y.last);
    if (s_.interpolation == ops::Interpolation::kNearest) {
      low = high = hn::Clamp(hn::Round(y), zero, bottom);
    } else if (s_.interpolation == ops::Interpolation::kBilinear) {
      const V row = hn::Floor(y);
      low = hn::Clamp(row, zero, bottom);
      high = hn::Clamp(hn::Add(row, hn::Set(d, F{1})), zero, bottom);
    } else {
      CubicRows(d, y, low, high);
    }
  }

  // The same of bicubic points; of NaN, around row 0.
  template <class D, class V = hn::Vec<D>>
  void CubicRows(D d, V y, V& low, V& high) const {
    const V zero = hn::Zero(d);
    const V bottom = hn::Set(d, geometry_.y.last);
    const V row = hn::Floor(hn::IfThenElseZero(hn::Eq(y, y), y));
    const V first = hn::Sub(row, hn::Set(d, F{1}));
    const V last = hn::Add(row, hn::Set(d, F{2}));
    // Taps that are reflected go elsewhere, and if a float has no half pixels all of them are.
    constexpr F kHalves = sizeof(F) == 4 ? F{1 << 23} : F{int64_t{1} << 52};
    const auto inside = hn::And(hn::Ge(first, zero), hn::Le(last, bottom));
    if (s_.padding != ops::Padding::kReflection ||
        (geometry_.y.size <= kHalves && hn::AllTrue(d, inside))) {
      low = hn::Clamp(first, zero, bottom);
      high = hn::Clamp(last, zero, bottom);
      return;
    }
    low = bottom;
    high = zero;
    for (int tap = -1; tap < 3; ++tap) {
      const V place = hn::Add(row, hn::Set(d, static_cast<F>(tap)));
      const V at = CubicTap(d, place, geometry_.y, geometry_.rule);
      low = hn::Min(low, at);
      high = hn::Max(high, at);
    }
  }

  // ---- lists of groups --------------------------------------------------------------------------

  // Locates all points and lists their groups. False, and no lists, as soon as a chunk's groups
  // touch more than one and a half strips on average (and 32 more in all).
  static bool ListGroups(const SlabCall<T>& call, const ImageRange& images) {
    std::atomic<bool> smooth{true};
    ForChunks(call, images,
              [&](const PointLister& image, int64_t chunk, int64_t first, int64_t last) {
                if (!smooth.load(std::memory_order_relaxed)) return;
                if (!image.CountGroups(first, last, image.CursorOf(chunk))) {
                  smooth.store(false, std::memory_order_relaxed);
                }
              });
    if (!smooth.load(std::memory_order_relaxed)) return false;
    StartCursors(call, images);
    ForChunks(call, images,
              [](const PointLister& image, int64_t chunk, int64_t first, int64_t last) {
                image.PlaceGroups(first, last, image.CursorOf(chunk));
              });
    return true;
  }

  bool CountGroups(int64_t first, int64_t last, int32_t* counts) const {
    std::fill_n(counts, g_.strips, 0);
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    int64_t left = 64;  // entries beyond one and a half for each group, doubled
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocateGroup(p, last, x, y);
      StorePoints(x, y, p);
      int32_t* range = scratch_.strip_ranges + p / int64_t{kGroup} * 2;
      StripRange(y, range);
      left += 3 - 2 * (range[1] - range[0] + 1);
      if (left < 0) break;
      for (int32_t strip = range[0]; strip <= range[1]; ++strip) ++counts[strip];
    }
    return left >= 0;
  }

  void PlaceGroups(int64_t first, int64_t last, int32_t* cursor) const {
    int32_t* lists = scratch_.group_lists;
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      const int64_t group = p / int64_t{kGroup};
      const int32_t* range = scratch_.strip_ranges + group * 2;
      for (int32_t strip = range[0]; strip <= range[1]; ++strip) {
        lists[cursor[strip]++] = static_cast<int32_t>(group);
      }
    }
  }

  // The first and the last strip that a group touches.
  void StripRange(const F* y, int32_t* range) const {
    const PointTag<F> d;
    auto low = hn::Set(d, geometry_.y.last);
    auto high = hn::Zero(d);
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      auto first = low;
      auto last = high;
      RowsOf(d, hn::LoadU(d, y + i), first, last);
      low = hn::Min(low, first);
      high = hn::Max(high, last);
    }
    range[0] = static_cast<int32_t>(hn::GetLane(hn::MinOfLanes(d, low))) >> g_.shift;
    range[1] = static_cast<int32_t>(hn::GetLane(hn::MaxOfLanes(d, high))) >> g_.shift;
  }

  // ---- lists of points --------------------------------------------------------------------------

  void CountChunk(int64_t first, int64_t last, int32_t* counts) const {
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    HWY_ALIGN int32_t low[kGroup];
    HWY_ALIGN int32_t high[kGroup];
    std::fill_n(counts, g_.strips, 0);
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocateGroup(p, last, x, y);
      StripsOf(y, low, high);
      const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
      if (count == int64_t{kGroup} && AllEqual(low) && AllEqual(high)) {
        counts[low[0]] += int32_t{kGroup};
        if (high[0] != low[0]) counts[high[0]] += int32_t{kGroup};
        continue;
      }
      for (int64_t k = 0; k < count; ++k) {
        ++counts[low[k]];
        if (high[k] != low[k]) ++counts[high[k]];
      }
    }
  }

  // Counts -> starting positions, strip by strip and inside a strip chunk by chunk. The row behind
  // the last chunk's gets the strips' ends.
  static void StartCursors(const SlabCall<T>& call, const ImageRange& images) {
    call.Loop(images.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) PointLister(call, images, i).StartCursors();
    });
  }

  void StartCursors() const {
    int32_t* const cursor = scratch_.cursor;
    int32_t position = 0;
    for (int64_t strip = 0; strip < g_.strips; ++strip) {
      for (int64_t chunk = 0; chunk < g_.chunks; ++chunk) {
        int32_t& count = cursor[chunk * g_.strips + strip];
        const int32_t start = position;
        position += count;
        count = start;
      }
      cursor[g_.chunks * g_.strips + strip] = position;
    }
  }

  // Appends a chunk's points to the lists; returns how many groups had to be split.
  int64_t PlaceChunk(int64_t first, int64_t last, int32_t* cursor) const {
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    HWY_ALIGN int32_t low[kGroup];
    HWY_ALIGN int32_t high[kGroup];
    int64_t split = 0;
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocateGroup(p, last, x, y);
      StripsOf(y, low, high);
      const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
      if (count == int64_t{kGroup} && AllEqual(low) && AllEqual(high)) {
        if (high[0] != low[0]) PlaceGroup(p, x, y, &cursor[high[0]]);
        PlaceGroup(p, x, y, &cursor[low[0]]);
        continue;
      }
      ++split;
      for (int64_t k = 0; k < count; ++k) {
        if (high[k] != low[k]) PlacePoint(p + k, x[k], y[k], &cursor[high[k]]);
        PlacePoint(p + k, x[k], y[k], &cursor[low[k]]);
      }
    }
    return split;
  }

  static bool AllEqual(const int32_t* values) {
    const hn::CappedTag<int32_t, kGroup> d;
    auto same = hn::Eq(hn::LoadU(d, values), hn::Set(d, values[0]));
    for (size_t i = hn::Lanes(d); i < kGroup; i += hn::Lanes(d)) {
      same = hn::And(same, hn::Eq(hn::LoadU(d, values + i), hn::Set(d, values[0])));
    }
    return hn::AllTrue(d, same);
  }

  // The strip with the first row that a point touches owns its gridGrad: it is placed there last.
  void PlaceGroup(int64_t p, const F* x, const F* y, int32_t* cursor) const {
    const int32_t at = *cursor;
    std::memcpy(scratch_.x + at, x, kGroup * sizeof(F));
    std::memcpy(scratch_.y + at, y, kGroup * sizeof(F));
    for (size_t k = 0; k < kGroup; ++k) {
      scratch_.index[at + static_cast<int32_t>(k)] =
          static_cast<int32_t>(p) + static_cast<int32_t>(k);
    }
    *cursor = at + int32_t{kGroup};
  }

  void PlacePoint(int64_t p, F x, F y, int32_t* cursor) const {
    const int32_t at = (*cursor)++;
    scratch_.x[at] = x;
    scratch_.y[at] = y;
    scratch_.index[at] = static_cast<int32_t>(p);
  }

  const SlabCall<T>& call_;
  const ops::GridSampler2DShape& s_;
  const SlabGeometry& g_;
  const PointGeometry<F>& geometry_;
  const T* grid_;
  const ImageScratch<F> scratch_;
};

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
