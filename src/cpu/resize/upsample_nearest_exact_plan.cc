// Choice of path, index tables and tiles of nearest-exact forward.
#include "cpu/resize/upsample_nearest_exact_plan.h"

#include <utility>

#include "cpu/machine/caches.h"
#include "cpu/machine/pages.h"

namespace portacl::cpu {
namespace {

using Params = ops::UpsampleNearestExactParams;
using Path = NearestForwardPath;

std::vector<int64_t> SourceTable(const ops::NearestAxis& axis) {
  std::vector<int64_t> source(static_cast<size_t>(axis.out));
  for (int64_t i = 0; i < axis.in; ++i) {
    std::fill(source.begin() + axis.begin[i], source.begin() + axis.begin[i + 1], i);
  }
  return source;
}

// Prepares the permute path for rows of w.out pixels of `channels` elements; false where a block's
// sources do not fit one vector.
bool MakePermutation(const ops::NearestAxis& w, int64_t channels, int64_t lanes,
                     NearestForwardKernelPlan& plan) {
  plan.row = w.out * channels;
  plan.lanes = lanes;
  plan.source_elements = w.in * channels;
  plan.partial = plan.row < lanes || plan.source_elements < lanes;
  plan.blocks = (plan.row + lanes - 1) / lanes;
  // Equal ratios: every `ratio` blocks read one vector of sources, as long as whole ones are left.
  if (w.ratio > 0 && channels == 1 && w.ratio < plan.blocks) {
    plan.period = w.ratio;
    plan.repeated = w.in / lanes * w.ratio;
  }

  const std::vector<int64_t> source = SourceTable(w);
  const auto element = [&](int64_t at) {
    return source[static_cast<size_t>(at / channels)] * channels + at % channels;
  };
  const auto add = [&](int64_t start, int64_t last_window) {
    const int64_t end = std::min(start + lanes, plan.row);  // lanes behind the row are not stored
    int64_t window = last_window;
    for (int64_t at = start; at < end; ++at) window = std::min(window, element(at));
    plan.window.push_back(window);
    for (int64_t at = start; at < start + lanes; ++at) {
      const int64_t place = at < end ? element(at) - window : 0;
      if (place >= lanes) return false;
      plan.index.push_back(static_cast<int8_t>(place));
    }
    return true;
  };
  for (int64_t b = 0; b < std::min(plan.period, plan.repeated); ++b) {
    if (!add(b * lanes, 0)) return false;
  }
  const int64_t last_window = std::max<int64_t>(plan.source_elements - lanes, 0);
  for (int64_t b = plan.repeated; b < plan.blocks; ++b) {
    if (!add(plan.BlockStart(b), last_window)) return false;
  }
  return true;
}

const char* PathName(Path path) {
  switch (path) {
    case Path::kCopy:
      return "copy";
    case Path::kPermute:
      return "permute";
    case Path::kPixels:
      return "channels_last";
    case Path::kElements:
      return "elements";
  }
  return "";
}

// False where `asked`, a path or "", does not serve.
bool ChoosePath(const Params& p, const NearestSide& from, const NearestSide& to, int64_t lanes,
                std::string_view asked, NearestForwardKernelPlan& plan) {
  const auto may = [&](Path path) { return asked.empty() || asked == PathName(path); };
  const bool columns = from.stride[3] == 1 && to.stride[3] == 1;
  const bool pixels = p.c > 1 && from.stride[1] == 1 && to.stride[1] == 1;
  const bool dense = pixels && from.stride[3] == from.c && to.stride[3] == to.c;
  if (dense && may(Path::kPermute) && from.c < lanes && (p.w.ratio != 1 || !asked.empty()) &&
      MakePermutation(p.w, from.c, lanes, plan)) {
    plan.path = Path::kPermute;
  } else if (pixels && may(Path::kPixels)) {
    plan.path = Path::kPixels;
  } else if (columns && p.w.ratio == 1 && may(Path::kCopy)) {
    plan.path = Path::kCopy;
  } else if (columns && !pixels && may(Path::kPermute) && MakePermutation(p.w, 1, lanes, plan)) {
    plan.path = Path::kPermute;
  } else {
    plan.path = Path::kElements;
  }
  return may(plan.path);
}

}  // namespace

std::optional<NearestForwardPlan> PlanNearestForward(const Params& p, int64_t element_size,
                                                     int64_t lanes, bool can_stream,
                                                     std::string_view path) {
  NearestSide from{.n = p.n, .c = p.c, .h = p.h.in, .w = p.w.in, .stride = p.input_stride};
  NearestSide to{.n = p.n, .c = p.c, .h = p.h.out, .w = p.w.out, .stride = p.output_stride};
  const bool from_merged = MergePlanes(from, p.d.in, p.input_depth_stride);
  const bool merged = MergePlanes(to, p.d.out, p.output_depth_stride) && from_merged;
  const std::array<int64_t, 4> shape = {to.n, to.c, to.h, to.w};
  const int64_t dense_bytes = merged ? DenseBytes(shape, to.stride, element_size) : 0;
  NormalizeUnitAxes(from);
  NormalizeUnitAxes(to);
  MergeImages(from, to);

  NearestForwardPlan plan;
  auto* const mine = &std::get<NearestForwardKernelPlan>(plan.way);
  if (!ChoosePath(p, from, to, lanes, path, *mine)) return std::nullopt;
  plan.path = PathName(mine->path);
  const bool last = p.c > 1 && from.stride[1] == 1 && to.stride[1] == 1;  // as ChoosePath()
  const bool flat = last && mine->path == Path::kPermute;
  const bool pixels = flat || mine->path == Path::kPixels;
  if (flat) {  // small pixels: rows of elements, one channel
    for (NearestSide* side : {&from, &to}) {
      side->w *= side->c;
      side->c = 1;
      side->stride[3] = 1;
    }
  }
  mine->from_stride = from.stride;
  mine->to_stride = to.stride;
  mine->from_depth = p.input_depth_stride;
  mine->to_depth = p.output_depth_stride;
  mine->source_plane = SourceTable(p.d);
  mine->source_row = SourceTable(p.h);
  if (mine->path == Path::kPixels || mine->path == Path::kElements) {
    mine->source_column = SourceTable(p.w);
  }

  const int64_t channels = pixels ? to.c : 1;  // inside a row
  const int64_t row_bytes = (to.w + from.w * from.h / to.h) * channels * element_size;
  const int64_t step =
      mine->path == Path::kPermute ? lanes * std::max<int64_t>(mine->period, 1) : 64;
  mine->tiling = CutNearest(to.n, to.c / channels, to.h, to.w, row_bytes, step);
  if (pixels) mine->tiling.c = mine->tiling.channels = to.c;
  const int64_t groups = to.n * to.c / channels;
  const double bytes =
      static_cast<double>(row_bytes) * static_cast<double>(groups) * static_cast<double>(to.h);
  const bool in_memory = can_stream && merged && bytes > static_cast<double>(LastLevelCacheBytes());
  mine->stream = in_memory && HasWholeLines(to, pixels && !flat ? 1 : 3, element_size);
  mine->stage = in_memory && !mine->stream && to.stride[3] == 1 && to.stride[2] == to.w &&
                to.w * element_size <= kMostStagedBytes && mine->tiling.BoxesW() == 1 &&
                (mine->path == Path::kPermute || mine->path == Path::kCopy);

  mine->dense_bytes = dense_bytes;
  return plan;
}

}  // namespace portacl::cpu
