// Adaptive average pooling and its gradient, for every instruction set: the sources of each run are
// added one after the other.

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/machine/grain.h"
#include "cpu/resize/adaptive_avg_pool_plan.h"
#include "ops/adaptive_avg_pool_params.h"
#include "ops/listed_kernels.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/adaptive_avg_pool.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::AdaptiveAvgPoolParams;
using Geometry = AdaptiveAvgPoolGeometry;

template <class T>
base::ComputeType<T> Widened(T value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return value;
  } else {
    return base::Widen(value);
  }
}
template <class T>
T Narrowed(base::ComputeType<T> value) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<uint8_t>(value);
  } else {
    return base::Narrow<T>(value);
  }
}

// The first n <= Lanes(d) elements, the rest zero.
template <class D, class T>
HWY_INLINE hn::Vec<D> LoadElements(D d, const T* from, size_t n) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    const hn::Rebind<uint8_t, D> du;
    const auto bytes = n == hn::Lanes(d) ? hn::LoadU(du, from) : LoadFirst(du, from, n);
    return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), bytes));
  } else {
    return n == hn::Lanes(d) ? LoadWide(d, from) : LoadWideFirst(d, from, n);
  }
}
template <class D, class T>
HWY_INLINE void StoreElements(hn::Vec<D> v, D d, T* to, size_t n, bool stream = false) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    const hn::Rebind<uint8_t, D> du;
    StoreFirst(hn::DemoteTo(du, hn::ConvertTo(hn::RebindToSigned<D>(), v)), du, to, n);
  } else if (n == hn::Lanes(d)) {
    StoreNarrowLine(v, d, to, stream && IsStreamAligned(to, n));
  } else {
    StoreNarrowFirst(v, d, to, n);
  }
}

template <class T>
class AdaptiveAvgPool {
  using F = base::ComputeType<T>;
  static constexpr int64_t kLanes = kBlockLanes<F, 16>;
  using D = BlockTag<F, 16>;
  using V = hn::Vec<D>;
  static constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  using Strides = std::array<int64_t, 5>;

 public:
  AdaptiveAvgPool(const Params& p, const Geometry& g, char* scratch)
      : g_(g),
        from_(static_cast<const T*>(p.backward ? p.pooled : p.image)),
        to_(static_cast<T*>(p.backward ? p.image : p.pooled)),
        scratch_(scratch) {}

  void Run() const {
    runtime::ParallelForSlots(g_.tasks, g_.slots, [&](int slot, int64_t task) {
      F* const scratch =
          reinterpret_cast<F*>(scratch_ + static_cast<uint64_t>(slot) * g_.slot_bytes);
      if (g_.channels) {
        RunChannels(task, scratch);
      } else if (kBytes && g_.halves) {
        if constexpr (kBytes) RunHalves(task * kLanes);
      } else {
        RunRows(task * kLanes, scratch, scratch + kPoolChunk);
      }
      if (g_.stream) hwy::FlushStream();
    });
  }

 private:
  // A row of destinations, the first of those that share its runs along D and H.
  struct Row {
    const T* from;  // of the plane
    T* to;
    const PoolRun* d;
    const PoolRun* h;
  };

  // Where a row is: its runs along D and H, its plane.
  struct Place {
    size_t h, d;
    int64_t c, n;
  };
  // `channels`: each has rows of its own.
  Place PlaceOf(int64_t index, int64_t channels) const {
    const auto h = static_cast<int64_t>(g_.axes[1].runs.size());
    const int64_t plane = index / g_.rows(), row = index % g_.rows();
    return {static_cast<size_t>(row % h), static_cast<size_t>(row / h), plane % channels,
            plane / channels};
  }
  void Advance(Place* at) const {
    if (++at->h < g_.axes[1].runs.size()) return;
    at->h = 0;
    if (++at->d < g_.axes[0].runs.size()) return;
    at->d = 0;
    if (++at->c < g_.c) return;
    at->c = 0;
    ++at->n;
  }
  Row RowAt(const Place& at) const {
    const PoolRun& d = g_.axes[0].runs[at.d];
    const PoolRun& h = g_.axes[1].runs[at.h];
    const auto& f = g_.from_stride;
    const auto& t = g_.to_stride;
    return {from_ + at.n * f[0] + at.c * f[1] + d.begin * f[2] + h.begin * f[3],
            to_ + at.n * t[0] + at.c * t[1] + d.first * t[2] + h.first * t[3], &d, &h};
  }
  Row RowAt(int64_t index, int64_t channels) const { return RowAt(PlaceOf(index, channels)); }

  // Calls visit(row) for the rows that share a row's runs.
  template <class Visit>
  void ForRows(const Row& row, const Visit& visit) const {
    for (int64_t d = 0; d < row.d->last - row.d->first; ++d) {
      for (int64_t h = 0; h < row.h->last - row.h->first; ++h) {
        visit(row.to + d * g_.to_stride[2] + h * g_.to_stride[3]);
      }
    }
  }

  // ---- bytes, 2 x 2 at a time -------------------------------------------------------------------

  void RunHalves(int64_t first) const {
    const int64_t end = std::min(first + kLanes, g_.n * g_.c * g_.rows());
    const auto pixels = static_cast<int64_t>(g_.run_of.size()) / g_.inner;
    for (int64_t i = first; i < end; ++i) {
      const Row row = RowAt(i, g_.c);
      if (g_.inner == 1) {
        HalveRow<1>(row.from, row.from + g_.from_stride[3], pixels, row.to);
      } else {
        HalveRow<3>(row.from, row.from + g_.from_stride[3], pixels, row.to);
      }
    }
  }

  // Two rows to one of `pixels` of kInner bytes.
  template <int64_t kInner>
  HWY_NOINLINE void HalveRow(const uint8_t* top, const uint8_t* below, int64_t pixels,
                             uint8_t* to) const {
    const BlockTag<uint8_t, 64> d;
    const hn::Half<decltype(d)> half;
    const hn::RepartitionToWide<decltype(d)> wide;
    const auto pairs = [&](auto bytes) PORTACL_INLINE_LAMBDA {
      const auto both = hn::BitCast(wide, bytes);
      return hn::Add(hn::And(both, hn::Set(wide, 255)), hn::ShiftRight<8>(both));
    };
    const auto average = [&](auto a, auto b) PORTACL_INLINE_LAMBDA {
      const auto sum = hn::Add(hn::Add(pairs(a), pairs(b)), hn::Set(wide, 2));
      return hn::TruncateTo(half, hn::ShiftRight<2>(sum));
    };
    const int64_t step = Length(half);
    for (int64_t x0 = 0; pixels >= step && x0 < pixels; x0 += step) {
      const int64_t x = std::min(x0, pixels - step) * kInner;
      if constexpr (kInner == 1) {
        hn::StoreU(average(hn::LoadU(d, top + 2 * x), hn::LoadU(d, below + 2 * x)), half, to + x);
      } else {
        auto a0 = hn::Zero(d), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;
        hn::LoadInterleaved3(d, top + 2 * x, a0, a1, a2);
        hn::LoadInterleaved3(d, below + 2 * x, b0, b1, b2);
        hn::StoreInterleaved3(average(a0, b0), average(a1, b1), average(a2, b2), half, to + x);
      }
    }
    for (int64_t e = 0; pixels < step && e < pixels * kInner; ++e) {
      const int64_t at = e / kInner * 2 * kInner + e % kInner;
      const int sum = top[at] + top[at + kInner] + below[at] + below[at + kInner];
      to[e] = static_cast<uint8_t>((sum + 2) / 4);
    }
  }

  // ---- lanes are rows ---------------------------------------------------------------------------

  HWY_NOINLINE void RunRows(int64_t first, F* columns, F* sums) const {
    const int64_t count = std::min(kLanes, g_.n * g_.c * g_.rows() - first);
    std::array<Row, kLanes> rows;
    std::array<const T*, kLanes> from{};
    std::array<int64_t, kLanes> left_h{}, left_d{};  // rows of the window and of its plane
    HWY_ALIGN F of_d[kLanes];                        // what sums are divided by, or sources
    HWY_ALIGN F of_h[kLanes];
    std::fill_n(of_d, kLanes, F{1});
    std::fill_n(of_h, kLanes, F{1});
    Place place = PlaceOf(first, g_.c);
    int64_t steps = 0;
    for (size_t j = 0; j < static_cast<size_t>(count); ++j, Advance(&place)) {
      const Row& row = rows[j] = RowAt(place);
      from[j] = row.from;
      left_h[j] = row.h->end - row.h->begin;
      left_d[j] = row.d->end - row.d->begin;
      steps = std::max(steps, left_h[j] * left_d[j]);
      of_d[j] = static_cast<F>(row.d->extent);
      of_h[j] = static_cast<F>(row.h->extent);
    }
    for (int64_t step = 0, rows_now; step < steps; step += rows_now) {
      rows_now = g_.at_a_time;
      for (size_t j = 0; j < kLanes; ++j) {
        if (from[j] != nullptr) rows_now = std::min(rows_now, left_h[j]);
      }
      if (g_.divides_sources) SetExtents(rows, from, left_d, left_h, of_d, of_h);
      AddRows(from, rows_now, of_d, of_h, step == 0, columns, sums);
      for (size_t j = 0; j < kLanes; ++j) {
        if (from[j] == nullptr) continue;
        from[j] += rows_now * g_.from_stride[3];
        if ((left_h[j] -= rows_now) > 0) continue;
        left_h[j] = rows[j].h->end - rows[j].h->begin;
        from[j] += g_.from_stride[2] - left_h[j] * g_.from_stride[3];
        if (--left_d[j] == 0) from[j] = nullptr;
      }
    }
    if (g_.divides) DivideSums(of_d, of_h, sums);
    StoreRows(rows, count, sums);
  }

  // Backward, of the row of sources at which each lane is.
  void SetExtents(const std::array<Row, kLanes>& rows, const std::array<const T*, kLanes>& from,
                  const std::array<int64_t, kLanes>& left_d,
                  const std::array<int64_t, kLanes>& left_h, F* of_d, F* of_h) const {
    const auto& extents = g_.source_extents;
    for (size_t j = 0; j < kLanes; ++j) {
      if (from[j] == nullptr) continue;
      of_d[j] = static_cast<F>(extents[0][static_cast<size_t>(rows[j].d->end - left_d[j])]);
      of_h[j] = static_cast<F>(extents[1][static_cast<size_t>(rows[j].h->end - left_h[j])]);
    }
  }

  // Rows of each lane, 0 for a lane without one: no sum is -0, so that changes none.
  void AddRows(const std::array<const T*, kLanes>& from, int64_t rows, const F* of_d, const F* of_h,
               bool first, F* columns, F* sums) const {
    const D tag;
    if (rows > 1) {
      MakeColumns(from, 0, rows * g_.sources, columns);
      for (int64_t r = 0; r < rows; ++r, columns += g_.sources * kLanes) {
        AddColumns(0, 0, g_.sources, first && r == 0, columns, sums);
      }
      return;
    }
    const int64_t chunk = kPoolChunk / kLanes / g_.inner * g_.inner;
    size_t run = 0;
    for (int64_t begin = 0; begin < g_.sources; begin += chunk) {
      const int64_t end = std::min(begin + chunk, g_.sources);
      MakeColumns(from, begin, end - begin, columns);
      for (int64_t w = begin; g_.divides_sources && w < end; ++w) {
        F* const column = columns + (w - begin) * kLanes;
        const auto of_w = static_cast<F>(g_.source_extents[2][static_cast<size_t>(w)]);
        hn::Store(Divided(hn::Load(tag, column), hn::Load(tag, of_d), hn::Load(tag, of_h), of_w),
                  tag, column);
      }
      run = AddColumns(run, begin, end, first, columns, sums);
    }
  }

  // Sources [begin, begin + count) of each lane.
  void MakeColumns(const std::array<const T*, kLanes>& from, int64_t begin, int64_t count,
                   F* columns) const {
    const int64_t stride = g_.from_stride[4];
    constexpr int64_t kFew = 4;
    if (stride != 1 || count < kFew) {
      for (int64_t w = 0; w < count; ++w) {
        for (size_t j = 0; j < kLanes; ++j) {
          columns[w * kLanes + static_cast<int64_t>(j)] =
              from[j] == nullptr ? F{0} : Widened(from[j][(begin + w) * stride]);
        }
      }
      return;
    }
    static constexpr T kNone[kPoolChunk / kLanes] = {};
    std::array<const T*, kLanes> rows;
    for (size_t j = 0; j < kLanes; ++j) rows[j] = from[j] == nullptr ? kNone : from[j] + begin;
    const auto part = static_cast<size_t>(std::min(kLanes, count));
    for (int64_t w = 0; w < count; w += kLanes) {  // the last tile overlaps the one before
      const int64_t at = std::max<int64_t>(0, std::min(w, count - kLanes));
      TransposeRows(
          D(),
          [&](size_t i) PORTACL_INLINE_LAMBDA { return LoadElements(D(), rows[i] + at, part); },
          [&](size_t j, V v) PORTACL_INLINE_LAMBDA {
            hn::Store(v, D(), columns + (at + static_cast<int64_t>(j)) * kLanes);
          });
    }
  }

  // Adds the columns [begin, end) to the runs that have them, from `run` on. `fresh`: sums begin
  // with +0. Returns the first run that may have columns behind these.
  size_t AddColumns(size_t run, int64_t begin, int64_t end, bool fresh, const F* columns,
                    F* sums) const {
    return g_.inner == 1 ? AddColumns<false>(run, begin, end, fresh, columns, sums)
                         : AddColumns<true>(run, begin, end, fresh, columns, sums);
  }
  template <bool kPixels>
  HWY_INLINE size_t AddColumns(size_t run, int64_t begin, int64_t end, bool fresh, const F* columns,
                               F* sums) const {
    const D tag;
    const int64_t inner = kPixels ? g_.inner : 1;
    const std::vector<PoolRun>& runs = g_.axes[2].runs;
    while (run < runs.size() && runs[run].end <= begin) ++run;
    for (size_t r = run; r < runs.size() && runs[r].begin < end; ++r) {
      const int64_t first = std::max(runs[r].begin, begin), last = std::min(runs[r].end, end);
      for (int64_t c = 0; c < inner; ++c) {
        F* const to = sums + (static_cast<int64_t>(r) * inner + c) * kLanes;
        V sum = fresh && first == runs[r].begin ? hn::Zero(tag) : hn::Load(tag, to);
        for (int64_t w = first + c; w < last; w += inner) {
          sum = hn::Add(sum, hn::Load(tag, columns + (w - begin) * kLanes));
        }
        hn::Store(sum, tag, to);
      }
    }
    return run;
  }

  void DivideSums(const F* of_d, const F* of_h, F* sums) const {
    const D tag;
    for (const PoolRun& run : g_.axes[2].runs) {
      for (int64_t c = 0; c < g_.inner; ++c, sums += kLanes) {
        hn::Store(Divided(hn::Load(tag, sums), hn::Load(tag, of_d), hn::Load(tag, of_h),
                          static_cast<F>(run.extent)),
                  tag, sums);
      }
    }
  }

  void StoreRows(const std::array<Row, kLanes>& rows, int64_t count, const F* sums) const {
    const int64_t stride = g_.to_stride[4];
    const auto destinations = static_cast<int64_t>(g_.run_of.size());
    constexpr int64_t kFew = 4;
    const bool tiles = stride == 1 && destinations >= kFew;
    for (int64_t w = 0; tiles && w < destinations; w += kLanes) {
      StoreTile(rows, count, std::max<int64_t>(0, std::min(w, destinations - kLanes)), sums);
    }
    if (tiles && g_.stream) return;
    for (size_t j = 0; j < static_cast<size_t>(count); ++j) {
      ForRows(rows[j], [&](T* to) {
        if (tiles) {
          if (to == rows[j].to) return;
          std::memcpy(to, rows[j].to, static_cast<size_t>(destinations) * sizeof(T));
        } else {
          for (int64_t w = 0; w < destinations; ++w) {
            to[w * stride] = Narrowed<T>(SumAt(sums, w)[j]);
          }
        }
      });
    }
  }

  // To the first row of each lane; past the caches, to all of them.
  void StoreTile(const std::array<Row, kLanes>& rows, int64_t count, int64_t first,
                 const F* sums) const {
    const D tag;
    const auto left = static_cast<int64_t>(g_.run_of.size()) - first;
    const auto part = static_cast<size_t>(std::min(left, kLanes));
    TransposeRows(
        tag,
        [&](size_t i) PORTACL_INLINE_LAMBDA {
          const auto w = static_cast<int64_t>(i);
          return w < left ? hn::Load(tag, SumAt(sums, first + w)) : hn::Zero(tag);
        },
        [&](size_t j, V v) PORTACL_INLINE_LAMBDA {
          if (static_cast<int64_t>(j) >= count) return;
          if (!g_.stream) return StoreElements(v, tag, rows[j].to + first, part);
          ForRows(rows[j], [&](T* to) { StoreElements(v, tag, to + first, part, true); });
        });
  }

  const F* SumAt(const F* sums, int64_t w) const {
    return sums + g_.run_of[static_cast<size_t>(w)] * kLanes;
  }

  // ---- lanes are channels -----------------------------------------------------------------------

  HWY_NOINLINE void RunChannels(int64_t task, F* divided) const {
    const auto runs = static_cast<int64_t>(g_.axes[1].runs.size());
    const int64_t groups = DivideUp(runs, g_.group);
    const int64_t h = task % groups * g_.group;
    const int64_t first = task / groups * runs + h;
    const int64_t end = first + std::min(g_.group, runs - h);
    if (!g_.divides_sources) {
      for (int64_t i = first; i < end; ++i) {
        const Row row = RowAt(i, 1);
        SumRows(row, row.from, g_.from_stride);
      }
      return;
    }
    const Row top = RowAt(first, 1);
    const int64_t rows = RowAt(end - 1, 1).h->end - top.h->begin;
    const int64_t width = g_.sources * g_.c;
    const Strides strides = {0, 1, rows * width, width, g_.c};
    for (int64_t d = 0; d < top.d->end - top.d->begin; ++d) {
      for (int64_t r = 0; r < rows; ++r) {
        DivideRow(top.from + d * g_.from_stride[2] + r * g_.from_stride[3], top.d->begin + d,
                  top.h->begin + r, divided + d * strides[2] + r * width);
      }
    }
    for (int64_t i = first; i < end; ++i) {
      const Row row = RowAt(i, 1);
      SumRows(row, divided + (row.h->begin - top.h->begin) * width, strides);
    }
  }

  // A row of a gradient's sources, each divided by the extents of its window, to channels that
  // stand side by side.
  void DivideRow(const T* from, int64_t d, int64_t h, F* to) const {
    const hn::ScalableTag<F> tag;
    const F of_d = static_cast<F>(g_.source_extents[0][static_cast<size_t>(d)]);
    const F of_h = static_cast<F>(g_.source_extents[1][static_cast<size_t>(h)]);
    const F last = static_cast<F>(g_.last_extent);
    const int64_t stride = g_.from_stride[1];
    for (int64_t w = 0; w < g_.sources; ++w, from += g_.from_stride[4], to += g_.c) {
      const F of_w = static_cast<F>(g_.source_extents[2][static_cast<size_t>(w)]);
      std::array<F, 4> divisors;
      size_t count = 0;
      for (const F divisor : {of_d, of_h, of_w, last}) {
        if (divisor != 1) divisors[count++] = divisor;
      }
      int64_t c = 0;
      for (; stride == 1 && c + Length(tag) <= g_.c; c += Length(tag)) {
        auto value = LoadElements(tag, from + c, hn::Lanes(tag));
        for (size_t i = 0; i < count; ++i) {
          value = divisors[i] == 2 ? hn::Mul(value, hn::Set(tag, F{0.5}))
                                   : hn::Div(value, hn::Set(tag, divisors[i]));
        }
        hn::StoreU(value, tag, to + c);
      }
      for (; c < g_.c; ++c) to[c] = Widened(from[c * stride]) / of_d / of_h / of_w / last;
    }
  }

  // All rows that share a row's runs. Short ones are copied, others are as fast summed again.
  template <class S>
  void SumRows(const Row& row, const S* from, const Strides& strides) const {
    constexpr size_t kShort = 64 << 10;
    const bool whole = strides[1] == 1 && g_.to_stride[1] == 1;
    const auto bytes = g_.run_of.size() * static_cast<size_t>(g_.c) * sizeof(T);
    const bool copies = whole && g_.to_stride[4] == g_.c && bytes <= kShort && !g_.stream;
    ForRows(row, [&](T* to) {
      if (to == row.to || !copies) return SumRow(row, from, strides, whole, to);
      std::memcpy(to, row.to, bytes);
    });
  }

  template <class S>
  HWY_NOINLINE void SumRow(const Row& row, const S* from, const Strides& strides, bool whole,
                           T* to) const {
    for (const PoolRun& run : g_.axes[2].runs) {
      const Window<S> window{row, run, from + run.begin * strides[4], strides,
                             to + run.first * g_.to_stride[4]};
      int64_t c = 0;
      for (; whole && c + kPoolVectors * kLanes <= g_.c; c += kPoolVectors * kLanes) {
        SumChannels<kPoolVectors>(window, c, kLanes);
      }
      for (; whole && c + 4 * kLanes <= g_.c; c += 4 * kLanes) SumChannels<4>(window, c, kLanes);
      for (; whole && c + kLanes <= g_.c; c += kLanes) SumChannels<1>(window, c, kLanes);
      for (; c < g_.c; c += kLanes) SumChannels<0>(window, c, std::min(kLanes, g_.c - c));
    }
  }

  // Destinations from `to` on in a row, and their sources from `from` on.
  template <class S>
  struct Window {
    const Row& row;
    const PoolRun& run;
    const S* from;
    const Strides& strides;
    T* to;
  };

  // kVectors vectors of channels from `first` on; 0: the first `part` lanes of one, by any strides.
  template <size_t kVectors, class S>
  HWY_INLINE void SumChannels(const Window<S>& window, int64_t first, int64_t part) const {
    static_assert(kVectors < 2 || kVectors == 4 || kVectors == 8);
    const D tag;
    V v0 = hn::Zero(tag), v1 = v0, v2 = v0, v3 = v0, v4 = v0, v5 = v0, v6 = v0, v7 = v0;
    ForWindow(window, first, [&](const S* pixel) PORTACL_INLINE_LAMBDA {
      if constexpr (kVectors == 0) {
        v0 = hn::Add(v0, LoadSome(pixel, window.strides[1], part));
        return;
      }
      const auto load = [&](int64_t i) PORTACL_INLINE_LAMBDA {
        return LoadElements(tag, pixel + i * kLanes, hn::Lanes(tag));
      };
      v0 = hn::Add(v0, load(0));
      if constexpr (kVectors >= 4) {
        v1 = hn::Add(v1, load(1));
        v2 = hn::Add(v2, load(2));
        v3 = hn::Add(v3, load(3));
      }
      if constexpr (kVectors == 8) {
        v4 = hn::Add(v4, load(4));
        v5 = hn::Add(v5, load(5));
        v6 = hn::Add(v6, load(6));
        v7 = hn::Add(v7, load(7));
      }
    });
    HWY_ALIGN F sums[8 * kLanes];
    hn::Store(v0, tag, sums);
    if constexpr (kVectors >= 4) {
      hn::Store(v1, tag, sums + kLanes);
      hn::Store(v2, tag, sums + 2 * kLanes);
      hn::Store(v3, tag, sums + 3 * kLanes);
    }
    if constexpr (kVectors == 8) {
      hn::Store(v4, tag, sums + 4 * kLanes);
      hn::Store(v5, tag, sums + 5 * kLanes);
      hn::Store(v6, tag, sums + 6 * kLanes);
      hn::Store(v7, tag, sums + 7 * kLanes);
    }
    StoreChannels<kVectors>(window, first, part, sums);
  }

  // Calls add(pixel) for the pixels of a window, at the channel `first`.
  template <class S, class Add>
  HWY_INLINE void ForWindow(const Window<S>& window, int64_t first, const Add& add) const {
    const Strides s = window.strides;
    const int64_t deep = window.row.d->end - window.row.d->begin;
    const int64_t tall = window.row.h->end - window.row.h->begin;
    const int64_t wide = window.run.end - window.run.begin;
    const S* plane = window.from + first * s[1];
    for (int64_t d = 0; d < deep; ++d, plane += s[2]) {
      const S* line = plane;
      for (int64_t h = 0; h < tall; ++h, line += s[3]) {
        const S* pixel = line;
        for (int64_t w = 0; w < wide; ++w, pixel += s[4]) add(pixel);
      }
    }
  }

  template <size_t kVectors, class S>
  HWY_INLINE void StoreChannels(const Window<S>& window, int64_t first, int64_t part,
                                F* sums) const {
    const D tag;
    constexpr int64_t kEnd = kVectors == 0 ? kLanes : static_cast<int64_t>(kVectors) * kLanes;
    for (int64_t i = 0; g_.divides && i < kEnd; i += kLanes) {
      const V of_d = hn::Set(tag, static_cast<F>(window.row.d->extent));
      const V of_h = hn::Set(tag, static_cast<F>(window.row.h->extent));
      const V sum = hn::Load(tag, sums + i);
      hn::Store(Divided(sum, of_d, of_h, static_cast<F>(window.run.extent)), tag, sums + i);
    }
    T* pixel = window.to + first * g_.to_stride[1];
    const int64_t count = window.run.last - window.run.first;
    for (int64_t w = 0; w < count; ++w, pixel += g_.to_stride[4]) {
      if constexpr (kVectors == 0) {
        StoreSome(sums, pixel, part);
      } else {
        for (int64_t i = 0; i < kEnd; i += kLanes) {
          StoreElements(hn::Load(tag, sums + i), tag, pixel + i, hn::Lanes(tag), g_.stream);
        }
      }
    }
  }

  template <class S>
  V LoadSome(const S* from, int64_t stride, int64_t count) const {
    if (stride == 1) return LoadElements(D(), from, static_cast<size_t>(count));
    HWY_ALIGN F lanes[kLanes] = {};
    for (int64_t c = 0; c < count; ++c) lanes[c] = Widened(from[c * stride]);
    return hn::Load(D(), lanes);
  }
  void StoreSome(const F* sums, T* to, int64_t count) const {
    const int64_t stride = g_.to_stride[1];
    if (stride == 1) {
      return StoreElements(hn::Load(D(), sums), D(), to, static_cast<size_t>(count));
    }
    for (int64_t c = 0; c < count; ++c) to[c * stride] = Narrowed<T>(sums[c]);
  }

  // ---- both -------------------------------------------------------------------------------------

  // By the extents one after the other; of bytes the average, halves rounded up.
  HWY_INLINE V Divided(V sum, V of_d, V of_h, F of_w) const {
    const D tag;
    const V w = hn::Set(tag, of_w), last = hn::Set(tag, static_cast<F>(g_.last_extent));
    if constexpr (kBytes) {
      const V count = hn::Mul(hn::Mul(of_d, of_h), hn::Mul(w, last));
      return hn::Floor(hn::Add(hn::Div(sum, count), hn::Set(tag, F{0.5})));
    } else {
      if (g_.axes[0].divides) sum = hn::Div(sum, of_d);
      if (g_.axes[1].divides) sum = hn::Div(sum, of_h);
      if (g_.axes[2].divides) sum = hn::Div(sum, w);
      return g_.last_extent != 1 ? hn::Div(sum, last) : sum;
    }
  }

  const Geometry& g_;
  const T* const from_;
  T* const to_;
  char* const scratch_;
};

// As base::DispatchFloating, with bytes.
template <class Do>
decltype(auto) Dispatch(base::DType dtype, const Do& f) {
  if (dtype == base::DType::kUInt8) return f(base::TypeTag<uint8_t>());
  return base::DispatchFloating(dtype, f);
}

void Run(const Params& params, const AdaptiveAvgPoolPlan& plan, void* workspace) {
  Dispatch(params.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    AdaptiveAvgPool<T>(params, std::get<Geometry>(plan.way), static_cast<char*>(workspace)).Run();
  });
}

std::optional<AdaptiveAvgPoolPlan> Plan(const Params& params, std::string_view /*path*/) {
  // A vector of bytes as short as this one is of no known length there.
  if (HWY_HAVE_SCALABLE && params.dtype == base::DType::kUInt8) return std::nullopt;
  return PlanAdaptiveAvgPool(params, params.dtype == base::DType::kDouble ? kBlockLanes<double, 16>
                                                                          : kBlockLanes<float, 16>);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#if HWY_ONCE
namespace portacl::cpu {

PORTACL_KERNELS(AdaptiveAvgPool, Plan, Run)

}  // namespace portacl::cpu
#endif  // HWY_ONCE
