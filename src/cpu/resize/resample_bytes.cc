// Sums of bytes with fixed-point weights: sums of whole rows, and W by transposing. One product of
// pairs of 16-bit numbers adds two taps. Sums wrap around, so their order is free.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/resample_bytes.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "cpu/resize/resample_rows-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Bytes = BlockTag<uint8_t, 64>;
using Words = hn::Repartition<int16_t, Bytes>;
using Sums = hn::Repartition<int32_t, Bytes>;
constexpr int64_t N = kByteRows;

// Multiplies each pair by the two 16-bit weights in `weights` and adds both products.
HWY_INLINE hn::Vec<Sums> Products(hn::Vec<Words> pairs, hn::Vec<Sums> weights) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<Sums>{_mm512_madd_epi16(pairs.raw, weights.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Sums>{_mm256_madd_epi16(pairs.raw, weights.raw)};
#else
  const auto first = [](auto v)
                         PORTACL_INLINE_LAMBDA { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const auto second = [](auto v) PORTACL_INLINE_LAMBDA { return hn::ShiftRight<16>(v); };
  const auto both = hn::BitCast(Sums(), pairs);
  return hn::Add(hn::Mul(first(both), first(weights)), hn::Mul(second(both), second(weights)));
#endif
}

// Clamps numbers to 16 bits, or to bytes. In a 128-bit block, numbers of `lower` come first.
HWY_INLINE hn::Vec<Words> Clamped(hn::Vec<Sums> lower, hn::Vec<Sums> upper) {
#if HWY_ARCH_X86
  return hn::ReorderDemote2To(Words(), lower, upper);
#else
  const hn::Half<Words> half;
  return hn::Combine(Words(), hn::DemoteTo(half, upper), hn::DemoteTo(half, lower));
#endif
}
HWY_INLINE hn::Vec<Bytes> Clamped(hn::Vec<Words> lower, hn::Vec<Words> upper) {
#if HWY_TARGET == HWY_AVX3
  return hn::Vec<Bytes>{_mm512_packus_epi16(lower.raw, upper.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Bytes>{_mm256_packus_epi16(lower.raw, upper.raw)};
#else
  const hn::Half<Bytes> half;
  return hn::Combine(Bytes(), hn::DemoteTo(half, upper), hn::DemoteTo(half, lower));
#endif
}

// Returns the start of a sum, which is shifted right by `shift` bits later.
HWY_INLINE hn::Vec<Sums> HalfOf(int32_t shift) {
  const Sums ds;
  return hn::Set(ds, 1 << (shift - 1));
}

// Sums the vectors load(k), k < taps, with their weights. `taps` is even: tables of bytes have a
// tap of weight 0 where needed. kUpper: weights have upper parts. Bytes of two taps form pairs in
// 128-bit blocks, and clamping restores their order.
template <bool kUpper, class Load>
HWY_INLINE hn::Vec<Bytes> SumOf(const int32_t* weight, int64_t taps, int32_t shift,
                                const Load& load) {
  HWY_DASSERT(taps % 2 == 0);
  const Bytes d;
  const Sums ds;
  const auto zero = hn::Zero(d);
  auto a = HalfOf(shift), b = a, c = a, e = a;
  auto upper_a = hn::Zero(ds), upper_b = upper_a, upper_c = upper_a, upper_e = upper_a;
  const auto add_two = [&](int64_t k) PORTACL_INLINE_LAMBDA {
    const auto x = load(k), y = load(k + 1);
    const auto weights = hn::Set(ds, weight[k]);
    const auto upper = hn::Set(ds, weight[k + 1]);
    const auto add = [&](auto bytes, auto& sum, auto& upper_sum) PORTACL_INLINE_LAMBDA {
      const auto pairs = hn::BitCast(Words(), bytes);
      sum = hn::Add(sum, Products(pairs, weights));
      if constexpr (kUpper) upper_sum = hn::Add(upper_sum, Products(pairs, upper));
    };
    const auto low = hn::InterleaveLower(d, x, y);
    const auto high = hn::InterleaveUpper(d, x, y);
    add(hn::InterleaveLower(d, low, zero), a, upper_a);
    add(hn::InterleaveUpper(d, low, zero), b, upper_b);
    add(hn::InterleaveLower(d, high, zero), c, upper_c);
    add(hn::InterleaveUpper(d, high, zero), e, upper_e);
  };
  int64_t k = 0;
  for (; k + 4 <= taps; k += 4) {  // two turns: with one, compilers move the sums between registers
    add_two(k);
    add_two(k + 2);
  }
  if (k < taps) add_two(k);
  static_assert(ops::kUpperPart == 1 << 12);
  const auto rounded = [&](auto sum, auto upper_sum) PORTACL_INLINE_LAMBDA {
    if constexpr (kUpper) sum = hn::Add(sum, hn::ShiftLeft<12>(upper_sum));
    return hn::ShiftRightSame(sum, shift);
  };
  return Clamped(Clamped(rounded(a, upper_a), rounded(b, upper_b)),
                 Clamped(rounded(c, upper_c), rounded(e, upper_e)));
}

// Calls run(constant): whether weights have upper parts.
template <class Run>
void WithUpper(int32_t shift, const Run& run) {
  if (shift == ops::kMostShift) return run(std::true_type());
  run(std::false_type());
}

template <bool kUpper>
HWY_NOINLINE void AddByteRows(const int32_t* weight, const uint8_t* const* from, int64_t taps,
                              uint8_t* to, int64_t n, int32_t shift) {
  const Bytes d;
  if (n < N) {
    const auto first = static_cast<size_t>(n);
    const auto sum = SumOf<kUpper>(weight, taps, shift, [&](int64_t k) PORTACL_INLINE_LAMBDA {
      return LoadFirst(d, from[k], first);
    });
    return StoreFirst(sum, d, to, first);
  }
  for (int64_t x0 = 0; x0 < n; x0 += N) {  // the last vector overlaps the one before
    const int64_t x = std::min(x0, n - N);
    const auto sum = SumOf<kUpper>(weight, taps, shift, [&](int64_t k) PORTACL_INLINE_LAMBDA {
      return hn::LoadU(d, from[k] + x);
    });
    hn::StoreU(sum, d, to + x);
  }
}

// ---- transposes ---------------------------------------------------------------------------------

// Transposes the 128-bit blocks of 16 vectors: byte j of load(i) becomes byte i of store(j).
template <class Load, class Store>
HWY_INLINE void TransposeBlocksOfBytes(const Load& load, const Store& store) {
  const Bytes d;
#if HWY_HAVE_SCALABLE  // SVE's vectors cannot be elements of an array
  HWY_ALIGN uint8_t rows[16 * 16];
  HWY_ALIGN uint8_t columns[16 * 16];
  for (size_t i = 0; i < 16; ++i) hn::Store(load(i), d, rows + 16 * i);
  for (size_t i = 0; i < 256; ++i) columns[i % 16 * 16 + i / 16] = rows[i];
  for (size_t j = 0; j < 16; ++j) store(j, hn::Load(d, columns + 16 * j));
#else
  // Works on four vectors at a time: they fit AVX2's registers.
  hn::Vec<Bytes> half[16];
  const auto interleave = [&](const auto& from, const auto& to) PORTACL_INLINE_LAMBDA {
    Unroll<4>([&](auto i) PORTACL_INLINE_LAMBDA {
      const auto a = from(i), b = from(i + 4), c = from(i + 8), e = from(i + 12);
      const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
      to(4 * i, hn::InterleaveLower(d, ac, be));
      to(4 * i + 1, hn::InterleaveUpper(d, ac, be));
      const auto upper_ac = hn::InterleaveUpper(d, a, c), upper_be = hn::InterleaveUpper(d, b, e);
      to(4 * i + 2, hn::InterleaveLower(d, upper_ac, upper_be));
      to(4 * i + 3, hn::InterleaveUpper(d, upper_ac, upper_be));
    });
  };
  interleave(load, [&](size_t j, auto v) PORTACL_INLINE_LAMBDA { half[j] = v; });
  interleave([&](size_t i) PORTACL_INLINE_LAMBDA { return half[i]; }, store);
#endif
}

// Loads a vector of 16-byte blocks from block(first), block(first + 1), ...
template <class D, class Block>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, size_t first, const Block& block) {
  if constexpr (N == 16 || sizeof(hn::TFromD<D>) * hn::MaxLanes(d) == 16) {
    return hn::LoadU(d, block(first));
  } else {
    const hn::Half<D> half;
    const size_t step = hn::MaxLanes(d) / 32;
    return hn::Combine(d, LoadBlocks(half, first + step, block), LoadBlocks(half, first, block));
  }
}

// Stores a vector as 16-byte blocks: store(i, block i).
template <class D, class Store>
HWY_INLINE void StoreBlocks(D d, size_t first, hn::Vec<D> v, const Store& store) {
  if constexpr (N == 16 || sizeof(hn::TFromD<D>) * hn::MaxLanes(d) == 16) {
    store(first, v);
  } else {
    const hn::Half<D> half;
    StoreBlocks(half, first, hn::LowerHalf(half, v), store);
    StoreBlocks(half, first + hn::MaxLanes(d) / 32, hn::UpperHalf(half, v), store);
  }
}

// Transposes sources [first, first + 16) of N rows to 16 columns. Reads no source from `end` on.
HWY_INLINE void RowsToByteColumns(const uint8_t* const* from, int64_t first, int64_t end,
                                  uint8_t* to) {
  const Bytes d;
  HWY_ALIGN uint8_t padded[N * kByteColumns];
  const bool whole = first + kByteColumns <= end;
  for (int64_t r = 0; !whole && r < N; ++r) {
    std::memcpy(padded + r * kByteColumns, from[r] + first, static_cast<size_t>(end - first));
  }
  TransposeBlocksOfBytes(
      [&](size_t i) PORTACL_INLINE_LAMBDA {
        return LoadBlocks(d, 0, [&](size_t q) PORTACL_INLINE_LAMBDA {
          const size_t row = 16 * q + i;
          return whole ? from[row] + first : padded + row * kByteColumns;
        });
      },
      [&](size_t j, auto v)
          PORTACL_INLINE_LAMBDA { hn::Store(v, d, to + static_cast<int64_t>(j) * N); });
}

// Transposes 16 columns to rows: writes the first `columns` bytes of row r to to[r] + at.
HWY_INLINE void ByteColumnsToRows(const uint8_t* from, int64_t columns, uint8_t* const* to,
                                  int64_t at, int64_t rows) {
  const Bytes d;
  const auto load = [&](size_t i) PORTACL_INLINE_LAMBDA {
    return hn::Load(d, from + static_cast<int64_t>(i) * N);
  };
  if (columns == kByteColumns && rows == N) {
    return TransposeBlocksOfBytes(load, [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
      StoreBlocks(d, 0, v, [&](size_t q, auto part) PORTACL_INLINE_LAMBDA {
        hn::StoreU(part, hn::CappedTag<uint8_t, 16>(), to[j + 16 * q] + at);
      });
    });
  }
  HWY_ALIGN uint8_t lanes[N * kByteColumns];
  TransposeBlocksOfBytes(load, [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
    hn::Store(v, d, lanes + static_cast<int64_t>(j) * N);
  });
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to[r] + at, lanes + r % 16 * N + r / 16 * 16, static_cast<size_t>(columns));
  }
}

// ---- quads --------------------------------------------------------------------------------------

#if HWY_TARGET == HWY_AVX3
// Only newer CPUs with AVX-512 have these two instructions, so the compiler may not emit them.
// Adds the products of four bytes and four signed bytes of `weights` to each sum.
HWY_INLINE hn::Vec<Sums> AddProducts(hn::Vec<Sums> sum, hn::Vec<Bytes> quads,
                                     hn::Vec<Sums> weights) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(quads.raw), "v"(weights.raw));
  return sum;
}
HWY_INLINE hn::Vec<Bytes> Permuted(hn::Vec<Bytes> bytes, hn::Vec<Bytes> places) {
  hn::Vec<Bytes> to;
  asm("vpermb %1, %2, %0" : "=v"(to.raw) : "v"(bytes.raw), "v"(places.raw));
  return to;
}

// Transposes a block from source `first` on to quads: N rows of a quad are adjacent. `place`: for
// each byte of a row's quads its place in the block. Reads no source from `end` on.
HWY_NOINLINE void RowsToQuads(const uint8_t* const* from, int64_t first, int64_t end,
                              const uint8_t* place, uint8_t* to) {
  const Bytes d;
  const BlockTag<float, 16> df;
  const auto bytes = static_cast<size_t>(std::min(kLineBytes, end - first));
  const auto places = hn::Load(d, place);
  for (size_t g = 0; g < 4; ++g) {
    TransposeRows(
        df,
        [&](size_t i) PORTACL_INLINE_LAMBDA {
          // Clamping the sums to bytes restores the order of rows.
          const uint8_t* const row = from[i / 4 * 16 + 4 * g + i % 4] + first;
          const auto loaded = bytes == kLineBytes ? hn::LoadU(d, row) : LoadFirst(d, row, bytes);
          return hn::BitCast(df, Permuted(loaded, places));
        },
        [&](size_t j, auto v) PORTACL_INLINE_LAMBDA {
          hn::Store(hn::BitCast(d, v), d, to + static_cast<int64_t>(4 * j + g) * N);
        });
  }
}

// Sums the quads from `quad` to `end`.
template <int kParts>
HWY_INLINE hn::Vec<Bytes> SumOfQuads(const ResampleQuad* quad, const ResampleQuad* end,
                                     const uint8_t* ring, int32_t shift) {
  const Sums ds;
  const auto zero = hn::Zero(ds), half = HalfOf(shift);
  hn::Vec<Sums> sums[4][3] = {
      {half, zero, zero}, {half, zero, zero}, {half, zero, zero}, {half, zero, zero}};
  for (; quad != end; ++quad) {
    const uint8_t* const bytes = ring + quad->at;
    Unroll<kParts>([&](auto part) PORTACL_INLINE_LAMBDA {
      const auto weights = hn::Set(ds, quad->weight[part]);
      Unroll<4>([&](auto g) PORTACL_INLINE_LAMBDA {
        const auto four = hn::Load(Bytes(), bytes + static_cast<int64_t>(g) * N);
        sums[g][part] = AddProducts(sums[g][part], four, weights);
      });
    });
  }
  const auto sum = [&](size_t g) PORTACL_INLINE_LAMBDA {
    auto all = hn::Add(sums[g][0], hn::ShiftLeft<8>(sums[g][1]));
    if constexpr (kParts == 3) all = hn::Add(all, hn::ShiftLeft<16>(sums[g][2]));
    return hn::ShiftRightSame(all, shift);
  };
  return Clamped(Clamped(sum(0), sum(1)), Clamped(sum(2), sum(3)));
}
#endif

// ---- W ------------------------------------------------------------------------------------------

using ByteRows = RowsOfW<int32_t, uint8_t, uint8_t>;

// Columns of single sources, which are summed in pairs. `block`: sources that are loaded together.
// Holds copies, because stores to bytes may change what a reference stands for.
template <bool kUpper>
struct BytePairs {
  BytePairs(const ResampleColumns& columns, const ByteRows& some, uint8_t* to)
      : start(some.w.start),
        weight(some.w.weight),
        at(columns.at.data()),
        end(some.w.from),
        mask(columns.ring - 1),
        shift(some.init),
        ring(to) {}

  HWY_INLINE void Load(const uint8_t* const* from, int64_t first) const {
    RowsToByteColumns(from, first, end, ring + (first & mask) * N);
  }
  HWY_INLINE hn::Vec<Bytes> Sum(int64_t o) const {
    const int64_t tap = start[o];
    const int32_t* const places = at + tap;
    const auto load = [&](int64_t k)
                          PORTACL_INLINE_LAMBDA { return hn::Load(Bytes(), ring + places[k]); };
    return SumOf<kUpper>(weight + tap, start[o + 1] - tap, shift, load);
  }
  // If sums take long, each destination fetches its share of the next rows. Blocks of sources come
  // many at a time, so their fetches wait for each other. AVX-512 was not measured.
  static bool Evenly(const ResampleTaps<int32_t>& w) {
    return HWY_TARGET != HWY_AVX3 && w.start[w.to] >= w.from;
  }

  static constexpr int64_t block = kByteColumns;
  const int64_t* const start;
  const int32_t* const weight;
  const int32_t* const at;
  const int64_t end, mask;
  const int32_t shift;
  uint8_t* const ring;
};

#if HWY_TARGET == HWY_AVX3
template <int kParts>
struct ByteQuads {
  ByteQuads(const ResampleColumns& columns, const ByteRows& some, uint8_t* to)
      : start(columns.quads.start.data()),
        quads(columns.quads.of.data()),
        block(columns.quads.block),
        end(some.w.from),
        mask(columns.ring - 1),
        shift(some.init),
        ring(to) {
    const int64_t channels = some.w.flat;
    for (int64_t i = 0; i < N; ++i) {
      const int64_t quad = i / 4 / channels, channel = i / 4 % channels;
      place[i] = static_cast<uint8_t>((4 * quad + i % 4) * channels + channel);
    }
  }

  HWY_INLINE void Load(const uint8_t* const* from, int64_t first) const {
    RowsToQuads(from, first, end, place, ring + (first / block * kLineBytes & mask) * N);
  }
  HWY_INLINE hn::Vec<Bytes> Sum(int64_t o) const {
    return SumOfQuads<kParts>(quads + start[o], quads + start[o + 1], ring, shift);
  }
  static bool Evenly(const ResampleTaps<int32_t>&) { return true; }

  const int64_t* const start;
  const ResampleQuad* const quads;
  const int64_t block, end, mask;
  const int32_t shift;
  uint8_t* const ring;
  HWY_ALIGN uint8_t place[N];
};
#endif

// Kind: BytePairs or ByteQuads.
template <class Kind>
HWY_NOINLINE void AddByteColumns(const ResampleColumns& columns, const ByteRows& some,
                                 uint8_t* ring) {
  const Bytes d;
  const Kind of(columns, some, ring);
  RowsAhead<uint8_t> ahead(some.ahead, some.rows, some.columns.from, some.columns.end);
  std::array<const uint8_t*, kMostResampleRows> from;
  for (int64_t r = 0; r < N; ++r) {
    from[static_cast<size_t>(r)] = some.from[std::min(r, some.rows - 1)];
  }
  HWY_ALIGN uint8_t sums[N * kByteColumns];
  std::memset(sums, 0, sizeof sums);
  const bool evenly = of.Evenly(some.w);
  const int64_t width = some.columns.w1 - some.columns.w0;
  const int64_t share = base::DivideUp((some.columns.end - some.columns.from) * some.rows, width);
  int64_t have = some.columns.from / of.block * of.block;
  for (int64_t o0 = some.columns.w0; o0 < some.columns.w1; o0 += kByteColumns) {
    const int64_t wanted = std::min(kByteColumns, some.columns.w1 - o0);
    const int64_t end = columns.sources_end[static_cast<size_t>(o0 / kByteColumns)];
    for (; have < end; have += of.block) {
      if (!evenly) ahead.Fetch(of.block * some.rows);
      of.Load(from.data(), have);
    }
    for (int64_t i = 0; i < wanted; ++i) {
      if (evenly) ahead.Fetch(share);
      hn::Store(of.Sum(o0 + i), d, sums + i * N);
    }
    ByteColumnsToRows(sums, wanted, some.to, o0, some.rows);
  }
}

}  // namespace

template <>
void AddRows<int32_t, uint8_t, uint8_t>(const int32_t* weight, const uint8_t* const* from,
                                        int64_t taps, uint8_t* to, int64_t n, int32_t init,
                                        bool /*stream*/, const Ahead& /*ahead*/) {
  WithUpper(init, [&](auto upper) { AddByteRows<upper>(weight, from, taps, to, n, init); });
}

template <>
void AddColumns<int32_t, uint8_t, uint8_t>(const ResampleColumns& columns,
                                           const RowsOfW<int32_t, uint8_t, uint8_t>& rows,
                                           uint8_t* ring) {
#if HWY_TARGET == HWY_AVX3
  if (columns.quads.parts == 2) return AddByteColumns<ByteQuads<2>>(columns, rows, ring);
  if (columns.quads.parts == 3) return AddByteColumns<ByteQuads<3>>(columns, rows, ring);
#endif
  WithUpper(rows.init, [&](auto upper) { AddByteColumns<BytePairs<upper>>(columns, rows, ring); });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
