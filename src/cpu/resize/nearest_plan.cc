// Choice of path, index tables and tiles of nearest and nearest-exact.
#include "cpu/resize/nearest_plan.h"
#include "base/round_up.h"

#include <utility>

#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"

namespace portacl::cpu {
namespace {

using Params = ops::UpsampleNearestExactParams;
using Path = NearestForwardPath;

std::vector<int64_t> SourceTable(const ops::NearestAxis& axis) {
  std::vector<int64_t> source(static_cast<size_t>(axis.out));
  int64_t* const to = source.data();
  for (int64_t i = 0, o = 0; i < axis.in; ++i) {
    for (const int64_t end = axis.begin[i + 1]; o < end; ++o) to[o] = i;
  }
  return source;
}

// Prepares the permute path for rows of elements. `source` has each element's source in a row of
// `elements`. `ratio`: 0 unless ratios are equal. False if a block's sources do not fit one vector.
bool MakePermutation(const std::vector<int64_t>& source, int64_t elements, int64_t ratio,
                     int64_t lanes, NearestForwardKernelPlan& plan) {
  plan.row = static_cast<int64_t>(source.size());
  plan.lanes = lanes;
  plan.source_elements = elements;
  plan.partial = plan.row < lanes || elements < lanes;
  plan.blocks = base::DivideUp(plan.row, lanes);
  plan.period = plan.repeated = 0;
  plan.window.clear();
  plan.index.clear();
  // Equal ratios: every `ratio` blocks read one vector of sources, as long as whole ones are left.
  if (ratio > 0 && ratio < plan.blocks) {
    plan.period = ratio;
    plan.repeated = elements / lanes * ratio;
  }
  const auto rows = static_cast<size_t>(plan.blocks);  // of indices, at most
  plan.window.reserve(rows);
  plan.index.reserve(rows * static_cast<size_t>(lanes));

  const auto add = [&](int64_t start, int64_t last_window) {
    const int64_t end = std::min(start + lanes, plan.row);  // lanes behind the row are not stored
    const auto first = source.begin() + start;
    const int64_t window = std::min(last_window, *std::min_element(first, source.begin() + end));
    plan.window.push_back(window);
    const size_t size = plan.index.size();
    plan.index.resize(size + static_cast<size_t>(lanes));
    for (int64_t lane = 0; lane < end - start; ++lane) {
      const int64_t place = first[lane] - window;
      if (place >= lanes) return false;
      plan.index[size + static_cast<size_t>(lane)] = static_cast<int8_t>(place);
    }
    return true;
  };
  for (int64_t b = 0; b < std::min(plan.period, plan.repeated); ++b) {
    if (!add(b * lanes, 0)) return false;
  }
  const int64_t last_window = std::max<int64_t>(elements - lanes, 0);
  for (int64_t b = plan.repeated; b < plan.blocks; ++b) {
    if (!add(plan.BlockStart(b), last_window)) return false;
  }
  return true;
}

// Rows of pixels of so many elements.
std::vector<int64_t> PixelTable(const ops::NearestAxis& w, int64_t channels) {
  std::vector<int64_t> source;
  for (const int64_t at : SourceTable(w)) {
    for (int64_t c = 0; c < channels; ++c) source.push_back(at * channels + c);
  }
  return source;
}

// Joins small planes that follow each other on both sides into rows with up to a vector of sources.
// If the permute path serves such rows, `from` and `to` become tensors of them. The plan then has
// the tables of planes and rows.
bool JoinPlanes(const Params& p, int64_t lanes, NearestSide* from, NearestSide* to,
                NearestForwardKernelPlan& plan) {
  const double most_in = static_cast<double>(int64_t{1} << 40);
  if (Elements(p.d.in, p.h.in, p.w.in) > most_in) return false;
  const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
  if (p.w.out >= 2 * lanes || out > 64 * lanes ||
      !FollowEachOther(*from, p.d.in, p.from_depth_stride, in) ||
      !FollowEachOther(*to, p.d.out, p.to_depth_stride, out)) {
    return false;
  }
  // A vector of rows that repeat or leave out rows of more than a vector has no window.
  if (p.w.in > lanes && p.h.in != p.h.out && p.w.out % lanes != 0) return false;
  const int64_t planes = to->c;
  int64_t joined = std::clamp<int64_t>(lanes / in, 1, planes);
  while (planes % joined != 0) --joined;
  const std::vector<int64_t> columns = SourceTable(p.w);
  std::vector<int64_t> source;
  source.reserve(static_cast<size_t>(joined * out));
  ForElements(joined, {&plan.source_plane, &plan.source_row, &columns}, {p.d.in, p.h.in, p.w.in},
              [&](int64_t at) { source.push_back(at); });
  if (!MakePermutation(source, joined * in, 0, lanes, plan)) return false;
  for (NearestSide* side : {from, to}) {
    side->h = planes / joined;
    side->w = side == from ? joined * in : joined * out;
    side->stride = {planes / joined * side->w, planes / joined * side->w, side->w, 1};
    side->c = 1;
  }
  plan.rows = planes / joined;
  plan.pairs = false;
  plan.source_plane = {0};
  plan.source_row.clear();
  return true;
}

const char* PathName(Path path) { return NearestForwardPlan::kPaths[static_cast<size_t>(path)]; }

// False if no path serves that may be taken.
bool ChoosePath(const Params& p, int64_t lanes, const base::PathChoice& choice,
                NearestSide* from_side, NearestSide* to_side, NearestForwardKernelPlan& plan) {
  const NearestSide &from = *from_side, &to = *to_side;
  const auto may = [&](Path path) { return choice.Allows(PathName(path)); };
  const bool columns = from.stride[3] == 1 && to.stride[3] == 1;
  const bool pixels = p.c > 1 && from.stride[1] == 1 && to.stride[1] == 1;
  const bool dense = pixels && from.stride[3] == from.c && to.stride[3] == to.c;
  if (columns && !pixels && may(Path::kPermute) && JoinPlanes(p, lanes, from_side, to_side, plan)) {
    plan.path = Path::kPermute;
    return true;
  }
  if (dense && may(Path::kPermute) && from.c < lanes && (p.w.ratio != 1 || choice.ByName()) &&
      MakePermutation(PixelTable(p.w, from.c), p.w.in * from.c, from.c == 1 ? p.w.ratio : 0, lanes,
                      plan)) {
    plan.path = Path::kPermute;
  } else if (dense && p.w.ratio == 1 && may(Path::kCopy)) {
    plan.path = Path::kCopy;
  } else if (pixels && may(Path::kPixels)) {
    plan.path = Path::kPixels;
  } else if (columns && p.w.ratio == 1 && may(Path::kCopy)) {
    plan.path = Path::kCopy;
  } else if (columns && !pixels && may(Path::kPermute) &&
             MakePermutation(SourceTable(p.w), p.w.in, p.w.ratio, lanes, plan)) {
    plan.path = Path::kPermute;
  } else {
    plan.path = Path::kElements;
  }
  return may(plan.path);
}

}  // namespace

// Whether a result has one column, which is a row of its rows.
static bool HasOneColumn(const Params& p) {
  const bool pixels = p.c > 1 && p.from_stride[1] == 1;
  return p.w.out == 1 && p.w.in > 1 && p.h.out > 1 && !pixels;
}

static Params ColumnAsRow(const Params& params) {
  Params p = params;
  std::swap(p.h, p.w);
  std::swap(p.from_stride[2], p.from_stride[3]);
  std::swap(p.to_stride[2], p.to_stride[3]);
  return p;
}

static std::optional<NearestForwardPlan> PlanRows(const Params& p, int64_t element_size,
                                                  int64_t lanes, bool can_stream,
                                                  std::string_view path) {
  std::optional<NearestForwardPlan> plan(std::in_place);  // in its place: returned everywhere
  auto* const mine = &std::get<NearestForwardKernelPlan>(plan->way);
  NearestSide from{.n = p.n, .c = p.c, .h = p.h.in, .w = p.w.in, .stride = p.from_stride};
  NearestSide to{.n = p.n, .c = p.c, .h = p.h.out, .w = p.w.out, .stride = p.to_stride};
  const bool from_merged = MergePlanes(from, p.d.in, p.from_depth_stride);
  const bool merged = MergePlanes(to, p.d.out, p.to_depth_stride) && from_merged;
  const std::array<int64_t, 4> shape = {to.n, to.c, to.h, to.w};
  mine->dense_bytes = merged ? DenseBytes(shape, to.stride, element_size) : 0;
  NormalizeUnitAxes(from);
  NormalizeUnitAxes(to);
  MergeImages(from, to);

  mine->rows = p.h.out;
  mine->pairs = p.h.ratio > 1;
  mine->source_plane = SourceTable(p.d);
  mine->source_row = SourceTable(p.h);
  if (!ChoosePath(p, lanes, path, &from, &to, *mine)) {
    plan.reset();
    return plan;
  }
  plan->path = PathName(mine->path);
  if (mine->path == Path::kPixels || mine->path == Path::kElements) {
    mine->source_column = SourceTable(p.w);
  }
  const bool last = p.c > 1 && from.stride[1] == 1 && to.stride[1] == 1;  // as ChoosePath()
  const bool flat = last && (mine->path == Path::kPermute || mine->path == Path::kCopy);
  const bool pixels = flat || mine->path == Path::kPixels;
  if (flat) {
    TakePixelsAsElements(from);
    TakePixelsAsElements(to);
  }
  mine->from_stride = from.stride;
  mine->to_stride = to.stride;
  mine->from_depth = p.from_depth_stride;
  mine->to_depth = p.to_depth_stride;

  const int64_t channels = pixels ? to.c : 1;  // inside a row
  const double source_row = Elements(1, from.h, from.w) / static_cast<double>(to.h);
  const int64_t row_bytes =
      RowBytes(static_cast<double>(to.w) + source_row, channels * element_size);
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
  return plan;
}

std::optional<NearestForwardPlan> PlanNearestForward(const Params& p, int64_t element_size,
                                                     int64_t lanes, bool can_stream,
                                                     std::string_view path) {
  if (HasOneColumn(p)) return PlanRows(ColumnAsRow(p), element_size, lanes, can_stream, path);
  return PlanRows(p, element_size, lanes, can_stream, path);
}

}  // namespace portacl::cpu
