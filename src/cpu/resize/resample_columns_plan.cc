// Plans of "columns": the ring, its blocks, and quads of bytes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "base/round_up.h"
#include "cpu/resize/resample_plan.h"
#include "ops/resample_params.h"

namespace portacl::cpu {
namespace {

constexpr int64_t kMostSpan = int64_t{1} << 24;

// Returns how many rows columns take at a time: a vector of rows, or several vectors that share
// weights. Several pay for many rows and taps, if so many source rows stay in L2.
template <class F>
int64_t RowsOfColumns(const ResampleKernelPlan<F>& plan, const ResampleTarget& target) {
  constexpr int64_t kBytes = 256 << 10, kFewTaps = 5;
  const int64_t all = plan.RowsOnly() ? plan.planes
                      : plan.backward ? plan.h.to
                                      : std::ssize(plan.h_ring.used);
  const int64_t row = std::max(plan.w.from, plan.w.to) * static_cast<int64_t>(sizeof(F));
  const int64_t many = target.vectors * target.rows;
  const bool few = plan.w.start[plan.w.to] < kFewTaps * plan.w.to;
  return few || 2 * all < many || row > kBytes / many ? target.rows : many;
}

// Sets the end of the sources of each block of destinations. Returns how many sources must be
// loaded at a time; none if too many.
template <class F>
std::optional<int64_t> SetSourcesEnd(const ResampleTaps<F>& w, int64_t block,
                                     ResampleColumns* columns) {
  // A block of a pixel's last channels reads sources behind the sources of the next block, so the
  // ring must still hold these.
  int64_t span = 1, loaded = 0;
  columns->sources_end.reserve(static_cast<size_t>(base::DivideUp(w.to, block)));
  for (int64_t o = 0; o < w.to; o += block) {
    const auto [first, end] = ResampleKernelPlan<F>::Sources(w, o, std::min(o + block, w.to));
    columns->sources_end.push_back(end);
    if (first == end) continue;
    loaded = std::max(loaded, end);
    span = std::max(span, loaded - first);
  }
  return span > kMostSpan ? std::nullopt : std::optional(span);
}

// Returns none for few taps, where pairs of taps are faster; if a weight needs more than three
// bytes; or if pixels have more than four channels.
std::optional<ResampleColumns> MakeQuads(const ResampleTaps<int32_t>& w,
                                         const ResampleTarget& target) {
  constexpr int64_t kPixels = 4, kSlots = kLineBytes / kPixels;  // of a quad; quads of a block
  const int64_t channels = w.flat, few = channels > 1 ? 5 : 3;
  if (channels > kPixels || w.from > kMostSpan || w.start[w.to] < few * w.to) return std::nullopt;
  std::optional<ResampleColumns> columns(std::in_place);
  ResampleQuads& quads = columns->quads;
  const int64_t of_channel = kSlots / PowerOfTwo(channels);
  quads.block = of_channel * kPixels * channels;
  quads.parts = 2;
  const int64_t span = *SetSourcesEnd(w, target.block, &*columns);
  columns->rows = target.rows;
  columns->ring = PowerOfTwo((span - 1) / quads.block + 2) * kLineBytes;
  for (int64_t o = 0; o < w.to; ++o) {
    quads.start.push_back(std::ssize(quads.of));
    int64_t last = -1;
    for (int64_t k = w.start[o]; k < w.start[o + 1]; ++k) {
      const int64_t pixel = w.source[k] / channels, quad = pixel / kPixels % of_channel;
      const int64_t at =
          w.source[k] / quads.block * kSlots + quad * channels + w.source[k] % channels;
      if (at != last) {
        const int64_t column = at * kPixels & (columns->ring - 1);
        quads.of.push_back({.at = static_cast<int32_t>(column * target.rows), .weight = {}});
        last = at;
      }
      int32_t left = ops::FixedWeight(w.weight, k);
      for (int32_t& weight : quads.of.back().weight) {
        const auto part = static_cast<int8_t>(left);
        weight |= static_cast<uint8_t>(part) << pixel % kPixels * 8;
        left = (left - part) / 256;
      }
      if (left != 0) return std::nullopt;
      if (quads.of.back().weight[2] != 0) quads.parts = 3;
    }
  }
  quads.start.push_back(std::ssize(quads.of));
  return columns;
}

}  // namespace

template <class F>
std::optional<ResampleColumns> MakeColumns(const ResampleKernelPlan<F>& plan,
                                           const ResampleTarget& target, bool quads) {
  const ResampleTaps<F>& w = plan.w;
  if constexpr (std::is_integral_v<F>) {
    if (quads && target.quads) {
      if (auto made = MakeQuads(w, target)) return made;
    }
  }
  ResampleColumns columns;
  const std::optional<int64_t> span = SetSourcesEnd(w, target.block, &columns);
  if (!span) return std::nullopt;
  columns.rows = RowsOfColumns(plan, target);
  columns.ring = PowerOfTwo(*span + 2 * std::max(target.block, kColumnsOfLine<F>));
  columns.at.resize(static_cast<size_t>(w.start[w.to]));
  const int64_t* source = w.source;
  for (int32_t& at : columns.at) {
    at = static_cast<int32_t>((*source++ & (columns.ring - 1)) * columns.rows);
  }
  return columns;
}

#define PORTACL_MAKE_COLUMNS(F)                                                        \
  template std::optional<ResampleColumns> MakeColumns<F>(const ResampleKernelPlan<F>&, \
                                                         const ResampleTarget&, bool);
PORTACL_MAKE_COLUMNS(float)
PORTACL_MAKE_COLUMNS(double)
PORTACL_MAKE_COLUMNS(int32_t)
#undef PORTACL_MAKE_COLUMNS

}  // namespace portacl::cpu
