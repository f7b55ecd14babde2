// Reads and writes tensors of points, and gathers elements for points, with a point in each lane.
// Per target.
#if defined(PORTACL_CPU_GRID_SAMPLER_GATHER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_GRID_SAMPLER_GATHER_INL_H_
#undef PORTACL_CPU_GRID_SAMPLER_GATHER_INL_H_
#else
#define PORTACL_CPU_GRID_SAMPLER_GATHER_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/vector/highway.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {

// ---- points -------------------------------------------------------------------------------------

// Calls run(first, last) for ranges of points that cover one image or volume, on all threads.
template <class Run>
void ForChunks(const PointChunks& g, const Run& run) {
  runtime::ParallelFor(g.chunks, g.grain, [&](int64_t begin, int64_t end) {
    run(begin * g.chunk_points, std::min(end * g.chunk_points, g.points));
  });
}

// Calls Kernel(params).Run(n, first, last) for ranges of points that cover all images, on all
// threads.
template <class Kernel, class Params>
void RunOverChunks(const Params& params, const PointChunks& g) {
  const Kernel kernel(params);
  runtime::ParallelFor(g.images * g.chunks, g.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % g.chunks * g.chunk_points;
      kernel.Run(i / g.chunks, first, std::min(first + g.chunk_points, g.points));
    }
  });
}

// x, y and, in volumes, z of `count` points of a grid from `first` on; other lanes hold any
// numbers.
template <class D, class T, class... V>
HWY_INLINE void ReadPoints(D d, const PointStrides& at, const T* grid, int64_t first, int64_t count,
                           V&... axes) {
  constexpr int64_t kAxes = sizeof...(V);
  if (HWY_LIKELY(HasDensePoints(at, kAxes) && count == Length(d))) {
    if constexpr (kAxes == 2) {
      return LoadDeinterleaved2(d, grid + 2 * first, axes...);
    } else {
      return LoadDeinterleaved3(d, grid + 3 * first, axes...);
    }
  }
  HWY_ALIGN hn::TFromD<D> copy[kAxes][hn::MaxLanes(d)] = {};
  for (int64_t k = 0; k < count; ++k) {
    const T* from = grid + at.OffsetOf(first + k);
    for (auto& axis : copy) {
      axis[k] = base::Widen(*from);
      from += at.channel_stride;
    }
  }
  size_t axis = 0;
  ((axes = hn::Load(d, copy[axis++])), ...);
}

// The same for as many axes as there are.
template <int kAxes, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void ReadPoints(D d, const PointStrides& at, const T* grid, int64_t first, int64_t count,
                           const Axes<V>& to) {
  WithAxes<kAxes>(to, [&](auto&... axes) PORTACL_INLINE_LAMBDA {
    ReadPoints(d, at, grid, first, count, axes...);
  });
}

// The plane at `from` at `count` points from `first` on; the other lanes are 0.
template <class D, class T>
HWY_INLINE hn::Vec<D> ReadChannel(D d, const PointStrides& at, const T* from, int64_t first,
                                  int64_t count) {
  if (HWY_LIKELY(at.flat && at.pixel_stride == 1 && count == Length(d))) {
    return LoadWide(d, from + first);
  }
  HWY_ALIGN hn::TFromD<D> copy[hn::MaxLanes(D())] = {};
  for (int64_t k = 0; k < count; ++k) copy[k] = base::Widen(from[at.OffsetOf(first + k)]);
  return hn::Load(d, copy);
}

// Writes x, y and, of volumes, z of `count` points from `first` on, rounded once.
template <class D, class T, class... V>
HWY_INLINE void WritePoints(D d, const PointStrides& at, T* out, int64_t first, int64_t count,
                            V... axes) {
  using F = hn::TFromD<D>;
  constexpr int64_t kAxes = sizeof...(V);
  const auto interleave = [&](F* to) PORTACL_INLINE_LAMBDA {
    if constexpr (kAxes == 2) {
      hn::StoreInterleaved2(axes..., d, to);
    } else {
      hn::StoreInterleaved3(axes..., d, to);
    }
  };
  const bool dense = HasDensePoints(at, kAxes) && count == Length(d);
  if constexpr (std::is_same_v<T, F>) {
    if (HWY_LIKELY(dense)) return interleave(out + kAxes * first);
  }
  HWY_ALIGN F points[kAxes * hn::MaxLanes(d)];
  interleave(points);
  if (HWY_LIKELY(dense)) {
    for (int64_t part = 0; part < kAxes; ++part) {
      StoreNarrow(hn::Load(d, points + part * count), d, out + kAxes * first + part * count);
    }
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    T* to = out + at.OffsetOf(first + k);
    for (int64_t axis = 0; axis < kAxes; ++axis) {
      to[axis * at.channel_stride] = base::Narrow<T>(points[kAxes * k + axis]);
    }
  }
}

template <int kAxes, class D, class T, class V = hn::Vec<D>>
HWY_INLINE void WritePoints(D d, const PointStrides& at, T* out, int64_t first, int64_t count,
                            const Axes<V>& from) {
  WithAxes<kAxes>(from, [&](const auto&... axes) PORTACL_INLINE_LAMBDA {
    WritePoints(d, at, out, first, count, axes...);
  });
}

// gridGrad of nearest points, zeros: moving a point moves no nearest pixel. For RunOverChunks().
template <class Params, class T>
class NoGridGrad {
 public:
  explicit NoGridGrad(const Params& p) : p_(p), at_(GridPointsOf(p.shape, p.grid_grad_stride)) {}

  // Points [first, last) of image or volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    constexpr int64_t kAxes = kAxesOf<Params>;
    T* const out = static_cast<T*>(p_.grid_grad) + n * p_.grid_grad_stride[0];
    if (HasDensePoints(at_, kAxes)) return Clear(out + kAxes * first, kAxes * (last - first));
    for (int64_t p = first; p < last; ++p) {
      T* const point = out + at_.OffsetOf(p);
      for (int64_t axis = 0; axis < kAxes; ++axis) point[axis * at_.channel_stride] = T{};
    }
  }

 private:
  const Params& p_;
  PointStrides at_;
};

// ---- points by blocks of channels ---------------------------------------------------------------

// Some channels of an image's or volume's points.
template <class T>
struct PointBlock {
  T* base;  // point 0, the first channel
  PointStrides at;
  int64_t channels;
};

// Copies points first, first + 1, ... or index[0], index[1], ... into to[count][L], rounding
// nothing. Neighbouring points in memory are transposed together, others are copied one by one.
template <int L, class T, class F = base::ComputeType<T>>
void ReadPointBlock(const PointBlock<const T>& from, int64_t first, const int32_t* index,
                    int64_t count, F* to) {
  Planar<const T> planar = {from.base, from.at.channel_stride, from.at.pixel_stride, from.channels,
                            count};
  if (index == nullptr && from.at.flat) {
    planar.base += first * from.at.pixel_stride;
    return ReadPixels<T, L>(planar, to, L);
  }
  planar.pixels = 1;
  if (planar.pixel_stride == 1) planar.pixel_stride = 2;  // one pixel: no tile
  for (int64_t k = 0; k < count; ++k) {
    planar.base = from.base + from.at.OffsetOf(index != nullptr ? index[k] : first + k);
    ReadPixels<T, L>(planar, to + k * L, L);
  }
}

// From values[count][L], rounded once, to points first, first + 1, ...
template <int L, class T, class F = base::ComputeType<T>>
void WritePointBlock(const F* values, int64_t first, int64_t count, const PointBlock<T>& to) {
  Planar<T> planar = {to.base, to.at.channel_stride, to.at.pixel_stride, to.channels, count};
  if (to.at.flat) {
    planar.base += first * to.at.pixel_stride;
    return WritePixels<T, L>(values, L, planar);
  }
  planar.pixels = 1;
  if (planar.pixel_stride == 1) planar.pixel_stride = 2;  // one pixel: no tile
  for (int64_t k = 0; k < count; ++k) {
    planar.base = to.base + to.at.OffsetOf(first + k);
    WritePixels<T, L>(values + k * L, L, planar);
  }
}

// ---- elements -----------------------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX3
inline constexpr size_t kVectorBytes = 64;

template <int kScale, class DI>
HWY_INLINE __m512i GatherAll(DI, __m512i offset, const void* base) {
  const __m512i zero = _mm512_setzero_si512();
  if constexpr (sizeof(hn::TFromD<DI>) == 8) {
    __mmask8 all = 0xFF;
    asm("" : "+Yk"(all));
    return _mm512_mask_i64gather_epi64(zero, all, offset, base, kScale);
  } else {
    __mmask16 all = 0xFFFF;
    asm("" : "+Yk"(all));
    return _mm512_mask_i32gather_epi32(zero, all, offset, base, kScale);
  }
}
#elif HWY_TARGET == HWY_AVX2
inline constexpr size_t kVectorBytes = 32;

template <int kScale, class DI>
HWY_INLINE __m256i GatherAll(DI, __m256i offset, const void* base) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i all = _mm256_set1_epi32(-1);
  asm("" : "+x"(all));
  if constexpr (sizeof(hn::TFromD<DI>) == 8) {
    return _mm256_mask_i64gather_epi64(zero, static_cast<const long long*>(base), offset, all,
                                       kScale);
  } else {
    return _mm256_mask_i32gather_epi32(zero, static_cast<const int*>(base), offset, all, kScale);
  }
}
#endif

// The element that starts kScale * offset bytes behind `base`, of each lane.
template <int kScale, class D, class VI>
HWY_INLINE hn::Vec<D> GatherAt(D d, const hn::TFromD<D>* base, VI offset) {
  const hn::RebindToSigned<D> di;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // A gather merges into its register, and so waits for the register's old value. GCC clears the
  // register only if it does not know that all lanes are wanted.
  if constexpr (sizeof(offset) == kVectorBytes) {
    return hn::BitCast(d, hn::Vec<decltype(di)>{GatherAll<kScale>(di, offset.raw, base)});
  }
#endif
  if constexpr (kScale == sizeof(hn::TFromD<D>)) {
    return hn::GatherIndex(d, base, hn::BitCast(di, offset));  // scaled in 64 bits
  } else {
    constexpr int kShift = kScale / 2;  // of 2 and 4; ServesPairs() bounds these offsets
    return hn::GatherOffset(d, base, hn::ShiftLeft<kShift>(hn::BitCast(di, offset)));
  }
}

// Element plane[at] of each lane and its neighbour to the right.
template <class T, class D, class V = hn::Vec<D>>
HWY_INLINE void GatherPairs(D d, const T* plane, hn::Vec<IndexTag<D>> at, V& west, V& east) {
  if constexpr (std::is_same_v<T, double>) {
    const hn::RebindToSigned<D> di;
    const auto wide = hn::PromoteTo(di, at);
    west = GatherAt<8>(d, plane, wide);
    east = GatherAt<8>(d, plane + 1, wide);
  } else if constexpr (std::is_same_v<T, float>) {
    // A pair is 64 bits: of even points in one vector, of odd points in another.
    const hn::Repartition<uint64_t, D> du;
    const auto* pairs = reinterpret_cast<const uint64_t*>(plane);
    const auto both = hn::BitCast(du, at);
    const auto even_at = hn::And(both, hn::Set(du, 0xFFFFFFFFu));
    const auto odd_at = hn::ShiftRight<32>(both);
    const auto even = hn::BitCast(d, GatherAt<4>(du, pairs, even_at));
    const auto odd = hn::BitCast(d, GatherAt<4>(du, pairs, odd_at));
    west = hn::OddEven(hn::DupEven(odd), even);
    east = hn::OddEven(odd, hn::DupOdd(even));
  } else {
    const hn::RebindToUnsigned<D> du;
    const IndexTag<D> di;
    const auto pair = GatherAt<2>(du, reinterpret_cast<const uint32_t*>(plane), at);
    if constexpr (std::is_same_v<T, base::BFloat16>) {
      west = hn::BitCast(d, hn::ShiftLeft<16>(pair));
      east = hn::BitCast(d, hn::And(pair, hn::Set(du, 0xFFFF0000u)));
    } else {
      const hn::Rebind<uint16_t, D> half;
      const auto widen = [&](auto bits) HWY_ATTR {
        const auto narrow = hn::DemoteTo(half, hn::BitCast(di, bits));
        return hn::PromoteTo(d, hn::BitCast(MemoryTag<T, D>(), narrow));
      };
      west = widen(hn::And(pair, hn::Set(du, 0xFFFFu)));
      east = widen(hn::ShiftRight<16>(pair));
    }
  }
}

// A mask of index lanes for the lanes of values.
template <class D>
HWY_INLINE hn::Mask<D> ValueMask(D d, hn::Mask<IndexTag<D>> mask) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const auto lanes = hn::VecFromMask(IndexTag<D>(), mask);
    return hn::MaskFromVec(hn::BitCast(d, hn::PromoteTo(hn::RebindToSigned<D>(), lanes)));
  } else {
    return hn::RebindMask(d, mask);
  }
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
