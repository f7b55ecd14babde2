// Path "slab": points are sorted into lists by strip, and each strip is summed on its slab, one
// block of channels after the other. gridGrad sums of blocks are added in order. Volumes have code
// of their own (grid_sampler_3d_blocks.cc): there owners look at all points, without lists, and the
// cells have no frame.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_backward_slab.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "cpu/grid_sampler/grid_sampler_2d_backward_strip-inl.h"
#include "cpu/grid_sampler/grid_sampler_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_backward_plan.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"
#include "cpu/machine/fetch.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using Shape = ops::GridSampler2DShape;

// ---- a call -------------------------------------------------------------------------------------

// The workspace of one image; SlabGeometry has its layout.
template <class F>
struct ImageScratch {
  F* x;
  F* y;
  int32_t* index;         // null if there is one strip
  int32_t* strip_ranges;  // in the memory of `index`: first and last strip of each group,
  int32_t* group_lists;   // then lists of groups
  int32_t* cursor;
  F* partial;
  F* gathered;
};

// Images that are computed together. Image first + i uses scratch memory number scratch + i.
struct ImageRange {
  int64_t first;
  int64_t count;
  int64_t scratch;
};

// One call. A stage of an image reads the call and the scratch memory of the image.
template <class T>
struct SlabCall {
  using F = base::ComputeType<T>;

  SlabCall(const Params& params, const SlabGeometry& cut, void* workspace)
      : p(params),
        s(params.shape),
        g(cut),
        memory(static_cast<unsigned char*>(workspace)),
        geometry(PointGeometryOf<F>(s)),
        grid_at(GridPointsOf(s, p.grid_stride)),
        slopes(p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest) {}

  const T* GridOf(int64_t n) const { return static_cast<const T*>(p.grid) + n * p.grid_stride[0]; }

  ImageScratch<F> ScratchOf(const ImageRange& images, int64_t i) const {
    const int64_t slot = images.scratch + i;
    unsigned char* base = memory + g.image_offset + static_cast<uint64_t>(slot) * g.image_bytes;
    const int64_t groups = (g.points + int64_t{kGroup} - 1) / int64_t{kGroup};
    auto* index = g.strips > 1 ? reinterpret_cast<int32_t*>(base + g.index_offset) : nullptr;
    return {reinterpret_cast<F*>(base + g.x_offset),
            reinterpret_cast<F*>(base + g.y_offset),
            index,
            index,
            index != nullptr ? index + 2 * groups : nullptr,
            reinterpret_cast<int32_t*>(base + g.cursor_offset),
            reinterpret_cast<F*>(base + g.partial_offset),
            reinterpret_cast<F*>(base + g.gathered_offset)};
  }

  F* SlabOf(int slot) const {
    return reinterpret_cast<F*>(memory + static_cast<uint64_t>(slot) * g.slab_bytes);
  }

  // Runs a stage: body(begin, end) for ranges of [0, count), on all threads unless by_image.
  template <class Body>
  void Loop(int64_t count, const Body& body) const {
    if (g.by_image) {
      body(0, count);
    } else {
      runtime::ParallelFor(count, 1, body);
    }
  }

  // Calls body(i, chunk, first point, last point) for every chunk of the i-th image's points.
  template <class Body>
  void ForChunks(const ImageRange& images, const Body& body) const {
    Loop(images.count * g.chunks, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        const int64_t chunk = at % g.chunks;
        const int64_t first = chunk * g.chunk_points;
        body(at / g.chunks, chunk, first, std::min(first + g.chunk_points, g.points));
      }
    });
  }

  const Params& p;
  const Shape& s;
  const SlabGeometry& g;
  unsigned char* memory;
  PointGeometry<F> geometry;
  PointStrides grid_at;
  bool slopes;  // gridGrad is wanted and not identically 0
};

// ---- where points are ---------------------------------------------------------------------------

// Locates the points of an image and lists them by the strips that they touch. Lists have groups of
// points if neighbours stay together, else single points. A stable counting sort makes them.

// Entries of the strips' lists: groups of points if neighbours stay together, else points. One
// strip needs no lists. kGathered: lists of points that mostly jump. Then gradOutput is gathered
// before the pass, because the pass would read it at random; the workspace must have room.
enum class Lists { kGroups, kPoints, kGathered };

// Lists the points of one image.
template <class T>
class PointLister {
 public:
  using F = base::ComputeType<T>;

  // Serves image number i of `images`.
  PointLister(const SlabCall<T>& call, const ImageRange& images, int64_t i)
      : call_(call),
        s_(call.s),
        g_(call.g),
        geometry_(call.geometry),
        grid_(call.GridOf(images.first + i)),
        scratch_(call.ScratchOf(images, i)) {}

  // Fills the lists of all strips of these images. Lists have groups if few groups touch more than
  // one strip, else points.
  static Lists List(const SlabCall<T>& call, const ImageRange& images) {
    if (call.g.strips == 1) {
      ForChunks(call, images, [](const PointLister& image, int64_t, int64_t first, int64_t last) {
        image.LocateChunk(first, last);
      });
      return Lists::kPoints;
    }
    if (ListGroups(call, images)) return Lists::kGroups;
    ForChunks(call, images,
              [](const PointLister& image, int64_t chunk, int64_t first, int64_t last) {
                image.CountChunk(first, last, image.CursorOf(chunk));
              });
    StartCursors(call, images);
    std::atomic<int64_t> alone{0};
    ForChunks(call, images,
              [&](const PointLister& image, int64_t chunk, int64_t first, int64_t last) {
                alone.fetch_add(image.PlaceChunk(first, last, image.CursorOf(chunk)),
                                std::memory_order_relaxed);
              });
    const bool jump = 2 * alone.load(std::memory_order_relaxed) > call.g.points * images.count;
    return jump && call.g.group_blocks > 0 ? Lists::kGathered : Lists::kPoints;
  }

 private:
  // Calls body(image, chunk, first point, last point) for every chunk of the images' points.
  template <class Body>
  static void ForChunks(const SlabCall<T>& call, const ImageRange& images, const Body& body) {
    call.ForChunks(images, [&](int64_t i, int64_t chunk, int64_t first, int64_t last) {
      body(PointLister(call, images, i), chunk, first, last);
    });
  }

  int32_t* CursorOf(int64_t chunk) const { return scratch_.cursor + chunk * g_.strips; }

  void LocateChunk(int64_t first, int64_t last) const {
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocateGroup(p, last, scratch_.x + p, scratch_.y + p);
    }
  }

  // Locates a group of points from `first` on. Behind the last point it repeats that point.
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

  // Stores for each point of a group the strips of the first and last row that it touches.
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

  // Computes the first and last row that points at y touch; the nearest row if they touch none.
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

  // Computes the first and last row of taps of bicubic points. NaN counts as row 0.
  template <class D, class V = hn::Vec<D>>
  void CubicRows(D d, V y, V& low, V& high) const {
    const V zero = hn::Zero(d);
    const V bottom = hn::Set(d, geometry_.y.last);
    const V row = hn::Floor(hn::IfThenElseZero(hn::Eq(y, y), y));
    const V first = hn::Sub(row, hn::Set(d, F{1}));
    const V last = hn::Add(row, hn::Set(d, F{2}));
    // Reflected taps lie in other rows. Beyond kHalves floats have no halves: all taps reflect.
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

  // Locates all points and lists their groups. Returns false and makes no lists if the groups of a
  // chunk need more entries than one and a half per group plus 32.
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
    int64_t left = 64;  // double the entries left, beyond one and a half for each group
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocateGroup(p, last, scratch_.x + p, scratch_.y + p);
      int32_t* range = scratch_.strip_ranges + p / int64_t{kGroup} * 2;
      StripRange(scratch_.y + p, range);
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

  // Computes the first and the last strip that a group touches.
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

  // Calls group(p, x, y, low, high) for each group of points that all touch the same strips, low
  // and high. Calls point(p, x, y, low, high) for each point of other groups. Calls are in order.
  template <class Group, class Point>
  HWY_INLINE void ForPoints(int64_t first, int64_t last, const Group& group,
                            const Point& point) const {
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    HWY_ALIGN int32_t low[kGroup];
    HWY_ALIGN int32_t high[kGroup];
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocateGroup(p, last, x, y);
      StripsOf(y, low, high);
      const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
      if (count == int64_t{kGroup} && AllEqual(low) && AllEqual(high)) {
        group(p, x, y, low[0], high[0]);
      } else {
        for (int64_t k = 0; k < count; ++k) point(p + k, x[k], y[k], low[k], high[k]);
      }
    }
  }

  void CountChunk(int64_t first, int64_t last, int32_t* counts) const {
    std::fill_n(counts, g_.strips, 0);
    const auto add = [counts](int32_t points, int32_t low, int32_t high) {
      counts[low] += points;
      if (high != low) counts[high] += points;
    };
    ForPoints(
        first, last,
        [&](int64_t, const F*, const F*, int32_t low, int32_t high) {
          add(int32_t{kGroup}, low, high);
        },
        [&](int64_t, F, F, int32_t low, int32_t high) { add(1, low, high); });
  }

  // Turns counts into starting positions: strips in order, and chunks in order in each strip. The
  // row behind the last chunk's row gets the ends of the strips' lists.
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

  // Appends a chunk's points to the lists. Returns how many points were appended one by one. The
  // strip with the first row that a point touches owns its gridGrad and lists it last.
  int64_t PlaceChunk(int64_t first, int64_t last, int32_t* cursor) const {
    int64_t alone = 0;
    ForPoints(
        first, last,
        [&](int64_t p, const F* x, const F* y, int32_t low, int32_t high) {
          if (high != low) PlaceGroup(p, x, y, &cursor[high]);
          PlaceGroup(p, x, y, &cursor[low]);
        },
        [&](int64_t p, F x, F y, int32_t low, int32_t high) {
          ++alone;
          if (high != low) PlacePoint(p, x, y, &cursor[high]);
          PlacePoint(p, x, y, &cursor[low]);
        });
    return alone;
  }

  static bool AllEqual(const int32_t* values) {
    const hn::CappedTag<int32_t, kGroup> d;
    auto same = hn::Eq(hn::LoadU(d, values), hn::Set(d, values[0]));
    for (size_t i = hn::Lanes(d); i < kGroup; i += hn::Lanes(d)) {
      same = hn::And(same, hn::Eq(hn::LoadU(d, values + i), hn::Set(d, values[0])));
    }
    return hn::AllTrue(d, same);
  }

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
  const Shape& s_;
  const SlabGeometry& g_;
  const PointGeometry<F>& geometry_;
  const T* grid_;
  const ImageScratch<F> scratch_;
};

// Copies gradOutput of points from a PointBlock. Ignores an index with successive numbers.
template <class T, int L, class F = base::ComputeType<T>>
void FetchPoints(const void* source, int64_t first, const int32_t* index, int64_t count, F* to) {
  const auto& from = *static_cast<const PointBlock<const T>*>(source);
  if (index != nullptr && index[count - 1] - index[0] == count - 1) {
    first = index[0];
    index = nullptr;
  }
  ReadPointBlock<L>(from, first, index, count, to);
}

// Copies gradOutput of points from `gathered`: L lanes for each point, in the order of points.
template <class F, int L>
void FetchGathered(const void* source, int64_t first, const int32_t* index, int64_t count, F* to) {
  const BlockTag<F, L> d;
  const F* rows = static_cast<const F*>(source);
  for (int64_t k = 0; k < count; ++k) {
    const F* row = rows + (index != nullptr ? index[k] : first + k) * L;
    if (index != nullptr) {  // any number behind the list's end
      FetchElement<2>(rows, int64_t{index[k + kFetchAhead]} * L);
    }
    for (int64_t lane = 0; lane < L; lane += kBlockLanes<F, L>) {
      hn::Store(hn::Load(d, row + lane), d, to + k * L + lane);
    }
  }
}

// Adds up the totals of all blocks for a vector of points, in ascending order of blocks.
// (cpu/vector/channel_tree-inl.h makes the total of one block.)
template <class F, class V>
HWY_INLINE void SumTotals(const SlabGeometry& g, const F* totals, int64_t first, int64_t count,
                          V& sum_x, V& sum_y) {
  const hn::DFromV<V> d;
  sum_x = hn::Zero(d);
  sum_y = sum_x;
  HWY_ALIGN F copy[2 * hn::MaxLanes(d)] = {};
  for (int64_t block = 0; block < g.blocks.count; ++block) {
    const F* const sums = totals + (block * g.partial_points + first) * 2;
    const bool whole = count == Length(d);
    if (!whole) std::copy_n(sums, 2 * count, copy);
    V x, y;
    LoadDeinterleaved2(d, whole ? sums : copy, x, y);
    sum_x = hn::Add(sum_x, x);
    sum_y = hn::Add(sum_y, y);
  }
}

template <class T>
class Backward {
 public:
  using F = base::ComputeType<T>;

  Backward(const Params& p, const SlabGeometry& g, void* workspace)
      : call_(p, g, workspace),
        p_(p),
        s_(p.shape),
        g_(g),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)) {}

  void Run() const {
    if (!g_.by_image) {
      for (int64_t n = 0; n < s_.n; n += g_.images) {
        RunImages({n, std::min(g_.images, s_.n - n), 0});
      }
      return;
    }
    runtime::ParallelForSlots(s_.n, g_.slots, [&](int slot, int64_t n) {
      RunImages({n, 1, slot});
    });
  }

 private:
  using Scratch = ImageScratch<F>;

  void RunImages(const ImageRange& images) const {
    if (p_.want_input_grad || call_.slopes) {
      const Lists lists = PointLister<T>::List(call_, images);
      const int64_t count = g_.blocks.count;
      const int64_t step = lists == Lists::kGathered ? g_.group_blocks : count;
      for (int64_t block = 0; block < count; block += step) {
        const int64_t end = std::min(block + step, count);
        if (lists == Lists::kGathered) GatherGradOutput(images, block, end);
        RunStrips(images, block, end, lists);
      }
    }
    if (!p_.want_grid_grad) return;
    call_.ForChunks(images, [&](int64_t i, int64_t, int64_t first, int64_t last) HWY_ATTR {
      const int64_t n = images.first + i;
      if (!call_.slopes) return NoGridGrad<Params, T>(p_).Run(n, first, last);
      const F* const totals = call_.ScratchOf(images, i).partial;
      TotalsGridGrad<Params, T>(p_).Run(
          n, first, last, [&](int64_t p, int64_t count, const auto& sum) PORTACL_INLINE_LAMBDA {
            SumTotals(g_, totals, p, count, sum.x, sum.y);
          });
    });
  }

  // ---- gradOutput -------------------------------------------------------------------------------

  PointBlock<const T> GradOutputOf(int64_t n, int64_t block) const {
    const T* base = static_cast<const T*>(p_.grad_output) + n * p_.grad_output_stride[0] +
                    g_.blocks.FirstChannel(block) * p_.grad_output_stride[1];
    return {base, grad_output_at_, g_.blocks.ChannelsOf(block)};
  }

  F* GatheredOf(int64_t block, const Scratch& scratch) const {
    return scratch.gathered + block % g_.group_blocks * g_.points * g_.blocks.MostLanes();
  }

  void GatherGradOutput(const ImageRange& images, int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block) {
      g_.blocks.WithLanes(block, [&](auto lanes) {
        call_.ForChunks(images, [&](int64_t i, int64_t, int64_t first, int64_t last) HWY_ATTR {
          const PointBlock<const T> from = GradOutputOf(images.first + i, block);
          F* const to = GatheredOf(block, call_.ScratchOf(images, i));
          for (int64_t p = first; p < last; p += 64) {
            const int64_t count = std::min<int64_t>(64, last - p);
            FetchPoints<T, lanes>(&from, p, nullptr, count, to + p * lanes);
          }
        });
      });
    }
  }

  // ---- strips -----------------------------------------------------------------------------------

  void RunStrips(const ImageRange& images, int64_t begin, int64_t end, Lists lists) const {
    const int64_t blocks = images.count * (end - begin);  // of all images, in order
    const auto run_strip = [&](int slot, int64_t at, int64_t strip) {
      const int64_t i = at / (end - begin);
      const int64_t block = begin + at % (end - begin);
      g_.blocks.WithLanes(block, [&](auto lanes) {
        RunStrip<lanes>(images.first + i, block, strip, call_.ScratchOf(images, i), lists, slot);
      });
    };
    const auto run_block = [&](int slot, int64_t at) {
      for (int64_t strip = 0; strip < g_.strips; ++strip) run_strip(slot, at, strip);
    };
    if (g_.by_image) {
      for (int64_t at = 0; at < blocks; ++at) run_block(static_cast<int>(images.scratch), at);
    } else if (blocks % g_.slots == 0) {
      // On a random grid, gridGrad sums of different strips share cache lines. Threads in different
      // strips of a block would take these lines from each other.
      runtime::ParallelForSlots(blocks, g_.slots, run_block);
    } else {
      runtime::ParallelForSlots(blocks * g_.strips, g_.slots, [&](int slot, int64_t i) {
        run_strip(slot, i / g_.strips, i % g_.strips);
      });
    }
  }

  template <int L>
  void RunStrip(int64_t n, int64_t block, int64_t strip, const Scratch& scratch, Lists lists,
                int slot) const {
    F* slab = call_.SlabOf(slot);
    const int64_t first_row = g_.strips == 1 ? 0 : strip << g_.shift;
    const int64_t end_row = g_.strips == 1 ? s_.h : std::min(s_.h, (strip + 1) << g_.shift);
    const PointBlock<const T> grad_output = GradOutputOf(n, block);
    StripJob<F> job = {};
    job.geometry = call_.geometry;
    job.pitch = g_.pitch;
    job.first_row = first_row;
    job.end_row = end_row;
    job.halo_end = first_row + g_.slab_rows - 2;
    job.slab = slab;
    job.fetch = FetchPoints<T, L>;
    job.fetch_source = &grad_output;
    if (lists == Lists::kGathered) {
      job.random = true;
      job.fetch = FetchGathered<F, L>;
      job.fetch_source = GatheredOf(block, scratch);
    }
    job.foreign = g_.points + slot * kForeignPoints;
    job.partial = scratch.partial + block * g_.partial_points * 2;
    SetEntries(strip, scratch, lists, &job);
    const SlabBlock cells = {.n = n,
                             .first_channel = g_.blocks.FirstChannel(block),
                             .channels = g_.blocks.ChannelsOf(block),
                             .pitch = g_.pitch,
                             .first_row = first_row,
                             .end_row = end_row,
                             .halo_end = job.halo_end,
                             .values = call_.slopes,
                             .sums = p_.want_input_grad,
                             .stream = g_.stream};
    LoadSlab<L, T>(p_, cells, slab);
    if (job.count > 0) PassOf<F>(s_.interpolation, L, p_.want_input_grad, call_.slopes)(job);
    if (p_.want_input_grad) FlushSlab<L, T>(p_, cells, slab);
  }

  void SetEntries(int64_t strip, const Scratch& scratch, Lists lists, StripJob<F>* job) const {
    job->x = scratch.x;
    job->y = scratch.y;
    job->points = g_.points;
    if (g_.strips == 1) {
      job->count = g_.points;
      return;
    }
    const int32_t* ends = scratch.cursor + g_.chunks * g_.strips;
    const int32_t first = strip == 0 ? 0 : ends[strip - 1];
    if (lists == Lists::kGroups) {
      job->groups = scratch.group_lists + first;
      job->count = ends[strip] - first;
      return;
    }
    job->x = scratch.x + first;
    job->y = scratch.y + first;
    job->index = scratch.index + first;
    job->count = ends[strip] - first;
  }

  SlabCall<T> call_;
  const Params& p_;
  const Shape& s_;
  const SlabGeometry& g_;
  PointStrides grad_output_at_;
};

}  // namespace

template <class T>
void RunElements(const Params& p, const SlabGeometry& slabs, void* workspace) {
  Backward<T>(p, slabs, workspace).Run();
}
PORTACL_PATH_OF_ELEMENTS(Params, SlabGeometry)

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
