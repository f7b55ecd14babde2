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
#include <memory>
#include <type_traits>

#include "base/dispatch.h"
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
  int64_t first_column;  // source column at `from`
  int64_t end_column;    // sources up to here may be read
  bool stream;           // store past the caches where alignment allows
};

// Calls row(from, source_rows, to) for every destination row of a tile.
template <class T, class Row>
HWY_INLINE void ForEachRow(const Params& p, const Tile<T>& t, const Row& row) {
  const int64_t* begin = p.h.begin;
  for (int64_t c = t.box.c0; c < t.box.c1; ++c) {
    const T* from = t.from + (c - t.box.c0) * t.from_plane;
    T* to = t.to + (c - t.box.c0) * t.to_plane;
    for (int64_t i = t.box.i0; i < t.box.i1; ++i) {
      const int64_t rows = begin[i + 1] - begin[i];
      row(from, rows, to);
      from += rows * t.from_row;
      to += t.to_row;
    }
  }
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

// Lanes(d) destinations.
template <int kRatio, class D, class T>
HWY_INLINE void SumBlock(D d, const T* from, int64_t rows, int64_t stride, T* to) {
  auto sum = hn::Zero(d);
  for (; rows > 0; --rows, from += stride) sum = AddSources<kRatio>(d, from, sum);
  StoreNarrow(sum, d, to);
}

// 2 * Lanes(d) destinations.
template <int kRatio, class D, class T>
HWY_INLINE void SumTwoBlocks(D d, const T* from, int64_t rows, int64_t stride, T* to, bool stream) {
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  const size_t next = kRatio * hn::Lanes(d);
  for (; rows > 0; --rows, from += stride) {
    sum0 = AddSources<kRatio>(d, from, sum0);
    sum1 = AddSources<kRatio>(d, from + next, sum1);
  }
  StoreNarrow2(sum0, sum1, d, to, stream);
}

// n >= Lanes(d) destinations of one row. A rest is computed by a block that ends with the row and
// overlaps its neighbour: the same values are written twice.
template <int kRatio, class D, class T>
HWY_INLINE void SumRow(D d, const T* from, int64_t rows, int64_t stride, T* to, int64_t n,
                       bool stream) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  if (stream) {  // up to the first aligned destination
    const size_t alignment = StreamAlignment<T>(d);
    const size_t past = reinterpret_cast<uintptr_t>(to) % alignment;
    stream = past % sizeof(T) == 0;
    if (stream && past != 0) {
      const auto skip = static_cast<int64_t>((alignment - past) / sizeof(T));
      for (; j < skip && j + lanes <= n; j += lanes) {
        SumBlock<kRatio>(d, from + kRatio * j, rows, stride, to + j);
      }
      j = std::min(skip, n - lanes);
    }
  }
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    SumTwoBlocks<kRatio>(d, from + kRatio * j, rows, stride, to + j, stream);
  }
  for (; j + lanes <= n; j += lanes) {
    SumBlock<kRatio>(d, from + kRatio * j, rows, stride, to + j);
  }
  if (j < n) SumBlock<kRatio>(d, from + kRatio * (n - lanes), rows, stride, to + n - lanes);
}

template <int kRatio, class D, class T>
void SumTileByRatio(D d, const Params& p, const Tile<T>& t) {
  const int64_t n = t.box.j1 - t.box.j0;
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    SumRow<kRatio>(d, from, rows, t.from_row, to, n, t.stream);
  });
}

// With vectors of the largest size that a row fills; a row has MinRatioColumns() at least.
template <int kRatio, class T, class D>
void ChooseWidth(D d, const Params& p, const Tile<T>& t) {
#if HWY_ARCH_X86
  if constexpr (sizeof(hn::Vec<D>) > 16) {
    if (t.box.j1 - t.box.j0 < static_cast<int64_t>(hn::Lanes(d))) {
      return ChooseWidth<kRatio>(hn::Half<D>(), p, t);
    }
  }
#endif
  SumTileByRatio<kRatio>(d, p, t);
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
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return V{_mm512_mask_add_ps(sum.raw, if_lanes.raw, sum.raw, v.raw)};
  } else {
    return V{_mm512_mask_add_pd(sum.raw, if_lanes.raw, sum.raw, v.raw)};
  }
#else
  return hn::Add(sum, hn::IfThenElseZero(if_lanes, v));
#endif
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

// One block of destinations of one row: at most Lanes(d), each with at most kVectors source
// columns, inside a window of kVectors vectors. kFull: every lane has kVectors - 1 sources or one
// more; else it has any number. `index` has kVectors phases of Lanes(d) entries: the source of a
// lane's phase in the window, -1 for none.
template <int kVectors, bool kFull, bool kPartial, class D, class T>
HWY_INLINE hn::Vec<D> SumPermuted(D d, const T* from, int64_t count, int64_t rows, int64_t stride,
                                  const int8_t* index) {
  const size_t lanes = hn::Lanes(d);
  const auto none = hn::Set(hn::RebindToSigned<D>(), -1);
  const auto index0 = LoadIndex(d, index);
  const auto index1 = kVectors > 1 ? LoadIndex(d, index + lanes) : none;
  const auto index2 = kVectors > 2 ? LoadIndex(d, index + 2 * lanes) : none;
  const auto index3 = kVectors > 3 ? LoadIndex(d, index + 3 * lanes) : none;
  auto sum = hn::Zero(d);
  for (; rows > 0; --rows, from += stride) {
    const auto zero = hn::Zero(d);
    const auto v0 = LoadWindow<kPartial>(d, from, count, 0);
    const auto v1 = kVectors > 1 ? LoadWindow<kPartial>(d, from, count, 1) : zero;
    const auto v2 = kVectors > 2 ? LoadWindow<kPartial>(d, from, count, 2) : zero;
    const auto v3 = kVectors > 3 ? LoadWindow<kPartial>(d, from, count, 3) : zero;
    const auto add = [&](auto phase, auto phase_index) HWY_ATTR {
      if constexpr (phase < kVectors) {
        const auto v = Lookup<kVectors>(d, v0, v1, v2, v3, phase_index);
        if constexpr (kFull && phase < kVectors - 1) {
          sum = hn::Add(sum, v);
        } else {
          sum = MaskedAdd(d, hn::RebindMask(d, hn::Gt(phase_index, none)), sum, v);
        }
      }
    };
    add(std::integral_constant<int, 0>(), index0);
    add(std::integral_constant<int, 1>(), index1);
    add(std::integral_constant<int, 2>(), index2);
    add(std::integral_constant<int, 3>(), index3);
  }
  return sum;
}

template <int kVectors, bool kFull, bool kPartial, class T>
void SumTilePermuted(const Params& p, const NearestBackwardPlan& plan, const Tile<T>& t) {
  const ComputeTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t first_block = t.box.j0 / lanes;
  const int64_t end_block = (t.box.j1 + lanes - 1) / lanes;
  const int64_t readable = t.end_column - t.first_column;
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    for (int64_t b = first_block; b < end_block; ++b) {
      const int64_t j = plan.BlockColumn(b) - t.box.j0;
      const int64_t window = plan.window[static_cast<size_t>(b)] - t.first_column;
      const int8_t* index = plan.index.data() + b * kVectors * lanes;
      const auto sum = SumPermuted<kVectors, kFull, kPartial>(d, from + window, readable - window,
                                                              rows, t.from_row, index);
      if constexpr (kPartial) {
        const int64_t left = std::min(lanes, t.box.j1 - t.box.j0 - j);
        StoreNarrowFirst(sum, d, to + j, static_cast<size_t>(left));
      } else {
        StoreNarrow(sum, d, to + j);
      }
    }
  });
}

// ---- wide ---------------------------------------------------------------------------------------

// Vectors whose 128-bit blocks (64-bit ones for 16-bit elements in memory) hold kColumns source
// columns of one destination each. One block where the vector length is not known.
#if HWY_HAVE_SCALABLE
template <class T>
using BlockTag = hn::CappedTag<base::ComputeType<T>, 16 / sizeof(base::ComputeType<T>)>;
#else
template <class T>
using BlockTag = ComputeTag<T>;
#endif
template <class T>
inline constexpr int64_t kColumns = 16 / static_cast<int64_t>(sizeof(base::ComputeType<T>));
template <class T>
inline constexpr size_t kMaxWideLanes = 64 / sizeof(base::ComputeType<T>);

// The destinations of one vector, a lane each.
//
//   lane 0   from[0] -> c c c c c c c c     rows[0] rows of columns[0] columns
//   lane 1   from[1] -> c c c c c c c
//   ...
template <class T>
struct WideLanes {
  const T* from[kMaxWideLanes<T>];
  int64_t rows[kMaxWideLanes<T>];
  int64_t columns[kMaxWideLanes<T>];
  T* to[kMaxWideLanes<T>];
};

// kColumns elements, `step` apart; the first n of them where n is smaller, zeros behind.
template <bool kContiguous, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadColumns(D d, const T* from, int64_t step, int64_t n) {
  if (n <= 0) return hn::Zero(d);
  const int64_t columns = static_cast<int64_t>(hn::MaxLanes(d));
  if constexpr (kContiguous) {
    return n >= columns ? hn::LoadU(d, from) : LoadFirst(d, from, static_cast<size_t>(n));
  } else {
    HWY_ALIGN T elements[hn::MaxLanes(d)] = {};
    for (int64_t i = 0; i < std::min(n, columns); ++i) elements[i] = from[i * step];
    return hn::Load(d, elements);
  }
}

// Blocks of kColumns columns, from `column` on, of the lanes `lane`, lane + kColumns, ...;
// count(lane): how many columns the lane has from there on.
template <class T, bool kContiguous, class D, class Count>
HWY_INLINE hn::Vec<D> GatherBlocks(D d, const WideLanes<T>& lanes, int64_t column, int64_t step,
                                   size_t lane, const Count& count) {
  if constexpr (hn::MaxLanes(d) == kColumns<T>) {
    const T* from = lanes.from[lane] + column * step;
    return LoadColumns<kContiguous>(d, reinterpret_cast<const hn::TFromD<D>*>(from), step,
                                    count(lane));
  } else {
    const hn::Half<D> dh;
    const size_t next = lane + hn::MaxLanes(dh);
    return hn::Combine(d, GatherBlocks<T, kContiguous>(dh, lanes, column, step, next, count),
                       GatherBlocks<T, kContiguous>(dh, lanes, column, step, lane, count));
  }
}

// sum + kColumns columns of every lane, in order: a transposition inside the blocks.
template <class T, bool kContiguous, class D, class Count, class V = hn::Vec<D>>
HWY_INLINE V AddColumns(D d, const WideLanes<T>& lanes, int64_t column, int64_t step,
                        const Count& count, V sum) {
  const hn::Rebind<BitsOf<T>, D> db;
  const auto load = [&](size_t lane) HWY_ATTR {
    const auto bits = GatherBlocks<T, kContiguous>(db, lanes, column, step, lane, count);
    return Widen<T>(d, hn::BitCast(MemoryTag<T, D>(), bits));
  };
  const auto a = load(0);
  const auto b = load(1);
  if constexpr (kColumns<T> == 2) {
    sum = hn::Add(sum, hn::InterleaveLower(d, a, b));
    return hn::Add(sum, hn::InterleaveUpper(d, a, b));
  } else {
    const auto c = load(2);
    const auto e = load(3);
    const auto ac01 = hn::InterleaveLower(d, a, c);  // a0 c0 a1 c1
    const auto be01 = hn::InterleaveLower(d, b, e);
    const auto ac23 = hn::InterleaveUpper(d, a, c);
    const auto be23 = hn::InterleaveUpper(d, b, e);
    sum = hn::Add(sum, hn::InterleaveLower(d, ac01, be01));  // a0 b0 c0 e0
    sum = hn::Add(sum, hn::InterleaveUpper(d, ac01, be01));
    sum = hn::Add(sum, hn::InterleaveLower(d, ac23, be23));
    return hn::Add(sum, hn::InterleaveUpper(d, ac23, be23));
  }
}

// The sums of all lanes. `row`: distance of two source rows; `step`: of two columns, 1 if
// kContiguous.
template <bool kContiguous, class D, class T>
HWY_INLINE hn::Vec<D> SumWide(D d, WideLanes<T>& lanes, int64_t row, int64_t step) {
  const size_t n = hn::Lanes(d);
  const auto [min_rows, max_rows] = std::minmax_element(lanes.rows, lanes.rows + n);
  const auto [min_columns, max_columns] = std::minmax_element(lanes.columns, lanes.columns + n);
  const auto all = [](size_t) { return kColumns<T>; };
  auto sum = hn::Zero(d);
  for (int64_t r = 0; r < *max_rows; ++r) {
    int64_t column = 0;
    if (r < *min_rows) {
      for (; column + kColumns<T> <= *min_columns; column += kColumns<T>) {
        sum = AddColumns<T, kContiguous>(d, lanes, column, step, all, sum);
      }
    }
    for (; column < *max_columns; column += kColumns<T>) {
      const auto some = [&](size_t lane) {
        return r < lanes.rows[lane] ? lanes.columns[lane] - column : 0;
      };
      sum = AddColumns<T, kContiguous>(d, lanes, column, step, some, sum);
    }
    for (size_t lane = 0; lane < n; ++lane) {
      if (r + 1 < lanes.rows[lane]) lanes.from[lane] += row;
    }
  }
  return sum;
}

// Sums the first `used` lanes and stores them one by one.
template <bool kContiguous, class T>
HWY_NOINLINE void SumLanes(WideLanes<T>& lanes, size_t used, int64_t row, int64_t step) {
  const BlockTag<T> d;
  for (size_t lane = used; lane < hn::Lanes(d); ++lane) {
    lanes.from[lane] = lanes.from[0];
    lanes.rows[lane] = 0;
    lanes.columns[lane] = 0;
  }
  HWY_ALIGN BitsOf<T> bits[kMaxWideLanes<T>];
  T* sums = reinterpret_cast<T*>(bits);
  StoreNarrow(SumWide<kContiguous>(d, lanes, row, step), d, sums);
  for (size_t lane = 0; lane < used; ++lane) *lanes.to[lane] = sums[lane];
}

template <bool kContiguous, class T>
void SumTileWide(const Params& p, const Tile<T>& t) {
  const size_t n = hn::Lanes(BlockTag<T>());
  const int64_t* begin_w = p.w.begin;
  WideLanes<T> lanes;
  size_t used = 0;
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) {
    for (int64_t j = t.box.j0; j < t.box.j1; ++j) {
      lanes.from[used] = from + (begin_w[j] - t.first_column) * t.from_column;
      lanes.rows[used] = rows;
      lanes.columns[used] = begin_w[j + 1] - begin_w[j];
      lanes.to[used] = to + (j - t.box.j0) * t.to_column;
      if (++used == n) {
        SumLanes<kContiguous>(lanes, used, t.from_row, t.from_column);
        used = 0;
      }
    }
  });
  if (used != 0) SumLanes<kContiguous>(lanes, used, t.from_row, t.from_column);
}

// ---- channels_last ------------------------------------------------------------------------------

// kVectors vectors of channels of one destination pixel.
template <int kVectors, class D, class T>
HWY_INLINE void SumPixel(D d, const T* from, int64_t rows, int64_t row_stride, int64_t columns,
                         int64_t column_stride, T* to, bool stream) {
  const size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  for (int64_t r = 0; r < rows; ++r) {
    const T* at = from + r * row_stride;
    for (int64_t x = 0; x < columns; ++x, at += column_stride) {
      sum0 = hn::Add(sum0, LoadWide(d, at));
      if constexpr (kVectors > 1) sum1 = hn::Add(sum1, LoadWide(d, at + lanes));
    }
  }
  if constexpr (kVectors > 1) {
    StoreNarrow2(sum0, sum1, d, to, stream);
  } else {
    StoreNarrow(sum0, d, to);
  }
}

// The first n <= Lanes(d) channels.
template <class D, class T>
HWY_INLINE void SumPixelFirst(D d, const T* from, int64_t rows, int64_t row_stride, int64_t columns,
                              int64_t column_stride, T* to, int64_t n) {
  auto sum = hn::Zero(d);
  for (int64_t r = 0; r < rows; ++r) {
    const T* at = from + r * row_stride;
    for (int64_t x = 0; x < columns; ++x, at += column_stride) {
      sum = hn::Add(sum, LoadWideFirst(d, at, static_cast<size_t>(n)));
    }
  }
  StoreNarrowFirst(sum, d, to, static_cast<size_t>(n));
}

template <class T>
void SumTileChannelsLast(const Params& p, const Tile<T>& t) {
  const ComputeTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t channels = t.box.c1 - t.box.c0;
  for (int64_t i = t.box.i0; i < t.box.i1; ++i) {
    const int64_t rows = p.h.begin[i + 1] - p.h.begin[i];
    for (int64_t j = t.box.j0; j < t.box.j1; ++j) {
      const int64_t columns = p.w.begin[j + 1] - p.w.begin[j];
      const T* from = t.from + (p.h.begin[i] - p.h.begin[t.box.i0]) * t.from_row +
                      (p.w.begin[j] - t.first_column) * t.from_column;
      T* to = t.to + (i - t.box.i0) * t.to_row + (j - t.box.j0) * t.to_column;
      const bool stream = t.stream && reinterpret_cast<uintptr_t>(to) % StreamAlignment<T>(d) == 0;
      int64_t c = 0;
      for (; c + 2 * lanes <= channels; c += 2 * lanes) {
        SumPixel<2>(d, from + c, rows, t.from_row, columns, t.from_column, to + c, stream);
      }
      for (; c + lanes <= channels; c += lanes) {
        SumPixel<1>(d, from + c, rows, t.from_row, columns, t.from_column, to + c, false);
      }
      if (c == channels) continue;
      if (channels >= lanes) {  // overlaps the block before it
        c = channels - lanes;
        SumPixel<1>(d, from + c, rows, t.from_row, columns, t.from_column, to + c, false);
      } else {
        SumPixelFirst(d, from, rows, t.from_row, columns, t.from_column, to, channels);
      }
    }
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

template <int kVectors, class T>
void ChoosePermuted(const Params& p, const NearestBackwardPlan& plan, const Tile<T>& t) {
  if (plan.partial) {
    SumTilePermuted<kVectors, false, true>(p, plan, t);
  } else if (plan.full) {
    SumTilePermuted<kVectors, true, false>(p, plan, t);
  } else {
    SumTilePermuted<kVectors, false, false>(p, plan, t);
  }
}

template <class T>
void SumTile(const Params& p, const NearestBackwardPlan& plan, const Tile<T>& t) {
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
    case NearestBackwardPath::kChannelsLast:
      return SumTileChannelsLast(p, t);
  }
}

template <class T>
Tile<T> MakeTile(const Params& p, const NearestBackwardPlan& plan, int64_t index) {
  const NearestTile box = plan.tiling.Box(index);
  const auto [first, end] = plan.SourceColumns(p.w, box.j0, box.j1);
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  return {.from = static_cast<const T*>(p.grad_output) + box.n * from[0] + box.c0 * from[1] +
                  p.h.begin[box.i0] * from[2] + first * from[3],
          .from_plane = from[1],
          .from_row = from[2],
          .from_column = from[3],
          .to = static_cast<T*>(p.grad_input) + box.n * to[0] + box.c0 * to[1] + box.i0 * to[2] +
                box.j0 * to[3],
          .to_plane = to[1],
          .to_row = to[2],
          .to_column = to[3],
          .box = box,
          .first_column = first,
          .end_column = end,
          .stream = plan.stream};
}

// The same tile with contiguous rows on the stack, on the sides where W is not contiguous. The plan
// has cut the tiles so that they fit.
template <class T>
void SumPackedTile(const Params& p, const NearestBackwardPlan& plan, Tile<T> t) {
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
void RunTyped(const Params& p, const NearestBackwardPlan& plan) {
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
  const auto& mine = *static_cast<const NearestBackwardPlan*>(plan.table.get());
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
