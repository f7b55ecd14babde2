// Copies planar memory to pixel-major scratch (slabs, for example) and back, by square transposes
// in registers. Per target.
//
//   planar:  channel c of pixel x at  base + c * channel_stride + x * pixel_stride   (type T)
//   pixels:  pixel x at               base + x * step, `L` lanes, missing channels 0 (compute type)
#if defined(PORTACL_CPU_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_TRANSPOSE_INL_H_
#undef PORTACL_CPU_TRANSPOSE_INL_H_
#else
#define PORTACL_CPU_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/half.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// Vectors of a fixed length: `L` lanes if a register holds them, else a register. On Arm they have
// 128 bits, even if SVE has more, because transposes and trees need a known length.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
inline constexpr int kBlockBytes = HWY_MAX_BYTES < 64 ? HWY_MAX_BYTES : 64;
#else
inline constexpr int kBlockBytes = 16;
#endif
template <class F, int L>
inline constexpr int kBlockLanes =
    L < kBlockBytes / int{sizeof(F)} ? L : kBlockBytes / int{sizeof(F)};
template <class F, int L>
using BlockTag = hn::CappedTag<F, static_cast<size_t>(kBlockLanes<F, L>)>;

// ---- unrolling ----------------------------------------------------------------------------------

// Calls body(integral_constant 0), ..., body(N - 1). At -O2 compilers do not unroll such loops, and
// would keep an array of vectors in memory: four times slower.
template <class Body, size_t... kIndex>
HWY_INLINE void UnrollOver(const Body& body, std::index_sequence<kIndex...>) {
  (body(std::integral_constant<size_t, kIndex>()), ...);
}
template <size_t N, class Body>
HWY_INLINE void Unroll(const Body& body) {
  UnrollOver(body, std::make_index_sequence<N>());
}

// ---- square transposes --------------------------------------------------------------------------

// Transposes the 4 x 4 floats in each 128-bit column of four vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void TransposeIn128(D d, V& a, V& b, V& c, V& e) {
  const hn::Repartition<double, D> dw;
  const auto wide = [&](V v) HWY_ATTR { return hn::BitCast(dw, v); };
  const auto ab_lo = wide(hn::InterleaveLower(d, a, b));
  const auto ab_hi = wide(hn::InterleaveUpper(d, a, b));
  const auto ce_lo = wide(hn::InterleaveLower(d, c, e));
  const auto ce_hi = wide(hn::InterleaveUpper(d, c, e));
  a = hn::BitCast(d, hn::InterleaveLower(dw, ab_lo, ce_lo));
  b = hn::BitCast(d, hn::InterleaveUpper(dw, ab_lo, ce_lo));
  c = hn::BitCast(d, hn::InterleaveLower(dw, ab_hi, ce_hi));
  e = hn::BitCast(d, hn::InterleaveUpper(dw, ab_hi, ce_hi));
}

// Transposes the 2 x 2 doubles in each 128-bit column of two vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void TransposeIn128(D d, V& a, V& b) {
  const V lower = hn::InterleaveLower(d, a, b);
  b = hn::InterleaveUpper(d, a, b);
  a = lower;
}

#if HWY_TARGET == HWY_AVX3
// Returns the 128-bit blocks a_i, a_j, b_k, b_l; kBlocks encodes i, j, k, l.
template <int kBlocks>
HWY_INLINE hn::Vec<BlockTag<float, 16>> PickBlocks(hn::Vec<BlockTag<float, 16>> a,
                                                   hn::Vec<BlockTag<float, 16>> b) {
  return {_mm512_shuffle_f32x4(a.raw, b.raw, kBlocks)};
}
template <int kBlocks>
HWY_INLINE hn::Vec<BlockTag<double, 8>> PickBlocks(hn::Vec<BlockTag<double, 8>> a,
                                                   hn::Vec<BlockTag<double, 8>> b) {
  return {_mm512_shuffle_f64x2(a.raw, b.raw, kBlocks)};
}
#endif

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// Transposes a matrix of 128-bit blocks: its rows are the vectors v[i], v[i + kStep], ..., and it
// has as many rows as blocks in a row.
template <size_t i, size_t kStep, class D, size_t N>
HWY_INLINE void TransposeBlocks(D d, hn::Vec<D> (&v)[N]) {
  if constexpr (N == 2 * kStep) {
    const auto lower = hn::ConcatLowerLower(d, v[i + kStep], v[i]);
    v[i + kStep] = hn::ConcatUpperUpper(d, v[i + kStep], v[i]);
    v[i] = lower;
  }
#if HWY_TARGET == HWY_AVX3
  if constexpr (N == 4 * kStep) {
    auto& a = v[i];
    auto& b = v[i + kStep];
    auto& c = v[i + 2 * kStep];
    auto& e = v[i + 3 * kStep];
    const auto ab_lo = PickBlocks<0x44>(a, b);  // a0 a1 b0 b1
    const auto ab_hi = PickBlocks<0xEE>(a, b);  // a2 a3 b2 b3
    const auto ce_lo = PickBlocks<0x44>(c, e);
    const auto ce_hi = PickBlocks<0xEE>(c, e);
    a = PickBlocks<0x88>(ab_lo, ce_lo);  // a0 b0 c0 e0
    b = PickBlocks<0xDD>(ab_lo, ce_lo);
    c = PickBlocks<0x88>(ab_hi, ce_hi);
    e = PickBlocks<0xDD>(ab_hi, ce_hi);
  }
#endif
}

// Transposes N x N lanes, N = Lanes(d): first in 128-bit blocks, then the matrix of blocks.
template <class D, size_t N>
HWY_INLINE void Transpose(D d, hn::Vec<D> (&v)[N]) {
  constexpr size_t kIn128 = 16 / sizeof(hn::TFromD<D>);
  Unroll<N / kIn128>([&](auto group) PORTACL_INLINE_LAMBDA {
    constexpr size_t i = group * kIn128;
    if constexpr (kIn128 == 4) {
      TransposeIn128(d, v[i], v[i + 1], v[i + 2], v[i + 3]);
    } else {
      TransposeIn128(d, v[i], v[i + 1]);
    }
  });
  Unroll<kIn128>([&](auto i) PORTACL_INLINE_LAMBDA { TransposeBlocks<i, kIn128>(d, v); });
}
#endif

// Loads row i by load(i), i < Lanes(d), and gives row j of the transpose to store(j, row).
template <class D, class LoadRow, class StoreRow>
HWY_INLINE void TransposeRows(D d, const LoadRow& load, const StoreRow& store) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  constexpr size_t N = hn::MaxLanes(D());
  hn::Vec<D> v[N];
  Unroll<N>([&](auto i) PORTACL_INLINE_LAMBDA { v[i] = load(i); });
  Transpose(d, v);
  Unroll<N>([&](auto i) PORTACL_INLINE_LAMBDA { store(i, v[i]); });
#else  // SVE's vectors cannot be elements of an array
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    auto a = load(0);
    auto b = load(1);
    auto c = load(2);
    auto e = load(3);
    TransposeIn128(d, a, b, c, e);
    store(0, a);
    store(1, b);
    store(2, c);
    store(3, e);
  } else {
    auto a = load(0);
    auto b = load(1);
    TransposeIn128(d, a, b);
    store(0, a);
    store(1, b);
  }
#endif
}

// ---- planar -> pixels ---------------------------------------------------------------------------

// Some pixels of a row in planar memory, all their channels.
template <class T>
struct Planar {
  T* base;
  int64_t channel_stride;
  int64_t pixel_stride;
  int64_t channels;  // 1 to L
  int64_t pixels;
  bool stream = false;  // past the caches if lines are whole; ends with FlushStream()
};

// Memory behind a pixel's L lanes in scratch: left as it is, or L lanes to clear.
enum class Beside { kNothing, kZeros };

template <class T, int L, Beside kBeside, class F = base::ComputeType<T>>
void ReadPixelsScalar(const Planar<const T>& from, int64_t first, F* to, int64_t step) {
  for (int64_t x = first; x < from.pixels; ++x) {
    const T* source = from.base + x * from.pixel_stride;
    F* pixel = to + x * step;
    for (int64_t c = 0; c < L; ++c) {
      pixel[c] = c < from.channels ? base::Widen(source[c * from.channel_stride]) : F{0};
      if constexpr (kBeside == Beside::kZeros) pixel[L + c] = F{0};
    }
  }
}

// Reads a tile of N x N: channels from c0 on, pixels from x0 on; `pixels` are left in the row.
template <class T, int L, Beside kBeside, bool kWhole, class F = base::ComputeType<T>>
HWY_INLINE void ReadTile(const Planar<const T>& from, int64_t c0, int64_t x0, int64_t pixels,
                         F* HWY_RESTRICT to, int64_t step) {
  const BlockTag<F, L> d;
  const T* source = from.base + c0 * from.channel_stride + x0;
  const int64_t channels = from.channels - c0;
  TransposeRows(
      d,
      [&](size_t i) PORTACL_INLINE_LAMBDA {
        if constexpr (kWhole) {
          const T* whole = source + static_cast<int64_t>(i) * from.channel_stride;
          __builtin_prefetch(whole + 192, 0, 2);
          return LoadWide(d, whole);
        }
        if (static_cast<int64_t>(i) >= channels) return hn::Zero(d);
        const T* row = source + static_cast<int64_t>(i) * from.channel_stride;
        return pixels >= kBlockLanes<F, L> ? LoadWide(d, row)
                                           : LoadWideFirst(d, row, static_cast<size_t>(pixels));
      },
      [&](size_t j, hn::Vec<BlockTag<F, L>> v) PORTACL_INLINE_LAMBDA {
        if (!kWhole && static_cast<int64_t>(j) >= pixels) return;
        F* pixel = to + (x0 + static_cast<int64_t>(j)) * step + c0;
        hn::StoreU(v, d, pixel);
        if constexpr (kBeside == Beside::kZeros) hn::StoreU(hn::Zero(d), d, pixel + L);
      });
}

// Reads adjacent pixels, N at a time. The last tile is moved back to end at the last pixel.
template <class T, int L, Beside kBeside, bool kWhole, class F = base::ComputeType<T>>
void ReadPixelsTiled(const Planar<const T>& from, F* to, int64_t step) {
  constexpr int64_t N = kBlockLanes<F, L>;
  for (int64_t x = 0; x < from.pixels; x += N) {
    const int64_t x0 = std::max<int64_t>(0, std::min(x, from.pixels - N));
    for (int64_t c = 0; c < L; c += N) {
      ReadTile<T, L, kBeside, kWhole>(from, c, x0, from.pixels - x0, to, step);
    }
  }
}

// Reads pixels with adjacent channels (channels_last): copies them.
template <class T, int L, Beside kBeside, class F = base::ComputeType<T>>
void ReadPixelsInner(const Planar<const T>& from, F* HWY_RESTRICT to, int64_t step) {
  constexpr int64_t N = kBlockLanes<F, L>;
  const BlockTag<F, L> d;
  for (int64_t x = 0; x < from.pixels; ++x) {
    for (int64_t c = 0; c < L; c += N) {
      const T* source = from.base + x * from.pixel_stride + c;
      __builtin_prefetch(source + 24 * from.pixel_stride, 0, 2);
      const int64_t count = std::max<int64_t>(0, from.channels - c);
      const auto v =
          count >= N ? LoadWide(d, source) : LoadWideFirst(d, source, static_cast<size_t>(count));
      hn::StoreU(v, d, to + x * step + c);
      if constexpr (kBeside == Beside::kZeros) hn::StoreU(hn::Zero(d), d, to + x * step + c + L);
    }
  }
}

template <class T, int L, Beside kBeside = Beside::kNothing, class F = base::ComputeType<T>>
HWY_NOINLINE void ReadPixels(const Planar<const T>& from, F* to, int64_t step) {
  if (from.pixel_stride == 1) {
    if (from.channels == L && from.pixels >= kBlockLanes<F, L>) {
      ReadPixelsTiled<T, L, kBeside, true>(from, to, step);
    } else {
      ReadPixelsTiled<T, L, kBeside, false>(from, to, step);
    }
  } else if (from.channel_stride == 1) {
    ReadPixelsInner<T, L, kBeside>(from, to, step);
  } else {
    ReadPixelsScalar<T, L, kBeside>(from, 0, to, step);
  }
}

// ---- pixels -> planar, each element rounded once ------------------------------------------------

template <class T, int L, bool kWhole, bool kStream, class F = base::ComputeType<T>>
HWY_INLINE void WriteTile(const F* HWY_RESTRICT from, int64_t step, const Planar<T>& to, int64_t c0,
                          int64_t x0, int64_t pixels) {
  const BlockTag<F, L> d;
  T* target = to.base + c0 * to.channel_stride + x0;
  const int64_t channels = to.channels - c0;
  TransposeRows(
      d,
      [&](size_t i) PORTACL_INLINE_LAMBDA {
        if (!kWhole && static_cast<int64_t>(i) >= pixels) return hn::Zero(d);
        return hn::LoadU(d, from + (x0 + static_cast<int64_t>(i)) * step + c0);
      },
      [&](size_t j, hn::Vec<BlockTag<F, L>> v) PORTACL_INLINE_LAMBDA {
        T* row = target + static_cast<int64_t>(j) * to.channel_stride;
        if constexpr (kWhole) {
          StoreNarrowLine(v, d, row, kStream);
        } else if (static_cast<int64_t>(j) < channels) {
          if (pixels >= kBlockLanes<F, L>) {
            StoreNarrow(v, d, row);
          } else {
            StoreNarrowFirst(v, d, row, static_cast<size_t>(pixels));
          }
        }
      });
}

template <class T, int L, bool kWhole, bool kStream, class F = base::ComputeType<T>>
void WritePixelsTiled(const F* from, int64_t step, const Planar<T>& to) {
  constexpr int64_t N = kBlockLanes<F, L>;
  for (int64_t x = 0; x < to.pixels; x += N) {
    const int64_t x0 = std::max<int64_t>(0, std::min(x, to.pixels - N));
    for (int64_t c = 0; c < L; c += N) {
      if (c >= to.channels) break;
      WriteTile<T, L, kWhole, kStream>(from, step, to, c, x0, to.pixels - x0);
    }
  }
}

// Whether every N pixels of a channel fill a cache line.
template <int64_t N, class T>
bool HasWholeLines(const Planar<T>& to) {
  constexpr int64_t kLine = static_cast<int64_t>(kStreamAlignment);
  return N * int64_t{sizeof(T)} == kLine && to.pixels % N == 0 &&
         to.channel_stride * int64_t{sizeof(T)} % kLine == 0 &&
         reinterpret_cast<uintptr_t>(to.base) % kStreamAlignment == 0;
}

template <class T, int L, class F = base::ComputeType<T>>
void WritePixelsInner(const F* from, int64_t step, const Planar<T>& to) {
  constexpr int64_t N = kBlockLanes<F, L>;
  const BlockTag<F, L> d;
  const bool stream = to.stream && N * sizeof(T) == kStreamAlignment &&
                      to.pixel_stride * sizeof(T) % kStreamAlignment == 0 &&
                      reinterpret_cast<uintptr_t>(to.base) % kStreamAlignment == 0;
  for (int64_t x = 0; x < to.pixels; ++x) {
    for (int64_t c = 0; c < to.channels; c += N) {
      T* target = to.base + x * to.pixel_stride + c;
      const auto v = hn::LoadU(d, from + x * step + c);
      if (to.channels - c >= N) {
        StoreNarrowLine(v, d, target, stream);
      } else {
        StoreNarrowFirst(v, d, target, static_cast<size_t>(to.channels - c));
      }
    }
  }
}

template <class T, int L, class F = base::ComputeType<T>>
HWY_NOINLINE void WritePixels(const F* from, int64_t step, const Planar<T>& to) {
  if (to.pixel_stride == 1) {
    if (to.channels == L && to.pixels >= kBlockLanes<F, L>) {
      if (to.stream && HasWholeLines<kBlockLanes<F, L>>(to)) {
        WritePixelsTiled<T, L, true, true>(from, step, to);
      } else {
        WritePixelsTiled<T, L, true, false>(from, step, to);
      }
    } else {
      WritePixelsTiled<T, L, false, false>(from, step, to);
    }
  } else if (to.channel_stride == 1) {
    WritePixelsInner<T, L>(from, step, to);
  } else {
    for (int64_t x = 0; x < to.pixels; ++x) {
      for (int64_t c = 0; c < to.channels; ++c) {
        to.base[c * to.channel_stride + x * to.pixel_stride] = base::Narrow<T>(from[x * step + c]);
      }
    }
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
