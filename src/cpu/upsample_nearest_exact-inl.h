// The nearest-exact forward kernel of one instruction set. It copies bits: the elements are
// unsigned integers of their size. Destination rows are written one after the other, strictly
// forward; a source row that feeds several of them is read again from the cache.
#if defined(PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_INL_H_
#undef PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_INL_H_
#else
#define PORTACL_CPU_UPSAMPLE_NEAREST_EXACT_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/highway.h"
#include "cpu/pages.h"
#include "cpu/simd-inl.h"
#include "cpu/upsample_nearest_exact_plan.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::UpsampleNearestExactParams;

// ---- permutation of one vector ------------------------------------------------------------------

// The vectors that the permute path works on. Where 16-bit lanes cannot be permuted, bytes of a
// 128-bit block can.
#if HWY_TARGET == HWY_AVX3 || HWY_HAVE_SCALABLE
template <class T>
using PermuteTag = hn::ScalableTag<T>;
#else
template <class T>
using PermuteTag = hn::CappedTag<T, sizeof(T) == 2 ? 8 : HWY_LANES(T)>;
#endif

// Lane i of the result is lane index[i] of v.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> Permute(D d, hn::Vec<D> v, const int8_t* index) {
  const hn::Rebind<int8_t, D> d8;
  const auto bytes = hn::LoadU(d8, index);
  if constexpr (sizeof(T) == 8) {
    const hn::Rebind<int64_t, D> di;
    const hn::Rebind<int16_t, D> d16;
    const hn::Rebind<int32_t, D> d32;
    const auto lanes = hn::PromoteTo(di, hn::PromoteTo(d32, hn::PromoteTo(d16, bytes)));
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes));
  } else if constexpr (sizeof(T) == 4) {
    const hn::Rebind<int32_t, D> di;
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::PromoteTo(di, bytes)));
  } else {
    const hn::Rebind<int16_t, D> di;
    const auto lanes = hn::PromoteTo(di, bytes);
#if HWY_TARGET == HWY_AVX3
    return hn::Vec<D>{_mm512_permutexvar_epi16(lanes.raw, v.raw)};
#elif HWY_HAVE_SCALABLE
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::BitCast(d, lanes)));
#else
    // Lane i is bytes 2 i and 2 i + 1.
    const hn::Repartition<uint8_t, D> du8;
    const auto twice = hn::Add(lanes, lanes);
    const auto pairs = hn::Or(twice, hn::ShiftLeft<8>(hn::Add(twice, hn::Set(di, 1))));
    return hn::BitCast(d, hn::TableLookupBytes(hn::BitCast(du8, v), hn::BitCast(du8, pairs)));
#endif
  }
}

template <class D, class T>
HWY_INLINE void StoreVector(hn::Vec<D> v, D d, T* to, bool stream) {
#if HWY_ARCH_X86
  if (stream) return hn::Stream(v, d, to);
#endif
  static_cast<void>(stream);
  hn::StoreU(v, d, to);
}

// Blocks [first, end) of one destination row; `first` is a multiple of the period.
template <class T>
HWY_INLINE void ExpandRow(const NearestForwardKernelPlan& plan, const T* from, T* to, int64_t first,
                          int64_t end, bool stream) {
  const PermuteTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t repeated = std::min(end, plan.repeated);
  int64_t b = first;
  for (const T* source = b < repeated ? from + b / plan.period * lanes : from; b < repeated;
       source += lanes) {
    const auto v = hn::LoadU(d, source);
    const int8_t* index = plan.index.data();
    for (const int64_t stop = std::min(b + plan.period, repeated); b < stop; ++b, index += lanes) {
      StoreVector(Permute(d, v, index), d, to + b * lanes, stream);
    }
  }
  if (b == end) return;
  const int64_t* window = plan.window.data() + plan.RowOfBlock(b);
  const int8_t* index = plan.index.data() + static_cast<int64_t>(plan.RowOfBlock(b)) * lanes;
  const int64_t whole = std::min(end, plan.row / lanes);
  for (; b < whole; ++b, index += lanes) {
    StoreVector(Permute(d, hn::LoadU(d, from + *window++), index), d, to + b * lanes, stream);
  }
  if (b < end) {
    hn::StoreU(Permute(d, hn::LoadU(d, from + *window), index), d, to + plan.row - lanes);
  }
}

// The same where a row of sources or destinations is shorter than a vector.
template <class T>
HWY_INLINE void ExpandShortRow(const NearestForwardKernelPlan& plan, const T* from, T* to,
                               int64_t first, int64_t end) {
  const PermuteTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t b = first; b < end; ++b) {
    const size_t row = plan.RowOfBlock(b);
    const int64_t window = plan.window[row];
    const int64_t start = plan.BlockStart(b);
    const int64_t readable = std::min(lanes, plan.source_elements - window);
    const auto v = LoadFirst(d, from + window, static_cast<size_t>(readable));
    StoreFirst(Permute(d, v, plan.index.data() + row * static_cast<size_t>(lanes)), d, to + start,
               static_cast<size_t>(std::min(lanes, plan.row - start)));
  }
}

// ---- copies -------------------------------------------------------------------------------------

template <class T>
HWY_INLINE void CopyElements(const T* from, T* to, int64_t n, bool stream) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) StoreVector(hn::LoadU(d, from + i), d, to + i, stream);
  if (i == n) return;
  if (n >= lanes) {
    hn::StoreU(hn::LoadU(d, from + n - lanes), d, to + n - lanes);
  } else {
    StoreFirst(LoadFirst(d, from, static_cast<size_t>(n)), d, to, static_cast<size_t>(n));
  }
}

// ---- rows that end inside lines -----------------------------------------------------------------

// Takes rows that follow each other in memory and writes their whole lines past the caches; lines
// at both ends, which hold others' elements as well, by plain stores.
template <class T>
class LineWriter {
  static constexpr auto kLine = static_cast<int64_t>(kStreamAlignment / sizeof(T));

 public:
  // The first row starts at `to`.
  explicit LineWriter(T* to)
      : head_(static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kStreamAlignment / sizeof(T))),
        filled_(head_),
        to_(to - head_) {}

  // Where the next row of n elements, at most kMostStagedBytes, is to be put now.
  T* Row(int64_t n) {
    if (filled_ >= kEnough || filled_ + n > kElements) WriteLines();
    T* const row = rows_ + filled_;
    filled_ += n;
    return row;
  }

  void Finish() {
    WriteLines();
    std::copy(rows_ + head_, rows_ + filled_, to_ + head_);
  }

 private:
  // What is left becomes the first line.
  void WriteLines() {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const int64_t whole = filled_ - filled_ % kLine;
    if (whole == 0) return;
    int64_t at = 0;
    if (head_ > 0) {
      std::copy(rows_ + head_, rows_ + kLine, to_ + head_);
      at = kLine;
      head_ = 0;
    }
    for (; at < whole; at += lanes) {
      StoreVector(hn::Load(d, rows_ + at), d, to_ + at, true);
    }
    std::copy(rows_ + whole, rows_ + filled_, rows_);
    filled_ -= whole;
    to_ += whole;
  }

  // Written little by little, so that memory is busy while the next rows are made.
  static constexpr auto kEnough = static_cast<int64_t>(1024 / sizeof(T));
  static constexpr auto kElements =
      static_cast<int64_t>((2 * kMostStagedBytes + kStreamAlignment) / sizeof(T));
  alignas(kStreamAlignment) T rows_[kElements];
  int64_t head_;  // elements before the first row in its line, until that is written
  int64_t filled_;
  T* to_;  // the line of rows_[0]
};

// ---- one tile -----------------------------------------------------------------------------------

// One destination row of a tile: `from` is the start of its source row, `to` its own.
template <class T>
HWY_INLINE void WriteRow(const NearestForwardKernelPlan& plan, const NearestTile& box,
                         const T* from, T* to, bool stream) {
  const int64_t from_column = plan.from_stride[3];
  const int64_t to_column = plan.to_stride[3];
  const int64_t* source = plan.source_column.data();
  switch (plan.path) {
    case NearestForwardPath::kCopy:
      return CopyElements(from + box.j0, to + box.j0, box.j1 - box.j0, stream);
    case NearestForwardPath::kPermute: {
      const int64_t first = box.j0 / plan.lanes;
      const int64_t end = (box.j1 + plan.lanes - 1) / plan.lanes;
      if (plan.partial) return ExpandShortRow(plan, from, to, first, end);
      return ExpandRow(plan, from, to, first, end, stream);
    }
    case NearestForwardPath::kPixels:
      for (int64_t j = box.j0; j < box.j1; ++j) {
        CopyElements(from + source[j] * from_column, to + j * to_column, box.c1 - box.c0, stream);
      }
      return;
    case NearestForwardPath::kElements:
      for (int64_t j = box.j0; j < box.j1; ++j) {
        to[j * to_column] = from[source[j] * from_column];
      }
      return;
  }
}

// Calls row(offset of its source, its own) for the rows of a tile.
template <class Row>
HWY_INLINE void ForRows(const Params& p, const NearestForwardKernelPlan& plan,
                        const NearestTile& box, const Row& row) {
  auto depth = static_cast<size_t>(box.i0 / p.h.out);
  auto i = static_cast<size_t>(box.i0 % p.h.out);
  for (int64_t rows = box.i1 - box.i0; rows > 0; --rows) {
    row(plan.source_plane[depth] * plan.from_depth + plan.source_row[i] * plan.from_stride[2],
        static_cast<int64_t>(depth) * plan.to_depth + static_cast<int64_t>(i) * plan.to_stride[2]);
    if (++i == plan.source_row.size()) {
      i = 0;
      ++depth;
    }
  }
}

template <class T>
HWY_NOINLINE void WriteStagedTile(const Params& p, const NearestForwardKernelPlan& plan,
                                  const NearestTile& box) {
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  for (int64_t c = box.c0; c < box.c1; ++c) {
    const T* in = static_cast<const T*>(p.input) + box.n * from[0] + c * from[1];
    T* out = static_cast<T*>(p.output) + box.n * to[0] + c * to[1];
    LineWriter<T> lines(out + box.i0 * to[2]);
    ForRows(p, plan, box, [&](int64_t from_row, int64_t) PORTACL_INLINE_LAMBDA {
      WriteRow(plan, box, in + from_row, lines.Row(to[2]), false);
    });
    lines.Finish();
  }
}

template <class T>
HWY_NOINLINE void WriteTile(const Params& p, const NearestForwardKernelPlan& plan,
                            const NearestTile& box, bool fresh) {
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  if (fresh) {
    T* const first = static_cast<T*>(p.output) + box.n * to[0] + box.c0 * to[1] + box.i0 * to[2] +
                     box.j0 * to[3];
    ProvideTile(first, box, to);
  }
  if (plan.stage && !fresh && reinterpret_cast<uintptr_t>(p.output) % sizeof(T) == 0) {
    return WriteStagedTile<T>(p, plan, box);
  }
  const int64_t planes = plan.path == NearestForwardPath::kPixels ? 1 : box.c1 - box.c0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* in = static_cast<const T*>(p.input) + box.n * from[0] + (box.c0 + plane) * from[1];
    T* out = static_cast<T*>(p.output) + box.n * to[0] + (box.c0 + plane) * to[1];
    const bool stream =
        plan.stream && !fresh && reinterpret_cast<uintptr_t>(out) % kStreamAlignment == 0;
    ForRows(p, plan, box, [&](int64_t from_row, int64_t to_row) PORTACL_INLINE_LAMBDA {
      WriteRow(plan, box, in + from_row, out + to_row, stream);
    });
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

// Calls f with the unsigned integer of an element's size.
template <class F>
void DispatchBits(base::DType dtype, const F& f) {
  switch (dtype) {
    case base::DType::kFloat16:
    case base::DType::kBFloat16:
      return f(uint16_t{});
    case base::DType::kDouble:
      return f(uint64_t{});
    default:
      return f(uint32_t{});
  }
}

template <class T>
void RunTyped(const Params& p, const NearestForwardKernelPlan& plan) {
  const bool fresh = ArePagesMissing(p.output, plan.dense_bytes);
  runtime::ParallelFor(plan.tiling.Boxes(), plan.tiling.grain, [&](int64_t first, int64_t last) {
    for (int64_t index = first; index < last; ++index) {
      WriteTile<T>(p, plan, plan.tiling.Box(index), fresh);
    }
    if (plan.stream || plan.stage) hwy::FlushStream();
  });
}

void Run(const Params& params, const base::KernelPlan& plan, void* /*workspace*/) {
  const auto& mine = *static_cast<const NearestForwardKernelPlan*>(plan.table.get());
  DispatchBits(params.dtype, [&](auto bits) { RunTyped<decltype(bits)>(params, mine); });
}

bool Plan(const Params& params, base::KernelPlan* plan) {
  DispatchBits(params.dtype, [&](auto bits) {
    using T = decltype(bits);
    const auto lanes = static_cast<int64_t>(hn::Lanes(PermuteTag<T>()));
    PlanNearestForward(params, static_cast<int64_t>(sizeof(T)), lanes, HWY_ARCH_X86 != 0, plan);
  });
  return true;
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
