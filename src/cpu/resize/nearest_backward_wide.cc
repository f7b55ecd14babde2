// Gradients of nearest with many columns per destination. Each lane has one destination; blocks of
// columns are transposed in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest_backward_wide.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Source columns that a block holds for one destination. A block has 128 bits (64 bits in memory
// for 16-bit elements), a vector at most 256 bits. With 8 lanes their addresses fit the general
// registers: the loop is twice as fast as with 16. If the length of vectors is not known, a vector
// is one block.
template <class T>
inline constexpr int64_t kColumns = kSumsIn128Bits<T>;
template <class T>
inline constexpr size_t kMaxWideLanes = (HWY_ARCH_X86 ? 2 : 1) * static_cast<size_t>(kColumns<T>);
template <class T>
using WideTag = hn::CappedTag<base::ComputeType<T>, kMaxWideLanes<T>>;

// The sources of a vector of destinations in one row; each lane has one destination.
//
//   base + offset[0]   c c c c c c c c     columns[0] of them
//   base + offset[1]   c c c c c c c
//   ...
template <class T>
struct WideLanes {
  int64_t offset[kMaxWideLanes<T>];
  int32_t columns[kMaxWideLanes<T>];
  int64_t fewest, most;  // of columns[]

  void FindRange(size_t n) {
    fewest = *std::min_element(columns, columns + n);
    most = *std::max_element(columns, columns + n);
  }
};

// Loads min(n, kColumns) elements that lie `step` apart; the other lanes are 0.
template <bool kContiguous, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadColumns(D d, const T* from, int64_t step, int64_t n) {
  const int64_t columns = Length(d);
  if (n <= 0) return hn::Zero(d);
  if constexpr (kContiguous) {
    return n >= columns ? hn::LoadU(d, from) : LoadFirst(d, from, static_cast<size_t>(n));
  } else {
    HWY_ALIGN T elements[LanesAtMost(d)] = {};
    for (int64_t i = 0; i < std::min(n, columns); ++i) elements[i] = from[i * step];
    return hn::Load(d, elements);
  }
}

// Loads blocks of kColumns columns for the lanes `lane`, lane + kColumns, lane + 2 kColumns, ...
// where(lane): the lane's first column; count(lane): columns left to load.
template <class T, bool kContiguous, class D, class Where, class Count>
HWY_INLINE hn::Vec<D> LoadWideBlocks(D d, int64_t step, size_t lane, const Where& where,
                                     const Count& count) {
  // If the length of vectors is not known, a vector is one block.
  if constexpr (HWY_HAVE_SCALABLE || hn::MaxLanes(d) == kColumns<T>) {
    const auto* from = reinterpret_cast<const hn::TFromD<D>*>(where(lane));
    return LoadColumns<kContiguous>(d, from, step, count(lane));
  } else {
    const hn::Half<D> dh;
    const size_t next = lane + hn::MaxLanes(dh);
    return hn::Combine(d, LoadWideBlocks<T, kContiguous>(dh, step, next, where, count),
                       LoadWideBlocks<T, kContiguous>(dh, step, lane, where, count));
  }
}

// Calls add(column, v) for kColumns columns in order. Lane i of v has the column of lane i, because
// blocks are transposed.
template <class T, bool kContiguous, class D, class Where, class Count, class AddColumn>
HWY_INLINE void ForColumns(D d, int64_t step, const Where& where, const Count& count,
                           const AddColumn& add) {
  const hn::Rebind<BitsOf<T>, D> db;
  const auto load = [&](size_t lane) HWY_ATTR {
    const auto bits = LoadWideBlocks<T, kContiguous>(db, step, lane, where, count);
    return Widen<T>(d, hn::BitCast(MemoryTag<T, D>(), bits));
  };
  const auto a = load(0);
  const auto b = load(1);
  if constexpr (kColumns<T> == 2) {
    add(0, hn::InterleaveLower(d, a, b));
    add(1, hn::InterleaveUpper(d, a, b));
  } else {
    const auto c = load(2);
    const auto e = load(3);
    const auto ac01 = hn::InterleaveLower(d, a, c);  // a0 c0 a1 c1
    const auto be01 = hn::InterleaveLower(d, b, e);
    const auto ac23 = hn::InterleaveUpper(d, a, c);
    const auto be23 = hn::InterleaveUpper(d, b, e);
    add(0, hn::InterleaveLower(d, ac01, be01));  // a0 b0 c0 e0
    add(1, hn::InterleaveUpper(d, ac01, be01));
    add(2, hn::InterleaveLower(d, ac23, be23));
    add(3, hn::InterleaveUpper(d, ac23, be23));
  }
}

// Returns `sum` plus kColumns columns from `column` on, where some lanes may end. Every lane has at
// least kColumns columns in all. A lane that ends too early loads its last kColumns columns, and
// leaves out columns that are in `sum` already.
//
//   column            v                           kColumns = 4
//   lane 0   c c c c [c c c c] c       loaded from `column` on
//   lane 1   c c c [- c c c]           loaded one column earlier; its first is left out
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE V AddLastColumns(D d, const T* base, const WideLanes<T>& lanes, int64_t column, V sum) {
  constexpr int64_t kBlock = kColumns<T>;
  const hn::RebindToSigned<D> di;
  using TI = hn::TFromD<decltype(di)>;
  HWY_ALIGN TI left[kMaxWideLanes<T>];
  for (size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    left[lane] = static_cast<TI>(lanes.columns[lane] - column);
  }
  const auto lanes_left = hn::Load(di, left);
  const auto at = [&](size_t lane) {
    const int64_t last = lanes.columns[lane] - kBlock;
    return base + lanes.offset[lane] + std::min(column, last);
  };
  ForColumns<T, true>(
      d, 1, at, [](size_t) { return kBlock; },
      [&](int t, V v) HWY_ATTR {
        const auto absent = hn::Set(di, static_cast<TI>(kBlock - 1 - t));
        sum = MaskedAdd(d, hn::RebindMask(d, hn::Gt(lanes_left, absent)), sum, v);
      });
  return sum;
}

// Returns `sum` plus the sources of one row. `ahead`: null, or memory to fetch, as much as the
// lanes read. Hardware does not prefetch it, because the lanes are many short streams.
template <class T, bool kContiguous, class D, class V = hn::Vec<D>>
HWY_INLINE V AddLanes(D d, const T* base, const WideLanes<T>& lanes, int64_t step, const T* ahead,
                      V sum) {
  constexpr int64_t kBlock = kColumns<T>;
  int64_t column = 0;
  const T* first[kMaxWideLanes<T>];
  for (size_t lane = 0; lane < hn::MaxLanes(d); ++lane) first[lane] = base + lanes.offset[lane];
  const auto at = [&](size_t lane) { return first[lane] + column * step; };
  const auto add = [&](int, V v) HWY_ATTR { sum = hn::Add(sum, v); };
  for (; column + kBlock <= lanes.fewest; column += kBlock) {
    ForColumns<T, kContiguous>(
        d, step, at, [](size_t) { return kBlock; }, add);
    if (ahead != nullptr) {
      constexpr size_t kElements = kBlock * hn::MaxLanes(d);
      for (size_t i = 0; i < kElements; i += 64 / sizeof(T)) hwy::Prefetch(ahead + i);
      ahead += kElements;
    }
  }
  if (kContiguous && lanes.fewest >= kBlock) {
    for (; column < lanes.most; column += kBlock) sum = AddLastColumns(d, base, lanes, column, sum);
    return sum;
  }
  for (; column < lanes.most; column += kBlock) {
    ForColumns<T, kContiguous>(
        d, step, at, [&](size_t lane) { return lanes.columns[lane] - column; },
        [&](int, V v) HWY_ATTR { sum = hn::Add(sum, v); });
  }
  return sum;
}

// Adds source rows to the sums of one destination row; a Row for SumTileByRow(). The row has at
// least Lanes columns; lanes are adjacent columns. Rows are contiguous on both sides.
template <class T>
struct WideRow {
  using D = WideTag<T>;
  using Tag = D;
  using V = hn::Vec<D>;
  const int64_t* begin;  // of p.w, at the tile's first column
  int64_t n;
  int64_t ratio;  // sources per destination; 0: as `begin` says
  int64_t first_column;
  bool fetch_ahead;

  int64_t Blocks() const { return (n + Length(D()) - 1) / Length(D()); }
  int64_t Offset(int64_t b) const { return begin[std::min(b * Length(D()), n)] - first_column; }

  template <bool kFirst, bool kLast>
  HWY_INLINE void Add(const T* from, int64_t first, int64_t end, hn::TFromD<D>* sums, T* to,
                      bool /*stream*/) const {
    const D d;
    WideLanes<T> lanes;
    if (ratio > 0) SetLanes(lanes, 0);
    AddToBlocks<kFirst, kLast>(
        d, first, end, sums,
        [&](int64_t b, V sum) PORTACL_INLINE_LAMBDA {
          const int64_t j = Column(b);
          if (ratio == 0) SetLanes(lanes, j);
          const T* base = from + (begin[j] - first_column);
          const T* ahead = fetch_ahead ? base + (begin[j + Length(d)] - begin[j]) : nullptr;
          return AddLanes<T, true>(d, base, lanes, 1, ahead, sum);
        },
        [&](int64_t b, V sum) PORTACL_INLINE_LAMBDA { StoreNarrow(sum, d, to + Column(b)); });
  }

  void Clear(int64_t first, int64_t end, T* to, bool /*stream*/) const {
    const int64_t j = Column(first);
    HWY_NAMESPACE::Clear(to + j, std::min(end * Length(D()), n) - j);
  }

 private:
  HWY_INLINE int64_t Column(int64_t b) const { return std::min(b * Length(D()), n - Length(D())); }

  HWY_INLINE void SetLanes(WideLanes<T>& lanes, int64_t j) const {
    for (int64_t lane = 0; lane < Length(D()); ++lane) {
      lanes.offset[lane] = begin[j + lane] - begin[j];
      lanes.columns[lane] = static_cast<int32_t>(begin[j + lane + 1] - begin[j + lane]);
    }
    lanes.FindRange(static_cast<size_t>(Length(D())));
  }
};

// Sums destinations of short rows or any strides. A lane may have any row and any plane.
template <bool kContiguous, class T>
struct WideGroup {
  explicit WideGroup(const Tile<T>& of) : tile(of) {}

  const Tile<T>& tile;
  size_t used = 0;
  WideLanes<T> lanes;                 // lanes with no rows left get no columns
  int32_t columns[kMaxWideLanes<T>];  // source columns of each lane
  int64_t rows[kMaxWideLanes<T>];     // source rows of each lane, in each plane
  T* to[kMaxWideLanes<T>];

  void Append(const T* from, int64_t row_count, int64_t column_count, T* destination) {
    lanes.offset[used] = from - tile.from;
    columns[used] = static_cast<int32_t>(column_count);
    rows[used] = row_count;
    to[used] = destination;
    if (++used == hn::Lanes(WideTag<T>())) Flush();
  }

  // Sums the used lanes and stores each sum by itself.
  HWY_NOINLINE void Flush() {
    const WideTag<T> d;
    if (used == 0) return;
    for (size_t lane = used; lane < hn::Lanes(d); ++lane) {
      lanes.offset[lane] = lanes.offset[0];
      columns[lane] = 0;
      rows[lane] = 0;
    }
    auto sum = hn::Zero(d);
    for (int64_t plane = 0; plane < tile.depth; ++plane) {
      sum = AddPlane(d, tile.from + plane * tile.from_depth, sum);
    }
    HWY_ALIGN BitsOf<T> bits[kMaxWideLanes<T>];
    T* sums = reinterpret_cast<T*>(bits);
    StoreNarrow(sum, d, sums);
    for (size_t lane = 0; lane < used; ++lane) *to[lane] = sums[lane];
    used = 0;
  }

 private:
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V AddPlane(D d, const T* base, V sum) {
    const int64_t all_rows = *std::min_element(rows, rows + used);
    const int64_t most_rows = *std::max_element(rows, rows + used);
    std::copy_n(columns, hn::Lanes(d), lanes.columns);
    // An unused lane has no columns, so the fewest columns are 0 if a lane is unused.
    lanes.FindRange(hn::Lanes(d));
    for (int64_t r = 0; r < most_rows; ++r, base += tile.from_row) {
      if (r >= all_rows) {  // some lanes have no rows left
        for (size_t lane = 0; lane < used; ++lane) {
          if (r >= rows[lane]) lanes.columns[lane] = 0;
        }
        lanes.FindRange(hn::Lanes(d));
      }
      sum = AddLanes<T, kContiguous>(d, base, lanes, tile.from_column, nullptr, sum);
    }
    return sum;
  }
};

}  // namespace

template <bool kContiguous, class T>
void SumTileWide(const Params& p, const Tile<T>& t) {
  const int64_t* begin = p.w.begin;
  const int64_t n = t.box.j1 - t.box.j0;
  if (kContiguous && t.to_column == 1 && n >= Length(WideTag<T>())) {
    return SumTileByRow(p, t,
                        WideRow<T>{.begin = begin + t.box.j0,
                                   .n = n,
                                   .ratio = p.w.ratio,
                                   .first_column = t.first_column,
                                   .fetch_ahead = t.by_row});
  }
  WideGroup<kContiguous, T> group(t);
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) {
    if (rows == 0) {  // a lane without sources would wait for the others
      if (t.to_column == 1) return Clear(to, n);
      for (int64_t j = 0; j < n; ++j) Clear(to + j * t.to_column, 1);
      return;
    }
    for (int64_t j = t.box.j0; j < t.box.j1; ++j) {
      group.Append(from + (begin[j] - t.first_column) * t.from_column, rows,
                   begin[j + 1] - begin[j], to + (j - t.box.j0) * t.to_column);
    }
  });
  group.Flush();
}

template void SumTileWide<true>(const Params&, const Tile<float>&);
template void SumTileWide<true>(const Params&, const Tile<double>&);
template void SumTileWide<true>(const Params&, const Tile<base::Float16>&);
template void SumTileWide<true>(const Params&, const Tile<base::BFloat16>&);
template void SumTileWide<false>(const Params&, const Tile<float>&);
template void SumTileWide<false>(const Params&, const Tile<double>&);
template void SumTileWide<false>(const Params&, const Tile<base::Float16>&);
template void SumTileWide<false>(const Params&, const Tile<base::BFloat16>&);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
