// Gradients of nearest: a tile of destinations, and the loop that sums it source row by source row.
// Per target.
#if defined(PORTACL_CPU_RESIZE_NEAREST_BACKWARD_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_TILE_INL_H_
#undef PORTACL_CPU_RESIZE_NEAREST_BACKWARD_TILE_INL_H_
#else
#define PORTACL_CPU_RESIZE_NEAREST_BACKWARD_TILE_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "cpu/machine/fetch.h"
#include "cpu/resize/nearest_plan.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "ops/upsample_nearest_exact_params.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
using Params = ops::UpsampleNearestExactBackwardParams;

// A tile: its sources and destinations. Strides are in elements.
//
//   from -> source (c0, h.begin[i0], first_column)     to -> destination (c0, i0, j0)
template <class T>
struct Tile {
  const T* from;
  int64_t from_plane, from_row, from_column;
  T* to;
  int64_t to_plane, to_row, to_column;
  NearestTile box;
  int64_t planes;  // channels to loop over; 1 if pixels hold the channels
  int64_t depth;   // source planes of every destination, at least 1
  int64_t from_depth;
  int64_t first_column;  // source column at `from`
  int64_t end_column;    // sources before this column may be read
  bool by_row;           // large tensors: reads memory strictly forward
  bool stream;           // writes past the caches; `to` has kStreamAlignment
};

// The paths. Each function sums one tile.

// The paths x1 ... x4.
template <class T>
void SumTileByRatio(const Params& p, const Tile<T>& t);
template <class T>
void SumTilePermuted(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t);
// kContiguous: W of gradOutput is contiguous.
template <bool kContiguous, class T>
void SumTileWide(const Params& p, const Tile<T>& t);
template <class T>
void SumTileByPixel(const Params& p, const Tile<T>& t);

namespace {

// How many sums a 128-bit vector holds.
template <class T>
inline constexpr int64_t kSumsIn128Bits = 16 / static_cast<int64_t>(sizeof(base::ComputeType<T>));

// Returns the fewest columns of a row for the paths x1 ... x4.
template <class T>
int64_t MinRatioColumns() {
#if HWY_ARCH_X86
  return kSumsIn128Bits<T>;
#else
  return Length(ComputeTag<T>());
#endif
}

// Calls row(from, source rows, to) for each destination row of a tile.
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

// Writes n zeros. `stream`: whole lines go past the caches. `to` starts inside a line only if the
// last block of a row is cleared.
template <class D, class T>
HWY_INLINE void ClearRow(D d, T* to, int64_t n, bool stream) {
  const int64_t lanes = Length(d);
  stream = stream && reinterpret_cast<uintptr_t>(to) % kStreamAlignment == 0;
  int64_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    StoreNarrow2(hn::Zero(d), hn::Zero(d), d, to + j, stream);
  }
  if (j + lanes <= n) {
    StoreNarrowLine(hn::Zero(d), d, to + j, stream);
    j += lanes;
  }
  if (j < n) Clear(to + j, n - j);
}

// Adds one source to each sum of the blocks [b, end). The sums are in memory, a vector of Lanes(d)
// sums for each block, at `sums`.
//
//   add(b, sum)     returns sum + the source of each destination in block b
//   store(b, sum)   writes the complete sums of block b
//
// kFirst: sums start from +0. kLast: complete sums go to store(), not back to `sums`.
template <bool kFirst, bool kLast, class D, class Add, class Store>
HWY_INLINE void AddToBlocks(D d, int64_t b, int64_t end, hn::TFromD<D>* HWY_RESTRICT sums,
                            const Add& add, const Store& store) {
  for (; b < end; ++b, sums += hn::Lanes(d)) {
    const auto sum = add(b, kFirst ? hn::Zero(d) : hn::Load(d, sums));
    if constexpr (kLast) {
      store(b, sum);
    } else {
      hn::Store(sum, d, sums);
    }
  }
}

// As AddToBlocks(), but two blocks at a time, while two are left: add(0 or 1, b, sum), and
// store(b, sum0, sum1) for blocks b and b + 1. Returns the first block that is left.
template <bool kFirst, bool kLast, class D, class Add, class Store>
HWY_INLINE int64_t AddToBlockPairs(D d, int64_t b, int64_t end, hn::TFromD<D>* HWY_RESTRICT sums,
                                   const Add& add, const Store& store) {
  constexpr std::integral_constant<size_t, 0> kLower;
  constexpr std::integral_constant<size_t, 1> kUpper;
  const size_t lanes = hn::Lanes(d);
  for (; b + 2 <= end; b += 2, sums += 2 * lanes) {
    const auto sum0 = add(kLower, b, kFirst ? hn::Zero(d) : hn::Load(d, sums));
    const auto sum1 = add(kUpper, b + 1, kFirst ? hn::Zero(d) : hn::Load(d, sums + lanes));
    if constexpr (kLast) {
      store(b, sum0, sum1);
    } else {
      hn::Store(sum0, d, sums);
      hn::Store(sum1, d, sums + lanes);
    }
  }
  return b;
}

// Bytes of sums that are kept in L1: a stretch of a destination row.
inline constexpr int64_t kSumBytes = int64_t{8} << 10;

// Sums a tile source row by source row, a stretch of blocks at a time. So memory is read strictly
// forward, as prefetchers need: two rows read in turn from DRAM have less than half the speed. A
// `Row` has blocks of Lanes(Tag) destinations:
//
//   Add<kFirst, kLast>(from, first, end, sums, to, stream)
//                          adds one source row to sums of blocks [first, end), see AddToBlocks()
//   Clear(first, end, to, stream)
//                          writes blocks without sources
//   Blocks(), Offset(b)    number of blocks; offset of block b's sources from `from`
template <class T, class Row>
HWY_NOINLINE void SumTileByRow(const Params& p, const Tile<T>& t, const Row& row) {
  using S = base::ComputeType<T>;
  HWY_ALIGN S sums[kSumBytes / sizeof(S)];
  const int64_t blocks = row.Blocks();
  const int64_t stretch = std::max<int64_t>(1, kSumBytes / sizeof(S) / Length(typename Row::Tag()));
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    const int64_t count = rows * t.depth;
    for (int64_t first = 0; first < blocks; first += stretch) {
      const int64_t end = std::min(first + stretch, blocks);
      if (count <= 1) {
        if (count == 1) {
          row.template Add<true, true>(from, first, end, sums, to, t.stream);
        } else {
          row.Clear(first, end, to, t.stream);
        }
        continue;
      }
      const int64_t offset = row.Offset(first);
      const int64_t length = row.Offset(end) - offset;
      const T* plane = from;
      const T* at = from;
      int64_t r = 0;
      const auto next = [&] {
        if (++r < rows) {
          at += t.from_row;
        } else {
          r = 0;
          at = plane += t.from_depth;
        }
      };
      FetchPagesAhead(at + offset, length);
      row.template Add<true, false>(at, first, end, sums, to, t.stream);
      for (int64_t i = 2; i < count; ++i) {
        next();
        FetchPagesAhead(at + offset, length);
        row.template Add<false, false>(at, first, end, sums, to, t.stream);
      }
      next();
      FetchPagesAhead(at + offset, length);
      row.template Add<false, true>(at, first, end, sums, to, t.stream);
    }
  });
}

// Returns sum + v in the lanes of the mask, else sum.
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

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
