// What a resampling kernel decides in its plan. Plain C++, the same for every instruction set: a
// target is described by its vector lengths.
//
// An outer axis (D, H) adds up whole rows, each with one weight. W is done by one of the paths
// below. Forward makes rows by W in a ring and adds them up along H; backward adds up rows of
// gradOutput along H and takes the sums through W; volumes do the same with strips of rows of a
// slice, along D.
#ifndef PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_
#define PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/kernel.h"
#include "ops/resample_params.h"

namespace portacl::cpu {

enum class ResamplePath : int32_t {
  kCopy,     // W is an identity
  kPixels,   // channels_last: W is an outer axis, its rows are the channels of a pixel
  kColumns,  // rows are transposed in registers, so that W is an outer axis
};

struct ResampleTarget {
  int64_t lanes;    // of a vector of the compute type
  int64_t block;    // rows and columns that are transposed at a time
  bool fixed;       // the compiler knows the vectors' length
  bool can_stream;  // has non-temporal stores
};

// A ResampleAxis with typed weights.
template <class F>
struct ResampleTaps {
  ResampleTaps() = default;
  explicit ResampleTaps(const ops::ResampleAxis& axis)
      : from(axis.from),
        to(axis.to),
        most(axis.most),
        identity(axis.identity),
        start(axis.start),
        source(axis.source),
        weight(static_cast<const F*>(axis.weight)) {}
  int64_t Count(int64_t o) const { return start[o + 1] - start[o]; }

  int64_t from = 1;
  int64_t to = 1;
  int64_t most = 1;
  bool identity = true;
  const int64_t* start = nullptr;
  const int64_t* source = nullptr;
  const F* weight = nullptr;
};

// The sources of an outer axis that some tap needs, in a ring: source number `place` of them stands
// in slot place & (slots - 1).
struct ResampleRing {
  std::vector<int64_t> used;   // sources, ascending
  std::vector<int64_t> place;  // of each tap's source
  std::vector<int64_t> first;  // of each destination, the places of its taps; first > last: none
  std::vector<int64_t> last;
  int64_t flight = 1;  // places that one destination's taps span at most
};

// An axis that only says where planes start.
struct ResampleOuter {
  int64_t extent;
  int64_t input;  // strides
  int64_t output;
};

// A part of the destination that one thread computes: of a plane rows [h0, h1), columns [w0, w1).
// Where there is nothing but W, planes are rows, and h0 and h1 number these.
struct ResampleBox {
  int64_t plane, h0, h1, w0, w1;
};

template <class F>
struct ResampleKernelPlan {
  ResamplePath path = ResamplePath::kCopy;
  bool backward = false;
  F init = 0;  // what sums start from
  ResampleTaps<F> d, h, w;
  ResampleRing d_ring, h_ring;  // forward

  // Planes are numbered through these axes: N, C and axes that are identities.
  std::vector<ResampleOuter> outer;
  int64_t planes = 1;
  int64_t inner = 1;  // elements that stand at a column: the channels of a pixel, or 1
  int64_t input_d = 0, input_h = 0, input_w = 1;  // strides; those of w count columns
  int64_t output_d = 0, output_h = 0, output_w = 1;
  bool pack_input = false;  // the elements of a row are apart
  bool pack_output = false;

  // Boxes: planes x strips x tiles.
  int64_t strip_rows = 1;
  int64_t tile_columns = 1;
  int64_t slots = 1;  // threads

  int64_t batch = 1;    // rows that W takes at a time
  int64_t h_slots = 1;  // of the rings, powers of two
  int64_t d_slots = 1;
  int64_t columns = 0;               // of the transposing path's ring, a power of two
  std::vector<int64_t> columns_end;  // sources that a block of destinations needs: [.., end)
  std::vector<int32_t> columns_at;   // where each tap's source stands in the ring
  bool stream = false;               // results past the caches
  bool fetch = false;                // the source is beyond L2: fetch it ahead
  int64_t dense_bytes = 0;

  // One thread's scratch, in elements of F from its start, every part at a line.
  int64_t row = 0;        // between rows of scratch
  int64_t slice = 0;      // between strips of slices
  int64_t converted = 0;  // `batch` rows: sources as F, or sums on their way into W
  int64_t results = 0;    // `batch` rows: destinations whose elements are apart
  int64_t transposed = 0;
  int64_t ring = 0;
  int64_t slices = 0;
  int64_t pointers = 0;  // as many as an outer axis has taps
  int64_t size = 0;

  // Only W is to be done.
  bool RowsOnly() const { return d.identity && h.identity; }
  int64_t Strips() const { return ((RowsOnly() ? planes : h.to) + strip_rows - 1) / strip_rows; }
  int64_t Tiles() const { return (w.to + tile_columns - 1) / tile_columns; }
  int64_t Boxes() const { return (RowsOnly() ? 1 : planes) * Strips() * Tiles(); }
  ResampleBox Box(int64_t index) const;
  // Slices that are in flight along D.
  int64_t Deep() const { return backward ? 1 : d_ring.flight; }
  // Sources that scratch rows hold for a tile.
  std::array<int64_t, 2> TileSources(int64_t w0, int64_t w1) const {
    return pack_input ? std::array<int64_t, 2>{0, w.from} : Sources(w, w0, w1);
  }
  // The sources [first, end) of destinations [o0, o1) of an axis.
  static std::array<int64_t, 2> Sources(const ResampleTaps<F>& taps, int64_t o0, int64_t o1);
};

struct ResamplePlan : base::PathPlan<ResampleKernelPlan<float>, ResampleKernelPlan<double>> {
  static constexpr std::array kPaths = {"rows", "channels_last", "columns"};
};

// None where sizes overflow, or where `path` is one that does not serve the call. F: the compute
// type.
template <class F>
std::optional<ResamplePlan> PlanResample(const ops::ResampleParams& params, int64_t element_size,
                                         const ResampleTarget& target, std::string_view path);

}  // namespace portacl::cpu

#endif  // PORTACL_CPU_RESIZE_RESAMPLE_PLAN_H_
