// The kernels of nearest and nearest-exact. They copy bits: elements count as unsigned integers of
// the same size. They write destination rows strictly forward, one after the other. If a source row
// feeds several rows, it is read again from the cache.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/nearest.cc"
#include "cpu/vector/highway.h"
#include "ops/listed_kernels.h"
#include "ops/upsample_nearest_exact_params.h"
// Highway first.
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dispatch.h"
#include "cpu/machine/pages.h"
#include "cpu/resize/nearest_plan.h"
#include "cpu/vector/simd-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::UpsampleNearestExactParams;

// ---- permutation of one vector ------------------------------------------------------------------

// The vectors of the path "permute". Where 16-bit lanes cannot be permuted, vectors have 128 bits
// and their bytes are permuted.
#if HWY_TARGET == HWY_AVX3 || HWY_HAVE_SCALABLE
template <class T>
using PermuteTag = hn::ScalableTag<T>;
#else
template <class T>
using PermuteTag = hn::CappedTag<T, sizeof(T) == 2 ? 8 : HWY_LANES(T)>;
#endif

// Returns in lane i lane index[i] of v.
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
    // Lane i has the bytes 2 i and 2 i + 1.
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

// The blocks of a tile, the same in each row. Kernels take it by value: as far as the compiler
// knows, a vector store may change every object in memory.
struct RowBlocks {
  int64_t first;     // first block; if it repeats, a multiple of the period
  int64_t repeated;  // end of the blocks that repeat
  int64_t whole;     // end of the blocks that do not overlap their neighbour
  int64_t end;
  int64_t period;
  int64_t source;  // sources of the first block, if it repeats
  int64_t last;    // start of the row's last block
  const int8_t* repeated_index;
  const int8_t* index;  // of the blocks behind the repeating ones
  const int64_t* window;
};

inline RowBlocks BlocksOf(const NearestForwardKernelPlan& plan, const NearestTile& box) {
  RowBlocks blocks = {};
  blocks.first = box.j0 / plan.lanes;
  blocks.end = (box.j1 + plan.lanes - 1) / plan.lanes;
  blocks.repeated = std::clamp(plan.repeated, blocks.first, blocks.end);
  blocks.whole = std::min(blocks.end, plan.row / plan.lanes);
  blocks.period = plan.period;
  if (blocks.first < blocks.repeated) blocks.source = blocks.first / plan.period * plan.lanes;
  blocks.last = plan.row - plan.lanes;
  blocks.repeated_index = plan.index.data();
  if (blocks.repeated < blocks.end) {
    const auto row = static_cast<int64_t>(plan.RowOfBlock(blocks.repeated));
    blocks.index = plan.index.data() + row * plan.lanes;
    blocks.window = plan.window.data() + row;
  }
  return blocks;
}

// Writes a tile's part of kRows destination rows, `to_row` apart, from one source row.
template <int kRows, class T>
HWY_INLINE void ExpandRow(RowBlocks blocks, const T* from, T* to, int64_t to_row, bool stream) {
  const PermuteTag<T> d;
  const int64_t lanes = Length(d);
  const auto store = [&](auto v, T* at) PORTACL_INLINE_LAMBDA {
    StoreVector(v, d, at, stream);
    if constexpr (kRows == 2) StoreVector(v, d, at + to_row, stream);
  };
  int64_t b = blocks.first;
  for (const T* source = from + blocks.source; b < blocks.repeated; source += lanes) {
    const auto v = hn::LoadU(d, source);
    const int8_t* index = blocks.repeated_index;
    for (const int64_t stop = std::min(b + blocks.period, blocks.repeated); b < stop;
         ++b, index += lanes) {
      store(Permute(d, v, index), to + b * lanes);
    }
  }
  for (; b < blocks.whole; ++b, blocks.index += lanes) {
    store(Permute(d, hn::LoadU(d, from + *blocks.window++), blocks.index), to + b * lanes);
  }
  if (b < blocks.end) {
    const auto v = Permute(d, hn::LoadU(d, from + *blocks.window), blocks.index);
    hn::StoreU(v, d, to + blocks.last);
    if constexpr (kRows == 2) hn::StoreU(v, d, to + to_row + blocks.last);
  }
}

// Expands a row if the row of sources or of destinations is shorter than a vector.
template <class T>
HWY_INLINE void ExpandShortRow(const NearestForwardKernelPlan& plan, const RowBlocks& blocks,
                               const T* from, T* to) {
  const PermuteTag<T> d;
  const int64_t lanes = Length(d);
  for (int64_t b = blocks.first; b < blocks.end; ++b) {
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
  const int64_t lanes = Length(d);
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

// Collects rows that are adjacent in memory and writes whole lines past the caches. The first and
// the last line may hold elements of others, so plain stores write them.
template <class T>
class LineWriter {
  static constexpr auto kLine = static_cast<int64_t>(kStreamAlignment / sizeof(T));

 public:
  // `to`: the first row.
  explicit LineWriter(T* to)
      : head_(static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kStreamAlignment / sizeof(T))),
        filled_(head_),
        to_(to - head_) {}

  // Returns where to put the next row of n elements; a row has at most kMostStagedBytes.
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
  // Writes all whole lines; the rest becomes the first line.
  void WriteLines() {
    const hn::ScalableTag<T> d;
    const int64_t lanes = Length(d);
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

  // So much is written at once: little, so memory is busy while the next rows are made.
  static constexpr auto kEnough = static_cast<int64_t>(1024 / sizeof(T));
  static constexpr auto kElements =
      static_cast<int64_t>((2 * kMostStagedBytes + kStreamAlignment) / sizeof(T));
  alignas(kStreamAlignment) T rows_[kElements];
  int64_t head_;  // elements of its line before the first row; 0 once that line is written
  int64_t filled_;
  T* to_;  // where rows_[0] goes
};

// ---- one tile -----------------------------------------------------------------------------------

// Writes one destination row of a tile. `from`: start of its source row; `to`: start of the row.
// Only kPermute uses `blocks`.
template <class T>
HWY_INLINE void WriteRow(const NearestForwardKernelPlan& plan, const NearestTile& box,
                         const RowBlocks& blocks, const T* from, T* to, bool stream) {
  const int64_t from_column = plan.from_stride[3];
  const int64_t to_column = plan.to_stride[3];
  const int64_t* source = plan.source_column.data();
  switch (plan.path) {
    case NearestForwardPath::kCopy:
      return CopyElements(from + box.j0, to + box.j0, box.j1 - box.j0, stream);
    case NearestForwardPath::kPermute:
      if (plan.partial) return ExpandShortRow(plan, blocks, from, to);
      return ExpandRow<1>(blocks, from, to, 0, stream);
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

// Calls row(source offset, destination offset, count) for the rows of a tile. `count` is up to
// `most`, if rows of one plane are adjacent and have the same source row.
template <class Row>
HWY_INLINE void ForRows(const NearestForwardKernelPlan& plan, const NearestTile& box, int64_t most,
                        const Row& row) {
  const int64_t* const sources = plan.source_row.empty() ? nullptr : plan.source_row.data();
  const auto source = [sources](int64_t i)
                          PORTACL_INLINE_LAMBDA { return sources == nullptr ? i : sources[i]; };
  int64_t depth = box.i0 / plan.rows;
  int64_t i = box.i0 % plan.rows;
  for (int64_t rows = box.i1 - box.i0; rows > 0;) {
    const int64_t end = std::min(i + std::min(rows, most), plan.rows);
    int64_t next = i + 1;
    while (next < end && source(next) == source(i)) ++next;
    row(plan.source_plane[static_cast<size_t>(depth)] * plan.from_depth +
            source(i) * plan.from_stride[2],
        depth * plan.to_depth + i * plan.to_stride[2], next - i);
    rows -= next - i;
    i = next;
    if (i == plan.rows) {
      i = 0;
      ++depth;
    }
  }
}

template <class T>
HWY_NOINLINE void WriteStagedTile(const Params& p, const NearestForwardKernelPlan& plan,
                                  const NearestTile& box, const RowBlocks& blocks) {
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  for (int64_t c = box.c0; c < box.c1; ++c) {
    const T* in = static_cast<const T*>(p.from) + box.n * from[0] + c * from[1];
    T* out = static_cast<T*>(p.to) + box.n * to[0] + c * to[1];
    LineWriter<T> lines(out + box.i0 * to[2]);
    ForRows(plan, box, 1, [&](int64_t from_row, int64_t, int64_t) PORTACL_INLINE_LAMBDA {
      WriteRow(plan, box, blocks, in + from_row, lines.Row(to[2]), false);
    });
    lines.Finish();
  }
}

// Rows of up to so many bytes are written in pairs if each source row feeds several rows: for short
// rows instructions count, not caches. With unequal ratios CPUs could not predict the branch.
inline constexpr int64_t kMostShortRowBytes = 256;

// Writes a tile through the caches. For two short rows, it permutes a source row only once.
template <class T>
HWY_NOINLINE void ExpandTile(const NearestForwardKernelPlan& plan, const NearestTile& box,
                             const RowBlocks& blocks, const T* in, T* out) {
  const RowBlocks own = blocks;
  const int64_t to_row = plan.to_stride[2];
  const bool pairs = plan.pairs && plan.row * static_cast<int64_t>(sizeof(T)) <= kMostShortRowBytes;
  ForRows(plan, box, pairs ? 2 : 1,
          [&](int64_t from_offset, int64_t to_offset, int64_t count) PORTACL_INLINE_LAMBDA {
            if (count == 2) {
              ExpandRow<2>(own, in + from_offset, out + to_offset, to_row, false);
            } else {
              ExpandRow<1>(own, in + from_offset, out + to_offset, 0, false);
            }
          });
}

template <class T>
HWY_NOINLINE void WriteTile(const Params& p, const NearestForwardKernelPlan& plan,
                            const NearestTile& box, bool fresh) {
  const auto& from = plan.from_stride;
  const auto& to = plan.to_stride;
  if (fresh) {
    T* const first =
        static_cast<T*>(p.to) + box.n * to[0] + box.c0 * to[1] + box.i0 * to[2] + box.j0 * to[3];
    ProvideTile(first, box, to);
  }
  const bool permuted = plan.path == NearestForwardPath::kPermute;
  const RowBlocks blocks = permuted ? BlocksOf(plan, box) : RowBlocks{};
  if (plan.stage && !fresh && reinterpret_cast<uintptr_t>(p.to) % sizeof(T) == 0) {
    return WriteStagedTile<T>(p, plan, box, blocks);
  }
  const int64_t planes = plan.path == NearestForwardPath::kPixels ? 1 : box.c1 - box.c0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    const T* in = static_cast<const T*>(p.from) + box.n * from[0] + (box.c0 + plane) * from[1];
    T* out = static_cast<T*>(p.to) + box.n * to[0] + (box.c0 + plane) * to[1];
    const bool stream =
        plan.stream && !fresh && reinterpret_cast<uintptr_t>(out) % kStreamAlignment == 0;
    if (permuted && !plan.partial && !stream) {
      ExpandTile(plan, box, blocks, in, out);
      continue;
    }
    ForRows(plan, box, 1, [&](int64_t from_row, int64_t to_row, int64_t) PORTACL_INLINE_LAMBDA {
      WriteRow(plan, box, blocks, in + from_row, out + to_row, stream);
    });
  }
}

// ---- the kernel ---------------------------------------------------------------------------------

// Calls f with an unsigned integer of an element's size.
template <class F>
decltype(auto) DispatchBits(base::DType dtype, const F& f) {
  return base::DispatchFloating(
      dtype, [&](auto tag) { return f(BitsOf<typename decltype(tag)::type>{}); });
}

template <class T>
void RunTyped(const Params& p, const NearestForwardKernelPlan& plan) {
  const bool fresh = ArePagesMissing(p.to, plan.dense_bytes);
  runtime::ParallelFor(plan.tiling.Boxes(), plan.tiling.grain, [&](int64_t first, int64_t last) {
    for (int64_t index = first; index < last; ++index) {
      WriteTile<T>(p, plan, plan.tiling.Box(index), fresh);
    }
    if (plan.stream || plan.stage) hwy::FlushStream();
  });
}

void Run(const Params& params, const NearestForwardPlan& plan, void* /*workspace*/) {
  const auto& mine = std::get<NearestForwardKernelPlan>(plan.way);
  DispatchBits(params.dtype, [&](auto bits) { RunTyped<decltype(bits)>(params, mine); });
}

std::optional<NearestForwardPlan> Plan(const Params& params, std::string_view path) {
  return DispatchBits(params.dtype, [&](auto bits) {
    using T = decltype(bits);
    const int64_t lanes = Length(PermuteTag<T>());
    return PlanNearestForward(params, static_cast<int64_t>(sizeof(T)), lanes, HWY_ARCH_X86 != 0,
                              path);
  });
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(UpsampleNearestExact, Plan, Run)
