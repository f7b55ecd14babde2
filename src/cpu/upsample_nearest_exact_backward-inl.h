// The nearest-exact backward kernel of one instruction set: plan, run and the code paths.
//
// Every path computes, per destination, the sum over its rows of sources and in each row over its
// columns, in that order, from +0 in the compute type, rounded once. A sum that starts from +0 is
// never -0 (round to nearest), so that adding +0 for a source that is not there changes no bit: the
// paths use that wherever lanes have different numbers of sources.
//
//   path           when                                      how
//   x1 ... x4      equal ratio, W contiguous                 de-interleaving loads, then adds
//   permute        at most 4 columns per destination         in-register permutation by index table
//   wide           more columns per destination              a lane per destination, blocks
//                                                            transposed in registers
//   channels_last  C contiguous                              a lane per channel
//
// Where W is not contiguous, a tile is packed to or from the stack around the same code; the wide
// path reads and writes any strides.
#if defined(PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_INL_H_
#undef PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_INL_H_
#else
#define PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_BACKWARD_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/fetch.h"
#include "cpu/highway.h"
#include "cpu/simd-inl.h"
#include "cpu/upsample_nearest_exact_backward_plan.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::UpsampleNearestExactBackwardParams;

// Where the sources and destinations of a tile are. Strides in elements.
//
//   from -> source (c0, h.begin[i0], first_column)     to -> destination (c0, i0, j0)
template <class T>
struct Tile {
  const T* from;
  int64_t from_plane, from_row, from_column;
  T* to;
  int64_t to_plane, to_row, to_column;
  NearestTile box;
  int64_t planes;        // channels to walk through; 1 where they are inside a pixel
  int64_t first_column;  // source column at `from`
  int64_t end_column;    // sources up to here may be read
  bool by_row;           // large: read memory strictly forward
  bool stream;           // store past the caches; `to` has kStreamAlignment
};

// Calls row(from, source_rows, to) for every destination row of a tile.
template <class T, class Row>
HWY_INLINE void ForEachRow(const Params& p, const Tile<T>& t, const Row& row) {
  const int64_t* begin = p.h.begin;
  for (int64_t plane = 0; plane < t.planes; ++plane) {
    const T* from = t.from + plane * t.from_plane;
    T* to = t.to + plane * t.to_plane;
    for (int64_t i = t.box.i0; i < t.box.i1; ++i) {
      const int64_t rows = begin[i + 1] - begin[i];
      row(from, rows, to);
      from += rows * t.from_row;
      to += t.to_row;
    }
  }
}

template <class T>
void ClearElements(T* to, int64_t n) {
  std::memset(static_cast<void*>(to), 0, static_cast<size_t>(n) * sizeof(T));
}

// Zeros for n elements. `stream`: past the caches where lines allow; `to` is inside a line where
// the last block of a row alone is cleared.
template <class D, class T>
HWY_INLINE void ClearRow(D d, T* to, int64_t n, bool stream) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  stream = stream && reinterpret_cast<uintptr_t>(to) % kStreamAlignment == 0;
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    StoreNarrow2(hn::Zero(d), hn::Zero(d), d, to + j, stream);
  }
  if (j + lanes <= n) {
    StoreNarrowLine(hn::Zero(d), d, to + j, stream);
    j += lanes;
  }
  if (j < n) ClearElements(to + j, n - j);
}

// Memory for the sums of a stretch of a destination row, in L1.
inline constexpr int64_t kSumBytes = int64_t{8} << 10;

// Sums a tile source row by source row, a stretch of blocks at a time. Memory is then read strictly
// forward, which its prefetchers need: two rows read in turn from DRAM come at less than half the
// speed. `Row` adds one source row to the sums of its blocks [first, end):
//
//   Add<kFirst, kLast>(from, first, end, sums, to, stream)
//
// kFirst: the sums start from +0. kLast: they are complete and go to `to`, not back to `sums`.
// `Offset(b)`: where the sources of block b start, in elements from `from`.
template <class T, class Row>
HWY_NOINLINE void SumTileByRow(const Params& p, const Tile<T>& t, const Row& row) {
  using S = base::ComputeType<T>;
  HWY_ALIGN S sums[kSumBytes / sizeof(S)];
  const int64_t blocks = row.Blocks();
  const int64_t stretch = std::max<int64_t>(1, kSumBytes / sizeof(S) / row.slots);
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    for (int64_t first = 0; first < blocks; first += stretch) {
      const int64_t end = std::min(first + stretch, blocks);
      if (rows <= 1) {
        if (rows == 1) {
          row.template Add<true, true>(from, first, end, sums, to, t.stream);
        } else {
          row.Clear(first, end, to, t.stream);
        }
        continue;
      }
      const int64_t offset = row.Offset(first);
      const int64_t length = row.Offset(end) - offset;
      const T* at = from;
      FetchPagesAhead(at + offset, length);
      row.template Add<true, false>(at, first, end, sums, to, t.stream);
      for (int64_t r = 2; r < rows; ++r) {
        at += t.from_row;
        FetchPagesAhead(at + offset, length);
        row.template Add<false, false>(at, first, end, sums, to, t.stream);
      }
      at += t.from_row;
      FetchPagesAhead(at + offset, length);
      row.template Add<false, true>(at, first, end, sums, to, t.stream);
    }
  });
}

// ---- x1 ... x4 ----------------------------------------------------------------------------------

// sum + the kRatio sources of each lane's destination, in order.
template <int kRatio, class D, class T, class V = hn::Vec<D>>
HWY_INLINE V AddSources(D d, const T* from, V sum) {
  if constexpr (kRatio == 1) {
    return hn::Add(sum, LoadWide(d, from));
  } else if constexpr (kRatio == 2) {
    V p0, p1;
    LoadDeinterleaved2(d, from, p0, p1);
    return hn::Add(hn::Add(sum, p0), p1);
  } else if constexpr (kRatio == 3) {
    V p0, p1, p2;
    LoadDeinterleaved3(d, from, p0, p1, p2);
    return hn::Add(hn::Add(hn::Add(sum, p0), p1), p2);
  } else {
    V p0, p1, p2, p3;
    LoadDeinterleaved4(d, from, p0, p1, p2, p3);
    return hn::Add(hn::Add(hn::Add(hn::Add(sum, p0), p1), p2), p3);
  }
}

// What adds source rows to the sums of a destination row of n >= Lanes(d) columns. A block is
// Lanes(d) columns; the last one ends with the row and overlaps its neighbour: the same values are
// written twice.
template <int kRatio, class D, class T>
struct RatioRow {
  static constexpr int64_t slots = static_cast<int64_t>(hn::MaxLanes(D()));  // sums of a block
  int64_t n;
  int64_t stride;  // of source rows

  int64_t Blocks() const { return (n + Lanes() - 1) / Lanes(); }
  int64_t Offset(int64_t b) const { return kRatio * std::min(b * Lanes(), n); }

  // Adds one source row to the sums of blocks [first, end), see SumTileByRow.
  template <bool kFirst, bool kLast>
  HWY_INLINE void Add(const T* from, int64_t first, int64_t end, hn::TFromD<D>* HWY_RESTRICT sums,
                      T* to, bool stream) const {
    const D d;
    const int64_t whole = std::min(end, n / Lanes());
    int64_t b = first;
    for (; b + 2 <= whole; b += 2, sums += 2 * slots) {
      const T* at = from + kRatio * b * Lanes();
      const auto sum0 = AddSources<kRatio>(d, at, kFirst ? hn::Zero(d) : hn::Load(d, sums));
      const auto sum1 = AddSources<kRatio>(d, at + kRatio * Lanes(),
                                           kFirst ? hn::Zero(d) : hn::Load(d, sums + slots));
      if constexpr (kLast) {
        StoreNarrow2(sum0, sum1, d, to + b * Lanes(), stream);
      } else {
        hn::Store(sum0, d, sums);
        hn::Store(sum1, d, sums + slots);
      }
    }
    for (; b < end; ++b, sums += slots) {
      const int64_t j = std::min(b * Lanes(), n - Lanes());
      const auto sum =
          AddSources<kRatio>(d, from + kRatio * j, kFirst ? hn::Zero(d) : hn::Load(d, sums));
      if constexpr (kLast) {
        StoreNarrowLine(sum, d, to + j, stream && b < whole);
      } else {
        hn::Store(sum, d, sums);
      }
    }
  }

  // Destinations without a source.
  void Clear(int64_t first, int64_t end, T* to, bool stream) const {
    const int64_t j = std::min(first * Lanes(), n - Lanes());
    ClearRow(D(), to + j, std::min(end * Lanes(), n) - j, stream);
  }

  // A whole destination row with its sums in registers.
  HWY_INLINE void Sum(const T* from, int64_t rows, T* to) const {
    const D d;
    int64_t j = 0;
    for (; j + 2 * Lanes() <= n; j += 2 * Lanes()) {
      auto sum0 = hn::Zero(d);
      auto sum1 = hn::Zero(d);
      const T* at = from + kRatio * j;
      for (int64_t r = 0; r < rows; ++r, at += stride) {
        sum0 = AddSources<kRatio>(d, at, sum0);
        sum1 = AddSources<kRatio>(d, at + kRatio * Lanes(), sum1);
      }
      StoreNarrow2(sum0, sum1, d, to + j, false);
    }
    for (; j < n; j += Lanes()) {
      j = std::min(j, n - Lanes());
      auto sum = hn::Zero(d);
      const T* at = from + kRatio * j;
      for (int64_t r = 0; r < rows; ++r, at += stride) sum = AddSources<kRatio>(d, at, sum);
      StoreNarrow(sum, d, to + j);
    }
  }

 private:
  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
};

template <int kRatio, class D, class T>
HWY_NOINLINE void SumTileInRegisters(const Params& p, const Tile<T>& t) {
  const RatioRow<kRatio, D, T> row{.n = t.box.j1 - t.box.j0, .stride = t.from_row};
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR { row.Sum(from, rows, to); });
}

// Whether rows of n columns take longer with 512-bit vectors than with 256-bit ones, as measured on
// Zen 4: where they are not whole lines, every 512-bit load and store touches two of them.
// float16's conversions of 512 bits are slower than twice as many of 256.
template <class T, class D>
constexpr bool TooWide(D d, int64_t n) {
  if (sizeof(hn::Vec<D>) <= 32) return false;
  if (std::is_same_v<T, base::Float16>) return true;
  const auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  return n % lanes != 0 && (sizeof(T) > 2 || n < 2 * lanes);
}

// With vectors of the largest size that a row fills; a row has MinRatioColumns() at least.
template <int kRatio, class T, class D>
void ChooseWidth([[maybe_unused]] D d, const Params& p, const Tile<T>& t) {
#if HWY_ARCH_X86
  if constexpr (sizeof(hn::Vec<D>) > 16) {
    const int64_t n = t.box.j1 - t.box.j0;
    if (n < static_cast<int64_t>(hn::Lanes(d)) || TooWide<T>(d, n)) {
      return ChooseWidth<kRatio>(hn::Half<D>(), p, t);
    }
  }
#endif
  if (t.by_row) {
    SumTileByRow(p, t, RatioRow<kRatio, D, T>{.n = t.box.j1 - t.box.j0, .stride = t.from_row});
  } else {
    SumTileInRegisters<kRatio, D>(p, t);
  }
}

template <class T>
int64_t MinRatioColumns() {
#if HWY_ARCH_X86
  return 16 / static_cast<int64_t>(sizeof(base::ComputeType<T>));
#else
  return static_cast<int64_t>(hn::Lanes(ComputeTag<T>()));
#endif
}

// ---- permute ------------------------------------------------------------------------------------

// if_lanes ? sum + v : sum
template <class D, class V = hn::Vec<D>>
HWY_INLINE V MaskedAdd(D d, hn::Mask<D> if_lanes, V sum, V v) {
  static_cast<void>(d);
#if HWY_TARGET == HWY_AVX3
  using T = hn::TFromD<D>;
  if constexpr (sizeof(V) == 64 && std::is_same_v<T, float>) {
    return V{_mm512_mask_add_ps(sum.raw, if_lanes.raw, sum.raw, v.raw)};
  } else if constexpr (sizeof(V) == 64 && std::is_same_v<T, double>) {
    return V{_mm512_mask_add_pd(sum.raw, if_lanes.raw, sum.raw, v.raw)};
  }
#endif
  return hn::Add(sum, hn::IfThenElseZero(if_lanes, v));
}

// Lane i is value index[i] of the kVectors vectors v0, v1, ...; any value where index[i] < 0.
template <int kVectors, class D, class V = hn::Vec<D>, class VI = hn::Vec<hn::RebindToSigned<D>>>
HWY_INLINE V Lookup(D d, V v0, V v1, V v2, V v3, VI index) {
  const hn::RebindToSigned<D> di;
  using TI = hn::TFromD<decltype(di)>;
  const auto lanes = hn::Set(di, static_cast<TI>(hn::Lanes(d)));
  const auto two = hn::Add(lanes, lanes);
  const auto last = hn::Sub(lanes, hn::Set(di, 1));
  if constexpr (kVectors == 1) {
    return hn::TableLookupLanes(v0, hn::IndicesFromVec(d, hn::And(index, last)));
  } else if constexpr (kVectors == 2) {
    return Lookup2(d, v0, v1, index);
  } else if constexpr (kVectors == 3) {
    const auto high = hn::TableLookupLanes(v2, hn::IndicesFromVec(d, hn::And(index, last)));
    return hn::IfThenElse(hn::RebindMask(d, hn::Lt(index, two)), Lookup2(d, v0, v1, index), high);
  } else {
    return hn::IfThenElse(hn::RebindMask(d, hn::Lt(index, two)), Lookup2(d, v0, v1, index),
                          Lookup2(d, v2, v3, hn::Sub(index, two)));
  }
}

// Vector `v` of the source window at `from`, of which `count` elements may be read.
template <bool kPartial, class D, class T>
HWY_INLINE hn::Vec<D> LoadWindow(D d, const T* from, int64_t count, int64_t v) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (kPartial) {
    const int64_t left = std::clamp<int64_t>(count - v * lanes, 0, lanes);
    return LoadWideFirst(d, from + std::min(v * lanes, count), static_cast<size_t>(left));
  } else {
    static_cast<void>(count);
    return LoadWide(d, from + v * lanes);
  }
}

// The lanes of one phase of a block: index table entries, sign-extended.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> LoadIndex(D, const int8_t* index) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<int8_t, D> d8;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::PromoteTo(di, hn::LoadU(d8, index));
  } else {
    const hn::Rebind<int32_t, D> d32;
    return hn::PromoteTo(di, hn::PromoteTo(d32, hn::LoadU(d8, index)));
  }
}

// sum + the sources that one row has for a block of at most Lanes(d) destinations. Each destination
// has at most kVectors columns, all inside a window of kVectors vectors at `from`. kFull: each has
// kVectors - 1 or kVectors. `index`: see NearestBackwardKernelPlan.
template <int kVectors, bool kFull, bool kPartial, class D, class T, class V = hn::Vec<D>>
HWY_INLINE V AddPermuted(D d, const T* from, int64_t count, const int8_t* index, V sum) {
  const auto zero = hn::Zero(d);
  const V v0 = LoadWindow<kPartial>(d, from, count, 0);
  const V v1 = kVectors > 1 ? LoadWindow<kPartial>(d, from, count, 1) : zero;
  const V v2 = kVectors > 2 ? LoadWindow<kPartial>(d, from, count, 2) : zero;
  const V v3 = kVectors > 3 ? LoadWindow<kPartial>(d, from, count, 3) : zero;
  const auto none = hn::Set(hn::RebindToSigned<D>(), -1);
  for (int phase = 0; phase < kVectors; ++phase, index += hn::Lanes(d)) {
    const auto lanes = LoadIndex(d, index);
    const V v = Lookup<kVectors>(d, v0, v1, v2, v3, lanes);
    if (kFull && phase < kVectors - 1) {
      sum = hn::Add(sum, v);
    } else {
      sum = MaskedAdd(d, hn::RebindMask(d, hn::Gt(lanes, none)), sum, v);
    }
  }
  return sum;
}

// What adds source rows to the sums of a destination row, by permutation.
template <int kVectors, bool kFull, bool kPartial, class T>
struct PermutedRow {
  using D = ComputeTag<T>;
  using S = hn::TFromD<D>;
  static constexpr int64_t slots = static_cast<int64_t>(hn::MaxLanes(D()));
  const NearestBackwardKernelPlan& plan;
  const Tile<T>& tile;

  int64_t Blocks() const { return (tile.box.j1 + Lanes() - 1) / Lanes() - FirstBlock(); }
  int64_t Offset(int64_t b) const {
    if (b == Blocks()) return tile.end_column - tile.first_column;
    return plan.window[static_cast<size_t>(FirstBlock() + b)] - tile.first_column;
  }

  template <bool kFirst, bool kLast>
  HWY_INLINE void Add(const T* from, int64_t first, int64_t end, S* HWY_RESTRICT sums, T* to,
                      bool stream) const {
    const D d;
    const int64_t whole = std::min(end, (tile.box.j1 - tile.box.j0) / Lanes());
    int64_t b = first;
    for (; b + 2 <= whole; b += 2, sums += 2 * slots) {
      const auto sum0 = Sum(from, b, kFirst ? hn::Zero(d) : hn::Load(d, sums));
      const auto sum1 = Sum(from, b + 1, kFirst ? hn::Zero(d) : hn::Load(d, sums + slots));
      if constexpr (kLast) {
        StoreNarrow2(sum0, sum1, d, to + b * Lanes(), stream);
      } else {
        hn::Store(sum0, d, sums);
        hn::Store(sum1, d, sums + slots);
      }
    }
    for (; b < end; ++b, sums += slots) {
      const auto sum = Sum(from, b, kFirst ? hn::Zero(d) : hn::Load(d, sums));
      if constexpr (!kLast) {
        hn::Store(sum, d, sums);
      } else if constexpr (kPartial) {
        StoreNarrowFirst(sum, d, to + Column(b), static_cast<size_t>(std::min(Lanes(), Left(b))));
      } else {
        StoreNarrowLine(sum, d, to + Column(b), stream && b < whole);
      }
    }
  }

  void Clear(int64_t first, int64_t end, T* to, bool stream) const {
    const int64_t last = Column(end - 1) + std::min(Lanes(), Left(end - 1));
    ClearRow(D(), to + Column(first), last - Column(first), stream);
  }

 private:
  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }
  HWY_INLINE int64_t FirstBlock() const { return tile.box.j0 / Lanes(); }
  // First destination column of a block of this tile, and columns from there to the tile's end.
  HWY_INLINE int64_t Column(int64_t b) const {
    return plan.BlockColumn(FirstBlock() + b) - tile.box.j0;
  }
  HWY_INLINE int64_t Left(int64_t b) const { return tile.box.j1 - tile.box.j0 - Column(b); }

  HWY_INLINE hn::Vec<D> Sum(const T* from, int64_t b, hn::Vec<D> sum) const {
    const int64_t block = FirstBlock() + b;
    const int64_t window = plan.window[static_cast<size_t>(block)] - tile.first_column;
    const int8_t* index = plan.index.data() + block * kVectors * Lanes();
    const int64_t readable = tile.end_column - tile.first_column - window;
    return AddPermuted<kVectors, kFull, kPartial>(D(), from + window, readable, index, sum);
  }
};

// Tiles of one or two blocks, such as small planes: sums in registers read memory forward as well.
template <int kVectors, bool kFull, bool kPartial, bool kTwo, class T>
HWY_NOINLINE void SumNarrowTile(const Params& p, const NearestBackwardKernelPlan& plan,
                                const Tile<T>& t) {
  const ComputeTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t columns = t.box.j1 - t.box.j0;
  const int64_t first = t.box.j0 / lanes;
  const int64_t second = kTwo ? first + 1 : first;
  const int64_t window = plan.window[static_cast<size_t>(second)] - t.first_column;
  const int64_t column = plan.BlockColumn(second) - t.box.j0;
  const int64_t readable = t.end_column - t.first_column;
  const auto sum_block = [&](const T* from, int64_t rows, int64_t block, int64_t at) HWY_ATTR {
    const int8_t* index = plan.index.data() + block * kVectors * lanes;
    auto sum = hn::Zero(d);
    for (int64_t r = 0; r < rows; ++r, from += t.from_row) {
      sum = AddPermuted<kVectors, kFull, kPartial>(d, from + at, readable - at, index, sum);
    }
    return sum;
  };
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    const auto sum = sum_block(from, rows, first, 0);
    if (kTwo && columns == 2 * lanes) {
      StoreNarrow2(sum, sum_block(from, rows, second, window), d, to, t.stream);
    } else if (!kTwo && columns < lanes) {
      StoreNarrowFirst(sum, d, to, static_cast<size_t>(columns));
    } else {
      StoreNarrowLine(sum, d, to, t.stream && !kTwo);
      if (kTwo) StoreNarrow(sum_block(from, rows, second, window), d, to + column);
    }
  });
}

template <int kVectors, bool kFull, bool kPartial, class T>
void SumPermutedTile(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t) {
  const PermutedRow<kVectors, kFull, kPartial, T> row{plan, t};
  switch (row.Blocks()) {
    case 1:
      return SumNarrowTile<kVectors, kFull, kPartial, false>(p, plan, t);
    case 2:
      return SumNarrowTile<kVectors, kFull, kPartial, true>(p, plan, t);
    default:
      return SumTileByRow(p, t, row);
  }
}

template <int kVectors, class T>
void ChoosePermuted(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t) {
  if (plan.partial) {
    SumPermutedTile<kVectors, false, true>(p, plan, t);
  } else if (plan.full) {
    SumPermutedTile<kVectors, true, false>(p, plan, t);
  } else {
    SumPermutedTile<kVectors, false, false>(p, plan, t);
  }
}

// ---- wide ---------------------------------------------------------------------------------------

// Vectors of at most 256 bits whose 128-bit blocks (64-bit ones for 16-bit elements in memory) hold
// kColumns source columns of one destination each. With 8 lanes their addresses fit the general
// registers and the loop is twice as fast as with 16. One block where the length is not known.
template <class T>
inline constexpr int64_t kColumns = 16 / static_cast<int64_t>(sizeof(base::ComputeType<T>));
template <class T>
inline constexpr size_t kMaxWideLanes = (HWY_ARCH_X86 ? 2 : 1) * static_cast<size_t>(kColumns<T>);
template <class T>
using WideTag = hn::CappedTag<base::ComputeType<T>, kMaxWideLanes<T>>;

// The sources that one row has for the destinations of a vector, a lane each.
//
//   base + offset[0]   c c c c c c c c     columns[0] of them
//   base + offset[1]   c c c c c c c
//   ...
template <class T>
struct WideLanes {
  int64_t offset[kMaxWideLanes<T>];
  int32_t columns[kMaxWideLanes<T>];
  int64_t fewest, most;  // columns

  void FindRange(size_t n) {
    fewest = *std::min_element(columns, columns + n);
    most = *std::max_element(columns, columns + n);
  }
};

// kColumns elements, `step` apart; the first n of them where n is smaller, zeros behind.
template <bool kContiguous, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadColumns(D d, const T* from, int64_t step, int64_t n) {
  const auto columns = static_cast<int64_t>(hn::Lanes(d));
  if (n <= 0) return hn::Zero(d);
  if constexpr (kContiguous) {
    return n >= columns ? hn::LoadU(d, from) : LoadFirst(d, from, static_cast<size_t>(n));
  } else {
    HWY_ALIGN T elements[hn::MaxLanes(d)] = {};
    for (int64_t i = 0; i < std::min(n, columns); ++i) elements[i] = from[i * step];
    return hn::Load(d, elements);
  }
}

// Blocks of kColumns columns of the lanes `lane`, lane + kColumns, lane + 2 kColumns, ...
// `where(lane)`: the lane's first column; `count(lane)`: how many there are to load.
template <class T, bool kContiguous, class D, class Where, class Count>
HWY_INLINE hn::Vec<D> LoadWideBlocks(D d, int64_t step, size_t lane, const Where& where,
                                     const Count& count) {
  // Where the vector length is not known, it is one block.
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

// Calls add(column, v) for kColumns columns in order; lane i of v is the column of lane i: a
// transposition inside the blocks.
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

// sum + kColumns columns from `column` on, of lanes that may end before or inside them. Every lane
// has kColumns columns in all: one that ends too early loads its last ones and leaves out those
// that were added before.
//
//   column            v                           kColumns = 4
//   lane 0   c c c c [c c c c] c       loaded as is
//   lane 1   c c c [- c c c]           loaded one earlier, first one left out
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

// sum + the sources of one row. `ahead`: null, or memory to fetch meanwhile, as much as the lanes
// have sources: the lanes' many short streams hide from the prefetchers that it will be needed.
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

// What adds source rows to the sums of a destination row of n >= Lanes columns, a lane for each of
// neighbouring columns. Contiguous on both sides.
template <class T>
struct WideRow {
  using D = WideTag<T>;
  using S = hn::TFromD<D>;
  static constexpr int64_t slots = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t* begin;  // of w, at the tile's first column
  int64_t n;
  int64_t ratio;  // 0: see `begin`
  int64_t first_column;
  bool fetch_ahead;

  int64_t Blocks() const { return (n + Lanes() - 1) / Lanes(); }
  int64_t Offset(int64_t b) const { return begin[std::min(b * Lanes(), n)] - first_column; }

  template <bool kFirst, bool kLast>
  HWY_INLINE void Add(const T* from, int64_t first, int64_t end, S* HWY_RESTRICT sums, T* to,
                      bool /*stream*/) const {
    const D d;
    WideLanes<T> lanes;
    if (ratio > 0) SetLanes(lanes, 0);
    for (int64_t b = first; b < end; ++b, sums += slots) {
      const int64_t j = std::min(b * Lanes(), n - Lanes());
      if (ratio == 0) SetLanes(lanes, j);
      const T* base = from + (begin[j] - first_column);
      const T* ahead = fetch_ahead ? base + (begin[j + Lanes()] - begin[j]) : nullptr;
      const auto sum =
          AddLanes<T, true>(d, base, lanes, 1, ahead, kFirst ? hn::Zero(d) : hn::Load(d, sums));
      if constexpr (kLast) {
        StoreNarrow(sum, d, to + j);
      } else {
        hn::Store(sum, d, sums);
      }
    }
  }

  void Clear(int64_t first, int64_t end, T* to, bool /*stream*/) const {
    const int64_t j = std::min(first * Lanes(), n - Lanes());
    ClearElements(to + j, std::min(end * Lanes(), n) - j);
  }

 private:
  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

  HWY_INLINE void SetLanes(WideLanes<T>& lanes, int64_t j) const {
    for (int64_t lane = 0; lane < Lanes(); ++lane) {
      lanes.offset[lane] = begin[j + lane] - begin[j];
      lanes.columns[lane] = static_cast<int32_t>(begin[j + lane + 1] - begin[j + lane]);
    }
    lanes.FindRange(static_cast<size_t>(Lanes()));
  }
};

// Short rows and any strides: a lane per destination, whatever row and plane it is in.
template <bool kContiguous, class T>
struct WideGroup {
  explicit WideGroup(const Tile<T>& of) : tile(of) {}

  const Tile<T>& tile;
  size_t used = 0;
  WideLanes<T> lanes;
  int64_t rows[kMaxWideLanes<T>];
  T* to[kMaxWideLanes<T>];

  static size_t Lanes() { return hn::Lanes(WideTag<T>()); }

  void Append(const T* from, int64_t row_count, int64_t columns, T* destination) {
    lanes.offset[used] = from - tile.from;
    lanes.columns[used] = static_cast<int32_t>(columns);
    rows[used] = row_count;
    to[used] = destination;
    if (++used == Lanes()) Flush();
  }

  // Sums the lanes that are used and stores them one by one.
  HWY_NOINLINE void Flush() {
    const WideTag<T> d;
    if (used == 0) return;
    for (size_t lane = used; lane < Lanes(); ++lane) {
      lanes.offset[lane] = lanes.offset[0];
      lanes.columns[lane] = 0;
      rows[lane] = 0;
    }
    const int64_t all_rows = *std::min_element(rows, rows + used);
    const int64_t most_rows = *std::max_element(rows, rows + used);
    // Lanes that are not used have no columns: the range counts them where some are not.
    lanes.FindRange(Lanes());
    auto sum = hn::Zero(d);
    const T* base = tile.from;
    for (int64_t r = 0; r < most_rows; ++r, base += tile.from_row) {
      if (r >= all_rows) {  // lanes whose rows have ended
        for (size_t lane = 0; lane < used; ++lane) {
          if (r >= rows[lane]) lanes.columns[lane] = 0;
        }
        lanes.FindRange(Lanes());
      }
      sum = AddLanes<T, kContiguous>(d, base, lanes, tile.from_column, nullptr, sum);
    }
    HWY_ALIGN BitsOf<T> bits[kMaxWideLanes<T>];
    T* sums = reinterpret_cast<T*>(bits);
    StoreNarrow(sum, d, sums);
    for (size_t lane = 0; lane < used; ++lane) *to[lane] = sums[lane];
    used = 0;
  }
};

template <bool kContiguous, class T>
void SumTileWide(const Params& p, const Tile<T>& t) {
  const int64_t* begin = p.w.begin;
  const int64_t n = t.box.j1 - t.box.j0;
  if (kContiguous && t.to_column == 1 && n >= static_cast<int64_t>(hn::Lanes(WideTag<T>()))) {
    return SumTileByRow(p, t,
                        WideRow<T>{.begin = begin + t.box.j0,
                                   .n = n,
                                   .ratio = p.w.ratio,
                                   .first_column = t.first_column,
                                   .fetch_ahead = t.by_row});
  }
  WideGroup<kContiguous, T> group(t);
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) {
    for (int64_t j = t.box.j0; j < t.box.j1; ++j) {
      group.Append(from + (begin[j] - t.first_column) * t.from_column, rows,
                   begin[j + 1] - begin[j], to + (j - t.box.j0) * t.to_column);
    }
  });
  group.Flush();
}

// ---- channels_last ------------------------------------------------------------------------------

// Where several source pixels share a page of 4 KiB and are too many for registers, reading them in
// turn costs a third of the speed: they are read one after the other, see SumTileByPixel.
template <class T>
inline constexpr int64_t kHalfPage = 2048 / static_cast<int64_t>(sizeof(T));

// How far ahead the source pixels of a row are fetched, in elements: every line by an instruction,
// as prefetchers do not follow short stretches of several rows in turn. 1 KiB; what is fetched
// 4 KiB ahead comes at three quarters of the speed. Of large pixels, each a stream of its own, the
// same line some pixels on.
template <class T>
int64_t PixelFetchDistance(int64_t column_stride) {
  constexpr int64_t kElements = kHalfPage<T> / 2;
  const int64_t pixel = std::abs(column_stride);
  if (pixel > kHalfPage<T>) return 4 * column_stride;
  if (pixel >= kElements) return kElements;
  return pixel == 0 ? 0 : column_stride * (kElements / pixel);  // 0: an expanded pixel
}

// Fetches the one or two lines that kBytes bytes at `from` are in.
template <size_t kBytes, class T>
HWY_INLINE void FetchLines(const T* from) {
  const char* bytes = reinterpret_cast<const char*>(from);
  __builtin_prefetch(bytes, 0, 2);
  if constexpr (kBytes > 64) __builtin_prefetch(bytes + 64, 0, 2);
}

// Sums the cell of one destination pixel, rows x columns source pixels, with the sums in registers.
// kFetch: memory is read from further than the caches.
template <class T, bool kFetch>
struct RegisterPixelCell {
  using D = ComputeTag<T>;
  using V = hn::Vec<D>;
  int64_t channels;
  int64_t row_stride, column_stride;  // of sources
  int64_t ahead;                      // see PixelFetchDistance

  HWY_INLINE void Sum(const T* from, int64_t rows, int64_t columns, T* to, bool stream) const {
    const D d;
    int64_t c = 0;
    for (; c + 4 * Lanes() <= channels; c += 4 * Lanes()) {
      V sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
      ForSources(from + c, rows, columns, [&](const T* at) HWY_ATTR {
        sum0 = Add<0>(sum0, at);
        sum1 = Add<1>(sum1, at);
        sum2 = Add<2>(sum2, at);
        sum3 = Add<3>(sum3, at);
      });
      StoreNarrow2(sum0, sum1, d, to + c, stream);
      StoreNarrow2(sum2, sum3, d, to + c + 2 * Lanes(), stream);
    }
    for (; c + 2 * Lanes() <= channels; c += 2 * Lanes()) {
      V sum0 = hn::Zero(d), sum1 = sum0;
      ForSources(from + c, rows, columns, [&](const T* at) HWY_ATTR {
        sum0 = Add<0>(sum0, at);
        sum1 = Add<1>(sum1, at);
      });
      StoreNarrow2(sum0, sum1, d, to + c, stream);
    }
    for (; c < channels; c += Lanes()) {
      if (channels < Lanes()) return SumShort(from, rows, columns, to);
      const int64_t last = std::min(c, channels - Lanes());  // overlaps its neighbour
      V sum = hn::Zero(d);
      ForSources(from + last, rows, columns, [&](const T* at) HWY_ATTR { sum = Add<0>(sum, at); });
      StoreNarrowLine(sum, d, to + last, stream && last == c);
    }
  }

 private:
  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

  // sum + vector kVector of a source; fetches each line that begins with a vector once.
  template <size_t kVector>
  HWY_INLINE V Add(V sum, const T* at) const {
    const D d;
    constexpr size_t kBytes = hn::MaxLanes(d) * sizeof(T);
    const T* from = at + static_cast<int64_t>(kVector) * Lanes();
    if constexpr (kFetch && kVector * kBytes % 64 == 0) FetchLines<kBytes>(from + ahead);
    return hn::Add(sum, LoadWide(d, from));
  }

  // Calls use(source pixel) in row-major order.
  template <class Use>
  HWY_INLINE void ForSources(const T* from, int64_t rows, int64_t columns, const Use& use) const {
    if (rows == 2 && columns == 2) {
      use(from);
      use(from + column_stride);
      use(from + row_stride);
      use(from + row_stride + column_stride);
      return;
    }
    for (int64_t r = 0; r < rows; ++r, from += row_stride) {
      const T* at = from;
      for (int64_t x = 0; x < columns; ++x, at += column_stride) use(at);
    }
  }

  // A pixel of fewer channels than a vector has lanes.
  HWY_INLINE void SumShort(const T* from, int64_t rows, int64_t columns, T* to) const {
    const D d;
    const auto n = static_cast<size_t>(channels);
    V sum = hn::Zero(d);
    ForSources(from, rows, columns,
               [&](const T* at) HWY_ATTR { sum = hn::Add(sum, LoadWideFirst(d, at, n)); });
    StoreNarrowFirst(sum, d, to, n);
  }
};

// The same source pixel by source pixel, with the sums in memory (L1): a row of sources is read
// strictly forward.
template <class T, bool kFetch>
struct ForwardPixelCell {
  using D = ComputeTag<T>;
  using S = hn::TFromD<D>;
  static constexpr size_t kVectorBytes = hn::MaxLanes(D()) * sizeof(T);
  int64_t channels;                   // Lanes at least
  int64_t row_stride, column_stride;  // of sources
  int64_t ahead;                      // see PixelFetchDistance

  HWY_INLINE void Sum(const T* from, int64_t rows, int64_t columns, T* to, bool stream) const {
    HWY_ALIGN S sums[kNearestMaxPixel + hn::MaxLanes(D())];
    const int64_t count = rows * columns;
    if (count == 1) return AddPixel<true, true>(from, sums, to, stream);
    AddPixel<true, false>(from, sums, to, stream);
    const T* at = from;
    for (int64_t i = 1, x = 0;; ++i) {
      if (++x < columns) {
        at += column_stride;
      } else {
        x = 0;
        at = from += row_stride;
      }
      if (i + 1 == count) break;
      AddPixel<false, false>(at, sums, to, stream);
    }
    AddPixel<false, true>(at, sums, to, stream);
  }

 private:
  static HWY_INLINE int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

  // kFirst: the sums start from +0. kLast: they are complete and go to `to`, not back to `sums`.
  template <bool kFirst, bool kLast>
  HWY_INLINE void AddPixel(const T* from, S* HWY_RESTRICT sums, T* to, bool stream) const {
    const D d;
    const auto add = [&](int64_t slot, int64_t c) HWY_ATTR {
      return hn::Add(kFirst ? hn::Zero(d) : hn::Load(d, sums + slot), LoadWide(d, from + c));
    };
    int64_t c = 0;
    for (; c + 2 * Lanes() <= channels; c += 2 * Lanes()) {
      if constexpr (kFetch) FetchLines<2 * kVectorBytes>(from + c + ahead);
      const auto sum0 = add(c, c);
      const auto sum1 = add(c + Lanes(), c + Lanes());
      if constexpr (kLast) {
        StoreNarrow2(sum0, sum1, d, to + c, stream);
      } else {
        hn::Store(sum0, d, sums + c);
        hn::Store(sum1, d, sums + c + Lanes());
      }
    }
    for (; c < channels; c += Lanes()) {
      const int64_t at = std::min(c, channels - Lanes());  // overlaps its neighbour
      const auto sum = add(c, at);
      if constexpr (kLast) {
        StoreNarrow(sum, d, to + at);
      } else {
        hn::Store(sum, d, sums + c);
      }
    }
  }
};

template <class Cell, class T>
HWY_NOINLINE void SumPixels(const Params& p, const Tile<T>& t) {
  const int64_t* begin = p.w.begin;
  const int64_t channels = t.box.c1 - t.box.c0;
  const Cell cell{.channels = channels,
                  .row_stride = t.from_row,
                  .column_stride = t.from_column,
                  .ahead = PixelFetchDistance<T>(t.from_column)};
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    for (int64_t j = t.box.j0; j < t.box.j1; ++j, to += t.to_column) {
      const int64_t columns = begin[j + 1] - begin[j];
      if (rows == 0 || columns == 0) {
        ClearElements(to, channels);
      } else {
        cell.Sum(from + (begin[j] - t.first_column) * t.from_column, rows, columns, to, t.stream);
      }
    }
  });
}

template <bool kFetch, class T>
void SumTileByPixel(const Params& p, const Tile<T>& t) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(ComputeTag<T>()));
  if (t.box.c1 - t.box.c0 > 4 * lanes && std::abs(t.from_column) <= kHalfPage<T>) {
    SumPixels<ForwardPixelCell<T, kFetch>>(p, t);
  } else {
    SumPixels<RegisterPixelCell<T, kFetch>>(p, t);
  }
}

// ---- packing ------------------------------------------------------------------------------------

// Copies rows x columns elements; walks along the axis that is denser in `from`.
template <class T>
void CopyBlock(const T* from, int64_t from_row, int64_t from_column, T* to, int64_t to_row,
               int64_t to_column, int64_t rows, int64_t columns) {
  if (std::abs(from_row) < std::abs(from_column)) {
    std::swap(from_row, from_column);
    std::swap(to_row, to_column);
    std::swap(rows, columns);
  }
  for (int64_t r = 0; r < rows; ++r, from += from_row, to += to_row) {
    for (int64_t x = 0; x < columns; ++x) to[x * to_column] = from[x * from_column];
  }
}

// ---- one tile -----------------------------------------------------------------------------------

template <class T>
void SumTile(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t) {
  const ComputeTag<T> d;
  switch (plan.path) {
    case NearestBackwardPath::kX1:
      return ChooseWidth<1>(d, p, t);
    case NearestBackwardPath::kX2:
      return ChooseWidth<2>(d, p, t);
    case NearestBackwardPath::kX3:
      return ChooseWidth<3>(d, p, t);
    case NearestBackwardPath::kX4:
      return ChooseWidth<4>(d, p, t);
    case NearestBackwardPath::kPermute1:
      return ChoosePermuted<1>(p, plan, t);
    case NearestBackwardPath::kPermute2:
      return ChoosePermuted<2>(p, plan, t);
    case NearestBackwardPath::kPermute3:
      return ChoosePermuted<3>(p, plan, t);
    case NearestBackwardPath::kPermute4:
      return ChoosePermuted<4>(p, plan, t);
    case NearestBackwardPath::kWide:
      return SumTileWide<true>(p, t);
    case NearestBackwardPath::kWideStrided:
      return SumTileWide<false>(p, t);
    case NearestBackwardPath::kPixels:
      return t.by_row ? SumTileByPixel<true>(p, t) : SumTileByPixel<false>(p, t);
  }
}

template <class T>
Tile<T> MakeTile(const Params& p, const NearestBackwardKernelPlan& plan, int64_t index) {
  const NearestTile box = plan.tiling.Box(index);
  const auto [first, end] = plan.SourceColumns(p.w, box.j0, box.j1);
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  T* const first_to = static_cast<T*>(p.grad_input) + box.n * to[0] + box.c0 * to[1] +
                      box.i0 * to[2] + box.j0 * to[3];
  const bool aligned = reinterpret_cast<uintptr_t>(first_to) % kStreamAlignment == 0;
  return {.from = static_cast<const T*>(p.grad_output) + box.n * from[0] + box.c0 * from[1] +
                  p.h.begin[box.i0] * from[2] + first * from[3],
          .from_plane = from[1],
          .from_row = from[2],
          .from_column = from[3],
          .to = first_to,
          .to_plane = to[1],
          .to_row = to[2],
          .to_column = to[3],
          .box = box,
          .planes = plan.path == NearestBackwardPath::kPixels ? 1 : box.c1 - box.c0,
          .first_column = first,
          .end_column = end,
          .by_row = plan.by_row,
          .stream = plan.stream && aligned};
}

// The same tile with contiguous rows on the stack, on the sides where W is not contiguous. The plan
// has cut the tiles so that they fit.
template <class T>
void SumPackedTile(const Params& p, const NearestBackwardKernelPlan& plan, Tile<T> t) {
  alignas(64) BitsOf<T> source_bits[kNearestPackedSourceBytes / sizeof(T)];
  alignas(64) BitsOf<T> sum_bits[kNearestPackedSumBytes / sizeof(T)];
  T* sources = reinterpret_cast<T*>(source_bits);
  T* sums = reinterpret_cast<T*>(sum_bits);
  const int64_t columns = t.box.j1 - t.box.j0;
  const int64_t rows = t.box.i1 - t.box.i0;
  const int64_t source_columns = t.end_column - t.first_column;
  const int64_t source_rows = p.h.begin[t.box.i1] - p.h.begin[t.box.i0];
  const Tile<T> outer = t;
  if (plan.pack_from) {
    CopyBlock(outer.from, outer.from_row, outer.from_column, sources, source_columns, 1,
              source_rows, source_columns);
    t.from = sources;
    t.from_row = source_columns;
    t.from_column = 1;
  }
  if (plan.pack_to) {
    t.to = sums;
    t.to_row = columns;
    t.to_column = 1;
    t.stream = false;
  }
  SumTile(p, plan, t);
  if (plan.pack_to) {
    CopyBlock<T>(sums, columns, 1, outer.to, outer.to_row, outer.to_column, rows, columns);
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

template <class T>
void RunTyped(const Params& p, const NearestBackwardKernelPlan& plan) {
  runtime::ParallelFor(plan.tiling.Boxes(), plan.tiling.grain,
                       [&](int64_t first, int64_t last) HWY_ATTR {
                         for (int64_t index = first; index < last; ++index) {
                           const Tile<T> tile = MakeTile<T>(p, plan, index);
                           if (plan.pack_from || plan.pack_to) {
                             SumPackedTile(p, plan, tile);
                           } else {
                             SumTile(p, plan, tile);
                           }
                         }
                         if (plan.stream) hwy::FlushStream();
                       });
}

void Run(const Params& params, const base::KernelPlan& plan, void* /*workspace*/) {
  const auto& mine = *static_cast<const NearestBackwardKernelPlan*>(plan.table.get());
  base::DispatchFloating(params.dtype,
                         [&](auto tag) { RunTyped<typename decltype(tag)::type>(params, mine); });
}

bool Plan(const Params& params, base::KernelPlan* plan) {
  base::DispatchFloating(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const NearestBackwardTarget target = {.lanes = static_cast<int64_t>(hn::Lanes(ComputeTag<T>())),
                                          .min_ratio_columns = MinRatioColumns<T>(),
                                          .can_stream = HWY_ARCH_X86 != 0};
    PlanNearestBackward(params, static_cast<int64_t>(sizeof(T)), target, plan);
  });
  return true;
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
