// The grid sampler's gradients: points are sorted into row strips, strips are summed on pixel-major
// slabs, block by block of 16 channels, and the blocks' gridGrad sums are added in order.
#include "cpu/grid_sampler_2d_backward.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler_2d_backward.cc"
#include "cpu/highway.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/dispatch.h"
#include "cpu/fetch.h"
#include "cpu/grid_sampler_2d_backward_plan.h"
#include "cpu/grid_sampler_2d_backward_strip-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using ops::Interpolation;

// gradOutput of one image and block.
template <class T>
struct GradOutputBlock {
  const T* base;  // point 0, the block's first channel
  PointStrides at;
  int64_t channels;
};

// Points one after the other in memory are transposed together, others one by one.
template <class T, int L, class F = base::ComputeType<T>>
void FetchPoints(const void* source, int64_t first, const int32_t* index, int64_t count, F* to) {
  const auto& from = *static_cast<const GradOutputBlock<T>*>(source);
  if (index != nullptr && index[count - 1] - index[0] == count - 1) {
    first = index[0];
    index = nullptr;
  }
  Planar<const T> planar = {from.base, from.at.channel_stride, from.at.pixel_stride, from.channels,
                            count};
  if (index == nullptr && from.at.flat) {
    planar.base += first * from.at.pixel_stride;
    ReadPixels<T, L, Beside::kNothing>(planar, to, L);
    return;
  }
  planar.pixels = 1;
  if (planar.pixel_stride == 1) planar.pixel_stride = 2;  // one pixel: no tile
  for (int64_t k = 0; k < count; ++k) {
    planar.base = from.base + from.at.OffsetOf(index != nullptr ? index[k] : first + k);
    ReadPixels<T, L, Beside::kNothing>(planar, to + k * L, L);
  }
}

// The same from `gathered`: L lanes a point, in the order of the points' numbers.
template <class F, int L>
void FetchGathered(const void* source, int64_t first, const int32_t* index, int64_t count, F* to) {
  const BlockTag<F, L> d;
  const F* rows = static_cast<const F*>(source);
  for (int64_t k = 0; k < count; ++k) {
    const F* row = rows + (index != nullptr ? index[k] : first + k) * L;
    if (index != nullptr) {  // behind the list's end any number
      FetchElement<2>(rows, int64_t{index[k + kFetchAhead]} * L);
    }
    for (int64_t lane = 0; lane < L; lane += kBlockLanes<F, L>) {
      hn::Store(hn::Load(d, row + lane), d, to + k * L + lane);
    }
  }
}

// How an image's points wander through its strips.
enum class PointOrder {
  kSmooth,  // neighbours stay together: lists of groups
  kMixed,   // lists of points, or one strip, which needs none
  kRandom,  // ... that jump: reading gradOutput in their order would touch memory at random
};

// What the strips' lists hold: groups of points, or points; the latter's gradOutput may have been
// gathered before.
enum class Lists { kGroups, kPoints, kGathered };

template <class T>
class Backward {
 public:
  using F = base::ComputeType<T>;

  Backward(const Params& p, const BackwardGeometry& g, void* workspace)
      : p_(p),
        s_(p.shape),
        g_(g),
        memory_(static_cast<unsigned char*>(workspace)),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(PointStridesOf(p.shape, p.grid_stride[1], p.grid_stride[2], p.grid_stride[3])),
        grid_grad_at_(PointStridesOf(p.shape, p.grid_grad_stride[1], p.grid_grad_stride[2],
                                     p.grid_grad_stride[3])),
        grad_output_at_(PointStridesOf(p.shape, p.grad_output_stride[2], p.grad_output_stride[3],
                                       p.grad_output_stride[1])),
        slopes_(p.want_grid_grad && s_.interpolation != Interpolation::kNearest) {}

  void Run() const {
    if (!g_.by_image) {
      for (int64_t n = 0; n < s_.n; ++n) RunImage(n, 0);
      return;
    }
    runtime::ParallelForSlots(s_.n, g_.slots, [&](int slot, int64_t n) { RunImage(n, slot); });
  }

 private:
  struct Scratch {
    F* x;
    F* y;
    int32_t* index;
    int32_t* cursor;
    int32_t* place;
    F* partial;
    F* gathered;
  };

  Scratch ScratchOf(int slot) const {
    unsigned char* base = memory_ + g_.image_offset + static_cast<uint64_t>(slot) * g_.image_bytes;
    return {reinterpret_cast<F*>(base + g_.x_offset),
            reinterpret_cast<F*>(base + g_.y_offset),
            g_.strips > 1 ? reinterpret_cast<int32_t*>(base + g_.index_offset) : nullptr,
            reinterpret_cast<int32_t*>(base + g_.cursor_offset),
            reinterpret_cast<int32_t*>(base + g_.place_offset),
            reinterpret_cast<F*>(base + g_.partial_offset),
            reinterpret_cast<F*>(base + g_.gathered_offset)};
  }

  // A stage: body(first, last) over ranges of [0, count), on all threads unless each has an image.
  template <class Body>
  void Loop(int64_t count, const Body& body) const {
    if (g_.by_image) {
      body(0, count);
    } else {
      runtime::ParallelFor(count, 1, body);
    }
  }

  // body(first point, last point) for every chunk of points.
  template <class Body>
  void ForChunks(const Body& body) const {
    Loop(g_.chunks, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t first = chunk * g_.chunk_points;
        body(chunk, first, std::min(first + g_.chunk_points, g_.points));
      }
    });
  }

  void RunImage(int64_t n, int slot) const {
    const Scratch scratch = ScratchOf(slot);
    bool in_lists = false;
    if (p_.want_input_grad || slopes_) {
      const PointOrder order = ListPoints(n, scratch);
      in_lists = g_.in_lists && order != PointOrder::kSmooth;
      if (order == PointOrder::kRandom && g_.group_blocks > 0) {
        for (int64_t block = 0; block < g_.blocks; block += g_.group_blocks) {
          const int64_t end = std::min(block + g_.group_blocks, g_.blocks);
          GatherBlocks(n, block, end, scratch);
          RunStrips(n, block, end, scratch, Lists::kGathered, slot);
        }
      } else {
        const Lists lists = order == PointOrder::kSmooth ? Lists::kGroups : Lists::kPoints;
        RunStrips(n, 0, g_.blocks, scratch, lists, slot);
      }
    }
    if (p_.want_grid_grad) FinishGridGrad(n, scratch, in_lists);
  }

  // ---- the points' lists ------------------------------------------------------------------------

  const T* GridOf(int64_t n) const {
    return static_cast<const T*>(p_.grid) + n * p_.grid_stride[0];
  }

  void LocatePoints(const T* grid, int64_t first, int64_t last, F* x, F* y) const {
    HWY_ALIGN F grid_x[kGroup];
    HWY_ALIGN F grid_y[kGroup];
    const int64_t count = std::min<int64_t>(last - first, int64_t{kGroup});
    ReadGrid<T>(grid_at_, grid, first, count, grid_x, grid_y);
    LocateGroup(grid_x, grid_y, geometry_, x, y);
  }

  // Whether a line that several threads have read must leave their caches before one of them writes
  // it again: taking it away from the others costs 120 ns on the machine this was measured on,
  // every time, and stores wait for each other. x86 has stores past the caches for that.
  static constexpr bool kCanShare = HWY_ARCH_X86 != 0;
  bool Shared() const { return kCanShare && !g_.by_image && g_.slots > 1; }

  // A whole group into lines that all threads will read.
  void StorePoints(const F* x, const F* y, int64_t first, const Scratch& scratch) const {
    const PointTag<F> d;
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      const int64_t at = first + static_cast<int64_t>(i);
      if (Shared()) {
        hn::Stream(hn::Load(d, x + i), d, scratch.x + at);
        hn::Stream(hn::Load(d, y + i), d, scratch.y + at);
      } else {
        hn::Store(hn::Load(d, x + i), d, scratch.x + at);
        hn::Store(hn::Load(d, y + i), d, scratch.y + at);
      }
    }
  }

  // The strips of the first and the last row that points of a group touch.
  void StripsOf(const F* y, int32_t* first_strip, int32_t* last_strip) const {
    const PointTag<F> d;
    const IndexTag<PointTag<F>> di;
    const auto zero = hn::Zero(d);
    const auto bottom = hn::Set(d, geometry_.y.last);
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      const auto at = hn::LoadU(d, y + i);
      auto low = zero;
      auto high = zero;
      if (s_.interpolation == Interpolation::kNearest) {
        low = high = hn::Clamp(hn::Round(at), zero, bottom);
      } else if (s_.interpolation == Interpolation::kBilinear) {
        const auto row = hn::Floor(at);
        low = hn::Clamp(row, zero, bottom);
        high = hn::Clamp(hn::Add(row, hn::Set(d, F{1})), zero, bottom);
      } else {
        CubicRows(d, at, low, high);
      }
      hn::StoreU(hn::ShiftRightSame(ToIndex(d, low), g_.shift), di, first_strip + i);
      hn::StoreU(hn::ShiftRightSame(ToIndex(d, high), g_.shift), di, last_strip + i);
    }
  }

  // The first and last row that the points at y touch, the nearest row where they touch none.
  template <class D, class V = hn::Vec<D>>
  void CubicRows(D d, V y, V& low, V& high) const {
    const V row = hn::Floor(y);
    const V bottom = hn::Set(d, geometry_.y.last);
    low = bottom;
    high = hn::Set(d, F{-1});
    for (int tap = -1; tap < 3; ++tap) {
      const V at =
          CubicTap(d, hn::Add(row, hn::Set(d, static_cast<F>(tap))), geometry_.y, geometry_.rule);
      high = hn::Max(high, at);
      low = hn::Min(low, hn::IfThenElse(hn::Lt(at, hn::Zero(d)), bottom, at));
    }
    const auto none = hn::Lt(high, hn::Zero(d));
    const V nearest = NearestRow(d, row, bottom);
    low = hn::IfThenElse(none, nearest, low);
    high = hn::IfThenElse(none, nearest, high);
  }

  // Fills the lists of the strips, of groups where few groups touch more than one strip, else of
  // points.
  PointOrder ListPoints(int64_t n, const Scratch& scratch) const {
    const T* grid = GridOf(n);
    if (g_.strips == 1) {
      ForChunks([&](int64_t, int64_t first, int64_t last) {
        for (int64_t p = first; p < last; p += int64_t{kGroup}) {
          HWY_ALIGN F x[kGroup];
          HWY_ALIGN F y[kGroup];
          LocatePoints(grid, p, last, x, y);
          StorePoints(x, y, p, scratch);
        }
        if (kCanShare) hwy::FlushStream();
      });
      return PointOrder::kMixed;
    }
    if (ListGroups(grid, scratch)) return PointOrder::kSmooth;
    ForChunks([&](int64_t chunk, int64_t first, int64_t last) {
      CountChunk(grid, first, last, scratch.cursor + chunk * g_.strips);
    });
    StartCursors(scratch.cursor);
    std::atomic<int64_t> split_groups{0};
    ForChunks([&](int64_t chunk, int64_t first, int64_t last) {
      split_groups.fetch_add(
          PlaceChunk(grid, first, last, scratch, scratch.cursor + chunk * g_.strips),
          std::memory_order_relaxed);
    });
    const int64_t split_points = split_groups.load(std::memory_order_relaxed) * int64_t{kGroup};
    return 2 * split_points > g_.points ? PointOrder::kRandom : PointOrder::kMixed;
  }

  // ---- lists of groups --------------------------------------------------------------------------

  int64_t Groups() const { return (g_.points + int64_t{kGroup} - 1) / int64_t{kGroup}; }
  // In the memory for the points' numbers: the first and last strip of each group, then the lists.
  static int32_t* StripRanges(const Scratch& scratch) { return scratch.index; }
  int32_t* GroupLists(const Scratch& scratch) const { return scratch.index + 2 * Groups(); }

  // Locates all points and lists their groups. False, and no lists, as soon as a chunk's groups
  // touch more than one and a half strips on average (and 32 more in all).
  bool ListGroups(const T* grid, const Scratch& scratch) const {
    std::atomic<bool> smooth{true};
    ForChunks([&](int64_t chunk, int64_t first, int64_t last) {
      if (!smooth.load(std::memory_order_relaxed)) return;
      if (!CountGroups(grid, first, last, scratch, scratch.cursor + chunk * g_.strips)) {
        smooth.store(false, std::memory_order_relaxed);
      }
    });
    if (!smooth.load(std::memory_order_relaxed)) return false;
    StartCursors(scratch.cursor);
    ForChunks([&](int64_t chunk, int64_t first, int64_t last) {
      PlaceGroups(first, last, scratch, scratch.cursor + chunk * g_.strips);
    });
    return true;
  }

  bool CountGroups(const T* grid, int64_t first, int64_t last, const Scratch& scratch,
                   int32_t* counts) const {
    std::fill_n(counts, g_.strips, 0);
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    int64_t left = 64;  // entries beyond one and a half for each group, doubled
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocatePoints(grid, p, last, x, y);
      StorePoints(x, y, p, scratch);
      int32_t* range = StripRanges(scratch) + p / int64_t{kGroup} * 2;
      StripRange(y, range);
      left += 3 - 2 * (range[1] - range[0] + 1);
      if (left < 0) break;
      for (int32_t strip = range[0]; strip <= range[1]; ++strip) ++counts[strip];
    }
    if (kCanShare) hwy::FlushStream();
    return left >= 0;
  }

  void PlaceGroups(int64_t first, int64_t last, const Scratch& scratch, int32_t* cursor) const {
    int32_t* lists = GroupLists(scratch);
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      const int64_t group = p / int64_t{kGroup};
      const int32_t* range = StripRanges(scratch) + group * 2;
      for (int32_t strip = range[0]; strip <= range[1]; ++strip) {
        lists[cursor[strip]++] = static_cast<int32_t>(group);
      }
    }
  }

  // The first and the last strip that a group touches.
  void StripRange(const F* y, int32_t* range) const {
    const PointTag<F> d;
    const auto zero = hn::Zero(d);
    const auto bottom = hn::Set(d, geometry_.y.last);
    auto low = bottom;
    auto high = zero;
    const auto extend = [&](auto first, auto last) HWY_ATTR {
      low = hn::Min(low, first);
      high = hn::Max(high, last);
    };
    const bool bicubic = s_.interpolation == Interpolation::kBicubic;
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      const auto at = hn::LoadU(d, y + i);
      const auto usable = bicubic ? hn::IfThenElseZero(hn::Eq(at, at), at) : at;
      extend(usable, usable);
    }
    low = hn::MinOfLanes(d, low);
    high = hn::MaxOfLanes(d, high);
    if (s_.interpolation == Interpolation::kNearest) {
      low = hn::Round(low);
      high = hn::Round(high);
    } else if (!bicubic) {
      low = hn::Floor(low);
      high = hn::Add(hn::Floor(high), hn::Set(d, F{1}));
    } else {
      low = hn::Sub(hn::Floor(low), hn::Set(d, F{1}));
      high = hn::Add(hn::Floor(high), hn::Set(d, F{2}));
      // Taps that are reflected go elsewhere, and where a float has no half pixels all of them are.
      constexpr F kHalves = sizeof(F) == 4 ? F{1 << 23} : F{int64_t{1} << 52};
      if (s_.padding == ops::Padding::kReflection &&
          (hn::GetLane(low) < 0 || hn::GetLane(high) > geometry_.y.last ||
           geometry_.y.size > kHalves)) {
        low = bottom;
        high = zero;
        for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
          auto first = zero;
          auto last = zero;
          CubicRows(d, hn::LoadU(d, y + i), first, last);
          extend(first, last);
        }
        low = hn::MinOfLanes(d, low);
        high = hn::MaxOfLanes(d, high);
      }
    }
    const auto strip = [&](auto row) HWY_ATTR {
      return static_cast<int32_t>(hn::GetLane(hn::Clamp(row, zero, bottom))) >> g_.shift;
    };
    range[0] = strip(low);
    range[1] = strip(high);
  }

  // ---- lists of points --------------------------------------------------------------------------

  void CountChunk(const T* grid, int64_t first, int64_t last, int32_t* counts) const {
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    HWY_ALIGN int32_t low[kGroup];
    HWY_ALIGN int32_t high[kGroup];
    std::fill_n(counts, g_.strips, 0);
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocatePoints(grid, p, last, x, y);
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
  void StartCursors(int32_t* cursor) const {
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
  int64_t PlaceChunk(const T* grid, int64_t first, int64_t last, const Scratch& scratch,
                     int32_t* cursor) const {
    HWY_ALIGN F x[kGroup];
    HWY_ALIGN F y[kGroup];
    HWY_ALIGN int32_t low[kGroup];
    HWY_ALIGN int32_t high[kGroup];
    int64_t split = 0;
    for (int64_t p = first; p < last; p += int64_t{kGroup}) {
      LocatePoints(grid, p, last, x, y);
      StripsOf(y, low, high);
      const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
      if (count == int64_t{kGroup} && AllEqual(low) && AllEqual(high)) {
        if (high[0] != low[0]) PlaceGroup(p, x, y, scratch, &cursor[high[0]]);
        PlaceGroup(p, x, y, scratch, &cursor[low[0]]);
        continue;
      }
      ++split;
      for (int64_t k = 0; k < count; ++k) {
        if (high[k] != low[k]) PlacePoint(p + k, x[k], y[k], scratch, &cursor[high[k]]);
        PlacePoint(p + k, x[k], y[k], scratch, &cursor[low[k]]);
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
  void PlaceGroup(int64_t p, const F* x, const F* y, const Scratch& scratch,
                  int32_t* cursor) const {
    const int32_t at = *cursor;
    std::memcpy(scratch.x + at, x, kGroup * sizeof(F));
    std::memcpy(scratch.y + at, y, kGroup * sizeof(F));
    for (size_t k = 0; k < kGroup; ++k) {
      scratch.index[at + static_cast<int32_t>(k)] =
          static_cast<int32_t>(p) + static_cast<int32_t>(k);
      if (g_.in_lists) scratch.place[p + static_cast<int64_t>(k)] = at + static_cast<int32_t>(k);
    }
    *cursor = at + int32_t{kGroup};
  }

  void PlacePoint(int64_t p, F x, F y, const Scratch& scratch, int32_t* cursor) const {
    const int32_t at = (*cursor)++;
    scratch.x[at] = x;
    scratch.y[at] = y;
    scratch.index[at] = static_cast<int32_t>(p);
    if (g_.in_lists) scratch.place[p] = at;
  }

  // ---- gradOutput -------------------------------------------------------------------------------

  int64_t ChannelsOf(int64_t block) const { return std::min<int64_t>(16, s_.c - 16 * block); }
  int LanesOf(int64_t block) const { return block == g_.blocks - 1 ? g_.last_lanes : 16; }

  GradOutputBlock<T> GradOutputOf(int64_t n, int64_t block) const {
    const T* base = static_cast<const T*>(p_.grad_output) + n * p_.grad_output_stride[0] +
                    16 * block * p_.grad_output_stride[1];
    return {base, grad_output_at_, ChannelsOf(block)};
  }

  F* GatheredOf(int64_t block, const Scratch& scratch) const {
    return scratch.gathered + block % g_.group_blocks * g_.points * g_.lanes;
  }

  // Calls f with the lanes of `block` as a constant.
  template <class Function>
  void WithLanes(int64_t block, const Function& f) const {
    switch (LanesOf(block)) {
      case 4:
        return f(std::integral_constant<int, 4>());
      case 8:
        return f(std::integral_constant<int, 8>());
      default:
        return f(std::integral_constant<int, 16>());
    }
  }

  void GatherBlocks(int64_t n, int64_t begin, int64_t end, const Scratch& scratch) const {
    for (int64_t block = begin; block < end; ++block) {
      const GradOutputBlock<T> from = GradOutputOf(n, block);
      F* to = GatheredOf(block, scratch);
      WithLanes(block, [&](auto lanes) {
        ForChunks([&](int64_t, int64_t first, int64_t last) HWY_ATTR {
          for (int64_t p = first; p < last; p += 64) {
            const int64_t count = std::min<int64_t>(64, last - p);
            if (!Shared()) {
              FetchPoints<T, lanes>(&from, p, nullptr, count, to + p * lanes);
              continue;
            }
            HWY_ALIGN F points[64 * lanes];
            FetchPoints<T, lanes>(&from, p, nullptr, count, points);
            const BlockTag<F, lanes> d;
            for (int64_t i = 0; i < count * lanes; i += kBlockLanes<F, lanes>) {
              hn::Stream(hn::Load(d, points + i), d, to + p * lanes + i);
            }
          }
          if (kCanShare) hwy::FlushStream();
        });
      });
    }
  }

  // ---- strips -----------------------------------------------------------------------------------

  void RunStrips(int64_t n, int64_t begin, int64_t end, const Scratch& scratch, Lists lists,
                 int image_slot) const {
    const int64_t blocks = end - begin;
    const auto run_strip = [&](int slot, int64_t block, int64_t strip) {
      WithLanes(block, [&](auto lanes) { RunStrip<lanes>(n, block, strip, scratch, lists, slot); });
    };
    const auto run_block = [&](int slot, int64_t i) {
      for (int64_t strip = 0; strip < g_.strips; ++strip) run_strip(slot, begin + i, strip);
    };
    if (g_.by_image) {
      for (int64_t i = 0; i < blocks; ++i) run_block(image_slot, i);
    } else if (blocks % g_.slots == 0) {
      // On a random grid, the gridGrad sums of a block's strips are stored side by side (but
      // in_lists): threads in different strips would take the cache lines from each other.
      runtime::ParallelForSlots(blocks, g_.slots, run_block);
    } else {
      runtime::ParallelForSlots(blocks * g_.strips, g_.slots, [&](int slot, int64_t i) {
        run_strip(slot, begin + i / g_.strips, i % g_.strips);
      });
    }
  }

  template <int L>
  void RunStrip(int64_t n, int64_t block, int64_t strip, const Scratch& scratch, Lists lists,
                int slot) const {
    F* slab = reinterpret_cast<F*>(memory_ + static_cast<uint64_t>(slot) * g_.slab_bytes);
    const int64_t first_row = g_.strips == 1 ? 0 : strip << g_.shift;
    const int64_t end_row = g_.strips == 1 ? s_.h : std::min(s_.h, (strip + 1) << g_.shift);
    const GradOutputBlock<T> grad_output = GradOutputOf(n, block);
    StripJob<F> job = {};
    job.geometry = geometry_;
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
    LoadSlab<L>(n, block, first_row, end_row, slab);
    if (job.count > 0) Pass<L>()(job);
    if (p_.want_input_grad) FlushSlab<L>(n, block, first_row, end_row, slab);
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
      job->groups = GroupLists(scratch) + first;
      job->count = ends[strip] - first;
      return;
    }
    job->x = scratch.x + first;
    job->y = scratch.y + first;
    job->index = scratch.index + first;
    job->count = ends[strip] - first;
    if (g_.in_lists) {
      job->in_lists = true;
      job->partial += 2 * int64_t{first};
    }
  }

  template <int L>
  StripPass<F> Pass() const {
    switch (s_.interpolation) {
      case Interpolation::kNearest:
        return NearestPass<F>(L);
      case Interpolation::kBilinear:
        return BilinearPass<F>(L, p_.want_input_grad, slopes_);
      default:
        return BicubicPass<F>(L, p_.want_input_grad, slopes_);
    }
  }

  int64_t CellSize(int64_t lanes) const {
    return lanes * (int64_t{p_.want_input_grad} + int64_t{slopes_});
  }

  // Values of the own and halo rows, zeros in cells outside the image and in the own rows' sums.
  template <int L>
  void LoadSlab(int64_t n, int64_t block, int64_t first_row, int64_t end_row, F* slab) const {
    const int64_t cell = CellSize(L);
    const int64_t row_size = g_.pitch * cell;
    if (!slopes_) {
      Clear(slab + 2 * row_size, (end_row - first_row) * row_size);
      return;
    }
    Clear(slab, 2 * row_size);
    const T* base =
        static_cast<const T*>(p_.input) + n * p_.input_stride[0] + 16 * block * p_.input_stride[1];
    for (int64_t y = first_row; y < first_row + g_.slab_rows - 2; ++y) {
      F* row = slab + (y - first_row + 2) * row_size;
      if (y >= s_.h) {
        Clear(row, row_size);
        continue;
      }
      Clear(row, cell);
      Clear(row + (s_.w + 1) * cell, cell);
      const Planar<const T> from = {base + y * p_.input_stride[2], p_.input_stride[1],
                                    s_.w == 1 ? 1 : p_.input_stride[3], ChannelsOf(block), s_.w};
      if (p_.want_input_grad) {
        ReadPixels<T, L, Beside::kZeros>(from, row + cell, cell);
      } else {
        ReadPixels<T, L, Beside::kNothing>(from, row + cell, cell);
      }
    }
  }

  template <int L>
  void FlushSlab(int64_t n, int64_t block, int64_t first_row, int64_t end_row,
                 const F* slab) const {
    const int64_t cell = CellSize(L);
    const F* sums = slab + (slopes_ ? L : 0);
    T* base = static_cast<T*>(p_.input_grad) + n * p_.input_grad_stride[0] +
              16 * block * p_.input_grad_stride[1];
    for (int64_t y = first_row; y < end_row; ++y) {
      const Planar<T> to = {base + y * p_.input_grad_stride[2],
                            p_.input_grad_stride[1],
                            s_.w == 1 ? 1 : p_.input_grad_stride[3],
                            ChannelsOf(block),
                            s_.w,
                            g_.stream};
      WritePixels<T, L>(sums + ((y - first_row + 2) * g_.pitch + 1) * cell, cell, to);
    }
    if (g_.stream) hwy::FlushStream();
  }

  // ---- gridGrad ---------------------------------------------------------------------------------

  void FinishGridGrad(int64_t n, const Scratch& scratch, bool in_lists) const {
    T* out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    ForChunks([&](int64_t, int64_t first, int64_t last) {
      HWY_ALIGN F x[kGroup] = {};
      HWY_ALIGN F y[kGroup] = {};
      for (int64_t p = first; p < last; p += int64_t{kGroup}) {
        const int64_t count = std::min<int64_t>(last - p, int64_t{kGroup});
        if (slopes_) FinishGroup(n, p, count, scratch, in_lists, x, y);
        StoreGridGrad(x, y, p, count, out);
      }
      if (kCanShare) hwy::FlushStream();
    });
  }

  // The totals of a group over the blocks, in ascending order of the blocks.
  void SumInOrder(int64_t first, int64_t count, F* partial, F* sum_x, F* sum_y) const {
    const PointTag<F> d;
    for (int64_t block = 0; block < g_.blocks; ++block) {
      F* sums = partial + (block * g_.partial_points + first) * 2;
      if (count == int64_t{kGroup}) {
        for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
          auto add_x = hn::Zero(d);
          auto add_y = hn::Zero(d);
          LoadDeinterleaved2(d, sums + 2 * i, add_x, add_y);
          hn::Store(hn::Add(hn::Load(d, sum_x + i), add_x), d, sum_x + i);
          hn::Store(hn::Add(hn::Load(d, sum_y + i), add_y), d, sum_y + i);
        }
        if (Shared()) Release(sums);
        continue;
      }
      for (int64_t k = 0; k < count; ++k) {
        sum_x[k] += sums[2 * k];
        sum_y[k] += sums[2 * k + 1];
      }
    }
  }

  // The same where the sums are in the order of the lists.
  void SumFromLists(int64_t first, int64_t count, const Scratch& scratch, F* sum_x,
                    F* sum_y) const {
    const hn::CappedTag<F, 2> pair;
    for (int64_t k = 0; k < count; ++k) {
      const int32_t* place = scratch.place + first + k;
      const int64_t later = place[kFetchAhead];  // behind the last point any number
      const F* sums = scratch.partial;
      auto total = hn::Zero(pair);
      for (int64_t block = 0; block < g_.blocks; ++block, sums += 2 * g_.partial_points) {
        FetchElement<3>(sums, 2 * later);
        total = hn::Add(total, hn::LoadU(pair, sums + 2 * int64_t{*place}));
      }
      HWY_ALIGN F both[2];
      hn::Store(total, pair, both);
      sum_x[k] = both[0];
      sum_y[k] = both[1];
    }
  }

  // The totals over the blocks, times the coordinate's slope.
  void FinishGroup(int64_t n, int64_t first, int64_t count, const Scratch& scratch, bool in_lists,
                   F* x, F* y) const {
    const PointTag<F> d;
    HWY_ALIGN F sum_x[kGroup] = {};
    HWY_ALIGN F sum_y[kGroup] = {};
    if (in_lists) {
      SumFromLists(first, count, scratch, sum_x, sum_y);
    } else {
      SumInOrder(first, count, scratch.partial, sum_x, sum_y);
    }
    HWY_ALIGN F grid_x[kGroup];
    HWY_ALIGN F grid_y[kGroup];
    ReadGrid<T>(grid_at_, GridOf(n), first, count, grid_x, grid_y);
    const auto nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
    for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
      auto unusable = hn::MaskFromVec(hn::Zero(d));
      auto outside = unusable;
      auto slope_x = hn::Zero(d);
      auto slope_y = hn::Zero(d);
      Locate(d, hn::Load(d, grid_x + i), geometry_.x, geometry_.rule, slope_x, unusable, outside);
      Locate(d, hn::Load(d, grid_y + i), geometry_.y, geometry_.rule, slope_y, unusable, outside);
      const auto finish = [&](const F* sum, auto slope, F* to) HWY_ATTR {
        const auto product = hn::Mul(hn::Load(d, sum + i), slope);
        const auto placed = hn::IfThenZeroElse(outside, product);
        hn::Store(hn::IfThenElse(unusable, nan, placed), d, to + i);
      };
      finish(sum_x, slope_x, x);
      finish(sum_y, slope_y, y);
    }
  }

  // Writes a group's totals, which nobody needs any more, past the caches: see Shared().
  static void Release(F* totals) {
    const PointTag<F> d;
    for (size_t i = 0; i < 2 * kGroup; i += hn::Lanes(d)) {
      hn::Stream(hn::Zero(d), d, totals + i);
    }
  }

  void StoreGridGrad(const F* x, const F* y, int64_t first, int64_t count, T* out) const {
    const PointStrides& at = grid_grad_at_;
    if (at.flat && at.pixel_stride == 2 && at.channel_stride == 1 && count == int64_t{kGroup}) {
      const PointTag<F> d;
      for (size_t i = 0; i < kGroup; i += hn::Lanes(d)) {
        HWY_ALIGN F pairs[2 * kGroup];
        hn::StoreInterleaved2(hn::Load(d, x + i), hn::Load(d, y + i), d, pairs);
        T* to = out + 2 * (first + static_cast<int64_t>(i));
        StoreNarrow(hn::Load(d, pairs), d, to);
        StoreNarrow(hn::Load(d, pairs + hn::Lanes(d)), d, to + hn::Lanes(d));
      }
      return;
    }
    for (int64_t k = 0; k < count; ++k) {
      T* to = out + at.OffsetOf(first + k);
      to[0] = base::Narrow<T>(x[k]);
      to[at.channel_stride] = base::Narrow<T>(y[k]);
    }
  }

  const Params& p_;
  const ops::GridSampler2DShape& s_;
  const BackwardGeometry& g_;
  unsigned char* memory_;
  PointGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
  bool slopes_;  // gridGrad is wanted and not identically 0
};

bool Plan(const Params& p, base::KernelPlan* plan) { return PlanGridSampler2DBackward(p, plan); }

void Run(const Params& p, const base::KernelPlan& plan, void* workspace) {
  if (static_cast<BackwardPath>(plan.path_id) == BackwardPath::kPlanar) {
    RunPlanar(p, *static_cast<const PlanarGeometry*>(plan.table.get()), workspace);
    return;
  }
  const auto& geometry = *static_cast<const BackwardGeometry*>(plan.table.get());
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    Backward<typename decltype(tag)::type>(p, geometry, workspace).Run();
  });
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

std::span<const base::Kernel<ops::GridSampler2DBackwardParams>> GridSampler2DBackwardKernels() {
  static constexpr base::Kernel<ops::GridSampler2DBackwardParams> kKernels[] = {
      PORTACL_KERNELS(Plan, Run)};
  return kKernels;
}

}  // namespace portacl::cpu
#endif  // HWY_ONCE
