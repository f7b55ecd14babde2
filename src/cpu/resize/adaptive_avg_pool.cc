// Adaptive average pooling and its gradient, compiled for every instruction set. The sources of
// each run are added one after the other.

#include <hwy/cache_control.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/dispatch.h"
#include "base/round_up.h"
#include "cpu/resize/adaptive_avg_pool_plan.h"
#include "ops/adaptive_avg_pool_params.h"
#include "ops/listed_kernels.h"
#include "runtime/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/resize/adaptive_avg_pool.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include "cpu/resize/adaptive_avg_pool_elements-inl.h"
#include "cpu/vector/simd-inl.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::AdaptiveAvgPoolParams;
using Geometry = AdaptiveAvgPoolGeometry;

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
  // A row of destinations: the first of all rows with the same runs along D and H.
  struct Row {
    const T* from;  // first source of the runs
    T* to;
    const PoolRun* d;
    const PoolRun* h;
  };

  // Numbers of a row's runs along D and H, of its channel and of its image.
  struct Place {
    size_t h, d;
    int64_t c, n;
  };
  // `channels`: how many channels have rows of their own.
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

  // Calls visit(to) for each destination row with the same runs along D and H as `row`.
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

  // ---- lanes are rows ---------------------------------------------------------------------------

  HWY_NOINLINE void RunRows(int64_t first, F* columns, F* sums) const {
    const int64_t count = std::min(kLanes, g_.n * g_.c * g_.rows() - first);
    std::array<Row, kLanes> rows;
    std::array<const T*, kLanes> from{};
    HWY_ALIGN F of_d[kLanes];  // divide each lane's sums or sources
    HWY_ALIGN F of_h[kLanes];
    std::fill_n(of_d, kLanes, F{1});
    std::fill_n(of_h, kLanes, F{1});
    Place place = PlaceOf(first, g_.c);
    int64_t deep = 0, tall = 0, least = std::numeric_limits<int64_t>::max();  // windows' extents
    for (size_t j = 0; j < static_cast<size_t>(count); ++j, Advance(&place)) {
      const Row& row = rows[j] = RowAt(place);
      deep = std::max(deep, row.d->length());
      tall = std::max(tall, row.h->length());
      least = std::min(least, row.h->length());
      of_d[j] = static_cast<F>(row.d->extent);
      of_h[j] = static_cast<F>(row.h->extent);
    }
    for (int64_t d = 0; d < deep; ++d) {
      for (int64_t h = 0, rows_now; h < tall; h += rows_now) {
        rows_now = std::max<int64_t>(1, std::min(g_.at_a_time, least - h));
        for (size_t j = 0; j < static_cast<size_t>(count); ++j) {
          const Row& row = rows[j];
          const bool inside = d < row.d->length() && h < row.h->length();
          from[j] = inside ? row.from + d * g_.from_stride[2] + h * g_.from_stride[3] : nullptr;
          if (!inside || !g_.divides_sources) continue;
          of_d[j] = static_cast<F>(g_.source_extents[0][static_cast<size_t>(row.d->begin + d)]);
          of_h[j] = static_cast<F>(g_.source_extents[1][static_cast<size_t>(row.h->begin + h)]);
        }
        AddRows(from, rows_now, of_d, of_h, d == 0 && h == 0, columns, sums);
      }
    }
    if (g_.divides) DivideSums(of_d, of_h, sums);
    StoreRows(rows, count, sums);
  }

  // Adds to each lane `rows` source rows, which are adjacent in memory. A lane without rows adds 0.
  // This changes no sum, because no sum is -0.
  void AddRows(const std::array<const T*, kLanes>& from, int64_t rows, const F* of_d, const F* of_h,
               bool fresh, F* columns, F* sums) const {
    const D tag;
    const int64_t chunk = rows > 1 ? rows * g_.sources : kPoolChunk / kLanes / g_.inner * g_.inner;
    size_t run = 0;
    for (int64_t begin = 0; begin < g_.sources; begin += chunk) {
      const int64_t end = std::min(begin + chunk, rows * g_.sources);
      MakeColumns(from, begin, end - begin, columns);
      for (int64_t w = begin; g_.divides_sources && w < end; ++w) {
        F* const column = columns + (w - begin) * kLanes;
        const auto of_w = static_cast<F>(g_.source_extents[2][static_cast<size_t>(w)]);
        V value = hn::Load(tag, column);
        Divide(DivisionOf(), hn::Load(tag, of_d), hn::Load(tag, of_h), of_w, value);
        hn::Store(value, tag, column);
      }
      const auto add = [&](auto pixels, auto several) {
        return AddColumns<pixels, several>(run, begin, end, rows, fresh, columns, sums);
      };
      const std::true_type yes;
      const std::false_type no;
      if (g_.inner > 1) {
        run = rows > 1 ? add(yes, yes) : add(yes, no);
      } else {
        run = rows > 1 ? add(no, yes) : add(no, no);
      }
    }
  }

  // Transposes sources [begin, begin + count) of each lane's row to columns.
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

  // Adds the columns [begin, end) of a row, or all columns of `rows` rows, to runs from `run` on.
  // `fresh`: sums start from +0. Returns the first run that may have more columns behind `end`.
  template <bool kPixels, bool kSeveral>
  HWY_NOINLINE size_t AddColumns(size_t run, int64_t begin, int64_t end, int64_t rows, bool fresh,
                                 const F* columns, F* sums) const {
    const D tag;
    const int64_t inner = kPixels ? g_.inner : 1;
    const std::vector<PoolRun>& runs = g_.axes[2].runs;
    while (run < runs.size() && runs[run].end <= begin) ++run;
    for (size_t r = run; r < runs.size() && runs[r].begin < end; ++r) {
      const int64_t first = std::max(runs[r].begin, begin), last = std::min(runs[r].end, end);
      for (int64_t c = 0; c < inner; ++c) {
        F* const to = sums + (static_cast<int64_t>(r) * inner + c) * kLanes;
        V sum = fresh && first == runs[r].begin ? hn::Zero(tag) : hn::Load(tag, to);
        const F* row = columns;
        int64_t left = rows;
        do {
          for (int64_t w = first + c; w < last; w += inner) {
            sum = hn::Add(sum, hn::Load(tag, row + (w - begin) * kLanes));
          }
          row += g_.sources * kLanes;
        } while (kSeveral && --left > 0);
        hn::Store(sum, tag, to);
      }
    }
    return run;
  }

  void DivideSums(const F* of_d, const F* of_h, F* sums) const {
    const D tag;
    const Division division = DivisionOf();
    for (const PoolRun& run : g_.axes[2].runs) {
      for (int64_t c = 0; c < g_.inner; ++c, sums += kLanes) {
        V sum = hn::Load(tag, sums);
        Divide(division, hn::Load(tag, of_d), hn::Load(tag, of_h), static_cast<F>(run.extent), sum);
        hn::Store(sum, tag, sums);
      }
    }
  }

  void StoreRows(const std::array<Row, kLanes>& rows, int64_t count, const F* sums) const {
    const int64_t stride = g_.to_stride[4];
    const auto destinations = static_cast<int64_t>(g_.run_of.size());
    const int64_t inner = g_.to_stride[1] == 1 ? 1 : g_.inner;  // planes of the results
    constexpr int64_t kFew = 4;
    const bool tiles = stride == 1 && inner == 1 && destinations >= kFew;
    for (int64_t w = 0; tiles && w < destinations; w += kLanes) {
      StoreTile(rows, count, std::max<int64_t>(0, std::min(w, destinations - kLanes)), sums);
    }
    if (tiles && g_.stream) return;
    for (size_t j = 0; j < static_cast<size_t>(count); ++j) {
      ForRows(rows[j], [&](T* to) {
        if (tiles) {
          if (to == rows[j].to) return;
          std::memcpy(to, rows[j].to, static_cast<size_t>(destinations) * sizeof(T));
          return;
        }
        for (int64_t w = 0; w < destinations; ++w) {
          to[w / inner * stride + w % inner * g_.to_stride[1]] = Narrowed<T>(SumAt(sums, w)[j]);
        }
      });
    }
  }

  // Writes a tile to the first row of each lane; with streaming, to all rows with the same runs.
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
    const int64_t groups = base::DivideUp(runs, g_.group);
    const int64_t h = task % groups * g_.group;
    const int64_t first = task / groups * runs + h;
    const int64_t end = first + std::min(g_.group, runs - h);
    if (!g_.divides_sources) {
      for (int64_t i = first; i < end; ++i) {
        const Row row = RowAt(i, 1);
        SumRows(row, row.from, g_.from_stride, divided);
      }
      return;
    }
    const Row top = RowAt(first, 1);
    const int64_t rows = RowAt(end - 1, 1).h->end - top.h->begin;
    const int64_t width = g_.sources * g_.c;
    const Strides strides = {0, 1, rows * width, width, g_.c};
    for (int64_t d = 0; d < top.d->length(); ++d) {
      for (int64_t r = 0; r < rows; ++r) {
        DivideRow(top.from + d * g_.from_stride[2] + r * g_.from_stride[3], top.d->begin + d,
                  top.h->begin + r, divided + d * strides[2] + r * width);
      }
    }
    for (int64_t i = first; i < end; ++i) {
      const Row row = RowAt(i, 1);
      SumRows(row, divided + (row.h->begin - top.h->begin) * width, strides, nullptr);
    }
  }

  // Divides each source of a gradient's row by the extents of its window. In the result the
  // channels of a pixel are adjacent.
  void DivideRow(const T* from, int64_t d, int64_t h, F* to) const {
    constexpr int64_t kFew = 4;  // vectors at a time
    const D tag;
    const Division division = DivisionOf();
    const V of_d = hn::Set(tag, static_cast<F>(g_.source_extents[0][static_cast<size_t>(d)]));
    const V of_h = hn::Set(tag, static_cast<F>(g_.source_extents[1][static_cast<size_t>(h)]));
    const int64_t stride = g_.from_stride[1];
    for (int64_t w = 0; w < g_.sources; ++w, from += g_.from_stride[4], to += g_.c) {
      const F of_w = static_cast<F>(g_.source_extents[2][static_cast<size_t>(w)]);
      int64_t c = 0;
      for (; stride == 1 && c + kFew * kLanes <= g_.c; c += kFew * kLanes) {
        WithSums<kFew>([&](auto&... values) PORTACL_INLINE_LAMBDA {
          const T* source = from + c;
          ((values = LoadElements(tag, std::exchange(source, source + kLanes), kLanes)), ...);
          Divide(division, of_d, of_h, of_w, values...);
          F* target = to + c;
          (hn::StoreU(values, tag, std::exchange(target, target + kLanes)), ...);
        });
      }
      for (; c < g_.c; c += kLanes) {
        const int64_t part = std::min(kLanes, g_.c - c);
        V value = LoadSome(from + c * stride, stride, part);
        Divide(division, of_d, of_h, of_w, value);
        StoreElements(value, tag, to + c, static_cast<size_t>(part));
      }
    }
  }

  // Computes all rows with the same runs. Copies short rows, sums others again: as fast.
  template <class S>
  void SumRows(const Row& row, const S* from, const Strides& strides, F* partial) const {
    constexpr size_t kShort = 64 << 10;
    const bool whole = strides[1] == 1 && g_.to_stride[1] == 1;
    const auto bytes = g_.run_of.size() * static_cast<size_t>(g_.c) * sizeof(T);
    const bool copies = whole && g_.to_stride[4] == g_.c && bytes <= kShort && !g_.stream;
    if (g_.turned > 0) return SumTurned(row, from, strides, partial);
    ForRows(row, [&](T* to) {
      if (to == row.to || !copies) return SumRow(row, from, strides, whole, to, partial);
      std::memcpy(to, row.to, bytes);
    });
  }

  // Some runs of a row of destinations. `from` and `to`: column 0 of sources and destinations. Sums
  // go to `partial` if `to` is null, and between the lines of a window.
  template <class S>
  struct Windows {
    const Row& row;
    std::span<const PoolRun> runs;
    const S* from;
    const Strides& strides;
    T* to;
    F* partial;
    int64_t deep, tall;
    bool begins = true, ends = true;
  };

  // Computes all channels of a row of destinations: of few channels all windows in one loop, else
  // window by window.
  template <class S>
  HWY_NOINLINE void SumRow(const Row& row, const S* from, const Strides& strides, bool whole, T* to,
                           F* partial) const {
    const std::vector<PoolRun>& runs = g_.axes[2].runs;
    Windows<S> some{row, runs, from, strides, to, partial, row.d->length(), row.h->length()};
    if (!whole || g_.c < kLanes) {
      for (int64_t c = 0; c < g_.c; c += kLanes) SumChannels<1, false>(some, c);
      return;
    }
    if (g_.c <= kPoolVectors * kLanes) return SumAllChannels(some);
    for (const PoolRun& run : runs) SumWindow(some, run);
  }

  // Sums a window. A large window with many channels is summed line by line, as memory has it.
  template <class S>
  HWY_INLINE void SumWindow(const Windows<S>& all, const PoolRun& run) const {
    constexpr auto kLine = static_cast<int64_t>((16 << 10) / sizeof(S));
    const int64_t lines = all.deep * all.tall;
    Windows<S> some = all;
    some.runs = {&run, 1};
    if (all.partial == nullptr || lines == 1 || g_.c <= kPoolVectors * kLanes ||
        g_.c % kLanes != 0 || run.length() * g_.c < kLine) {
      return SumAllChannels(some);
    }
    some.deep = some.tall = 1;
    for (int64_t i = 0; i < lines; ++i) {
      some.begins = i == 0;
      some.ends = i + 1 == lines;
      some.to = some.ends ? all.to : nullptr;
      some.from = all.from + i / all.tall * all.strides[2] + i % all.tall * all.strides[3];
      SumAllChannels(some);
    }
  }

  // For pixels to planes: computes the sums of some windows, then transposes them tile by tile.
  template <class S>
  HWY_NOINLINE void SumTurned(const Row& row, const S* from, const Strides& strides,
                              F* sums) const {
    const std::span<const PoolRun> runs = g_.axes[2].runs;
    Windows<S> some{row, runs, from, strides, nullptr, sums, row.d->length(), row.h->length()};
    for (size_t done = 0, now; done < runs.size(); done += now) {
      now = std::min(static_cast<size_t>(g_.turned), runs.size() - done);
      some.partial = sums;
      for (const PoolRun& run : runs.subspan(done, now)) {
        SumWindow(some, run);
        some.partial += g_.c;
      }
      for (int64_t c = 0; c < g_.c; c += kLanes) {
        StoreTurned(row, done, done + now, std::min(c, g_.c - kLanes), sums);
      }
    }
  }

  // Writes kLanes channels from c on for the destinations of runs [begin, end). `sums`: their sums.
  void StoreTurned(const Row& row, size_t begin, size_t end, int64_t c, const F* sums) const {
    const D tag;
    const std::vector<PoolRun>& runs = g_.axes[2].runs;
    const int64_t first = runs[begin].first, last = runs[end - 1].last;
    for (int64_t w = first; w < last; w += kLanes) {
      const int64_t at = std::max(first, std::min(w, last - kLanes));
      const int64_t part = std::min(last - at, kLanes);
      TransposeRows(
          tag,
          [&](size_t i) PORTACL_INLINE_LAMBDA {
            const auto x = static_cast<int64_t>(i);
            if (x >= part) return hn::Zero(tag);
            const auto run = g_.run_of[static_cast<size_t>(at + x)] - static_cast<int64_t>(begin);
            return hn::LoadU(tag, sums + run * g_.c + c);
          },
          [&](size_t j, V v) PORTACL_INLINE_LAMBDA {
            const int64_t plane = (c + static_cast<int64_t>(j)) * g_.to_stride[1];
            ForRows(row, [&](T* to) {
              StoreElements(v, tag, to + plane + at, static_cast<size_t>(part));
            });
          });
    }
  }

  template <class S>
  HWY_INLINE void SumAllChannels(const Windows<S>& some) const {
    int64_t c = 0;
    for (; c + kPoolVectors * kLanes <= g_.c; c += kPoolVectors * kLanes) {
      SumChannels<kPoolVectors, true>(some, c);
    }
    while (c < g_.c) {
      const int64_t vectors = base::DivideUp(g_.c - c, kLanes);
      if (vectors == 1) {
        c += SumChannels<1, true>(some, c);
      } else if (vectors == 2) {
        c += SumChannels<2, true>(some, c);
      } else if (vectors == 3) {
        c += SumChannels<3, true>(some, c);
      } else {
        c += SumChannels<4, true>(some, c);
      }
    }
  }

  // Calls use(sums...) with kVectors vectors of zeros. (Arrays cannot hold SVE's vectors.)
  template <size_t kVectors, class Use, class... Vectors>
  HWY_INLINE static void WithSums(const Use& use, Vectors&... sums) {
    if constexpr (sizeof...(sums) == kVectors) {
      use(sums...);
    } else {
      V sum = hn::Zero(D());
      WithSums<kVectors>(use, sums..., sum);
    }
  }

  // Sums kVectors vectors of channels from `first` on. The last vector begins earlier if it would
  // end behind the last channel. Without kWhole: the existing lanes of one vector, with any
  // strides. Returns the number of channels.
  template <size_t kVectors, bool kWhole, class S>
  HWY_INLINE int64_t SumChannels(const Windows<S>& some, int64_t first) const {
    const D tag;
    const Division division = DivisionOf();
    const bool divides = g_.divides, stream = g_.stream;
    const Strides strides = some.strides;
    const int64_t to_stride = g_.to_stride[4];
    const int64_t part = std::min(kLanes, g_.c - first);
    constexpr int64_t kBefore = (int64_t{kVectors} - 1) * kLanes;
    const int64_t last = std::min(kBefore, g_.c - kLanes - first);
    const auto at = [&](size_t i) PORTACL_INLINE_LAMBDA {
      return i + 1 < kVectors ? static_cast<int64_t>(i) * kLanes : last;
    };
    const V of_d = hn::Set(tag, static_cast<F>(some.row.d->extent));
    const V of_h = hn::Set(tag, static_cast<F>(some.row.h->extent));
    for (const PoolRun& run : some.runs) {
      WithSums<kVectors>([&](auto&... sums) PORTACL_INLINE_LAMBDA {
        if (kWhole && !some.begins) {
          size_t i = 0;
          ((sums = hn::LoadU(tag, some.partial + first + at(i++))), ...);
        }
        ForWindow(some, strides, run, first, [&](const S* pixel) PORTACL_INLINE_LAMBDA {
          size_t i = 0;
          const auto next = [&]() PORTACL_INLINE_LAMBDA {
            if constexpr (!kWhole) return LoadSome(pixel, strides[1], part);
            return LoadElements(tag, pixel + at(i++), hn::Lanes(tag));
          };
          ((sums = hn::Add(sums, next())), ...);
        });
        if (divides && some.ends) {
          Divide(division, of_d, of_h, static_cast<F>(run.extent), sums...);
        }
        if (kWhole && some.to == nullptr) {
          size_t i = 0;
          (hn::StoreU(sums, tag, some.partial + first + at(i++)), ...);
          return;
        }
        T* pixel = some.to + run.first * to_stride + first * g_.to_stride[1];
        for (int64_t w = run.first; w < run.last; ++w, pixel += to_stride) {
          size_t i = 0;
          const auto store = [&](V sum) PORTACL_INLINE_LAMBDA {
            if constexpr (!kWhole) return StoreSome(sum, pixel, part);
            StoreElements(sum, tag, pixel + at(i++), hn::Lanes(tag), stream);
          };
          (store(sums), ...);
        }
      });
    }
    return kWhole ? kLanes * int64_t{kVectors} : part;
  }

  // Calls add(pixel) for each pixel of a window, pointing to channel `first`.
  template <class S, class Add>
  HWY_INLINE void ForWindow(const Windows<S>& some, const Strides& s, const PoolRun& run,
                            int64_t first, const Add& add) const {
    const int64_t deep = some.deep, tall = some.tall;
    const int64_t wide = run.length();
    const S* plane = some.from + run.begin * s[4] + first * s[1];
    for (int64_t d = 0; d < deep; ++d, plane += s[2]) {
      const S* line = plane;
      for (int64_t h = 0; h < tall; ++h, line += s[3]) {
        const S* pixel = line;
        for (int64_t w = 0; w < wide; ++w, pixel += s[4]) add(pixel);
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
  void StoreSome(V sum, T* to, int64_t count) const {
    const int64_t stride = g_.to_stride[1];
    if (stride == 1) return StoreElements(sum, D(), to, static_cast<size_t>(count));
    HWY_ALIGN F lanes[kLanes];
    hn::Store(sum, D(), lanes);
    for (int64_t c = 0; c < count; ++c) to[c * stride] = Narrowed<T>(lanes[c]);
  }

  // ---- both -------------------------------------------------------------------------------------

  // The extents that divide sums or sources. A local copy stays in registers; the plan would not,
  // because a vector store may change it as far as the compiler knows.
  struct Division {
    bool d, h, w, multiplies;
    F last;
  };
  Division DivisionOf() const {
    return {g_.axes[0].divides, g_.axes[1].divides, g_.axes[2].divides, g_.multiplies,
            static_cast<F>(g_.last_extent)};
  }

  // Divides by one extent after the other. Of bytes: by their product, then halves round up.
  template <class... Vectors>
  HWY_INLINE static void Divide(const Division& which, V of_d, V of_h, F of_w, Vectors&... sums) {
    const D tag;
    const V w = hn::Set(tag, of_w), last = hn::Set(tag, which.last);
    const auto by = [&](V extent) PORTACL_INLINE_LAMBDA {
      if (which.multiplies) {
        ((sums = hn::Mul(sums, extent)), ...);
      } else {
        ((sums = hn::Div(sums, extent)), ...);
      }
    };
    if constexpr (kBytes) {
      by(hn::Mul(hn::Mul(of_d, of_h), hn::Mul(w, last)));
      ((sums = hn::Floor(hn::Add(sums, hn::Set(tag, F{0.5})))), ...);
    } else {
      if (which.d) by(of_d);
      if (which.h) by(of_h);
      if (which.w) by(w);
      if (which.last != 1) by(last);
    }
  }

  const Geometry& g_;
  const T* const from_;
  T* const to_;
  char* const scratch_;
};

// Does the same as base::DispatchFloating(), and serves bytes too.
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
  // With SVE, a vector of so few bytes has no known length.
  if (HWY_HAVE_SCALABLE && params.dtype == base::DType::kUInt8) return std::nullopt;
  return PlanAdaptiveAvgPool(params, params.dtype == base::DType::kDouble ? kBlockLanes<double, 16>
                                                                          : kBlockLanes<float, 16>);
}

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

PORTACL_KERNELS(AdaptiveAvgPool, Plan, Run)
