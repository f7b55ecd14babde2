// Kernel plans of resampling: layout, path, boxes and scratch.
#include "cpu/resize/resample_plan.h"
#include "base/round_up.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <utility>

#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::ResampleParams;

// Bytes of a tile's rows in the ring, for pixels. Backward, bytes of a single row, because each row
// needs sources beside the tile's.
constexpr int64_t kPixelRingBytes = 64 << 10;
constexpr int64_t kPixelRowBytes = 24 << 10;
// Bytes of the strips of slices that a volume keeps at a time: they stay in L2.
constexpr int64_t kSliceBytes = 300 << 10;
constexpr int64_t kMostScratch = int64_t{1} << 56;  // elements of a thread's scratch
constexpr double kMostRowBytes =
    static_cast<double>(int64_t{1} << 46);  // of a row in all channels and images

// ---- layout -------------------------------------------------------------------------------------

// Adds an axis to the axes that number planes; inner axes must come first. If it continues the axis
// before in memory, both become one.
template <class F>
void AddOuter(ResampleOuter axis, ResampleKernelPlan<F>* plan) {
  if (axis.extent == 1) return;
  const size_t count = plan->outer.size();
  if (count > 0) {
    ResampleOuter& inner = plan->outer.back();
    if (axis.input == inner.input * inner.extent && axis.output == inner.output * inner.extent) {
      inner.extent *= axis.extent;
      return;
    }
  }
  plan->outer_axes[count] = axis;
  plan->outer = {plan->outer_axes.data(), count + 1};
}

// Makes each element of a pixel a column, with a table of its own. Used if pixels have too few
// channels to be summed as rows.
template <class F>
void Flatten(int64_t channels, ResampleKernelPlan<F>* plan) {
  ResampleTaps<F>& w = plan->w;
  w.flat = static_cast<int32_t>(channels);
  if (!w.identity) {
    plan->flat_start.push_back(0);
    for (int64_t o = 0; o < w.to; ++o) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t k = w.start[o]; k < w.start[o + 1]; ++k) {
          plan->flat_source.push_back(w.source[k] * channels + c);
          plan->flat_weight.push_back(w.weight[k]);
        }
        plan->flat_start.push_back(static_cast<int64_t>(plan->flat_source.size()));
      }
    }
    w.start = plan->flat_start.data();
    w.source = plan->flat_source.data();
    w.weight = plan->flat_weight.data();
  }
  w.from *= channels;
  w.to *= channels;
  plan->inner = plan->input_w = plan->output_w = 1;
}

// Whether each destination is a sum of two sources.
template <class F>
bool HasPairs(const ResampleTaps<F>& taps) {
  for (int64_t o = 0; o < taps.to; ++o) {
    if (taps.identity || taps.Count(o) != 2) return false;
  }
  return true;
}

template <class F>
void SetLayout(const Params& p, const ResampleTarget& target, ResampleKernelPlan<F>* plan) {
  const auto& from = p.input_stride;
  const auto& to = p.output_stride;
  const bool from_pixels = p.c > 1 && from[1] == 1 && (p.w.from == 1 || from[4] == p.c);
  const bool to_pixels = to[1] == 1 && (p.w.to == 1 || to[4] == p.c);
  const bool split = from_pixels && !to_pixels && p.w.from > 1;
  const bool pixels = from_pixels && (to_pixels || split);
  plan->inner = pixels ? p.c : 1;
  plan->input_d = from[2], plan->input_h = from[3],
  plan->input_w = p.w.from == 1 ? plan->inner : from[4];
  plan->output_d = to[2], plan->output_h = to[3],
  plan->output_w = p.w.to == 1 ? plan->inner : to[4];
  plan->pack_input = plan->input_w != plan->inner;
  plan->pack_output = plan->output_w != plan->inner;
  if (split) {
    plan->pack_output = true;
    plan->planar = p.c, plan->planar_c = to[1], plan->planar_w = to[4];
  }
  const bool copy =
      p.d.identity && p.h.identity && p.w.identity && !plan->pack_input && !plan->pack_output;
  if (copy) AddOuter({p.w.to * plan->inner, 1, 1}, plan);
  if (p.d.identity) {
    if (p.h.identity) AddOuter({p.h.to, from[3], to[3]}, plan);
    AddOuter({p.d.to, from[2], to[2]}, plan);
  }
  if (!pixels) AddOuter({p.c, from[1], to[1]}, plan);
  AddOuter({p.n, from[0], to[0]}, plan);
  if (copy && !plan->outer.empty() && plan->outer[0].input == 1 && plan->outer[0].output == 1) {
    plan->w.from = plan->w.to = plan->outer[0].extent;  // adjacent rows become one row
    plan->inner = plan->input_w = plan->output_w = 1;
    plan->outer = plan->outer.subspan(1);
  }
  for (const ResampleOuter& axis : plan->outer) plan->planes *= axis.extent;
  if (p.d.identity) plan->d = ResampleTaps<F>();
  if (p.d.identity && p.h.identity) plan->h = ResampleTaps<F>();
  // If rows are used more than once, widening 16-bit elements once is faster.
  const bool wide = base::DTypeSize(p.dtype) == sizeof(F);
  // In enlargements, last channels that fill no vector cost a pixel as much as a whole vector.
  const bool reduces = static_cast<double>(p.h.to) * static_cast<double>(p.w.to) <=
                       static_cast<double>(p.h.from) * static_cast<double>(p.w.from);
  const bool pairs = plan->inner > 1 && !p.backward && !std::is_integral_v<F> &&
                     !plan->pack_output && (wide || p.h.to <= p.h.from) &&
                     (reduces || (p.c >= 32 && p.c % 16 == 0)) && HasPairs(plan->h) &&
                     HasPairs(plan->w);
  // In reductions, a vector of elements needs more sources than lookups serve.
  const bool keep = pairs && wide && 2 * p.c >= target.lanes && 3 * p.w.to <= 2 * p.w.from;
  if (plan->inner > 1 && p.c < 2 * target.lanes && !keep) Flatten(p.c, plan);
  if (plan->inner > 1) plan->way = ResamplePixels{pairs};
}

// ---- paths of W ---------------------------------------------------------------------------------

template <class F>
bool SameBits(F a, F b) {
  using Bits = std::conditional_t<sizeof(F) == sizeof(int32_t), int32_t, int64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

// Returns the longest range around the middle of [0, n) where fits() is true.
template <class Fits>
std::array<int64_t, 2> FittingRange(int64_t n, const Fits& fits) {
  int64_t first = n / 2, end = n / 2;
  while (first > 0 && fits(first - 1)) --first;
  while (end < n && fits(end)) ++end;
  return {first, end};
}

// In narrower rows, borders are a large part, and paths that serve any table are faster.
constexpr int64_t kLeastPeriodic = 48;

// Whether planes with so many taps are faster as columns than as "phases". A load of columns never
// crosses a line of 64 bytes, so a tap takes less time.
template <class F>
bool AreColumnsFaster(const ResampleKernelPlan<F>& plan, const ResampleTarget& target,
                      int64_t taps) {
  const int64_t P = plan.w.from / plan.w.to;
  const bool quarter = P == 4 && !plan.backward;
  return !plan.RowsOnly() && target.lanes * int64_t{sizeof(F)} == kLineBytes &&
         taps > (quarter ? P : 4 * P);
}

// Makes "phases" of P sources per destination. `compares`: only if no other path is faster.
template <class F>
std::optional<ResamplePhases<F>> FindPhases(const ResampleKernelPlan<F>& plan,
                                            const ResampleTarget& target, bool compares) {
  const ResampleTaps<F>& w = plan.w;
  if (compares && w.to <= kLeastPeriodic) return std::nullopt;
  const int64_t P = w.from / w.to;
  if (P * w.to != w.from || P < 2 || P > 4) return std::nullopt;
  const int64_t middle = w.start[w.to / 2], taps = w.Count(w.to / 2);
  if (taps < 1 || taps > kResampleMargin * P) return std::nullopt;
  if (compares && AreColumnsFaster(plan, target, taps)) return std::nullopt;
  // Destination o has the taps P * o - before, P * o - before + 1, ...
  const int64_t before = P * (w.to / 2) - w.source[middle];
  if (std::abs(before) > taps) return std::nullopt;
  const auto [first, end] = FittingRange(w.to, [&](int64_t o) {
    if (w.Count(o) != taps) return false;
    for (int64_t k = 0; k < taps; ++k) {
      if (w.source[w.start[o] + k] != P * o - before + k) return false;
      if (!SameBits(w.weight[w.start[o] + k], w.weight[middle + k])) return false;
    }
    return true;
  });
  if (w.to < 2 * target.lanes || end - first < target.lanes || 2 * (end - first) < w.to) {
    return std::nullopt;
  }
  ResamplePhases<F> phases = {{.ratio = P,
                               .taps = taps,
                               .first = first,
                               .end = end,
                               .weight = {w.weight + middle, w.weight + middle + taps}}};
  for (int64_t k = 0; k < taps; ++k) {
    const int64_t at = k - before + P * kResampleMargin;  // never negative
    phases.at.push_back(at % P * kResamplePhaseStride + at / P - kResampleMargin);
  }
  return phases;
}

// Makes lookups for destinations outside of sources [first, end), if one vector holds each border.
template <class F>
void LookUpBorders(const ResampleTaps<F>& w, int64_t lanes, ResampleExpand<F>* expand) {
  const int64_t P = expand->ratio;
  if (std::max(P * expand->first, w.to - P * expand->end) > lanes) return;
  auto lookups = MakeLookups(w, lanes, w.from, kAnyCost);
  expand->borders = lookups.has_value();
  if (lookups) expand->lookups = *std::move(lookups);
}

// Makes "expand" of P destinations per source. `compares`: as in FindPhases().
template <class F>
std::optional<ResampleExpand<F>> FindExpand(const ResampleTaps<F>& w, const ResampleTarget& target,
                                            bool borders, bool compares) {
  if (compares && w.from < kLeastPeriodic) return std::nullopt;
  const int64_t P = w.to / w.from;
  if (!target.fixed || P * w.from != w.to || (P != 2 && P != 4)) return std::nullopt;
  const int64_t middle = w.from / 2 * P, taps = w.Count(middle);
  if (taps != 2 && taps != 4) return std::nullopt;
  const auto [first, end] = FittingRange(w.from, [&](int64_t i) {
    for (int64_t j = 0; j < P; ++j) {
      const int64_t start = w.start[P * i + j], like = w.start[middle + j];
      if (w.Count(P * i + j) != taps || w.Count(middle + j) != taps) return false;
      for (int64_t k = 0; k < taps; ++k) {
        const int64_t before = (2 * j + 1 < P ? -1 : 0) - (taps / 2 - 1);
        if (w.source[start + k] != i + before + k) return false;
        if (!SameBits(w.weight[start + k], w.weight[like + k])) return false;
      }
    }
    return true;
  });
  if (end - first < target.lanes || 2 * (end - first) < w.from) return std::nullopt;
  ResampleExpand<F> expand = {
      {.ratio = P,
       .taps = taps,
       .first = first,
       .end = end,
       .weight = {w.weight + w.start[middle], w.weight + w.start[middle + P]}}};
  if (borders) LookUpBorders(w, target.lanes, &expand);
  return expand;
}

// Makes lookups. `compares`: only if they cost less than transposing.
template <class F>
std::optional<ResampleLookups<F>> FindLookups(const ResampleTaps<F>& w,
                                              const ResampleTarget& target, bool compares) {
  if (!target.fixed) return std::nullopt;
  const auto blocks = static_cast<double>(base::DivideUp(w.from, target.block) +
                                          base::DivideUp(w.to, target.block));
  const auto taps = static_cast<double>(w.start[w.to]) / static_cast<double>(target.block);
  const double most = compares ? 10 + 1.25 * (blocks * 5.6 + taps * 1.5) : kAnyCost;
  return MakeLookups(w, target.lanes, std::numeric_limits<int64_t>::max(), most);
}

// Packs the input columns with taps if at most an eighth of all columns has taps: in strong
// reductions. An element that is copied alone takes about eight times as long as an element that
// is transposed with its row.
template <class F>
void LeaveOutColumns(ResampleKernelPlan<F>* plan) {
  ResampleTaps<F>& w = plan->w;
  const int64_t taps = w.start[w.to];
  if (plan->backward || taps == 0 || taps > w.from / 8) return;
  std::vector<int64_t>& used = plan->used_columns;
  used.resize(static_cast<size_t>(taps));
  plan->used_source.resize(static_cast<size_t>(taps));
  used.resize(static_cast<size_t>(FindUsed(w, w.flat, used.data(), plan->used_source.data())));
  for (int64_t& column : used) column *= plan->input_w;
  w.from = static_cast<int64_t>(used.size());
  w.source = plan->used_source.data();
  plan->pack_input = true;
}

// Whether the input rows of one batch are adjacent in memory.
template <class F>
bool AreRowsNeighbours(const ResampleKernelPlan<F>& plan) {
  return plan.pack_input && plan.input_h == 1 && plan.input_w != 0 && !plan.backward &&
         !plan.RowsOnly();
}

// Takes the geometry `way` of a path, if there is one. Returns whether there is.
template <class Way, class F>
bool Take(std::optional<Way> way, int64_t batch, ResampleKernelPlan<F>* plan) {
  if (!way) return false;
  plan->way = *std::move(way);
  plan->batch = batch;
  return true;
}

template <class F>
void MakeRings(ResampleKernelPlan<F>* plan) {
  if (!plan->h.identity && plan->h_ring.memory == nullptr) plan->h_ring = RingOf(plan->h);
  if (!plan->d.identity && plan->d_ring.memory == nullptr) plan->d_ring = RingOf(plan->d);
}

// Takes "planes" if it serves the call; it is then better than the other paths.
template <class F>
bool TakePlanes(const ResampleTarget& target, const base::PathChoice& choice,
                ResampleKernelPlan<F>* plan) {
  if constexpr (std::is_integral_v<F>) {
    return false;
  } else {
    if (!choice.Allows("planes") || !(choice.ByName() || AreRowsTiny(target, *plan))) return false;
    MakeRings(plan);
    return Take(MakePlanes(target, plan), target.rows, plan);
  }
}

// Chooses the fastest of the other allowed paths, or the path that was asked for. Returns false if
// no path serves the table.
template <class F>
bool ChoosePath(const ResampleTarget& target, const base::PathChoice& choice,
                ResampleKernelPlan<F>* plan) {
  const auto may_be = [&](const char* which) { return choice.Allows(which); };
  const auto take = [plan](auto way, int64_t batch) { return Take(std::move(way), batch, plan); };
  const ResampleTaps<F>& w = plan->w;
  constexpr bool kBytes = std::is_integral_v<F>;
  if (w.identity) return may_be("rows") && take(std::optional(CopiedRows()), 4);
  if (plan->inner > 1) {
    plan->batch = 1;
    return may_be("channels_last");
  }
  if (!kBytes && may_be("columns") && AreRowsNeighbours(*plan)) {
    std::optional<ResampleColumns> columns(std::in_place);
    columns->step = plan->input_w;
    return take(std::move(columns), target.rows);
  }
  LeaveOutColumns(plan);
  const auto take_columns = [&] {
    auto columns = MakeColumns(*plan, target, !choice.LeavesOut("quads"));
    const int64_t rows = columns ? columns->rows : 0;
    return take(std::move(columns), rows);
  };
  if (kBytes) return may_be("columns") && take_columns();
  const bool borders = !choice.LeavesOut("borders");
  const bool compares = !choice.ByName() && may_be("columns");
  return (may_be("phases") && take(FindPhases(*plan, target, compares), 4)) ||
         (may_be("expand") && take(FindExpand(w, target, borders, compares), 4)) ||
         (may_be("lookup") && take(FindLookups(w, target, compares), 8)) ||
         (may_be("columns") && take_columns());
}

// ---- boxes --------------------------------------------------------------------------------------

// Cuts tiles of `columns` columns; the last tile takes the rest.
template <class F>
void CutColumns(int64_t columns, ResampleKernelPlan<F>* plan) {
  const ResampleTaps<F>& w = plan->w;
  const int64_t tiles = std::max<int64_t>(1, w.to / columns);
  ResampleTile* tile = &plan->one_tile;
  if (tiles > 1) {
    plan->many_tiles = std::make_unique<ResampleTile[]>(static_cast<size_t>(tiles));
    tile = plan->many_tiles.get();
  }
  plan->tiles = {tile, static_cast<size_t>(tiles)};
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t w0 = i * columns, w1 = i + 1 == tiles ? w.to : w0 + columns;
    const auto [from, end] =
        plan->pack_input ? std::array<int64_t, 2>{0, w.from} : plan->Sources(w, w0, w1);
    *tile++ = {.w0 = w0,
               .w1 = w1,
               .from = from,
               .end = end,
               .width = (w1 - w0) * plan->inner,
               .from_width = (end - from) * plan->inner};
  }
}

template <class F>
void CutTilesAndStrips(double bytes, ResampleKernelPlan<F>* plan) {
  plan->slots = bytes < static_cast<double>(kGrainBytes) ? 1 : runtime::NumThreads();
  const int64_t wanted = plan->slots == 1 ? 1 : 4 * plan->slots;  // boxes
  const ResampleTaps<F>& w = plan->w;
  plan->strip_rows = plan->h.to;
  constexpr auto kSize = static_cast<int64_t>(sizeof(ResampleBetween<F>));
  const int64_t row_bytes = plan->backward ? kPixelRowBytes
                            : plan->Pairs()
                                ? kPixelRingBytes
                                : kPixelRingBytes / PowerOfTwo(plan->h_ring.flight + plan->batch);
  const int64_t pixels = std::max<int64_t>(4, row_bytes / (plan->inner * kSize));
  const int64_t columns = plan->inner > 1 ? std::min(w.to, pixels) : w.to;
  CutColumns(columns, plan);
  if (plan->RowsOnly()) {
    plan->strip_rows = std::max(plan->batch, base::DivideUp(plan->planes, 4 * wanted));
    plan->strip_rows = base::DivideUp(plan->strip_rows, plan->batch) * plan->batch;
    const int64_t tiles = base::DivideUp(wanted, base::DivideUp(plan->planes, plan->strip_rows));
    if (plan->inner == 1 && tiles > 1 && !plan->pack_input && plan->planar == 0 &&
        !plan->template Is<ResamplePlanes>()) {
      constexpr int64_t kStep = 1024;  // whole lines, and whole vectors of groups
      CutColumns(std::min(w.to, base::DivideUp(w.to, tiles * kStep) * kStep), plan);
    }
    return;
  }
  const ResampleTaps<F>& h = plan->h;
  const double from_rows = static_cast<double>(h.from) / static_cast<double>(h.to);
  if (!plan->d.identity) {
    const int64_t most = std::max(columns, plan->backward ? w.from : 1);
    const double row = static_cast<double>(most * plan->inner * kSize * plan->Deep()) *
                       (plan->backward ? from_rows : 1.0);
    plan->strip_rows =
        std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(kSliceBytes) / row),
                            std::min<int64_t>(8, h.to), h.to);
  }
  const int64_t boxes = plan->Boxes();
  if (boxes >= wanted) return;
  // Strips compute the rows at their borders twice, so strips must be high. Gradients of planes
  // compute no row twice.
  const bool twice = !plan->backward || !plan->d.identity;
  const double again = static_cast<double>(plan->h_ring.flight) / std::max(from_rows, 1e-9);
  const int64_t least =
      twice ? std::max<int64_t>(8, static_cast<int64_t>(std::min(4 * again, 1e9))) : 4;
  const int64_t strips = base::DivideUp(wanted, std::max<int64_t>(boxes / plan->Strips(), 1));
  plan->strip_rows = std::min(plan->strip_rows, std::max(least, base::DivideUp(h.to, strips)));
}

template <class F>
void CutBoxes(double bytes, ResampleKernelPlan<F>* plan) {
  CutTilesAndStrips(bytes, plan);
  plan->slots = std::min<int64_t>(plan->slots, std::max<int64_t>(1, plan->Boxes()));
}

// Decides whether one loop sums rows of few vectors: a call takes long beside such a row. Wider
// sources are read row by row, because they can be fetched ahead.
template <class F>
void ChooseShortRows(const ResampleTarget& target, ResampleKernelPlan<F>* plan) {
  constexpr int64_t kBytes = 128 << 10;
  const int64_t most = (plan->backward ? 6 : 8) * target.lanes;
  const int64_t row_bytes = plan->row * static_cast<int64_t>(sizeof(F));
  int64_t rows = plan->backward ? plan->strip_rows : static_cast<int64_t>(plan->h_ring.used.size());
  const bool cut = plan->backward && plan->d.identity && row_bytes * kMostShortRows <= kBytes;
  if (cut) rows = std::min(rows, kBytes / row_bytes);  // strips compute nothing twice
  plan->short_rows = target.fixed && !std::is_integral_v<F> &&
                     !plan->template Is<ResamplePlanes>() && plan->inner == 1 &&
                     !plan->pack_input && !plan->pack_output && !plan->h.identity &&
                     !plan->w.identity && (plan->backward ? plan->w.from : plan->w.to) <= most &&
                     rows * row_bytes <= kBytes;
  if (plan->short_rows && plan->backward) plan->strip_rows = rows;
  if (plan->short_rows && !plan->template Is<ResampleColumns>()) plan->batch = kMostShortRows;
}

// Books the scratch. Returns false if memory cannot hold it.
template <class F>
bool BookScratch(const ResampleTarget& target, ResampleKernelPlan<F>* plan) {
  int64_t columns = 0;
  for (const ResampleTile& tile : plan->tiles) {
    columns = std::max({columns, tile.w1 - tile.w0, tile.end - tile.from});
  }
  using Between = ResampleBetween<F>;
  plan->row = RowStride<Between>(columns * plan->inner + 3 * target.lanes);
  bool fits = true;
  const auto book = [&](int64_t elements, int64_t times = 1) {
    const int64_t at = plan->size;
    int64_t all = 0;
    fits = fits && !__builtin_mul_overflow(elements, times, &all) && all < kMostScratch;
    if (fits) plan->size += RowStride<Between>(all);
    return at;
  };
  ChooseShortRows(target, plan);
  book(2 * target.lanes);  // windows may begin before a row
  if (auto* const planes = std::get_if<ResamplePlanes>(&plan->way)) {
    planes->scratch = book(2 * planes->half);
  } else if (auto* const ring = std::get_if<ResampleColumns>(&plan->way)) {
    ring->scratch = book(ring->ring, ring->rows);
  } else if (auto* const phases = std::get_if<ResamplePhases<F>>(&plan->way)) {
    phases->scratch = book(phases->ratio * kResamplePhaseStride);
  }
  // Rows that W neither sums nor packs stay in the input, which may have its full size.
  const bool straight = plan->w.identity && !plan->pack_input;
  if (!straight) {
    const int64_t rows = plan->short_rows ? std::max(plan->batch, plan->strip_rows) : plan->batch;
    plan->converted = book(plan->row, rows);
  }
  if (plan->pack_output || plan->staged || plan->lines)
    plan->results = book(plan->batch * plan->row);
  if (!plan->backward && !plan->RowsOnly() && !plan->h.identity && !straight && !plan->Pairs()) {
    const int64_t kept =
        plan->short_rows ? static_cast<int64_t>(plan->h_ring.used.size()) : plan->h_ring.flight;
    plan->h_slots = PowerOfTwo(kept + plan->batch);
    plan->ring = book(plan->row, plan->h_slots);
  }
  if (!plan->RowsOnly() && !plan->d.identity) {
    int64_t rows = plan->strip_rows;
    if (plan->backward) {
      for (int64_t h0 = 0; h0 < plan->h.to; h0 += plan->strip_rows) {
        const auto [first, end] =
            plan->Sources(plan->h, h0, std::min(plan->h.to, h0 + plan->strip_rows));
        rows = std::max(rows, end - first);
      }
    }
    if (rows > kMostScratch / plan->row) return false;
    plan->slice = RowStride<Between>(rows * columns * plan->inner + 2 * target.lanes);
    plan->slices = book(plan->slice, plan->Deep());
  }
  plan->pointers =
      book((plan->d.most + plan->h.most + plan->w.most) *
           static_cast<int64_t>(sizeof(void*) / std::min(sizeof(Between), sizeof(float))));
  return fits;
}

}  // namespace

template <class F>
std::array<int64_t, 2> ResampleKernelPlan<F>::Sources(const ResampleTaps<F>& taps, int64_t o0,
                                                      int64_t o1) {
  if (taps.identity) return {o0, o1};
  // Sources descend only from a channel of a pixel to another one.
  int64_t first = taps.from, end = 0;
  for (int64_t o = o0, left = taps.flat; o < o1 && left > 0; ++o) {
    if (taps.Count(o) == 0) continue;
    first = std::min(first, taps.source[taps.start[o]]);
    --left;
  }
  for (int64_t o = o1, left = taps.flat; o > o0 && left > 0; --o) {
    if (taps.Count(o - 1) == 0) continue;
    end = std::max(end, taps.source[taps.start[o] - 1] + 1);
    --left;
  }
  return {std::min(first, end), end};
}

// Whether planes become one column, each element a sum of few. Each column is then a row of the
// scratch, and work for one thread.
static bool HasOneColumn(const Params& p) {
  constexpr int64_t kFewTaps = 4, kRows = 16, kMostRows = 1 << 16;
  const bool pixels = p.c > 1 && p.input_stride[1] == 1;
  return p.w.to == 1 && !p.w.identity && p.w.Count(0) <= kFewTaps && p.h.to >= kRows &&
         p.h.to <= kMostRows && p.n * p.c >= runtime::NumThreads() && p.d.identity && !p.backward &&
         !pixels && p.dtype != base::DType::kUInt8;
}

// Exchanges H and W: columns are summed as rows, still first, and the result is a row.
static Params ColumnsAsRows(const Params& params) {
  Params p = params;
  p.backward = true;
  std::swap(p.h, p.w);
  std::swap(p.input_stride[3], p.input_stride[4]);
  std::swap(p.output_stride[3], p.output_stride[4]);
  return p;
}

// Makes the tables, the layout and the rings. `backward`: sums start as in a gradient.
template <class F>
static ResampleKernelPlan<F>* Describe(const Params& p, bool backward, const ResampleTarget& target,
                                       ResamplePlan* plan) {
  auto made = std::make_unique_for_overwrite<ResampleKernelPlan<F>>();
  auto* const mine = made.get();
  plan->way = std::move(made);
  mine->backward = p.backward;
  mine->d = ResampleTaps<F>(p.d, backward);
  mine->h = ResampleTaps<F>(p.h, backward);
  mine->w = ResampleTaps<F>(p.w, backward);
  SetLayout(p, target, mine);
  if (!p.backward || !p.d.identity) MakeRings(mine);
  return mine;
}

// Decides all that depends on the path. Returns false if sizes overflow.
template <class F>
static bool Complete(const Params& p, int64_t element_size, const ResampleTarget& target,
                     const base::PathChoice& choice, ResampleKernelPlan<F>* mine,
                     ResamplePlan* plan) {
  constexpr bool kBytes = std::is_integral_v<F>;
  if (kBytes && p.backward && mine->pack_input) return false;
  mine->clears = p.backward && !mine->pack_output;
  const auto bytes = [&](int64_t d, int64_t h, int64_t w) {
    return static_cast<double>(p.n) * static_cast<double>(p.c) * static_cast<double>(d) *
           static_cast<double>(h) * static_cast<double>(w) * static_cast<double>(element_size);
  };
  // As in LeaveOutColumns(): an element by itself counts as eight.
  const auto columns = static_cast<int64_t>(mine->used_columns.size());
  const double read = bytes(p.d.from, p.h.from, columns > 0 ? 8 * columns : p.w.from);
  const double written = bytes(p.d.to, p.h.to, p.w.to);
  mine->stream =
      target.can_stream && !kBytes && written > static_cast<double>(LastLevelCacheBytes()) / 4;
  if (mine->stream && (p.backward || mine->RowsOnly()) && !mine->template Is<CopiedRows>() &&
      !mine->template Is<ResamplePlanes>()) {
    mine->lines = mine->template Is<ResampleExpand<F>>() ||
                  mine->template Is<ResamplePhases<F>>() ||
                  (mine->template Is<ResampleLookups<F>>() && element_size == sizeof(F));
    mine->staged = !mine->lines;
  }
  // Rows of the ring are made once; results go past the caches if pixels are whole lines.
  const bool whole_lines = mine->stream && mine->d.identity && mine->h.to > mine->h.from &&
                           mine->inner * element_size % kLineBytes == 0;
  if (auto* const pixels = std::get_if<ResamplePixels>(&mine->way);
      pixels != nullptr && (whole_lines || choice.LeavesOut("pairs"))) {
    pixels->pairs = false;
  }
  mine->fetch = read > static_cast<double>(2 * L2CacheBytes()) && !choice.LeavesOut("fetch");
  // H and D are one axis where their rows are adjacent.
  if (p.d.to == 1 || p.output_stride[2] == p.h.to * p.output_stride[3]) {
    const auto& to = p.output_stride;
    mine->dense_bytes =
        DenseBytes({p.n, p.c, p.d.to * p.h.to, p.w.to}, {to[0], to[1], to[3], to[4]}, element_size);
  }
  if (bytes(1, 1, std::max(mine->w.from, mine->w.to)) > kMostRowBytes) return false;
  CutBoxes(read + written, mine);
  if (!BookScratch(target, mine)) return false;
  int64_t workspace = 0;
  if (__builtin_mul_overflow(
          mine->size, mine->slots * static_cast<int64_t>(sizeof(ResampleBetween<F>)), &workspace)) {
    return false;
  }
  plan->path = ResamplePlan::kPaths[mine->way.index()];
  plan->workspace_size = static_cast<uint64_t>(workspace);
  return true;
}

template <class F>
std::optional<ResamplePlan> PlanResample(const Params& p, int64_t element_size,
                                         const ResampleTarget& target, std::string_view path) {
  const base::PathChoice choice(path);
  std::optional<ResamplePlan> plan(std::in_place);
  ResampleKernelPlan<F>* mine = Describe<F>(p, p.backward, target, &*plan);
  const bool planes = TakePlanes(target, choice, mine);
  if (!planes && HasOneColumn(p)) {
    const Params turned = ColumnsAsRows(p);
    mine = Describe<F>(turned, p.backward, target, &*plan);
    if ((TakePlanes(target, choice, mine) || ChoosePath(target, choice, mine)) &&
        Complete(turned, element_size, target, choice, mine, &*plan)) {
      return plan;
    }
    mine = Describe<F>(p, p.backward, target, &*plan);
  }
  if (!(planes || ChoosePath(target, choice, mine)) ||
      !Complete(p, element_size, target, choice, mine, &*plan)) {
    plan.reset();
  }
  return plan;
}

template struct ResampleKernelPlan<float>;
template struct ResampleKernelPlan<double>;
template struct ResampleKernelPlan<int32_t>;
template std::optional<ResamplePlan> PlanResample<float>(const Params&, int64_t,
                                                         const ResampleTarget&, std::string_view);
template std::optional<ResamplePlan> PlanResample<double>(const Params&, int64_t,
                                                          const ResampleTarget&, std::string_view);
template std::optional<ResamplePlan> PlanResample<int32_t>(const Params&, int64_t,
                                                           const ResampleTarget&, std::string_view);

}  // namespace portacl::cpu
