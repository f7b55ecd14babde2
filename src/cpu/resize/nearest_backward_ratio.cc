// Gradients of nearest with an equal ratio, x1 ... x4: de-interleaves loads, then adds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest_backward_ratio.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Returns `sum` plus the kRatio sources of each lane's destination, in order.
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

// Adds source rows to the sums of one destination row; a Row for SumTileByRow(). The row has n >=
// Lanes(d) columns, a block has Lanes(d). The last block ends with the row and overlaps its
// neighbour: both write the same values there.
template <int kRatio, class D, class T>
struct RatioRow {
  using Tag = D;
  int64_t n;
  int64_t stride;        // between source rows
  int64_t plane_stride;  // between planes of source rows

  int64_t Blocks() const { return (n + Length(D()) - 1) / Length(D()); }
  int64_t Offset(int64_t b) const { return kRatio * std::min(b * Length(D()), n); }

  // Adds one source row to the sums of blocks [first, end); see SumTileByRow().
  template <bool kFirst, bool kLast>
  HWY_INLINE void Add(const T* from, int64_t first, int64_t end, hn::TFromD<D>* sums, T* to,
                      bool stream) const {
    using V = hn::Vec<D>;
    const D d;
    const int64_t lanes = Length(d);
    const int64_t whole = std::min(end, n / lanes);
    const int64_t rest = AddToBlockPairs<kFirst, kLast>(
        d, first, whole, sums,
        [&](auto, int64_t b, V sum)
            PORTACL_INLINE_LAMBDA { return AddSources<kRatio>(d, from + kRatio * b * lanes, sum); },
        [&](int64_t b, V sum0, V sum1)
            PORTACL_INLINE_LAMBDA { StoreNarrow2(sum0, sum1, d, to + b * lanes, stream); });
    AddToBlocks<kFirst, kLast>(
        d, rest, end, sums + (rest - first) * lanes,
        [&](int64_t b, V sum)
            PORTACL_INLINE_LAMBDA { return AddSources<kRatio>(d, from + kRatio * Column(b), sum); },
        [&](int64_t b, V sum) PORTACL_INLINE_LAMBDA {
          StoreNarrowLine(sum, d, to + Column(b), stream && b < whole);
        });
  }

  // Writes destinations without sources.
  void Clear(int64_t first, int64_t end, T* to, bool stream) const {
    const int64_t j = Column(first);
    ClearRow(D(), to + j, std::min(end * Length(D()), n) - j, stream);
  }

  // Computes a whole destination row in registers, from `rows` source rows in each of `depth`
  // planes.
  HWY_INLINE void Sum(const T* from, int64_t depth, int64_t rows, T* to) const {
    const D d;
    const int64_t lanes = Length(d);
    int64_t j = 0;
    for (; j + 2 * lanes <= n; j += 2 * lanes) {
      auto sum0 = hn::Zero(d);
      auto sum1 = hn::Zero(d);
      ForSources(from + kRatio * j, depth, rows, [&](const T* at) PORTACL_INLINE_LAMBDA {
        sum0 = AddSources<kRatio>(d, at, sum0);
        sum1 = AddSources<kRatio>(d, at + kRatio * lanes, sum1);
      });
      StoreNarrow2(sum0, sum1, d, to + j, false);
    }
    for (; j < n; j += lanes) {
      j = std::min(j, n - lanes);
      auto sum = hn::Zero(d);
      ForSources(from + kRatio * j, depth, rows,
                 [&](const T* at) PORTACL_INLINE_LAMBDA { sum = AddSources<kRatio>(d, at, sum); });
      StoreNarrow(sum, d, to + j);
    }
  }

 private:
  template <class Use>
  HWY_INLINE void ForSources(const T* from, int64_t depth, int64_t rows, const Use& use) const {
    for (int64_t plane = 0; plane < depth; ++plane, from += plane_stride) {
      const T* at = from;
      for (int64_t r = 0; r < rows; ++r, at += stride) use(at);
    }
  }

  HWY_INLINE int64_t Column(int64_t b) const { return std::min(b * Length(D()), n - Length(D())); }
};

template <int kRatio, class D, class T>
RatioRow<kRatio, D, T> RowOf(const Tile<T>& t) {
  return {.n = t.box.j1 - t.box.j0, .stride = t.from_row, .plane_stride = t.from_depth};
}

template <int kRatio, class D, class T>
HWY_NOINLINE void SumTileInRegisters(const Params& p, const Tile<T>& t) {
  const RatioRow<kRatio, D, T> row = RowOf<kRatio, D>(t);
  ForEachRow(
      p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR { row.Sum(from, t.depth, rows, to); });
}

// Whether rows of n columns take longer with 512-bit than with 256-bit vectors (measured on Zen 4).
// If rows are not whole lines, every 512-bit load and store touches two lines. For float16, one
// conversion of 512 bits is slower than two of 256 bits.
template <class T, class D>
constexpr bool TooWide(D d, int64_t n) {
  if (sizeof(hn::Vec<D>) <= 32) return false;
  if (std::is_same_v<T, base::Float16>) return true;
  const auto lanes = static_cast<int64_t>(hn::MaxLanes(d));
  return n % lanes != 0 && (sizeof(T) > 2 || n < 2 * lanes);
}

// Uses the largest vectors that a row fills. A row has at least MinRatioColumns() columns.
template <int kRatio, class T, class D>
void ChooseWidth([[maybe_unused]] D d, const Params& p, const Tile<T>& t) {
#if HWY_ARCH_X86
  if constexpr (sizeof(hn::Vec<D>) > 16) {
    const int64_t n = t.box.j1 - t.box.j0;
    if (n < Length(d) || TooWide<T>(d, n)) {
      return ChooseWidth<kRatio>(hn::Half<D>(), p, t);
    }
  }
#endif
  if (t.by_row) {
    SumTileByRow(p, t, RowOf<kRatio, D>(t));
  } else {
    SumTileInRegisters<kRatio, D>(p, t);
  }
}

}  // namespace

template <class T>
void SumTileByRatio(const Params& p, const Tile<T>& t) {
  WithCount<1, 4>(p.w.ratio, [&](auto ratio) { ChooseWidth<ratio>(ComputeTag<T>(), p, t); });
}

template void SumTileByRatio(const Params&, const Tile<float>&);
template void SumTileByRatio(const Params&, const Tile<double>&);
template void SumTileByRatio(const Params&, const Tile<base::Float16>&);
template void SumTileByRatio(const Params&, const Tile<base::BFloat16>&);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
