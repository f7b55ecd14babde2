// Resamples boxes: the order of rows, slices and volumes, as resample_plan.h describes it.
#if defined(PORTACL_CPU_RESIZE_RESAMPLE_DRIVERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PORTACL_CPU_RESIZE_RESAMPLE_DRIVERS_INL_H_
#undef PORTACL_CPU_RESIZE_RESAMPLE_DRIVERS_INL_H_
#else
#define PORTACL_CPU_RESIZE_RESAMPLE_DRIVERS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/half.h"
#include "cpu/resize/resample_plan.h"
#include "cpu/resize/resample_rows-inl.h"
#include "cpu/vector/highway.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// Computes boxes on one thread, with scratch of its own. Pointers to rows point to column 0, even
// if a tile's rows in scratch have only the tile's columns.
template <class T>
class Resampler {
 public:
  static constexpr bool kBytes = std::is_same_v<T, uint8_t>;
  using F = ResampleWeight<T>;
  using Between = ResampleBetween<F>;
  using Plan = ResampleKernelPlan<F>;

  // `stream`: results may go past the caches.
  Resampler(const Plan& plan, Between* scratch, bool stream)
      : plan_(plan), scratch_(scratch), stream_(stream) {}

  void Run(const T* input, T* output, const ResampleBox& box) {
    h0_ = box.h0;
    h1_ = box.h1;
    columns_ = box.columns;
    if (plan_.RowsOnly()) return RunRows(input, output);
    const auto [in, out] = OffsetsOf(box.plane);
    input += in;
    output += out;
    if (plan_.d.identity) {
      return plan_.backward ? BackwardRows<T>(input, plan_.input_h, output)
                            : ForwardRows<T>(input, output, plan_.output_h);
    }
    return plan_.backward ? BackwardVolume(input, output) : ForwardVolume(input, output);
  }

 private:
  // ---- where things are -----------------------------------------------------------------------

  struct Offsets {
    int64_t input, output;
  };
  Offsets OffsetsOf(int64_t plane) const {
    Offsets offsets = {0, 0};
    for (const ResampleOuter& axis : plan_.outer) {
      const int64_t next = &axis == &plan_.outer.back() ? 0 : plane / axis.extent;
      const int64_t at = plane - next * axis.extent;
      offsets.input += at * axis.input;
      offsets.output += at * axis.output;
      plane = next;
    }
    return offsets;
  }

  // Return rows of scratch: of destination columns, or of source columns.
  Between* Destinations(int64_t part, int64_t row) const {
    return scratch_ + part + row * plan_.row - columns_->w0 * plan_.inner;
  }
  Between* Sources(int64_t part, int64_t row) const {
    return scratch_ + part + row * plan_.row - columns_->from * plan_.inner;
  }
  template <class Ti>
  const Ti** Pointers(bool of_d) const {
    return reinterpret_cast<const Ti**>(scratch_ + plan_.pointers) +
           (of_d ? 0 : std::max(plan_.d.most, int64_t{1}));
  }

  // Returns where row r of a batch of results is computed. Rows from W may be made in scratch,
  // because they go past the caches as whole lines later.
  T* Result(T* row, int64_t r) const {
    const bool staged = plan_.staged && Streams(row + columns_->w0 * plan_.inner, columns_->width);
    return plan_.pack_output || staged ? InScratch(r) : row;
  }
  T* InScratch(int64_t r) const {
    return reinterpret_cast<T*>(scratch_ + plan_.results + r * plan_.row) -
           columns_->w0 * plan_.inner;
  }
  void Deliver(const T* from, T* row) const {
    const int64_t at = columns_->w0 * plan_.inner;
    if (!plan_.pack_output) {
      if (from != row) CopyRow<F>(from + at, row + at, columns_->width, true);
      return;
    }
    if (plan_.planar > 0) {
      return SplitPixels<F>(from + at, columns_->width / plan_.planar, plan_.planar,
                            row + at / plan_.planar * plan_.planar_w, plan_.planar_c,
                            plan_.planar_w);
    }
    for (int64_t x = columns_->w0; x < columns_->w1; ++x) row[x * plan_.output_w] = from[x];
  }

  // Whether `n` results from `to` on, of one row or a long run of rows, go past the caches.
  template <class To>
  bool Streams(const To* to, int64_t n) const {
    if constexpr (std::is_same_v<To, T>) {
      constexpr int64_t kRun = 16384;  // in longer runs, split lines do not count
      return (stream_ && !plan_.pack_output && n >= kRun) || StreamsLines(to, n);
    } else {
      return false;
    }
  }
  bool StreamsLines(const T* to, int64_t n) const {
    return stream_ && !plan_.pack_output &&
           reinterpret_cast<uintptr_t>(to) % kStreamAlignment == 0 && n % kLineOf<T> == 0;
  }

  // Whether stores to all short rows from `to` on, `step` apart, are streaming stores.
  template <class To>
  bool StreamsAll(const To* to, int64_t step) const {
    const auto bytes = static_cast<uint64_t>(step | columns_->width) * sizeof(To);
    return Streams(to, columns_->width) &&
           (reinterpret_cast<uintptr_t>(to) | bytes) % kStreamAlignment == 0;
  }

  // ---- W --------------------------------------------------------------------------------------

  // Resamples some rows along W. `ahead`: rows to prefetch (same columns), or null. `in_scratch`:
  // memory behind the rows may be read. `last`: W is the last axis, so `to` is no scratch.
  template <class Ti, class To>
  void W(const Ti* const* from, To* const* to, int64_t rows, bool in_scratch, bool last,
         const Ti* const* ahead = nullptr) const {
    std::array<To*, kMostResampleRows> scratch;
    bool lines = plan_.lines && last;
    if constexpr (std::is_same_v<To, T>) {
      for (int64_t r = 0; lines && r < rows; ++r) {
        lines = StreamsLines(to[r] + columns_->w0, columns_->width);
        scratch[static_cast<size_t>(r)] = InScratch(r);
      }
    }
    const RowsOfW<F, Ti, To> some = {.w = plan_.w,
                                     .init = plan_.w.init,
                                     .columns = *columns_,
                                     .from = from,
                                     .to = to,
                                     .rows = rows,
                                     .edges = lines ? scratch.data() : nullptr,
                                     .ahead = ahead};
    std::visit([&](const auto& way) { RunPath(way, some, in_scratch, last); }, plan_.way);
  }

  template <class Ti, class To>
  void RunPath(const CopiedRows&, const RowsOfW<F, Ti, To>& some, bool, bool last) const {
    const int64_t at = columns_->w0 * plan_.inner;
    for (int64_t r = 0; r < some.rows; ++r) {
      CopyRow<F>(some.from[r] + at, some.to[r] + at, columns_->width,
                 last && Streams(some.to[r] + at, columns_->width));
    }
  }

  template <class Ti, class To>
  void RunPath(const ResamplePixels&, const RowsOfW<F, Ti, To>& some, bool, bool) const {
    for (int64_t r = 0; r < some.rows; ++r) AddPixels(some.from[r], some.to[r]);
  }

  template <class Ti, class To>
  void RunPath(const ResampleColumns& columns, const RowsOfW<F, Ti, To>& some, bool, bool) const {
    AddColumns(columns, some, scratch_ + columns.scratch);
  }

  template <class Ti, class To>
  void RunPath([[maybe_unused]] const ResamplePhases<F>& phases,
               [[maybe_unused]] const RowsOfW<F, Ti, To>& some, bool, bool) const {
    if constexpr (!kBytes) {
      AddPhases(phases, some, Pointers<F>(false) + plan_.h.most, scratch_ + phases.scratch);
    }
  }

  template <class Ti, class To>
  void RunPath([[maybe_unused]] const ResamplePlanes& planes,
               [[maybe_unused]] const RowsOfW<F, Ti, To>& some, bool, bool) const {
#if !HWY_HAVE_SCALABLE
    if constexpr (!kBytes) {
      AddPlanes(planes, {&plan_.d, &plan_.h, &plan_.w}, plan_.backward, some,
                scratch_ + planes.scratch);
    }
#endif
  }

  template <class Ti, class To>
  void RunPath([[maybe_unused]] const ResampleLookups<F>& lookups,
               [[maybe_unused]] const RowsOfW<F, Ti, To>& some, [[maybe_unused]] bool in_scratch,
               bool) const {
#if !HWY_HAVE_SCALABLE
    if constexpr (!kBytes) {
      std::array<const F*, kMostResampleRows> whole;
      LookUpRows(lookups, InVectors(some, in_scratch || plan_.w.from >= lookups.need, &whole));
    }
#endif
  }

  template <class Ti, class To>
  void RunPath([[maybe_unused]] const ResampleExpand<F>& expand,
               [[maybe_unused]] const RowsOfW<F, Ti, To>& some, bool, bool) const {
#if !HWY_HAVE_SCALABLE
    if constexpr (!kBytes) {
      std::array<const F*, kMostResampleRows> whole;
      Expand(expand, InVectors(some, true, &whole));
    }
#endif
  }

#if !HWY_HAVE_SCALABLE
  // Returns the rows as F, readable in whole vectors. `readable`: rows of F already are.
  template <class Ti, class To>
  RowsOfW<F, F, To> InVectors(const RowsOfW<F, Ti, To>& some, [[maybe_unused]] bool readable,
                              std::array<const F*, kMostResampleRows>* whole) const {
    for (int64_t r = 0; r < some.rows; ++r) {
      if constexpr (std::is_same_v<Ti, F>) {
        if (readable) {
          (*whole)[static_cast<size_t>(r)] = some.from[r];
          continue;
        }
      }
      F* const row = Sources(plan_.converted, r);
      const int64_t at = columns_->from * plan_.inner;
      CopyShortRow<F>(some.from[r] + at, row + at, columns_->from_width);
      (*whole)[static_cast<size_t>(r)] = row;
    }
    return {.w = some.w,
            .init = some.init,
            .columns = some.columns,
            .from = whole->data(),
            .to = some.to,
            .rows = some.rows,
            .edges = some.edges,
            .ahead = nullptr};
  }
#endif

  // Resamples along W pixel by pixel: the channels of a pixel are summed as one row.
  template <class Ti, class To>
  void AddPixels(const Ti* from, To* to) const {
    const ResampleTaps<F>& w = plan_.w;
    const Ti** taps = Pointers<Ti>(false) + plan_.h.most;
    for (int64_t o = columns_->w0; o < columns_->w1; ++o) {
      const int64_t start = w.start[o];
      const int64_t count = w.start[o + 1] - start;
      if constexpr (!kBytes) {
        if (count == 2) {  // linear
          AddPixelPair<F>(w.weight + start, from + w.source[start] * plan_.inner,
                          from + w.source[start + 1] * plan_.inner, to + o * plan_.inner,
                          plan_.inner, w.init);
          continue;
        }
      }
      for (int64_t k = 0; k < count; ++k) taps[k] = from + w.source[start + k] * plan_.inner;
      AddRows<F>(w.weight + start, taps, count, to + o * plan_.inner, plan_.inner, w.init, false);
    }
  }

  // Whether W reads input rows that are adjacent in memory.
  bool Neighbours() const {
    const auto* const columns = std::get_if<ResampleColumns>(&plan_.way);
    return columns != nullptr && columns->step != 0;
  }

  // Resamples rows of the input along W.
  template <class To>
  void WOfInput(const T* const* from, To* const* to, int64_t rows, bool last,
                const T* const* ahead = nullptr) const {
    if (!plan_.pack_input || Neighbours()) {
      return W(from, to, rows, false, last, plan_.fetch ? ahead : nullptr);
    }
    std::array<const Between*, kMostResampleRows> packed;
    const int64_t* const used = plan_.used_columns.empty() ? nullptr : plan_.used_columns.data();
    for (int64_t r = 0; r < rows; ++r) {
      Between* const row = Sources(plan_.converted, r);
      for (int64_t x = 0; x < plan_.w.from; ++x) {
        const T element = from[r][used == nullptr ? x * plan_.input_w : used[x]];
        if constexpr (kBytes) {
          row[x] = element;
        } else {
          row[x] = base::Widen(element);
        }
      }
      packed[static_cast<size_t>(r)] = row;
    }
    W(packed.data(), to, rows, true, last);
  }

  void RunRows(const T* input, T* output) const {
    const bool straight = !plan_.pack_output && !plan_.staged;
    const bool even = plan_.outer.size() == 1;  // rows have one distance
    for (int64_t r0 = h0_; r0 < h1_; r0 += plan_.batch) {
      const int64_t rows = std::min(plan_.batch, h1_ - r0);
      std::array<const T*, kMostResampleRows> from;
      std::array<T*, kMostResampleRows> places, to;
      const Offsets first = OffsetsOf(r0);
      for (int64_t r = 0; r < rows; ++r) {
        const auto i = static_cast<size_t>(r);
        const Offsets offsets = even ? Offsets{.input = first.input + r * plan_.outer[0].input,
                                               .output = first.output + r * plan_.outer[0].output}
                                     : OffsetsOf(r0 + r);
        from[i] = input + offsets.input;
        places[i] = output + offsets.output;
      }
      if (straight) {
        WOfInput(from.data(), places.data(), rows, true);
        continue;
      }
      for (int64_t r = 0; r < rows; ++r) {
        to[static_cast<size_t>(r)] = Result(places[static_cast<size_t>(r)], r);
      }
      WOfInput(from.data(), to.data(), rows, true);
      for (int64_t r = 0; r < rows; ++r) {
        Deliver(to[static_cast<size_t>(r)], places[static_cast<size_t>(r)]);
      }
    }
  }

  // ---- one plane, forward -----------------------------------------------------------------------

  // Returns the range of W's rows, as numbers in the ring, that the strip needs.
  std::pair<int64_t, int64_t> RingRows() const {
    auto end = static_cast<int64_t>(plan_.h_ring.used.size());
    if (h0_ == 0 && h1_ == plan_.h.to) return {0, end};
    int64_t first = std::exchange(end, 0);
    for (auto i = static_cast<size_t>(h0_); i < static_cast<size_t>(h1_); ++i) {
      if (plan_.h_ring.last[i] >= 0) first = std::min(first, plan_.h_ring.first[i]);
      end = std::max(end, plan_.h_ring.last[i] + 1);
    }
    return {first, end};
  }

  // Computes rows of a slice, W first. They are results (To is T) or rows of a slice in scratch.
  template <class To, bool kToUser = true>
  void ForwardRows(const T* input, To* output, int64_t output_h) const {
    const ResampleTaps<F>& h = plan_.h;
    if (h.identity) return ForwardRowsOfW<To, kToUser>(input, output, output_h);
    if constexpr (!kBytes) {
      if (plan_.Pairs()) return ForwardPairs(input, output, output_h);
    }
    const bool straight = plan_.w.identity && !plan_.pack_input;
    auto [ready, end] = RingRows();
    const int64_t at = columns_->w0 * plan_.inner;
#if !HWY_HAVE_SCALABLE
    if constexpr (kBytes) {
      HWY_DASSERT(!plan_.short_rows);
    } else if (plan_.short_rows) {
      while (ready < end) ready += FillRing(input, ready, end);
      return AddShortRows<F>({.taps = h,
                              .row = plan_.h_ring.place.data(),
                              .h0 = h0_,
                              .h1 = h1_,
                              .init = h.init,
                              .stream = kToUser && StreamsAll(output, output_h)},
                             Destinations(plan_.ring, 0), plan_.row, output + h0_ * output_h,
                             output_h, columns_->width);
    }
#endif
    for (int64_t o = h0_; o < h1_; ++o) {
      const int64_t start = h.start[o];
      const int64_t count = h.start[o + 1] - start;
      To* const place = output + o * output_h;
      To* const to = ResultOf<kToUser>(place);
      if (straight) {
        const T** const taps = Pointers<T>(false);
        for (int64_t k = 0; k < count; ++k) {
          taps[k] = input + h.source[start + k] * plan_.input_h + at;
        }
        AddRows<F>(h.weight + start, taps, count, to + at, columns_->width, h.init,
                   kToUser && Streams(to + at, columns_->width));
      } else {
        for (const int64_t last = plan_.h_ring.last[static_cast<size_t>(o)]; ready <= last;) {
          ready += FillRing(input, ready, end);
        }
        const Between** const taps = Pointers<Between>(false);
        for (int64_t k = 0; k < count; ++k) {
          const int64_t p = plan_.h_ring.place[static_cast<size_t>(start + k)];
          taps[k] = Destinations(plan_.ring, p & (plan_.h_slots - 1)) + at;
        }
        AddRows<F>(h.weight + start, taps, count, to + at, columns_->width, h.init,
                   kToUser && Streams(to + at, columns_->width));
      }
      if constexpr (kToUser) Deliver(to, place);
    }
  }

  // Resamples along H and W together, if each destination is a sum of two sources along both axes.
  template <class To>
  void ForwardPairs(const T* input, To* output, int64_t output_h) const {
    const ResampleTaps<F>& h = plan_.h;
    for (int64_t o = h0_; o < h1_; ++o) {
      const int64_t k = h.start[o];
      AddPixelRows<F>(
          plan_.w, columns_->w0, columns_->w1, h.weight + k,
          {input + h.source[k] * plan_.input_h, input + h.source[k + 1] * plan_.input_h},
          output + o * output_h, plan_.inner, h.init);
    }
  }

  template <bool kToUser, class To>
  To* ResultOf(To* place) const {
    if constexpr (kToUser) {
      return Result(place, 0);
    } else {
      return place;
    }
  }

  // Fills the ring with a batch of W's rows, from number `ready` on. Returns how many.
  int64_t FillRing(const T* input, int64_t ready, int64_t end) const {
    int64_t rows = std::min(plan_.batch, end - ready);
    std::array<const T*, kMostResampleRows> from, ahead;
    std::array<Between*, kMostResampleRows> to;
    const int64_t used = static_cast<int64_t>(plan_.h_ring.used.size());
    const auto row = [this](int64_t place) {
      return plan_.h_ring.used[static_cast<size_t>(place)];
    };
    while (Neighbours() && row(ready + rows - 1) != row(ready) + rows - 1) --rows;
    for (int64_t r = 0; r < rows; ++r) {
      const auto i = static_cast<size_t>(r);
      const int64_t next = std::min(ready + rows + r, used - 1);
      ahead[i] = input + row(next) * plan_.input_h;
      from[i] = input + row(ready + r) * plan_.input_h;
      to[i] = Destinations(plan_.ring, (ready + r) & (plan_.h_slots - 1));
    }
    WOfInput(from.data(), to.data(), rows, false, ahead.data());
    return rows;
  }

  template <class To, bool kToUser>
  void ForwardRowsOfW(const T* input, To* output, int64_t output_h) const {
    for (int64_t h0 = h0_; h0 < h1_; h0 += plan_.batch) {
      const int64_t rows = std::min(plan_.batch, h1_ - h0);
      std::array<const T*, kMostResampleRows> from;
      std::array<To*, kMostResampleRows> to;
      for (int64_t r = 0; r < rows; ++r) {
        from[static_cast<size_t>(r)] = input + (h0 + r) * plan_.input_h;
        to[static_cast<size_t>(r)] = output + (h0 + r) * output_h;
      }
      WOfInput(from.data(), to.data(), rows, false);
    }
  }

  // ---- one plane, backward ----------------------------------------------------------------------

  // Sums rows of gradOutput, in the source columns of the tile.
  template <class To>
  void AddInputRows(const F* weight, const T* const* from, int64_t taps, To* to, F init,
                    const Ahead& ahead = kNothingAhead) const {
    const int64_t at = columns_->from * plan_.inner;
    if (!plan_.pack_input) {
      const bool stream =  // only sums that are results
          plan_.d.identity && plan_.w.identity && Streams(to + at, columns_->from_width);
      return AddRows<F>(weight, from, taps, to + at, columns_->from_width, init, stream, ahead);
    }
    if constexpr (!kBytes) {  // plans of bytes exclude it
      F* const sum = scratch_ + plan_.converted + (plan_.batch - 1) * plan_.row;
      std::fill(sum, sum + columns_->from_width, taps > 0 ? init : F{0});
      for (int64_t k = 0; k < taps; ++k) {
        AddStrided(weight[k], from[k], plan_.input_w, sum, columns_->from_width);
      }
      if (static_cast<void*>(sum) != static_cast<void*>(to + at)) {
        CopyRow<F>(sum, to + at, columns_->from_width, false);
      }
    }
  }

  // Computes rows of gradInput, H first. `input`: gradOutput (Ti is T), or its sums along D.
  template <class Ti, bool kFromUser = true>
  void BackwardRows(const Ti* input, int64_t input_h, T* output) const {
    const ResampleTaps<F>& h = plan_.h;
#if !HWY_HAVE_SCALABLE
    if constexpr (kBytes) {
      HWY_DASSERT(!plan_.short_rows);
    } else if (plan_.short_rows) {
      AddShortRows<F>(
          {.taps = h, .row = h.source, .h0 = h0_, .h1 = h1_, .init = h.init, .stream = false},
          input + columns_->from, input_h, Sources(plan_.converted, 0) + columns_->from, plan_.row,
          columns_->from_width);
    }
#endif
    for (int64_t o = h0_; o < h1_;) {
      int64_t rows = 0;
      std::array<const Between*, kMostResampleRows> sums;
      std::array<T*, kMostResampleRows> places, to;
      for (; rows < plan_.batch && o < h1_; ++o) {
        if (IsEmpty(h, o)) {
          const int64_t first = o;
          while (o + 1 < h1_ && IsEmpty(h, o + 1)) ++o;
          ClearRows(output, first, o + 1);
          continue;
        }
        const auto i = static_cast<size_t>(rows);
        places[i] = output + o * plan_.output_h;
        to[i] = Result(places[i], rows);
        sums[i] = SumOfH<kFromUser>(input, input_h, o, rows++, to[i]);
      }
      if (rows == 0) break;
      if (!plan_.w.identity || h.identity) W(sums.data(), to.data(), rows, true, true);
      for (int64_t r = 0; r < rows; ++r) {
        Deliver(to[static_cast<size_t>(r)], places[static_cast<size_t>(r)]);
      }
    }
  }

  // Returns destination row o of H: in `input` or scratch if it exists there. Else computes it in
  // row r of a batch, or in the result `to` if W is an identity.
  template <bool kFromUser, class Ti>
  HWY_INLINE const Between* SumOfH(const Ti* input, int64_t input_h, int64_t o, int64_t r,
                                   T* to) const {
    if (plan_.short_rows) return Sources(plan_.converted, o - h0_);
    if constexpr (!kFromUser) {
      if (plan_.h.identity) return input + o * input_h;
    }
    if (plan_.w.identity) {
      AddH<kFromUser>(input, input_h, o, to);
      return nullptr;
    }
    Between* const sum = Sources(plan_.converted, r);
    AddH<kFromUser>(input, input_h, o, sum);
    return sum;
  }

  // Whether destination o of an axis has no sources, so that all its elements are +0.
  bool IsEmpty(const ResampleTaps<F>& taps, int64_t o) const {
    return plan_.clears && !taps.identity && taps.Count(o) == 0;
  }
  // Writes zeros as the neighbouring rows are written: a line with both kinds of stores is slow.
  HWY_NOINLINE void ClearRows(T* output, int64_t h0, int64_t h1) const {
    const ComputeTag<F> d;
    const int64_t at = columns_->w0 * plan_.inner;
    const int64_t together = plan_.output_h == columns_->width ? h1 - h0 : 1;
    for (; h0 < h1; h0 += together) {
      T* const to = output + h0 * plan_.output_h + at;
      const int64_t n = together * columns_->width;
      const auto zero = [d](int64_t, int64_t = 0) PORTACL_INLINE_LAMBDA { return hn::Zero(d); };
      if constexpr (!kBytes) {
        if (StreamsLines(to, columns_->width)) {
          StoreRow(d, to, n, true, zero, zero);
          continue;
        }
      }
      Clear(to, n);
    }
  }

  // Computes destination row o of H, in columns_->from_width columns.
  template <bool kFromUser, class Ti, class To>
  void AddH(const Ti* input, int64_t input_h, int64_t o, To* to) const {
    const ResampleTaps<F>& h = plan_.h;
    const int64_t start = h.start[o];
    const int64_t count = h.start[o + 1] - start;
    const int64_t column = columns_->from * (kFromUser ? plan_.input_w : plan_.inner);
    const Ti** const taps = Pointers<Ti>(false);
    for (int64_t k = 0; k < count; ++k) {
      taps[k] = input + h.source[start + k] * input_h + column;
    }
    if constexpr (kFromUser) {
      Ahead ahead;
      if (plan_.fetch && count > 0) {  // rows of the destination after the next one
        ahead.rows = std::clamp<int64_t>(h.from / h.to, 1, 4);
        ahead.stride = input_h * static_cast<int64_t>(sizeof(T));
        ahead.from =
            reinterpret_cast<const char*>(taps[count - 1]) + ahead.stride * (1 + ahead.rows);
      }
      AddInputRows(h.weight + start, taps, count, to, h.init, ahead);
    } else {
      AddRows<F>(h.weight + start, taps, count, to + columns_->from * plan_.inner,
                 columns_->from_width, h.init, false);
    }
  }

  // ---- volumes ----------------------------------------------------------------------------------

  void ForwardVolume(const T* input, T* output) const {
    const ResampleTaps<F>& d = plan_.d;
    const int64_t rows = h1_ - h0_;
    const int64_t at = columns_->w0 * plan_.inner;
    const auto slice = [&](int64_t place) {
      return scratch_ + plan_.slices + place % plan_.Deep() * plan_.slice;
    };
    int64_t ready = 0;
    for (int64_t o = 0; o < d.to; ++o) {
      const int64_t start = d.start[o];
      const int64_t count = d.start[o + 1] - start;
      for (; ready <= plan_.d_ring.last[static_cast<size_t>(o)]; ++ready) {
        const int64_t source = plan_.d_ring.used[static_cast<size_t>(ready)];
        ForwardRows<Between, false>(input + source * plan_.input_d,
                                    slice(ready) - h0_ * columns_->width - at, columns_->width);
      }
      const Between** const taps = Pointers<Between>(true);
      for (int64_t k = 0; k < count; ++k) {
        taps[k] = slice(plan_.d_ring.place[static_cast<size_t>(start + k)]);
      }
      T* const to = output + o * plan_.output_d + h0_ * plan_.output_h;
      if (plan_.output_h == columns_->width && !plan_.pack_output) {  // one run of rows
        AddRows<F>(d.weight + start, taps, count, to, rows * columns_->width, d.init,
                   Streams(to, rows * columns_->width));
        continue;
      }
      for (int64_t r = 0; r < rows; ++r) {
        T* const place = to + r * plan_.output_h;
        T* const result = Result(place, 0);
        AddRows<F>(d.weight + start, taps, count, result + at, columns_->width, d.init, false);
        Deliver(result, place);
        for (int64_t k = 0; k < count; ++k) taps[k] += columns_->width;
      }
    }
  }

  void BackwardVolume(const T* input, T* output) const {
    const ResampleTaps<F>& d = plan_.d;
    const auto [first, end] = plan_.Sources(plan_.h, h0_, h1_);
    Between* const slab = scratch_ + plan_.slices;
    const int64_t column = columns_->from * plan_.inner;
    const bool run = plan_.input_h == columns_->from_width && !plan_.pack_input;
    for (int64_t o = 0; o < d.to; ++o) {
      const int64_t start = d.start[o];
      const int64_t count = d.start[o + 1] - start;
      if (IsEmpty(d, o)) {
        ClearRows(output + o * plan_.output_d, h0_, h1_);
        continue;
      }
      const T** const taps = Pointers<T>(true);
      for (int64_t k = 0; k < count; ++k) {
        taps[k] = input + d.source[start + k] * plan_.input_d + first * plan_.input_h +
                  columns_->from * plan_.input_w;
      }
      if (run) {
        AddRows<F>(d.weight + start, taps, count, slab, (end - first) * columns_->from_width,
                   d.init, false);
      } else {
        for (int64_t s = first; s < end; ++s) {
          AddInputRows(d.weight + start, taps, count,
                       slab + (s - first) * columns_->from_width - column, d.init);
          for (int64_t k = 0; k < count; ++k) taps[k] += plan_.input_h;
        }
      }
      BackwardRows<Between, false>(slab - first * columns_->from_width - column,
                                   columns_->from_width, output + o * plan_.output_d);
    }
  }

  const Plan& plan_;
  Between* const scratch_;
  const bool stream_;
  int64_t h0_ = 0, h1_ = 0;
  const ResampleTile* columns_ = nullptr;
};

}  // namespace
}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET

#endif  // include guard per target
