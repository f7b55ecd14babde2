// Kernel plan of resampling. Plain C++, the same for every instruction set. Of a target, plans know
// the lengths of its vectors.
//
// For an outer axis (D, H), a destination row is a sum of whole source rows with one weight each. W
// has paths of its own (below); only "planes" does all axes at once. Forward, W makes rows in a
// ring, and H sums them. Backward, H sums rows of gradOutput, and W takes the sums. Volumes do the
// same along D, with strips of a slice's rows.
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
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

// Destinations with phases that are split together, and more phases to split on both sides.
inline constexpr int64_t kResampleChunk = 1024;
inline constexpr int64_t kResampleMargin = 8;
inline constexpr int64_t kResamplePhaseStride = kResampleChunk + 2 * kResampleMargin + 80;

// Most rows that W takes at a time: of bytes as many as a vector has; of others fewer.
inline constexpr int64_t kMostResampleRows = 64;
inline constexpr int64_t kMostShortRows = 16;

inline constexpr int64_t kLineBytes = 64;

// Fewest columns that are loaded into a ring together: a line.
template <class F>
inline constexpr int64_t kColumnsOfLine = kLineBytes / int64_t{sizeof(F)};

// Elements between rows of scratch: an odd number of whole lines. Rows a power of two apart would
// share a set of the cache.
template <class F>
int64_t RowStride(int64_t elements) {
  constexpr auto kLine = static_cast<int64_t>(kLineBytes / sizeof(F));
  return (base::DivideUp(elements, kLine) | 1) * kLine;
}

// Returns the least power of two that is not below `least`, which is positive.
inline int64_t PowerOfTwo(int64_t least) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(least)));
}

// The type of results between two axes, in scratch. F: the type of weights.
template <class F>
using ResampleBetween = std::conditional_t<std::is_integral_v<F>, uint8_t, F>;

// The type of weights for elements of type T.
template <class T>
using ResampleWeight =
    typename std::conditional_t<std::is_same_v<T, uint8_t>, std::type_identity<int32_t>,
                                base::ComputeTypeOf<T>>::type;

struct ResampleTarget {
  int64_t lanes;    // of a vector of the compute type
  int64_t rows;     // transposed at a time
  int64_t vectors;  // of such rows: most that columns take
  int64_t block;    // columns transposed at a time
  bool fixed;       // the compiler knows the length of vectors
  bool quads;       // adds four products of bytes in one instruction
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
  int32_t flat = 1;  // channels of a pixel if its elements are columns, else 1
  const int64_t* start = nullptr;
  const int64_t* source = nullptr;
  const F* weight = nullptr;
  F init = 0;  // start of sums; for bytes: fraction bits of weights
};

// A ring of rows: the sources of an outer axis that have taps. Source number `place` (counted among
// these) is in slot place & (slots - 1).
struct ResampleRing {
  std::unique_ptr<int64_t[]> memory;  // of the arrays, except a `place` that is the table's array
  std::span<const int64_t> used;      // sources with taps, ascending
  std::span<const int64_t> place;     // for each tap: number of its source in `used`
  // For each destination: first and last place of its taps; first > last if it has none.
  const int64_t* first = nullptr;
  const int64_t* last = nullptr;
  int64_t flight = 1;  // most places that the taps of one destination span
};

// Finds the sources that have taps, ascending, and the place of each tap's source among them.
// Groups of `channels` destinations have the same taps, in adjacent sources. A destination's taps
// must be successive, and first sources must not descend. Returns the number of used sources.
template <class F>
int64_t FindUsed(const ResampleTaps<F>& taps, int64_t channels, int64_t* used, int64_t* place) {
  int64_t* const first_used = used;
  int64_t next = 0, gaps = 0;  // end of the sources with taps; sources without taps before it
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

// Whether all sources before the last one with taps have taps.
template <class F>
bool UsesAll(const ResampleTaps<F>& taps) {
  int64_t next = 0;
  for (int64_t o = 0, k = 0; o < taps.to; ++o) {
    const int64_t end = taps.start[o + 1];
    if (k == end) continue;
    if (taps.source[k] > next) return false;
    next = taps.source[end - 1] + 1;
    k = end;
  }
  return true;
}

template <class F>
ResampleRing RingOf(const ResampleTaps<F>& taps) {
  ResampleRing ring;
  const auto count = static_cast<size_t>(taps.start[taps.to]);
  const auto most = std::min(count, static_cast<size_t>(taps.from));
  const auto to = static_cast<size_t>(taps.to);
  const bool all = UsesAll(taps);  // then the place of a tap is its source
  ring.memory = std::make_unique_for_overwrite<int64_t[]>(most + (all ? 0 : count) + 2 * to);
  int64_t* const firsts = ring.memory.get();
  int64_t* const lasts = firsts + to;
  int64_t* const used = lasts + to;
  const int64_t* place = taps.source;
  if (all) {
    const auto end = static_cast<size_t>(count == 0 ? 0 : taps.source[count - 1] + 1);
    std::iota(used, used + end, int64_t{0});
    ring.used = {used, end};
  } else {
    ring.used = {used, static_cast<size_t>(FindUsed(taps, 1, used, used + most))};
    place = used + most;
  }
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

// Path "rows": W is an identity, so rows are only copied.
struct CopiedRows {};

// Path "channels_last": W is an outer axis; its rows are the channels of a pixel.
struct ResamplePixels {
  bool pairs = false;  // forward: H and W each sum two sources, in one loop
};

// Variant "quads" of "columns", for bytes: four adjacent pixels of a channel are multiplied at
// once. Weights are sums of signed bytes: weight[0] + 256 * weight[1] + 65536 * weight[2].
struct ResampleQuad {
  int32_t at;                     // its offset in the ring
  std::array<int32_t, 3> weight;  // each has a byte for each of the four pixels
};
struct ResampleQuads {
  int64_t parts = 0;           // bytes of a weight that are used, 2 or 3; 0: no quads
  int64_t block = 0;           // elements that are loaded into the ring together
  std::vector<int64_t> start;  // for each destination: its first quad; and the end
  std::vector<ResampleQuad> of;
};

// Path "columns": rows are transposed in registers, so W is an outer axis. Blocks of destinations
// read columns from a ring in scratch.
struct ResampleColumns {
  int64_t ring = 0;                  // columns of the ring, a power of two
  int64_t rows = 0;                  // rows of a column
  std::vector<int64_t> sources_end;  // for each block of destinations: end of its sources
  std::vector<int32_t> at;           // for each tap: offset of its source in the ring
  ResampleQuads quads;               // if there are quads, `at` is empty
  int64_t scratch = 0;               // offset of the ring
  // Not 0 if input rows are adjacent in memory. Then columns are `step` apart in the input, and are
  // read there, without a ring.
  int64_t step = 0;
};

// A vector of destinations for lookups. Each has at least `all` taps and at most `most`. Their
// sources are in a window from source `from` on.
struct ResampleGroup {
  int64_t to;  // first destination; the last group of a row overlaps the one before
  int64_t from;
  int64_t all, most;
  bool run;        // sources of each are successive: `index` has only the first tap's
  int64_t index;   // offset in ResampleLookups::index: a vector of places per tap
  int64_t weight;  // offset in ResampleLookups::weight
};

// Path "lookup": the sources of a vector of destinations are looked up in registers.
template <class F>
struct ResampleLookups {
  using Index = std::conditional_t<sizeof(F) == 4, int32_t, int64_t>;
  int64_t vectors = 0;  // vectors of a window
  int64_t need = 0;     // elements that must be readable from the start of a row
  bool sparse = false;  // most groups have no tap
  std::vector<ResampleGroup> groups;
  std::unique_ptr<std::byte[]> memory;  // of the three arrays
  const Index* index = nullptr;
  const Index* count = nullptr;  // taps of each destination, one vector per group
  const F* weight = nullptr;     // -0 where a lane has no tap
};

// The part of W's table that repeats.
template <class F>
struct ResamplePeriod {
  int64_t ratio = 0;  // sources per destination (phases) or destinations per source (expand)
  int64_t taps = 0;   // taps of each destination
  int64_t first = 0;  // destinations (phases) or sources (expand) [first, end)
  int64_t end = 0;
  std::vector<F> weight;
};

// Path "phases": each destination has the same number of sources and the same weights.
template <class F>
struct ResamplePhases : ResamplePeriod<F> {
  std::vector<int64_t> at = {};  // for each tap: its offset in the split phases
  int64_t scratch = 0;           // offset of the phases
};

// Path "expand": each source has the same number of destinations.
template <class F>
struct ResampleExpand : ResamplePeriod<F> {
  bool borders = false;  // `lookups` computes the first and the last destinations of a row
  ResampleLookups<F> lookups = {};
};

// One axis of "planes": its used sources and destinations, and their table.
struct ResamplePart {
  std::vector<int64_t> from, to, start, source;
};
// Places in a plane of runs of `length` elements.
struct ResampleRuns {
  std::vector<int64_t> at;
  int64_t length = 0;
};

// Path "planes": the used elements of small planes are transposed in registers, so all axes are
// outer axes.
struct ResamplePlanes {
  // Owns the tables of D, H and W. Allocated apart: a kernel plan above 1 KiB would cost small
  // calls on other paths a slow allocation (glibc).
  std::unique_ptr<std::array<ResamplePart, 3>> parts;
  ResampleRuns from, to, clear;                   // used runs of both sides; runs to zero
  bool from_vectors = false, to_vectors = false;  // planes of one element are adjacent
  int64_t from_step = 0;  // elements between sources of successive planes; 0: no fixed distance
  int64_t scratch = 0;    // offset of the two halves
  int64_t half = 0;       // elements of a half
};

// In the order of ResamplePlan::kPaths.
template <class F>
using ResampleWay = std::variant<CopiedRows, ResamplePixels, ResampleColumns, ResampleLookups<F>,
                                 ResamplePhases<F>, ResampleExpand<F>, ResamplePlanes>;

// ---- what all paths share -----------------------------------------------------------------------

// An axis that only numbers planes.
struct ResampleOuter {
  int64_t extent;
  int64_t input;  // strides
  int64_t output;
};

// Columns [w0, w1) and their sources [from, end). Rows with gaps have all sources.
struct ResampleTile {
  int64_t w0 = 0, w1 = 0, from = 0, end = 0;
  int64_t width = 0, from_width = 0;  // elements of both ranges
};

// A part of the destination that one task computes: rows [h0, h1) of some columns of a plane. If
// RowsOnly(), h0 and h1 number planes.
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
  ResampleRing d_ring, h_ring;                   // only forward
  std::vector<int64_t> flat_start, flat_source;  // table of w if elements of pixels are columns
  std::vector<F> flat_weight;

  // Axes that number planes: N, C and identities; W at most. These axes and a single tile are in
  // the plan itself, because an allocation would slow down a small call.
  std::span<ResampleOuter> outer;
  std::array<ResampleOuter, 5> outer_axes;
  int64_t planes = 1;
  int64_t inner = 1;  // elements of a column: the channels of a pixel, or 1
  int64_t input_d = 0, input_h = 0, input_w = 1;  // strides; along w between columns
  int64_t output_d = 0, output_h = 0, output_w = 1;
  bool pack_input = false;  // elements of a row have gaps: rows are packed
  bool pack_output = false;
  // If not empty: offsets in a row of the columns that have taps. Other columns are left out, and w
  // is the table of the used columns.
  std::vector<int64_t> used_columns, used_source;
  // Channels of a pixel and strides of planes, if results are planes but sources are pixels. Rows
  // of pixels are made in scratch, then split into planes. Otherwise planar is 0.
  int64_t planar = 0, planar_c = 0, planar_w = 0;

  // Boxes: planes x strips x tiles. If RowsOnly(), a strip has planes.
  int64_t strip_rows = 1;
  std::span<const ResampleTile> tiles;
  ResampleTile one_tile;
  std::unique_ptr<ResampleTile[]> many_tiles;
  int64_t slots = 1;  // threads that work at a time

  int64_t batch = 1;        // rows that W takes at a time
  int64_t h_slots = 1;      // slots of the rings, powers of two
  bool clears = false;      // backward: rows without sources become +0
  bool short_rows = false;  // rows of few vectors: one loop sums all along H
  bool stream = false;      // results go past the caches
  // How rows that W makes go past the caches. lines: whole lines; lines at the edges are put
  // together in scratch. staged: whole rows, copied from scratch.
  bool lines = false, staged = false;
  bool fetch = false;  // the source is larger than L2: fetch it ahead
  int64_t dense_bytes = 0;

  // One thread's scratch: offsets in elements of ResampleBetween. Every part starts at a line.
  int64_t row = 0;        // distance between rows of scratch
  int64_t slice = 0;      // distance between strips of slices
  int64_t converted = 0;  // `batch` rows: sources as F, or sums that W reads
  int64_t results = 0;    // `batch` rows of results before they are delivered
  int64_t ring = 0;
  int64_t slices = 0;
  int64_t pointers = 0;  // room for the taps of an outer axis
  int64_t size = 0;

  // Whether planes are the only rows: W alone is computed, or all axes at once.
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
  // Slices along D that are kept at a time.
  int64_t Deep() const { return backward ? 1 : d_ring.flight; }
  // Returns the sources [first, end) of destinations [o0, o1) of an axis.
  static std::array<int64_t, 2> Sources(const ResampleTaps<F>& taps, int64_t o0, int64_t o1);
};

template <class F>
inline ResampleBox ResampleKernelPlan<F>::Box(int64_t index) const {
  // Planes are often boxes, so small that a division, or a call to make one, would cost time.
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

// For "columns": resample_columns_plan.cc.

// `quads`: bytes may take quads. Returns none if sources of a block are too far apart.
template <class F>
std::optional<ResampleColumns> MakeColumns(const ResampleKernelPlan<F>& plan,
                                           const ResampleTarget& target, bool quads);

// For "lookup", and for the borders of "expand": resample_lookups_plan.cc.

inline constexpr double kAnyCost = std::numeric_limits<double>::infinity();

// Makes groups of `lanes` destinations; a window has one or two vectors, up to `longest` elements.
// Returns none if windows are too short, or if a row costs `most` or more.
template <class F>
std::optional<ResampleLookups<F>> MakeLookups(const ResampleTaps<F>& w, int64_t lanes,
                                              int64_t longest, double most);

// For "planes": resample_planes_plan.cc.

// Makes blocks of planes that are computed at once; the tables of `plan` become tables of the used
// parts. Returns none if the used parts of planes are not small.
template <class F>
std::optional<ResamplePlanes> MakePlanes(const ResampleTarget& target, ResampleKernelPlan<F>* plan);

// Whether rows are too narrow to fill vectors, but a block of planes fills them.
template <class F>
bool AreRowsTiny(const ResampleTarget& target, const ResampleKernelPlan<F>& plan);

// ---- the plan -----------------------------------------------------------------------------------

// Holds a pointer, because a kernel plan points into itself.
struct ResamplePlan : base::PathPlan<std::unique_ptr<ResampleKernelPlan<float>>,
                                     std::unique_ptr<ResampleKernelPlan<double>>,
                                     std::unique_ptr<ResampleKernelPlan<int32_t>>> {
  static constexpr std::array kPaths = {"rows",   "channels_last", "columns", "lookup",
                                        "phases", "expand",        "planes"};
  static constexpr std::array kVariants = {"borders", "pairs", "quads", "fetch"};
};

// Makes the plan. No plan if sizes overflow, or if `path` does not serve the call. F: the type of
// weights.
template <class F>
std::optional<ResamplePlan> PlanResample(const ops::ResampleParams& params, int64_t element_size,
                                         const ResampleTarget& target, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_
