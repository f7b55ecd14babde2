// Kernel plans of nearest and nearest-exact and of their gradients: paths, index tables, tiles.
#include "cpu/resize/nearest_plan.h"
#include "base/round_up.h"

#include <utility>

#include "cpu/machine/machine.h"
#include "cpu/machine/pages.h"

namespace portacl::cpu {
namespace {

using Params = ops::UpsampleNearestExactParams;
using Path = NearestForwardPath;
using BackwardParams = ops::UpsampleNearestExactBackwardParams;
using BackwardPath = NearestBackwardPath;

// ---- forward ------------------------------------------------------------------------------------

std::vector<int64_t> SourceTable(const ops::NearestAxis& axis) {
  std::vector<int64_t> source(static_cast<size_t>(axis.out));
  int64_t* const to = source.data();
  for (int64_t i = 0, o = 0; i < axis.in; ++i) {
    for (const int64_t end = axis.begin[i + 1]; o < end; ++o) to[o] = i;
  }
  return source;
}

// Makes the tables of the path "permute". `source`: each element's source in a row of `elements`.
// `ratio`: 0 unless ratios are equal. Returns false if a block's sources do not fit one vector.
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
  // Equal ratios: `ratio` blocks read one vector of sources, while whole vectors are left.
  if (ratio > 0 && ratio < plan.blocks) {
    plan.period = ratio;
    plan.repeated = elements / lanes * ratio;
  }
  const auto rows = static_cast<size_t>(plan.blocks);  // index rows, at most
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

// Returns the source of each element, for rows of pixels with `channels` elements.
std::vector<int64_t> PixelTable(const ops::NearestAxis& w, int64_t channels) {
  std::vector<int64_t> source;
  for (const int64_t at : SourceTable(w)) {
    for (int64_t c = 0; c < channels; ++c) source.push_back(at * channels + c);
  }
  return source;
}

// Makes rows of several small planes, if planes follow each other in `from` and in `to`. A row has
// at most a vector of sources. Returns true if the path "permute" serves these rows; then `from`
// and `to` become tensors of rows, and the plan has their tables.
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
  // A vector across rows has no window if rows of sources are long, and repeat or are left out.
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

// Returns false if no allowed path serves.
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

// Whether a result has one column. Then H and W change places, and the column is one row.
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
  std::optional<NearestForwardPlan> plan(std::in_place);  // every return returns it: no moves
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
  const bool last = p.c > 1 && from.stride[1] == 1 && to.stride[1] == 1;  // as in ChoosePath()
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

  const int64_t channels = pixels ? to.c : 1;  // in a row
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

// ---- gradients ----------------------------------------------------------------------------------

namespace {

constexpr const char* kRatioPaths[] = {"x1", "x2", "x3", "x4"};
constexpr int64_t kMaxVectors = 4;
// Calls that move more bytes read from beyond L2; there reading strictly forward pays.
constexpr double kByRowBytes = 16 << 20;
constexpr int64_t kMaxWindow = 128;  // int8_t can name so many places

// Returns the fewest and the most sources of a destination on an axis.
std::pair<int64_t, int64_t> CountRange(const ops::NearestAxis& axis) {
  if (axis.ratio > 0) return {axis.ratio, axis.ratio};
  int64_t fewest = axis.out, most = 0;
  for (int64_t i = 0; i < axis.in; ++i) {
    const int64_t count = axis.begin[i + 1] - axis.begin[i];
    fewest = std::min(fewest, count);
    most = std::max(most, count);
  }
  return {fewest, most};
}

// Makes the tables of the path "permute" for rows of columns, or of columns times `channels`.
// Returns false if a block would need too large a window.
bool MakePermutation(const ops::NearestAxis& w, int64_t channels, int64_t lanes,
                     NearestBackwardKernelPlan& plan) {
  const auto [fewest, most] = CountRange(w);
  plan.columns = w.in * channels;
  plan.sources = w.out * channels;
  plan.lanes = lanes;
  const auto blocks = static_cast<size_t>(base::DivideUp(plan.columns, lanes));
  if (most > kMaxVectors) return false;  // more sources than a window has vectors
  // Calls use(lane, first, count) for each column of a block: `count` sources, `channels` apart.
  const auto for_columns = [&](size_t b, const auto& use) {
    const int64_t first = plan.BlockColumn(static_cast<int64_t>(b));
    int64_t column = first / channels, channel = first % channels;
    for (int64_t j = first; j < std::min(first + lanes, plan.columns); ++j) {
      const int64_t begin = w.begin[column], end = w.begin[column + 1];
      if (begin < end) use(j - first, begin * channels + channel, end - begin);
      if (++channel < channels) continue;
      channel = 0;
      ++column;
    }
  };
  int64_t span = 1;
  plan.window.resize(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    int64_t first = plan.sources, end = 0;
    for_columns(b, [&](int64_t, int64_t source, int64_t count) {
      first = std::min(first, source);
      end = std::max(end, source + (count - 1) * channels + 1);
    });
    // Windows ascend, even of blocks without sources.
    if (end == 0) first = w.begin[plan.BlockColumn(static_cast<int64_t>(b)) / channels] * channels;
    plan.window[b] = first;
    span = std::max(span, end - first);
  }
  const int64_t vectors = std::max(base::DivideUp(span, lanes), most);
  if (vectors > kMaxVectors || vectors * lanes > kMaxWindow) return false;

  plan.vectors = vectors;
  plan.partial = plan.columns < lanes || plan.sources < vectors * lanes;
  plan.full = !plan.partial && fewest >= vectors - 1;
  plan.index.assign(blocks * static_cast<size_t>(vectors * lanes), int8_t{-1});
  for (size_t b = 0; b < blocks; ++b) {
    // Moves windows near the end of a row back into the row, unless rows are too short.
    int64_t& window = plan.window[b];
    if (!plan.partial) window = std::min(window, plan.sources - vectors * lanes);
    for_columns(b, [&](int64_t lane, int64_t source, int64_t count) {
      for (int64_t phase = 0; phase < count; ++phase) {
        const int64_t at = (static_cast<int64_t>(b) * vectors + phase) * lanes + lane;
        plan.index[static_cast<size_t>(at)] =
            static_cast<int8_t>(source + phase * channels - window);
      }
    });
  }
  plan.path = BackwardPath::kPermute;
  return true;
}

// Chooses the path that serves every call. It stores its destinations one by one.
void UseWide(NearestBackwardKernelPlan& plan) {
  plan.path = BackwardPath::kWide;
  plan.pack_from = plan.pack_to = false;
  plan.vectors = 0;
}

// Chooses the path that `choice` asks for, if that path serves the call.
void ChoosePath(const BackwardParams& p, const NearestBackwardTarget& target,
                const base::PathChoice& choice, NearestBackwardKernelPlan& plan) {
  const auto asked_for = [&](std::string_view path) {
    return choice.ByName() && choice.Allows(path);
  };
  const auto may = [&](std::string_view path) {
    return choice.Allows(path) || asked_for("packed") || asked_for("scatter");
  };
  if (asked_for("wide")) return UseWide(plan);
  const bool pixels = p.c > 1 && plan.from_stride[1] == 1;
  const bool channels_last = pixels && plan.to_stride[1] == 1;
  // A volume has far more sources than destinations, so sums are transposed, not sources.
  const bool turned = pixels && p.d.out > 1 && p.c >= target.lanes;
  const bool dense = channels_last && plan.from_stride[3] == p.c && plan.to_stride[3] == p.c;
  if (dense && p.c < target.lanes &&
      2 * Elements(p.d.out, p.h.out, p.w.out) > Elements(p.d.in, p.h.in, p.w.in) &&
      may("permute") && !asked_for("packed") && MakePermutation(p.w, p.c, target.lanes, plan)) {
    plan.flat = true;
    return;
  }
  if ((channels_last || turned) && may("channels_last")) {
    plan.path = BackwardPath::kPixels;
    plan.pack_to = !channels_last;
    return;
  }
  plan.pack_from = plan.from_stride[3] != 1;
  plan.pack_to = plan.to_stride[3] != 1;
  if (p.w.ratio >= 1 && p.w.ratio <= 4 && p.w.in >= target.min_ratio_columns &&
      may(kRatioPaths[p.w.ratio - 1])) {
    plan.path = BackwardPath::kRatio;
    return;
  }
  if (choice.LeavesOut("permute") || !MakePermutation(p.w, 1, target.lanes, plan)) UseWide(plan);
}

// Returns the most elements of a source row that a tile of `columns` destination columns reads.
int64_t MaxSourceColumns(const BackwardParams& p, const NearestBackwardKernelPlan& plan,
                         NearestTiling tiling) {
  int64_t most = 0;
  tiling.n = tiling.c = tiling.channels = tiling.h = tiling.rows = 1;
  for (int64_t index = 0; index < tiling.Boxes(); ++index) {
    const NearestTile box = tiling.Box(index);
    const auto [first, end] = plan.SourceColumns(p.w, box.j0, box.j1);
    most = std::max(most, end - first);
  }
  return most;
}

int64_t MaxSourceRows(const BackwardParams& p, int64_t rows) {
  int64_t most = 0;
  for (int64_t i = 0; i < p.h.in; i += rows) {
    most = std::max(most, p.h.begin[std::min(i + rows, p.h.in)] - p.h.begin[i]);
  }
  return most;
}

// Cuts tiles of one channel that fit the stack. They are nearly square, because a transposed image
// is then read along both axes at once. Returns false if even the smallest tile does not fit.
bool CutPackedTiles(const BackwardParams& p, const NearestBackwardTarget& target,
                    int64_t element_size, NearestBackwardKernelPlan& plan) {
  const int64_t most_planes = std::max<int64_t>(CountRange(p.d).second, 1);
  const int64_t most_sources = kNearestPackedSourceBytes / element_size / most_planes;
  const int64_t most_sums = kNearestPackedSumBytes / element_size;
  NearestTiling& t = plan.tiling;
  t.channels = 1;
  t.channels_first = plan.from_stride[1] == 1 || plan.to_stride[1] == 1;
  const auto fits = [&] {
    // The last tile of a row may be nearly twice as wide as the others.
    return 2 * t.columns * t.rows <= most_sums &&
           MaxSourceColumns(p, plan, t) <=
               most_sources / std::max<int64_t>(MaxSourceRows(p, t.rows), 1);
  };
  for (int64_t columns = 4 * target.lanes; columns >= target.lanes; columns /= 2) {
    t.columns = std::min(columns, p.w.in);
    for (t.rows = std::min<int64_t>(32, p.h.in);; t.rows /= 2) {
      if (fits()) {
        const int64_t bytes = t.columns * t.rows * element_size * 4;
        t.grain = 1 + kGrainBytes / bytes;
        return true;
      }
      if (t.rows == 1) break;
    }
  }
  return false;
}

// Cuts tiles of pixels for sums that become planes on the stack: small enough to fit the stack.
void CutTurnedTiles(const BackwardParams& p, int64_t element_size, int64_t row_bytes,
                    NearestBackwardKernelPlan& plan) {
  NearestTiling& t = plan.tiling;
  const int64_t pixels = kNearestPackedSumBytes / element_size / t.channels;
  // The last tile of a row may be nearly twice as wide as the others.
  t.columns = std::clamp<int64_t>(pixels / 2, 1, p.w.in);
  t.rows = std::clamp<int64_t>(pixels / (2 * t.columns), 1, p.h.in);
  t.grain = 1 + kGrainBytes / (1 + row_bytes * t.rows / t.BoxesW());
}

std::vector<int64_t> DestinationsWithSources(const ops::NearestAxis& axis) {
  std::vector<int64_t> destinations;
  for (int64_t i = 0; i < axis.in; ++i) {
    if (axis.begin[i] < axis.begin[i + 1]) destinations.push_back(i);
  }
  return destinations;
}

// Whether the path "scatter" pays: few destinations have sources, and rows or pixels are
// contiguous. There one destination with sources costs about as much as a vector on other paths.
bool MayScatter(const BackwardParams& p, const NearestBackwardKernelPlan& plan, int64_t channels,
                int64_t lanes) {
  const bool contiguous = plan.path == BackwardPath::kPixels
                              ? plan.tiling.channels == channels && plan.to_stride[3] == channels
                              : plan.from_stride[3] == 1 && plan.to_stride[3] == 1;
  const double used =
      Elements(std::min(p.d.in, p.d.out), std::min(p.h.in, p.h.out), p.w.out);  // at most
  return contiguous && !plan.pack_from && !plan.pack_to &&
         p.w.out <= p.w.in / (plan.path == BackwardPath::kPixels ? 1 : 2) &&
         static_cast<double>(plan.path == BackwardPath::kPixels ? 2 : lanes) * used <=
             Elements(p.d.in, p.h.in, p.w.in);
}

// Joins small planes that are adjacent on both sides to rows of at most a tile's size, if each
// destination has at most one source.
void JoinPlanes(const BackwardParams& p, const NearestSide& from, const NearestSide& to,
                int64_t element_size, NearestBackwardKernelPlan& plan) {
  constexpr int64_t kMost = 64;  // sources of a row
  if (2 * Elements(p.d.out, p.h.out, p.w.out) > Elements(p.d.in, p.h.in, p.w.in)) return;
  const int64_t in = p.d.in * p.h.in * p.w.in, out = p.d.out * p.h.out * p.w.out;
  if (!FollowEachOther(from, p.d.out, p.from_depth_stride, out) ||
      !FollowEachOther(to, p.d.in, p.to_depth_stride, in)) {
    return;
  }
  plan.joined = std::min({kMost / out, kNearestTileBytes / (in * element_size), to.c});
  if (plan.joined == 0) return;
  const std::vector<int64_t> depths = DestinationsWithSources(p.d),
                             rows = DestinationsWithSources(p.h),
                             columns = DestinationsWithSources(p.w);
  ForElements(plan.joined, {&depths, &rows, &columns}, {p.d.in, p.h.in, p.w.in},
              [&](int64_t at) { plan.place.push_back(at); });
}

void ChooseScatter(const BackwardParams& p, const NearestSide& from, const NearestSide& to,
                   int64_t element_size, int64_t lanes, NearestBackwardKernelPlan& plan) {
  const auto single = [](const ops::NearestAxis& axis) { return CountRange(axis).second <= 1; };
  if (!single(p.w)) return;
  const bool all = single(p.d) && single(p.h);
  if (all && plan.path != BackwardPath::kPixels) JoinPlanes(p, from, to, element_size, plan);
  if (plan.joined == 0 && MayScatter(p, plan, to.c, lanes)) {
    plan.place = DestinationsWithSources(p.w);
  }
}

const char* PathName(const BackwardParams& p, const NearestBackwardKernelPlan& plan) {
  if (!plan.place.empty()) return "scatter";
  if (plan.pack_from || plan.pack_to) return "packed";
  switch (plan.path) {
    case BackwardPath::kRatio:
      return kRatioPaths[p.w.ratio - 1];
    case BackwardPath::kWide:
      return "wide";
    case BackwardPath::kPixels:
      return "channels_last";
    default:
      return "permute";
  }
}

// If rows keep their width, the dense pixels of a row become one pixel. If images keep their height
// too, rows become one pixel as well.
BackwardParams JoinIdentities(BackwardParams p) {
  const auto join = [&p](size_t stride, ops::NearestAxis* axis) {
    const auto& from = p.from_stride;
    const auto& to = p.to_stride;
    if (axis->in == 1) return axis->out == 1;
    if (axis->ratio != 1 || from[stride] != p.c || to[stride] != p.c) return false;
    p.c *= axis->in;
    axis->in = axis->out = 1;  // the first element has the same sources
    return true;
  };
  if (p.c > 1 && p.from_stride[1] == 1 && p.to_stride[1] == 1 && join(3, &p.w)) {
    join(2, &p.h);
  }
  return p;
}

// Cuts the tiles. Returns the bytes that a destination row moves: its own and its sources'.
int64_t CutTiles(const BackwardParams& p, const NearestBackwardTarget& target,
                 const NearestSide& from, const NearestSide& to, int64_t element_size,
                 NearestBackwardKernelPlan* mine) {
  const bool pixels = mine->path == BackwardPath::kPixels;
  const int64_t channels = pixels ? to.c : 1;
  const double source_row = Elements(p.d.out, p.h.out, from.w) / Elements(p.d.in, p.h.in, 1);
  const int64_t row_bytes =
      RowBytes(static_cast<double>(to.w) + source_row, channels * element_size);
  const int64_t step = pixels ? 1 : 4 * target.lanes;
  mine->tiling = CutNearest(to.n, to.c / channels, p.h.in, to.w, row_bytes, step);
  if (pixels) {
    mine->tiling.c = to.c;
    mine->tiling.channels =
        std::min(to.c, p.w.in > 1 || mine->pack_to ? kNearestMaxPixel
                                                   : kNearestTileBytes / (2 * element_size));
    const int64_t tile_bytes = row_bytes / to.c * mine->tiling.channels * mine->tiling.rows;
    mine->tiling.grain = 1 + kGrainBytes / (1 + tile_bytes / mine->tiling.BoxesW());
    if (mine->pack_to) CutTurnedTiles(p, element_size, row_bytes, *mine);
  } else if (p.d.in > 1) {
    mine->tiling.channels = 1;  // planes of a volume are computed one by one
    const int64_t tile_bytes = row_bytes * mine->tiling.rows / mine->tiling.BoxesW();
    mine->tiling.grain = 1 + kGrainBytes / (tile_bytes + 1);
  }
  if (!pixels && (mine->pack_from || mine->pack_to)) {
    const NearestTiling uncut = mine->tiling;
    if (!CutPackedTiles(p, target, element_size, *mine)) {
      UseWide(*mine);
      mine->tiling = uncut;
    }
  }
  return row_bytes;
}

}  // namespace

std::optional<NearestBackwardPlan> PlanNearestBackward(const BackwardParams& params,
                                                       int64_t element_size,
                                                       const NearestBackwardTarget& target,
                                                       std::string_view path) {
  const base::PathChoice choice(path);
  const BackwardParams p =
      !choice.ByName() || choice.Allows("channels_last") ? JoinIdentities(params) : params;
  NearestSide from{.n = p.n, .c = p.c, .h = p.h.out, .w = p.w.out, .stride = p.from_stride};
  NearestSide to{.n = p.n, .c = p.c, .h = p.h.in, .w = p.w.in, .stride = p.to_stride};
  NearestSide volume = to;
  const bool merged = MergePlanes(volume, p.d.in, p.to_depth_stride);
  NormalizeUnitAxes(from);
  NormalizeUnitAxes(to);
  MergeImages(from, to);

  std::optional<NearestBackwardPlan> plan(std::in_place);  // every return returns it: no moves
  auto* const mine = &std::get<NearestBackwardKernelPlan>(plan->way);
  mine->from_stride = from.stride;
  mine->to_stride = to.stride;
  const bool scatter = choice.Allows("scatter");
  ChoosePath(p, target, choice, *mine);
  if (choice.LeavesOut("packed") && (mine->pack_from || mine->pack_to)) UseWide(*mine);
  if (mine->flat) {  // small pixels: rows of elements, one channel
    TakePixelsAsElements(from);
    TakePixelsAsElements(to);
    mine->from_stride = from.stride;
    mine->to_stride = to.stride;
  }

  const int64_t row_bytes = CutTiles(p, target, from, to, element_size, mine);
  const bool pixels = mine->path == BackwardPath::kPixels;
  const int64_t groups = pixels ? to.n : to.n * to.c;
  const double bytes = static_cast<double>(row_bytes) * static_cast<double>(groups) *
                       static_cast<double>(p.h.in * p.d.in);
  mine->by_row = bytes > kByRowBytes;
  mine->stream = target.can_stream && bytes > static_cast<double>(LastLevelCacheBytes()) &&
                 HasWholeLines(to, pixels ? 1 : 3, element_size) &&
                 (p.d.in == 1 || p.to_depth_stride * element_size % 64 == 0);
  if (scatter && !mine->flat) ChooseScatter(p, from, to, element_size, target.lanes, *mine);
  if (merged) {
    mine->dense_bytes =
        DenseBytes({volume.n, volume.c, volume.h, volume.w}, volume.stride, element_size);
  }
  plan->path = PathName(p, *mine);
  if (!choice.Allows(plan->path)) plan.reset();
  return plan;
}

}  // namespace portacl::cpu
