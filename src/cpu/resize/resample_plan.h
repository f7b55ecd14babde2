// What a resampling kernel decides in its plan. Plain C++, the same for every instruction set: a
// target is described by its vector lengths.
//
// An outer axis (D, H) adds up whole rows, each with one weight. W is done by one of the paths
// below; "planes" does all axes. Forward, W makes rows in a ring, and H adds them up. Backward, H
// adds up rows of gradOutput, and W takes the sums. Volumes do the same along D, with strips of a
// slice's rows.
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/half.h"
#include "base/kernel.h"
#include "base/round_up.h"
#include "ops/resample_params.h"

namespace portacl::cpu {

// The phases of so many destinations are split at a time, and so many more phases on both sides.
inline constexpr int64_t kResampleChunk = 1024;
inline constexpr int64_t kResampleMargin = 8;
inline constexpr int64_t kResamplePhaseStride = kResampleChunk + 2 * kResampleMargin + 80;

// Rows that W takes at a time at most: of bytes as many as a vector has, of others fewer.
inline constexpr int64_t kMostResampleRows = 64;
inline constexpr int64_t kMostShortRows = 16;

inline constexpr int64_t kLineBytes = 64;

// Columns that are loaded into a ring together, at least.
template <class F>
inline constexpr int64_t kColumnsOfLine = kLineBytes / int64_t{sizeof(F)};

// Elements from row to row of scratch: an odd number of whole lines, because rows a power of two
// apart would share a set of the cache.
template <class F>
int64_t RowStride(int64_t elements) {
  constexpr auto kLine = static_cast<int64_t>(kLineBytes / sizeof(F));
  return (base::DivideUp(elements, kLine) | 1) * kLine;
}

// By the type of the weights: what results between the axes are, in scratch.
template <class F>
using ResampleBetween = std::conditional_t<std::is_integral_v<F>, uint8_t, F>;

// The type of the weights for elements of type T.
template <class T>
using ResampleWeight =
    typename std::conditional_t<std::is_same_v<T, uint8_t>, std::type_identity<int32_t>,
                                base::ComputeTypeOf<T>>::type;

struct ResampleTarget {
  int64_t lanes;    // of a vector of the compute type
  int64_t rows;     // that are transposed at a time
  int64_t vectors;  // of such rows that columns take at most
  int64_t block;    // columns that are
  bool fixed;       // the compiler knows the vectors' length
  bool can_stream;  // has non-temporal stores
};

// A ResampleAxis with typed weights. F: float, double, or int32_t for fixed-point weights of bytes.
template <class F>
struct ResampleTaps {
  ResampleTaps() = default;
  ResampleTaps(const ops::ResampleAxis& axis, bool backward)
      : from(axis.from),
        to(axis.to),
        most(axis.most),
        identity(axis.identity),
        start(axis.start),
        source(axis.source),
        weight(static_cast<const F*>(axis.weight)),
        init(std::is_integral_v<F> ? static_cast<F>(axis.shift)
             : backward            ? F{0}
                                   : -F{0}) {}
  int64_t Count(int64_t o) const { return start[o + 1] - start[o]; }

  int64_t from = 1;
  int64_t to = 1;
  int64_t most = 1;
  bool identity = true;
  const int64_t* start = nullptr;
  const int64_t* source = nullptr;
  const F* weight = nullptr;
  F init = 0;  // where sums start; for bytes, a weight's fraction bits
};

// A ring of the outer axis' sources that a tap needs: source number `place` among them is in slot
// place & (slots - 1).
struct ResampleRing {
  std::unique_ptr<int64_t[]> memory;  // of all four
  std::span<int64_t> used;            // sources, ascending
  std::span<int64_t> place;           // of each tap's source
  // Of each destination, the places of its taps; first > last: none.
  const int64_t* first = nullptr;
  const int64_t* last = nullptr;
  int64_t flight = 1;  // places that one destination's taps span at most
};

// Finds the sources that have taps, ascending, and the place of each tap's source among them. Each
// `channels` destinations have the same taps, in neighbouring sources. The taps of a destination
// must follow each other, and their first sources must not descend. Returns the number of sources.
template <class F>
int64_t FindUsed(const ResampleTaps<F>& taps, int64_t channels, int64_t* used, int64_t* place) {
  int64_t* const first_used = used;
  int64_t next = 0, gaps = 0;  // behind the last source with taps; sources without taps before it
  for (int64_t o = 0, k = 0; o < taps.to; o += channels) {
    const int64_t end = taps.start[o + 1];
    if (k == end) continue;
    const int64_t first = taps.source[k], behind = taps.source[end - 1] + channels;
    if (first > next) {
      gaps += first - next;
      next = first;
    }
    while (next < behind) *used++ = next++;
    for (const int64_t all = taps.start[o + channels]; k < all; ++k)
      place[k] = taps.source[k] - gaps;
  }
  return used - first_used;
}

template <class F>
ResampleRing RingOf(const ResampleTaps<F>& taps) {
  ResampleRing ring;
  const auto count = static_cast<size_t>(taps.start[taps.to]);
  const auto most = std::min(count, static_cast<size_t>(taps.from));
  const auto to = static_cast<size_t>(taps.to);
  ring.memory = std::make_unique_for_overwrite<int64_t[]>(most + count + 2 * to);
  int64_t* const used = ring.memory.get();
  int64_t* const place = used + most;
  int64_t* const firsts = place + count;
  int64_t* const lasts = firsts + to;
  ring.used = {used, static_cast<size_t>(FindUsed(taps, 1, used, place))};
  ring.place = {place, count};
  int64_t flight = 1;
  for (int64_t o = 0, begin = 0; o < taps.to; ++o) {
    const int64_t end = taps.start[o + 1];
    firsts[o] = begin == end ? 0 : place[begin];
    lasts[o] = begin == end ? -1 : place[end - 1];
    flight = std::max(flight, lasts[o] - firsts[o] + 1);
    begin = end;
  }
  ring.flight = flight;
  ring.first = firsts;
  ring.last = lasts;
  return ring;
}

// ---- paths of W ---------------------------------------------------------------------------------

// "rows": W is an identity.
struct CopiedRows {};

// "channels_last": W is an outer axis, its rows are the channels of a pixel.
struct ResamplePixels {
  bool pairs = false;  // forward: sums of two along H and W, done at once
};

// "columns": rows are transposed in registers, so that W is an outer axis. Blocks of destinations
// read sources from a ring of columns in scratch.
struct ResampleColumns {
  int64_t ring = 0;                  // columns, a power of two
  int64_t rows = 0;                  // that each has room for
  std::vector<int64_t> sources_end;  // that a block of destinations needs: [.., end)
  std::vector<int32_t> at;           // where each tap's source stands in the ring
  int64_t scratch = 0;               // where the ring is
  // If not 0: rows of the input are neighbours in memory, and columns are `step` apart. A column is
  // read where it is, without a ring.
  int64_t step = 0;
};

// A vector of destinations that are looked up. Each has `all` taps, and some have up to `most`; the
// sources are in a window from source `from` on.
struct ResampleGroup {
  int64_t to;  // the first destination; the last group of a row overlaps the one before
  int64_t from;
  int64_t all, most;
  bool run;        // the sources of each follow each other: `index` is the first tap's
  int64_t index;   // where the group's vectors of places in the window start, one a tap
  int64_t weight;  // ... and the tables of weights
};

// "lookup": a vector of destinations is looked up in registers.
template <class F>
struct ResampleLookups {
  using Index = std::conditional_t<sizeof(F) == 4, int32_t, int64_t>;
  int64_t vectors = 0;  // of a window
  int64_t need = 0;     // elements that must be readable from a row's start on
  bool sparse = false;  // most groups have no tap
  std::vector<ResampleGroup> groups;
  std::unique_ptr<std::byte[]> memory;  // of all three
  const Index* index = nullptr;
  const Index* count = nullptr;  // taps of each destination, a vector for each group
  const F* weight = nullptr;     // -0 where there is no tap
};

// Where the table of W repeats itself.
template <class F>
struct ResamplePeriod {
  int64_t ratio = 0;  // sources a destination (phases), or destinations a source (expand)
  int64_t taps = 0;   // of each destination
  int64_t first = 0;  // destinations (phases) or sources (expand) [first, end)
  int64_t end = 0;
  std::vector<F> weight;
};

// "phases": an equal number of sources for each destination, with the same weights.
template <class F>
struct ResamplePhases : ResamplePeriod<F> {
  std::vector<int64_t> at = {};  // where among the split phases each tap is
  int64_t scratch = 0;           // where these are
};

// "expand": the reverse.
template <class F>
struct ResampleExpand : ResamplePeriod<F> {
  bool borders = false;  // `lookups` serve the first and the last destinations of a row
  ResampleLookups<F> lookups = {};
};

// Used sources and destinations of an axis, and the table of these.
struct ResamplePart {
  std::vector<int64_t> from, to, start, source;
};
// Where parts of a plane are, of so many elements each.
struct ResampleRuns {
  std::vector<int64_t> at;
  int64_t length = 0;
};

// "planes": the few used elements of planes are transposed in registers, so that all axes are outer
// axes.
struct ResamplePlanes {
  // Owns the tables of D, H and W. By itself: a kernel plan above 1 KiB would cost small calls of
  // other paths a slow allocation (glibc).
  std::unique_ptr<std::array<ResamplePart, 3>> parts;
  ResampleRuns from, to, clear;                   // used on both sides; runs of gradInput to zero
  bool from_vectors = false, to_vectors = false;  // planes of single elements follow each other
  int64_t from_step = 0;  // elements between sources of neighbouring planes; 0: it differs
  int64_t scratch = 0;    // where two halves are
  int64_t half = 0;       // elements of each
};

// In the order of ResamplePlan::kPaths.
template <class F>
using ResampleWay = std::variant<CopiedRows, ResamplePixels, ResampleColumns, ResampleLookups<F>,
                                 ResamplePhases<F>, ResampleExpand<F>, ResamplePlanes>;

// ---- what all paths share -----------------------------------------------------------------------

// An axis that only says where planes start.
struct ResampleOuter {
  int64_t extent;
  int64_t input;  // strides
  int64_t output;
};

// Columns [w0, w1), and their sources [from, end): all of them where elements of a row are apart.
struct ResampleTile {
  int64_t w0 = 0, w1 = 0, from = 0, end = 0;
  int64_t width = 0, from_width = 0;  // elements of both
};

// A part of the destination that one thread computes: rows [h0, h1) of some columns of a plane. If
// planes are rows, h0 and h1 number planes.
struct ResampleBox {
  int64_t plane, h0, h1;
  const ResampleTile* columns;
};

template <class F>
struct ResampleKernelPlan {
  ResampleKernelPlan& operator=(const ResampleKernelPlan&) = delete;  // points into itself
  ResampleWay<F> way;
  bool backward = false;
  ResampleTaps<F> d, h, w;
  ResampleRing d_ring, h_ring;                   // forward
  std::vector<int64_t> flat_start, flat_source;  // of w, where elements of pixels are columns
  std::vector<F> flat_weight;
  int64_t flat = 1;  // channels of such a pixel

  // Planes are numbered through these axes: N, C and axes that are identities, W at most. They and
  // a single tile stand in the plan, because an allocation is seen in a small call.
  std::span<ResampleOuter> outer;
  std::array<ResampleOuter, 5> outer_axes;
  int64_t planes = 1;
  int64_t inner = 1;  // elements that stand at a column: the channels of a pixel, or 1
  int64_t input_d = 0, input_h = 0, input_w = 1;  // strides; a stride of w counts columns
  int64_t output_d = 0, output_h = 0, output_w = 1;
  bool pack_input = false;  // the elements of a row are apart
  bool pack_output = false;
  // If not empty: places in a row of the columns that a tap needs. Other columns are left out, and
  // w is the table of the used ones.
  std::vector<int64_t> used_columns, used_source;
  // If results are planes but sources are pixels: the channels of a pixel, and the planes' strides.
  // Rows of pixels are made in scratch, then separated into planes. Otherwise planar is 0.
  int64_t planar = 0, planar_c = 0, planar_w = 0;

  // Boxes: planes x strips x tiles. Where planes are rows, strips are of these.
  int64_t strip_rows = 1;
  std::span<const ResampleTile> tiles;
  ResampleTile one_tile;
  std::unique_ptr<ResampleTile[]> many_tiles;
  int64_t slots = 1;  // threads

  int64_t batch = 1;        // rows that W takes at a time
  int64_t h_slots = 1;      // of the rings, powers of two
  bool clears = false;      // backward: rows without a source are +0, whatever W does
  bool short_rows = false;  // rows of few vectors: H of all of them in one loop
  bool stream = false;      // results past the caches
  // How result rows that W makes go past the caches. lines: as lines; lines at the edges are put
  // together in scratch. staged: whole, copied from scratch.
  bool lines = false, staged = false;
  bool fetch = false;  // the source is beyond L2: fetch it ahead
  int64_t dense_bytes = 0;

  // One thread's scratch, in elements between the axes from its start, every part at a line.
  int64_t row = 0;        // between rows of scratch
  int64_t slice = 0;      // between strips of slices
  int64_t converted = 0;  // `batch` rows: sources as F, or sums on their way into W
  int64_t results = 0;    // `batch` rows of destinations on their way
  int64_t ring = 0;
  int64_t slices = 0;
  int64_t pointers = 0;  // as many as an outer axis has taps
  int64_t size = 0;

  // Planes are rows: only W is to be done, or all axes at once.
  bool RowsOnly() const { return Is<ResamplePlanes>() || (d.identity && h.identity); }
  bool Pairs() const {
    const auto* const pixels = std::get_if<ResamplePixels>(&way);
    return pixels != nullptr && pixels->pairs;
  }
  template <class Way>
  bool Is() const {
    return std::holds_alternative<Way>(way);
  }
  int64_t Strips() const { return base::DivideUp(RowsOnly() ? planes : h.to, strip_rows); }
  int64_t Boxes() const {
    return (RowsOnly() ? 1 : planes) * Strips() * static_cast<int64_t>(tiles.size());
  }
  ResampleBox Box(int64_t index) const;
  // Slices that are in flight along D.
  int64_t Deep() const { return backward ? 1 : d_ring.flight; }
  // The sources [first, end) of destinations [o0, o1) of an axis.
  static std::array<int64_t, 2> Sources(const ResampleTaps<F>& taps, int64_t o0, int64_t o1);
};

template <class F>
inline ResampleBox ResampleKernelPlan<F>::Box(int64_t index) const {
  // Planes are often boxes, so small that a division is seen. So would be a call that returns them.
  const auto part = [&index](int64_t by) {
    if (by == 1) return int64_t{0};
    const int64_t at = index % by;
    index /= by;
    return at;
  };
  const ResampleTile& tile = tiles[static_cast<size_t>(part(static_cast<int64_t>(tiles.size())))];
  const int64_t rows = RowsOnly() ? planes : h.to;
  const int64_t h0 = strip_rows == rows ? 0 : part(Strips()) * strip_rows;
  return {.plane = RowsOnly() ? 0 : index,
          .h0 = h0,
          .h1 = std::min(rows, h0 + strip_rows),
          .columns = &tile};
}

// ---- parts of a plan ----------------------------------------------------------------------------

// Of "lookup", and of the borders of "expand", in resample_lookups_plan.cc.

inline constexpr double kAnyCost = std::numeric_limits<double>::infinity();

// Groups of `lanes` destinations, with a window of one or two vectors, up to `longest` elements.
// None if that is too short, or if a row costs `most` or more.
template <class F>
std::optional<ResampleLookups<F>> MakeLookups(const ResampleTaps<F>& w, int64_t lanes,
                                              int64_t longest, double most);

// Of "planes", in resample_planes_plan.cc.

// None if the used parts of planes are not small. Otherwise blocks of planes are computed at once,
// and the tables of `plan` become tables of the used parts.
template <class F>
std::optional<ResamplePlanes> MakePlanes(const ResampleTarget& target, ResampleKernelPlan<F>* plan);

// Whether planes are too narrow for their rows to fill vectors, and fill a block of planes instead.
template <class F>
bool AreRowsTiny(const ResampleTarget& target, const ResampleKernelPlan<F>& plan);

// ---- the plan -----------------------------------------------------------------------------------

// A pointer, because a kernel's plan points into itself.
struct ResamplePlan : base::PathPlan<std::unique_ptr<ResampleKernelPlan<float>>,
                                     std::unique_ptr<ResampleKernelPlan<double>>,
                                     std::unique_ptr<ResampleKernelPlan<int32_t>>> {
  static constexpr std::array kPaths = {"rows",   "channels_last", "columns", "lookup",
                                        "phases", "expand",        "planes"};
  static constexpr std::array kVariants = {"borders", "pairs", "fetch"};
};

// None if sizes overflow, or if `path` does not serve the call. F: the type of the
// weights.
template <class F>
std::optional<ResamplePlan> PlanResample(const ops::ResampleParams& params, int64_t element_size,
                                         const ResampleTarget& target, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_
