// Gradients of nearest with at most 4 columns per destination: permutes vectors of sources in
// registers, by the plan's index tables.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest_backward_permute.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Returns in lane i value index[i] of the vectors v0, v1, ...; undefined where index[i] < 0.
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

// Loads vector `v` of the source window at `from`. `count`: readable elements of the window.
template <bool kPartial, class D, class T>
HWY_INLINE hn::Vec<D> LoadWindow(D d, const T* from, int64_t count, int64_t v) {
  const int64_t lanes = Length(d);
  if constexpr (kPartial) {
    const int64_t left = std::clamp<int64_t>(count - v * lanes, 0, lanes);
    return LoadWideFirst(d, from + std::min(v * lanes, count), static_cast<size_t>(left));
  } else {
    static_cast<void>(count);
    return LoadWide(d, from + v * lanes);
  }
}

// Loads the table entries of one phase of a block, sign-extended.
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

// Returns `sum` plus one row's sources for a block of up to Lanes(d) destinations. A destination
// sums up to kVectors columns of a window of kVectors vectors at `from`; kFull: each destination
// sums kVectors columns or one fewer. `index`: see NearestBackwardKernelPlan.
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

// Adds source rows to the sums of one destination row; a Row for SumTileByRow().
template <int kVectors, bool kFull, bool kPartial, class T>
struct PermutedRow {
  using D = ComputeTag<T>;
  using Tag = D;
  using V = hn::Vec<D>;
  const NearestBackwardKernelPlan& plan;
  const Tile<T>& tile;

  int64_t Blocks() const { return (tile.box.j1 + Length(D()) - 1) / Length(D()) - FirstBlock(); }
  int64_t Offset(int64_t b) const {
    if (b == Blocks()) return tile.end_column - tile.first_column;
    return plan.window[static_cast<size_t>(FirstBlock() + b)] - tile.first_column;
  }

  template <bool kFirst, bool kLast>
  HWY_INLINE void Add(const T* from, int64_t first, int64_t end, hn::TFromD<D>* sums, T* to,
                      bool stream) const {
    const D d;
    const int64_t lanes = Length(d);
    const int64_t whole = std::min(end, (tile.box.j1 - tile.box.j0) / lanes);
    const int64_t rest = AddToBlockPairs<kFirst, kLast>(
        d, first, whole, sums,
        [&](auto, int64_t b, V sum) PORTACL_INLINE_LAMBDA { return Sum(from, b, sum); },
        [&](int64_t b, V sum0, V sum1)
            PORTACL_INLINE_LAMBDA { StoreNarrow2(sum0, sum1, d, to + b * lanes, stream); });
    AddToBlocks<kFirst, kLast>(
        d, rest, end, sums + (rest - first) * lanes,
        [&](int64_t b, V sum) PORTACL_INLINE_LAMBDA { return Sum(from, b, sum); },
        [&](int64_t b, V sum) PORTACL_INLINE_LAMBDA {
          T* at = to + Column(b);
          if constexpr (kPartial) {
            StoreNarrowFirst(sum, d, at, static_cast<size_t>(std::min(lanes, Left(b))));
          } else {
            StoreNarrowLine(sum, d, at, stream && b < whole);
          }
        });
  }

  void Clear(int64_t first, int64_t end, T* to, bool stream) const {
    const int64_t last = Column(end - 1) + std::min(Length(D()), Left(end - 1));
    ClearRow(D(), to + Column(first), last - Column(first), stream);
  }

 private:
  HWY_INLINE int64_t FirstBlock() const { return tile.box.j0 / Length(D()); }
  // First destination column of block b, relative to the tile. Left(): columns behind it.
  HWY_INLINE int64_t Column(int64_t b) const {
    return plan.BlockColumn(FirstBlock() + b) - tile.box.j0;
  }
  HWY_INLINE int64_t Left(int64_t b) const { return tile.box.j1 - tile.box.j0 - Column(b); }

  HWY_INLINE V Sum(const T* from, int64_t b, V sum) const {
    const int64_t block = FirstBlock() + b;
    const int64_t window = plan.window[static_cast<size_t>(block)] - tile.first_column;
    const int8_t* index = plan.index.data() + block * kVectors * Length(D());
    const int64_t readable = tile.end_column - tile.first_column - window;
    return AddPermuted<kVectors, kFull, kPartial>(D(), from + window, readable, index, sum);
  }
};

// Sums tiles of one or two blocks in registers, which reads memory forward as well.
template <int kVectors, bool kFull, bool kPartial, bool kTwo, class T>
HWY_NOINLINE void SumNarrowTile(const Params& p, const NearestBackwardKernelPlan& plan,
                                const Tile<T>& t) {
  const ComputeTag<T> d;
  const int64_t lanes = Length(d);
  const int64_t columns = t.box.j1 - t.box.j0;
  const int64_t first = t.box.j0 / lanes;
  const int64_t second = kTwo ? first + 1 : first;
  const int64_t window = plan.window[static_cast<size_t>(second)] - t.first_column;
  const int64_t column = plan.BlockColumn(second) - t.box.j0;
  const int64_t readable = t.end_column - t.first_column;
  const auto sum_block = [&](const T* from, int64_t rows, int64_t block, int64_t at) HWY_ATTR {
    const int8_t* index = plan.index.data() + block * kVectors * lanes;
    auto sum = hn::Zero(d);
    for (int64_t plane = 0; plane < t.depth; ++plane, from += t.from_depth) {
      const T* source = from;
      for (int64_t r = 0; r < rows; ++r, source += t.from_row) {
        sum = AddPermuted<kVectors, kFull, kPartial>(d, source + at, readable - at, index, sum);
      }
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
  if (t.depth > 1 && t.by_row) return SumTileByRow(p, t, row);
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

}  // namespace

template <class T>
void SumTilePermuted(const Params& p, const NearestBackwardKernelPlan& plan, const Tile<T>& t) {
  WithCount<1, 4>(plan.vectors, [&](auto vectors) { ChoosePermuted<vectors>(p, plan, t); });
}

#define PORTACL_SUM(T) \
  void SumTilePermuted(const Params&, const NearestBackwardKernelPlan&, const Tile<T>&)
PORTACL_OF_ELEMENTS(PORTACL_SUM)
#undef PORTACL_SUM

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
