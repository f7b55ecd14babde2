// Gradients of nearest on channels_last tensors: each lane has one channel.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest_backward_pixels.cc"
#include "base/round_up.h"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cpu/resize/nearest_backward_tile-inl.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Half a page of 4 KiB, in elements. If source pixels share a page and are too many for registers,
// reading them in turn costs a third of the speed: ForwardPixelCell reads them one by one.
template <class T>
inline constexpr int64_t kHalfPage = 2048 / static_cast<int64_t>(sizeof(T));

// Returns how many elements ahead a row's source pixels are fetched: 1 KiB (4 KiB has three
// quarters of the speed). Instructions fetch every line, because hardware does not follow short
// stretches of several rows in turn. Pixels larger than half a page are separate streams: the same
// line is fetched some pixels ahead.
template <class T>
int64_t PixelFetchDistance(int64_t column_stride) {
  constexpr int64_t kElements = kHalfPage<T> / 2;
  const int64_t pixel = std::abs(column_stride);
  if (pixel > kHalfPage<T>) return 4 * column_stride;
  if (pixel >= kElements) return kElements;
  return pixel == 0 ? 0 : column_stride * (kElements / pixel);  // 0: a pixel of an expanded tensor
}

// Fetches the one or two lines that hold kBytes bytes at `from`.
template <size_t kBytes, class T>
HWY_INLINE void FetchLines(const T* from) {
  const char* bytes = reinterpret_cast<const char*>(from);
  __builtin_prefetch(bytes, 0, 2);
  if constexpr (kBytes > 64) __builtin_prefetch(bytes + 64, 0, 2);
}

// Sums the depth x rows x columns source pixels of one destination pixel in registers. kFetch: the
// sources are not in the caches.
template <class T, bool kFetch>
struct RegisterPixelCell {
  using D = ComputeTag<T>;
  using V = hn::Vec<D>;
  int64_t channels;
  int64_t depth;
  int64_t depth_stride, row_stride, column_stride;  // of the sources
  int64_t ahead;                                    // see PixelFetchDistance()

  HWY_INLINE void Sum(const T* from, int64_t rows, int64_t columns, T* to, bool stream) const {
    const D d;
    int64_t c = 0;
    for (; c + 4 * Length(D()) <= channels; c += 4 * Length(D())) {
      V sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
      ForSources(from + c, rows, columns, [&](const T* at) HWY_ATTR {
        sum0 = Add<0>(sum0, at);
        sum1 = Add<1>(sum1, at);
        sum2 = Add<2>(sum2, at);
        sum3 = Add<3>(sum3, at);
      });
      StoreNarrow2(sum0, sum1, d, to + c, stream);
      StoreNarrow2(sum2, sum3, d, to + c + 2 * Length(D()), stream);
    }
    for (; c + 2 * Length(D()) <= channels; c += 2 * Length(D())) {
      V sum0 = hn::Zero(d), sum1 = sum0;
      ForSources(from + c, rows, columns, [&](const T* at) HWY_ATTR {
        sum0 = Add<0>(sum0, at);
        sum1 = Add<1>(sum1, at);
      });
      StoreNarrow2(sum0, sum1, d, to + c, stream);
    }
    for (; c < channels; c += Length(D())) {
      if (channels < Length(D())) return SumShort(from, rows, columns, to);
      const int64_t last = std::min(c, channels - Length(D()));  // overlaps its neighbour
      V sum = hn::Zero(d);
      ForSources(from + last, rows, columns, [&](const T* at) HWY_ATTR { sum = Add<0>(sum, at); });
      StoreNarrowLine(sum, d, to + last, stream && last == c);
    }
  }

 private:
  // Adds vector kVector of a source to `sum`. Fetches each line that begins with a vector once.
  template <size_t kVector>
  HWY_INLINE V Add(V sum, const T* at) const {
    const D d;
    constexpr size_t kBytes = hn::MaxLanes(d) * sizeof(T);
    const T* from = at + static_cast<int64_t>(kVector) * Length(D());
    if constexpr (kFetch && kVector * kBytes % 64 == 0) FetchLines<kBytes>(from + ahead);
    return hn::Add(sum, LoadWide(d, from));
  }

  // Calls use(source pixel) for each source pixel, in row-major order.
  template <class Use>
  HWY_INLINE void ForSources(const T* from, int64_t rows, int64_t columns, const Use& use) const {
    if (depth == 1 && rows == 2 && columns == 2) {
      use(from);
      use(from + column_stride);
      use(from + row_stride);
      use(from + row_stride + column_stride);
      return;
    }
    for (int64_t k = 0; k < depth; ++k, from += depth_stride) {
      const T* row = from;
      for (int64_t r = 0; r < rows; ++r, row += row_stride) {
        const T* at = row;
        for (int64_t x = 0; x < columns; ++x, at += column_stride) use(at);
      }
    }
  }

  // Sums a pixel with fewer channels than a vector has lanes.
  HWY_INLINE void SumShort(const T* from, int64_t rows, int64_t columns, T* to) const {
    const D d;
    const auto n = static_cast<size_t>(channels);
    V sum = hn::Zero(d);
    ForSources(from, rows, columns,
               [&](const T* at) HWY_ATTR { sum = hn::Add(sum, LoadWideFirst(d, at, n)); });
    StoreNarrowFirst(sum, d, to, n);
  }
};

// Computes the same sums as the struct above, source pixel by source pixel, with the sums in memory
// (L1). So a row of sources is read strictly forward.
template <class T, bool kFetch>
struct ForwardPixelCell {
  using D = ComputeTag<T>;
  using V = hn::Vec<D>;
  using S = hn::TFromD<D>;
  static constexpr size_t kVectorBytes = hn::MaxLanes(D()) * sizeof(T);
  int64_t channels;  // at least Lanes(D())
  int64_t depth;
  int64_t depth_stride, row_stride, column_stride;  // of the sources
  int64_t ahead;                                    // see PixelFetchDistance()

  HWY_INLINE void Sum(const T* from, int64_t rows, int64_t columns, T* to, bool stream) const {
    HWY_ALIGN S sums[kNearestMaxPixel + hn::MaxLanes(D())];
    const int64_t count = depth * rows * columns;
    if (count == 1) return AddPixel<true, true>(from, sums, to, stream);
    AddPixel<true, false>(from, sums, to, stream);
    const T* row = from;
    const T* at = from;
    for (int64_t i = 1, x = 0, r = 0;; ++i) {
      if (++x < columns) {
        at += column_stride;
      } else {
        x = 0;
        if (++r < rows) {
          row += row_stride;
        } else {
          r = 0;
          row = from += depth_stride;
        }
        at = row;
      }
      if (i + 1 == count) break;
      AddPixel<false, false>(at, sums, to, stream);
    }
    AddPixel<false, true>(at, sums, to, stream);
  }

 private:
  // Adds one source pixel. kFirst, kLast: see AddToBlocks().
  template <bool kFirst, bool kLast>
  HWY_INLINE void AddPixel(const T* from, S* sums, T* to, bool stream) const {
    const D d;
    const int64_t lanes = Length(d);
    const int64_t rest = AddToBlockPairs<kFirst, kLast>(
        d, 0, channels / lanes, sums,
        [&](auto place, int64_t b, V sum) PORTACL_INLINE_LAMBDA {
          const T* at = from + b * lanes;
          if constexpr (kFetch && place * kVectorBytes % 64 == 0) {
            FetchLines<kVectorBytes>(at + ahead);
          }
          return hn::Add(sum, LoadWide(d, at));
        },
        [&](int64_t b, V sum0, V sum1)
            PORTACL_INLINE_LAMBDA { StoreNarrow2(sum0, sum1, d, to + b * lanes, stream); });
    // The last block overlaps its neighbour.
    const auto first = [&](int64_t b) { return std::min(b * lanes, channels - lanes); };
    AddToBlocks<kFirst, kLast>(
        d, rest, base::DivideUp(channels, lanes), sums + rest * lanes,
        [&](int64_t b, V sum)
            PORTACL_INLINE_LAMBDA { return hn::Add(sum, LoadWide(d, from + first(b))); },
        [&](int64_t b, V sum) PORTACL_INLINE_LAMBDA { StoreNarrow(sum, d, to + first(b)); });
  }
};

template <class Cell, class T>
HWY_NOINLINE void SumPixels(const Params& p, const Tile<T>& t) {
  const int64_t* begin = p.w.begin;
  const int64_t channels = t.box.c1 - t.box.c0;
  const Cell cell{.channels = channels,
                  .depth = t.depth,
                  .depth_stride = t.from_depth,
                  .row_stride = t.from_row,
                  .column_stride = t.from_column,
                  .ahead = PixelFetchDistance<T>(t.from_column)};
  ForEachRow(p, t, [&](const T* from, int64_t rows, T* to) HWY_ATTR {
    if (rows == 0 && t.to_column == channels) {
      return Clear(to, (t.box.j1 - t.box.j0) * channels);
    }
    for (int64_t j = t.box.j0; j < t.box.j1; ++j, to += t.to_column) {
      const int64_t columns = begin[j + 1] - begin[j];
      if (rows == 0 || columns == 0) {
        Clear(to, channels);
      } else {
        cell.Sum(from + (begin[j] - t.first_column) * t.from_column, rows, columns, to, t.stream);
      }
    }
  });
}

template <bool kFetch, class T>
void ChooseCell(const Params& p, const Tile<T>& t) {
  const int64_t lanes = Length(ComputeTag<T>());
  if (t.box.c1 - t.box.c0 > 4 * lanes && t.box.j1 - t.box.j0 > 1 &&
      std::abs(t.from_column) <= kHalfPage<T>) {
    SumPixels<ForwardPixelCell<T, kFetch>>(p, t);
  } else {
    SumPixels<RegisterPixelCell<T, kFetch>>(p, t);
  }
}

}  // namespace

template <class T>
void SumTileByPixel(const Params& p, const Tile<T>& t) {
  t.by_row ? ChooseCell<true>(p, t) : ChooseCell<false>(p, t);
}

template void SumTileByPixel(const Params&, const Tile<float>&);
template void SumTileByPixel(const Params&, const Tile<double>&);
template void SumTileByPixel(const Params&, const Tile<base::Float16>&);
template void SumTileByPixel(const Params&, const Tile<base::BFloat16>&);

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
