// Kernel plans of the gradients on images and volumes: path, strips, blocks, slots and workspace.
// The file is long because readers compare the conditions of all paths.
#include "cpu/grid_sampler/grid_sampler_backward_plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "base/round_up.h"
#include "cpu/grid_sampler/grid_sampler_layout.h"
#include "cpu/machine/machine.h"
#include "ops/grid_sampler_params.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using Choice = base::PathChoice;

// ---- threads and owners -------------------------------------------------------------------------

// Pixels or voxels of one channel of input.
int64_t PixelsOf(const ops::GridSampler2DShape& s) { return s.h * s.w; }
int64_t PixelsOf(const ops::GridSampler3DShape& s) { return s.d * s.h * s.w; }

// Work of a call in all channels: each point counts 1, each pixel 1/8.
template <class Shape>
int64_t WorkOf(const Shape& s) {
  return s.n * s.c * (PointsOf(s) + PixelsOf(s) / 8);
}

// Whether a call is too small for several threads: waking a thread takes some 10 us.
template <class Shape>
bool IsBelowGrain(const Shape& s) {
  return WorkOf(s) < 8192;
}

// Most slabs with an owner each. Every owner looks at all points of its image or volume: with more
// owners, looking would cost more than adding.
constexpr int64_t kMostOwnedSlabs = 16;

// Channels of a group. The images of a group stay in half the L2 cache, because scattered points
// touch all of it. With fewer than kFewest channels, finding points would cost as much as adding.
int64_t GroupChannels(const ops::GridSampler2DShape& s, int64_t channel_bytes) {
  constexpr int64_t kFewest = 4;
  return std::clamp<int64_t>(L2CacheBytes() / 2 / channel_bytes, std::min(kFewest, s.c), s.c);
}

// Cuts inputGrad into parts. A channel's lines (rows of an image, planes of a volume) may be cut
// anywhere. Bicubic images stay whole, because a point may have rows all over the image.
template <class Shape>
OwnedParts CutInputGrad(const Shape& s, const PointGathers& grid_grad) {
  constexpr int64_t kSumsBytes = int64_t{64} << 20;  // for 16-bit types: an owner, or a line
  const bool whole = std::is_same_v<Shape, ops::GridSampler2DShape> &&
                     s.interpolation == ops::Interpolation::kBicubic;
  const int64_t lines = whole ? 1 : LinesOf(s);
  const int64_t line_elements = PixelsOf(s) / std::max<int64_t>(1, lines);
  const int64_t line_bytes = line_elements * (s.dtype == base::DType::kDouble ? 8 : 4);
  const int threads = IsBelowGrain(s) ? 1 : runtime::NumThreads();
  OwnedParts parts = {.grid_grad = grid_grad};
  parts.group_channels = GroupChannels(s, lines * line_bytes);
  parts.groups = base::DivideUp(s.c, parts.group_channels);
  // Cut into slabs only if whole volumes and groups do not share the work evenly.
  const int64_t owners = s.n * parts.groups;
  const bool even = owners % threads == 0 || owners >= int64_t{4} * threads;
  const int64_t wanted = even ? 1 : threads / std::gcd(owners, int64_t{threads});
  parts.slabs = std::min({wanted, kMostOwnedSlabs, lines});
  if (base::DTypeSize(s.dtype) == 2) {
    parts.group_channels = 1;
    parts.groups = s.c;
    parts.slabs =
        std::min(lines, std::max(parts.slabs, base::DivideUp(lines * line_bytes, kSumsBytes)));
    parts.slot_elements = base::DivideUp(lines, parts.slabs) * line_elements;
  }
  const int64_t all = s.n * parts.groups * parts.slabs;
  parts.slots = static_cast<int>(std::min<int64_t>(threads, all));
  if (threads == 1) parts.grain = all;
  return parts;
}

template <class Plan, class Shape>
Plan OwnedPlan(const Shape& s, const OwnedParts& parts) {
  const auto sums = static_cast<uint64_t>(parts.slots * parts.slot_elements) * sizeof(float);
  return {{.workspace_size = sums + static_cast<uint64_t>(s.n * parts.image_codes), .way = parts}};
}

// ---- images -------------------------------------------------------------------------------------

constexpr int64_t kSlabTarget = 640 << 10;  // bytes: most of a 1 MiB L2 cache
constexpr int64_t kMinStripRows = 8;
// Points near a strip's edge are in two lists, and two slabs have the row: low strips cost more.
constexpr int64_t kFewStripRows = 16;
constexpr int64_t kMaxPaddedChannels = 2;
constexpr int64_t kMaxPackedChannels = 4;
// Most channels for "direct". Up to kDirectAnywhere channels "direct" is always faster; up to
// kMaxDirectChannels only if the planes stay in the L2 cache. With sparse points "direct" is faster
// for any number of channels (bicubic points above kDirectAnywhere: only joined images).
constexpr int64_t kDirectAnywhere = 4;
constexpr int64_t kMaxDirectChannels = 8;
constexpr int64_t kMostBicubicOfSlowGathers = 2;
constexpr int64_t kLineElements = 64 / int64_t{sizeof(float)};
// Up to so many bytes, gradOutput in planes stays in the L1 cache and need not be gathered.
constexpr int64_t kGatherBytes = 16 << 10;

// Most bytes of an image's planes: they share the L2 cache with the points.
int64_t PlanesBytes() { return L2CacheBytes() / 4 * 3; }

bool Serves(const Params& p) {
  if (p.shape.n == 0 || p.shape.c == 0) return false;
  return ServesPlane(p.shape) && (p.want_input_grad || p.want_grid_grad);
}

// Rows behind a strip that points of the strip may also touch. Usually four taps span four rows.
// Far outside the image, neighbouring floats are 2 or 4 apart. Reflected from there, four taps may
// span five rows.
int64_t Halo(const ops::GridSampler2DShape& s) {
  switch (s.interpolation) {
    case ops::Interpolation::kNearest:
      return 0;
    case ops::Interpolation::kBilinear:
      return 1;
    default:
      return s.padding == ops::Padding::kReflection ? 4 : 3;
  }
}

// Rounds the number of points up to whole groups.
int64_t WholeGroups(int64_t points) { return base::RoundUp(points, int64_t{kGroup}); }

// Whether gridGrad is wanted and not identically 0.
bool WantsSlopes(const Params& p) {
  return p.want_grid_grad && p.shape.interpolation != ops::Interpolation::kNearest;
}

// Bytes of all tensors of the call; may exceed 2^63, because tensors may be expanded.
double TensorBytes(const Params& p) {
  const auto& s = p.shape;
  const auto points = static_cast<double>(s.oh * s.ow);
  const auto pixels = static_cast<double>(s.h * s.w);
  const int planes = 1 + int{p.want_input_grad};
  return static_cast<double>(s.n) * static_cast<double>(base::DTypeSize(s.dtype)) *
         (static_cast<double>(s.c) * (points + planes * pixels) +
          2 * points * (1 + int{p.want_grid_grad}));
}

bool ExceedsCaches(const Params& p) {
  return TensorBytes(p) > static_cast<double>(LastLevelCacheBytes());
}

struct Sizes {
  int64_t element;  // of a tensor's element
  int64_t compute;  // of an element of the scratch
  int64_t cell;     // of a slab's cell
};

Sizes SizesOf(const Params& p, int lanes) {
  const int64_t element = base::DTypeSize(p.shape.dtype);
  const int64_t compute = std::max<int64_t>(element, 4);
  return {element, compute, lanes * compute * (int{p.want_input_grad} + int{WantsSlopes(p)})};
}

// Returns the cells of a slab row. CPUs first compare only the lowest 12 bits of a load's address
// with earlier stores. If rows are about a multiple of 4 KiB apart, a point's lower taps wait for
// the upper taps of its neighbours.
int64_t PitchFor(int64_t width, int64_t cell) {
  int64_t pitch = width + 2;
  while ((pitch * cell) % 4096 < 1024 || (pitch * cell) % 4096 > 3072) ++pitch;
  return pitch;
}

void ChooseStrips(const Params& p, const Sizes& sizes, int threads, SlabGeometry* g) {
  const auto& s = p.shape;
  g->pitch = PitchFor(s.w, sizes.cell);
  int64_t rows = std::max(kMinStripRows, kSlabTarget / (g->pitch * sizes.cell));
  if (!g->by_image) {  // at least two strips of a block for each thread
    const int64_t blocks = g->blocks.count * g->images;
    const int64_t wanted = base::DivideUp(int64_t{2} * threads, blocks);
    rows = std::min(rows, std::max(kMinStripRows, s.h / wanted));
  }
  if (rows >= s.h) {
    g->shift = 24;
    g->strips = 1;
    rows = s.h;
  } else {
    g->shift = static_cast<int>(std::bit_width(static_cast<uint64_t>(rows))) - 1;
    rows = int64_t{1} << g->shift;
    g->strips = base::DivideUp(s.h, rows);
  }
  g->slab_rows = rows + 2 + Halo(s);
}

// Hands out offsets in multiples of a cache line.
class Arena {
 public:
  uint64_t Take(int64_t bytes) {
    const uint64_t offset = size_;
    size_ += base::WholeLines(static_cast<uint64_t>(bytes), uint64_t{64});
    return offset;
  }
  uint64_t size() const { return size_; }

 private:
  uint64_t size_ = 0;
};

// Images computed at a time: one, or several if one has too few pieces for the threads.
int64_t ImagesAtATime(const ops::GridSampler2DShape& s, const SlabGeometry& g, int threads) {
  const int64_t pieces = g.blocks.count * std::max<int64_t>(1, s.h / kFewStripRows);
  const int64_t enough = int64_t{threads > 2 ? 8 : 2} * threads;
  return g.by_image || pieces >= enough ? 1 : std::min<int64_t>(s.n, threads);
}

int64_t ImagesInScratch(const SlabGeometry& g) { return g.by_image ? g.slots : g.images; }

// Returns how many blocks of gradOutput are gathered at a time. Gathering needs memory, so the
// workspace stays below 1.5 times the tensors.
int64_t GroupBlocks(const Params& p, const Sizes& sizes, const SlabGeometry& g,
                    int64_t other_bytes) {
  const int64_t block = g.points * g.blocks.MostLanes() * sizes.compute;
  if (g.strips == 1 || block <= kGatherBytes) return 0;
  const int64_t images = ImagesInScratch(g);
  const double left = 1.5 * TensorBytes(p) - static_cast<double>(other_bytes);
  const int64_t useful = g.by_image ? 1 : std::min<int64_t>(g.blocks.count, g.slots);
  const double blocks = left / static_cast<double>(block * images);
  return static_cast<int64_t>(std::clamp(blocks, 0.0, static_cast<double>(useful)));
}

void BookWorkspace(const Params& p, const Sizes& sizes, const Choice& choice, SlabGeometry* g) {
  g->slab_bytes = static_cast<uint64_t>(g->slab_rows * g->pitch * sizes.cell + 63) / 64 * 64;
  const int64_t margin = kFetchAhead + int64_t{kGroup};
  // A point near a strip's edge is in two lists.
  const int64_t entries = (g->strips > 1 ? 2 * g->points : g->points) + margin;
  const bool lists = g->strips > 1;
  const bool totals = WantsSlopes(p);  // gridGrad is made from these sums
  // In whole cache lines.
  g->partial_points = WholeGroups(g->points) + (lists ? WholeGroups(g->slots * kForeignPoints) : 0);
  Arena image;
  g->x_offset = image.Take(entries * sizes.compute);
  g->y_offset = image.Take(entries * sizes.compute);
  g->index_offset = image.Take(lists ? entries * 4 : 0);
  g->cursor_offset = image.Take(lists ? (g->chunks + 1) * g->strips * 4 : 0);
  g->partial_offset =
      image.Take(totals ? g->blocks.count * g->partial_points * 2 * sizes.compute : 0);
  const int64_t images = ImagesInScratch(*g);
  const uint64_t slabs = g->slab_bytes * static_cast<uint64_t>(g->slots);
  const auto others = static_cast<int64_t>(slabs + image.size() * static_cast<uint64_t>(images));
  g->group_blocks = choice.LeavesOut("gathered") ? 0 : GroupBlocks(p, sizes, *g, others);
  g->gathered_offset =
      image.Take(g->group_blocks * g->points * g->blocks.MostLanes() * sizes.compute);
  g->image_bytes = image.size();
  g->image_offset = slabs;
}

// Whether pairs of neighbours can be read and added to in the tensors themselves.
bool HasDensePlanes(const Params& p) {
  const auto& s = p.shape;
  return s.w >= 2 && (!p.want_grid_grad || HasDenseRows(s, p.input_stride)) &&
         (!p.want_input_grad || HasDenseRows(s, p.input_grad_stride));
}

// Whether there are enough points to pay for a copy of the planes.
bool HasPointsForCopies(const ops::GridSampler2DShape& s) { return s.oh * s.ow * 32 >= s.h * s.w; }

// Whether copies of the planes pay: all threads' copies stay in the caches, or the planes
// themselves cannot be read in pairs.
bool PadsPlanes(const Params& p, const PaddedGeometry& g) {
  const bool fits = g.slots * g.image * int64_t{sizeof(float)} <= LastLevelCacheBytes();
  return (fits || !HasDensePlanes(p)) && HasPointsForCopies(p.shape);
}

PaddedGeometry PaddedGeometryOf(const Params& p, int threads) {
  const auto& s = p.shape;
  PaddedGeometry g = {};
  g.slots = static_cast<int>(std::min<int64_t>(threads, s.n));
  g.pitch = s.w + 2;
  // Rows about a multiple of 4 KiB apart are slow: see PitchFor().
  const int64_t row_bytes = g.pitch * int64_t{sizeof(float)};
  if (row_bytes >= 3840 && (row_bytes + 256) % 4096 < 512) g.pitch += 128;
  g.plane = base::WholeLines(g.pitch * (s.h + 3), kLineElements);
  g.image = g.plane * s.c * (int64_t{p.want_input_grad} + int64_t{p.want_grid_grad});
  return g;
}

using Plan = GridSampler2DBackwardPlan;

// Whether an image has too few points for a slab. A point added channel by channel costs as much as
// some pixels of a slab; their number grows with the channels. If inputGrad has dense rows, zeros
// are written fast, and above 6 channels both costs grow alike.
bool HasSparsePoints(const Params& p) {
  const auto& s = p.shape;
  const bool dense = !p.want_input_grad || HasDenseRows(s, p.input_grad_stride);
  const auto channels = static_cast<double>(dense ? std::min<int64_t>(s.c, 6) : s.c);
  const double pixels = s.interpolation == ops::Interpolation::kBicubic ? 16 : 8;
  return base::DTypeSize(s.dtype) >= 4 &&
         pixels * channels * static_cast<double>(s.oh * s.ow) <= static_cast<double>(s.h * s.w);
}

// Whether gridGrad can gather taps. From images with gaps, elements are read one by one; this pays
// if channels or points are few.
bool GathersGridGrad(const Params& p) {
  const auto& s = p.shape;
  if (ServesPairs(s, p.input_stride)) return true;
  if (IsExtended(s) || HasSparsePoints(p)) return s.w > 1 && HasShortOffsets(s, p.input_stride);
  return s.w > 1 && s.c <= kDirectAnywhere && base::DTypeSize(s.dtype) >= 4 &&
         s.interpolation == ops::Interpolation::kBilinear && HasShortOffsets(s, p.input_stride);
}

PointGathers GatheredGridGrad2D(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  const bool pairs = ServesPairs(s, p.input_stride);
  const bool joined = pairs && JoiningPays(s) && HasJoinedPairs(s, p.grid_stride) &&
                      HasJoinedPairs(s, p.grid_grad_stride) && HasJoinedImages(s, p.input_stride) &&
                      !choice.LeavesOut("joined");
  return {joined ? JoinedChunksOf(s) : PointChunksOf(s), pairs, joined};
}

// Does the work of IsBelowGrain() for owners. Several threads each look at all points of an image,
// and gridGrad gathers the taps again. One thread alone would read the taps once.
bool IsBelowGrainOfOwners(const ops::GridSampler2DShape& s, int threads) {
  constexpr int64_t kWithSlowGathers = 80 << 10;  // for two threads; with more threads, less
  return IsBelowGrain(s) || (GathersAreSlow() && WorkOf(s) < kWithSlowGathers / (threads - 1));
}

bool ServesPlanes(const Params& p) {
  return p.shape.dtype == base::DType::kFloat && p.shape.c <= kMaxPaddedChannels &&
         p.shape.interpolation == ops::Interpolation::kBilinear;
}

// Whether threads take whole images: there are enough images, or too little work to share.
bool TakesPlanes(const Params& p) {
  const int threads = runtime::NumThreads();
  return p.shape.n >= threads || IsBelowGrainOfOwners(p.shape, threads);
}

// "direct" has points in the lanes: each channel's taps come from separate cache lines, so every
// channel costs the same. With channels in the lanes, channels share lines, but slabs and lists
// must be made first.
std::optional<Plan> PlanDirect(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  const PointGathers gathers = GatheredGridGrad2D(p, choice);
  if (p.want_input_grad || s.interpolation == ops::Interpolation::kNearest || !GathersGridGrad(p)) {
    return std::nullopt;
  }
  if (IsExtended(s)) return Plan{{.way = gathers}};
  const bool slow = GathersAreSlow();
  const bool copies = ServesPlanes(p) && TakesPlanes(p) && HasPointsForCopies(s);
  if (!choice.ByName() && (slow || !gathers.pairs) && copies) return std::nullopt;
  if (!choice.ByName() && s.interpolation == ops::Interpolation::kBicubic) {
    const int64_t most = slow ? kMostBicubicOfSlowGathers : kDirectAnywhere;
    if (s.c > most && !(gathers.joined && IsSparse(s))) return std::nullopt;
  } else if (!choice.ByName() && !IsSparse(s)) {
    const int64_t image = s.c * s.h * s.w * base::DTypeSize(s.dtype);
    if (s.c > (slow ? kDirectAnywhere : kMaxDirectChannels)) return std::nullopt;
    if (s.c > kDirectAnywhere && image > PlanesBytes()) return std::nullopt;
  }
  return Plan{{.way = gathers}};
}

// Whether an image has too few points for the path that would serve it otherwise: "padded", or with
// more channels "slab" or "packed". 16-bit types have only slabs. Without these paths, bicubic and
// 16-bit points are added channel by channel; a slab adds all channels at once.
bool HasFewPoints(const ops::GridSampler2DShape& s) {
  constexpr int64_t kMost = 15;
  constexpr int64_t kFewChannels = 4;  // no vector of a slab is full
  constexpr int64_t kMostBesideSlabs = 64;
  constexpr int64_t kMostBicubic = 32;         // in all channels
  constexpr int64_t kMostNarrowNearest = 256;  // in all channels
  const int64_t points = s.oh * s.ow;
  const bool bicubic = s.interpolation == ops::Interpolation::kBicubic;
  const bool nearest = s.interpolation == ops::Interpolation::kNearest;
  if (bicubic) return points <= kMost && points * s.c <= kMostBicubic;
  if (!nearest && s.c > kMaxPaddedChannels) {
    return points <= (IsSparse(s) ? kMostBesideSlabs : s.c <= kFewChannels ? kMost : 0);
  }
  const bool narrow = base::DTypeSize(s.dtype) == 2 && points * s.c <= kMostNarrowNearest;
  return points <= (narrow ? kMostBesideSlabs : kMost);
}

std::optional<Plan> PlanJoined(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  const bool nearest = s.interpolation == ops::Interpolation::kNearest;
  constexpr int64_t kLeastNarrow = 8;  // images; otherwise 16-bit types have only slabs
  const bool narrow = base::DTypeSize(s.dtype) == 2;
  if (IsExtended(s)) return std::nullopt;
  const bool pays = narrow ? StagedImages(s) > 0 && s.n >= kLeastNarrow : JoiningPays(s);
  if (!pays || !p.want_input_grad || !HasJoinedPairs(s, p.grid_stride) ||
      !HasDenseRows(s, p.input_grad_stride) || !HasJoinedImages(s, p.input_grad_stride)) {
    return std::nullopt;
  }
  if (p.want_grid_grad &&
      (!HasJoinedPairs(s, p.grid_grad_stride) || !(nearest || ServesPairs(s, p.input_stride)))) {
    return std::nullopt;
  }
  // Threads can share the slabs of an image; one thread alone makes 16-bit sums of an image.
  const bool shares =
      !narrow || s.n >= runtime::NumThreads() || s.c <= kMaxPaddedChannels || IsBelowGrain(s);
  if (!choice.ByName() && !(shares && HasFewPoints(s))) return std::nullopt;
  const int64_t grain = std::max<int64_t>(1, 4096 * s.n / std::max<int64_t>(1, WorkOf(s)));
  return Plan{{.way = JoinedGeometry{GatheredGridGrad2D(p, choice), grain}}};
}

// Up to so many owners look at all points, which costs a quarter of adding a point.
constexpr int64_t kMostOnPoints = 3;
// With more slabs, looking at the codes costs more than making the lists of "slab".
constexpr int64_t kMostStrips = 8;

// Cuts an image into slabs of rows, with all channels.
OwnedParts CutRows(const ops::GridSampler2DShape& s, int64_t wanted) {
  OwnedParts parts = {.group_channels = s.c};
  parts.slabs = std::min({wanted, s.h, OwnedParts::kMostCoded});
  if (parts.slabs > kMostOnPoints) {
    parts.per_line = static_cast<float>(parts.slabs) / static_cast<float>(s.h);
    parts.image_codes = base::RoundUp(s.oh * s.ow, kCodeBlock);
  }
  return parts;
}

// With more channels, "slab" is faster, because it adds all channels at once. If there are more
// pixels per point, making the slab costs more.
constexpr int64_t kMaxNearestChannels = 4;
constexpr int64_t kNearestPixelsPerPoint = 32;

std::optional<Plan> PlanOwnedNearest(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  const int threads = runtime::NumThreads();
  if (!p.want_input_grad || base::DTypeSize(s.dtype) < 4 || !HasDenseRows(s, p.input_grad_stride)) {
    return std::nullopt;
  }
  // Images are cut only if threads cannot share whole images evenly.
  const bool even = s.n % threads == 0 || s.n >= 4 * int64_t{threads} || IsBelowGrain(s);
  const int64_t wanted = s.n < threads ? (threads + s.n - 1) / s.n : 2;
  OwnedParts parts = CutRows(s, even ? 1 : wanted);
  const bool pays = s.c <= kMaxNearestChannels || IsSparse(s, kNearestPixelsPerPoint);
  if (!choice.ByName() && !(pays && parts.slabs <= kMostStrips)) return std::nullopt;
  const int64_t work = s.c * (s.oh * s.ow + s.h * s.w / 8) / parts.slabs;
  parts.grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, work));
  return OwnedPlan<Plan>(s, parts);
}

// Plans "owned" for extended paddings and sparse points. Bicubic images are not cut: images and
// groups of channels must be enough for the threads.
std::optional<Plan> PlanOwnedImages(const Params& p, const Choice& choice) {
  if (!p.want_input_grad || !HasShortOffsets(p.shape, p.input_grad_stride) ||
      (WantsSlopes(p) && !GathersGridGrad(p))) {
    return std::nullopt;
  }
  const OwnedParts parts = CutInputGrad(p.shape, GatheredGridGrad2D(p, choice));
  if (!IsExtended(p.shape) && !choice.ByName()) {
    const bool bicubic = p.shape.interpolation == ops::Interpolation::kBicubic;
    const bool idle = parts.slots < runtime::NumThreads() && !IsBelowGrain(p.shape);
    if (!HasSparsePoints(p) || (bicubic && idle)) return std::nullopt;
  }
  return OwnedPlan<Plan>(p.shape, parts);
}

std::optional<Plan> PlanOwned(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  if (IsExtended(s)) return PlanOwnedImages(p, choice);
  if (s.interpolation == ops::Interpolation::kNearest) return PlanOwnedNearest(p, choice);
  if (!ServesPlanes(p) || !HasDenseRows(s, p.input_grad_stride)) return PlanOwnedImages(p, choice);
  const int threads = runtime::NumThreads();
  if (!p.want_input_grad || (p.want_grid_grad && !GathersGridGrad(p))) return std::nullopt;
  const bool whole = !choice.ByName() && TakesPlanes(p);
  if (!choice.ByName() && !whole && threads > kMostStrips * s.n) return std::nullopt;
  OwnedParts parts = CutRows(s, whole ? 1 : base::DivideUp(threads, s.n));
  parts.grid_grad = GatheredGridGrad2D(p, choice);
  return OwnedPlan<Plan>(s, parts);
}

std::optional<Plan> PlanPadded(const Params& p, const Choice& choice) {
  if (!ServesPlanes(p) || IsExtended(p.shape)) return std::nullopt;
  PaddedGeometry g = PaddedGeometryOf(p, runtime::NumThreads());
  if (!choice.ByName() && !(TakesPlanes(p) && PadsPlanes(p, g))) return std::nullopt;
  g.stream = HasStreamingStores() && ExceedsCaches(p);
  return Plan{
      {.workspace_size = static_cast<uint64_t>(g.slots * g.image) * sizeof(float), .way = g}};
}

// One thread adds so many points to packed cells in the time that several threads need to sort them
// into strips. A pixel counts an eighth of a point.
constexpr int64_t kMostUnsharedPoints = 6 << 10;

std::optional<Plan> PlanPacked(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  const int threads = runtime::NumThreads();
  const Sizes sizes = SizesOf(p, int{kMaxPackedChannels});
  if (s.interpolation != ops::Interpolation::kBilinear || !p.want_input_grad || IsExtended(s) ||
      sizes.compute != int64_t{sizeof(float)} || s.c > kMaxPackedChannels) {
    return std::nullopt;
  }
  PackedGeometry g = {};
  g.slots = static_cast<int>(std::min<int64_t>(threads, s.n));
  g.pitch = s.w + 2;
  // Rows about a multiple of 4 KiB apart are slow: see PitchFor(). Here two cells of distance are
  // enough.
  while ((g.pitch * sizes.cell + 128) % 4096 < 256) ++g.pitch;
  const int64_t bytes = (s.h + 3) * g.pitch * sizes.cell;
  constexpr int64_t kMostBytes = int64_t{4} << 31;  // 32 bits count a slot's elements
  if (bytes >= kMostBytes) return std::nullopt;
  const bool shared = s.n < threads && s.n * (s.oh * s.ow + s.h * s.w / 8) > kMostUnsharedPoints;
  // A copy of the image pays only with enough points.
  const bool pays =
      s.c > kMaxPaddedChannels && !shared && bytes <= L2CacheBytes() && HasPointsForCopies(s);
  if (!choice.ByName() && !pays) return std::nullopt;
  g.image = base::WholeLines(bytes / int64_t{sizeof(float)}, kLineElements);
  return Plan{
      {.workspace_size = static_cast<uint64_t>(g.slots * g.image) * sizeof(float), .way = g}};
}

std::optional<Plan> PlanSlab(const Params& p, const Choice& choice) {
  const auto& s = p.shape;
  const int threads = runtime::NumThreads();
  SlabGeometry g = {};
  g.points = s.oh * s.ow;
  g.blocks = CutChannels(s.c);
  g.by_image = ByImage(s, threads);
  g.images = ImagesAtATime(s, g, threads);
  g.stream = ExceedsCaches(p);
  const int64_t chunk = std::max<int64_t>(1024, g.points * g.images / (int64_t{4} * threads));
  g.chunk_points = WholeGroups(chunk);
  g.chunks = (g.points + g.chunk_points - 1) / g.chunk_points;
  if (const Sizes sizes = SizesOf(p, g.blocks.MostLanes()); sizes.cell > 0) {
    if (IsExtended(s)) return std::nullopt;
    ChooseStrips(p, sizes, threads, &g);
    const int64_t tasks = g.by_image ? s.n : g.images * g.blocks.count * g.strips;
    g.slots = static_cast<int>(std::min<int64_t>(threads, tasks));
    BookWorkspace(p, sizes, choice, &g);
  } else {  // nearest without inputGrad: only zeros, no scratch
    g.slots = static_cast<int>(std::min<int64_t>(threads, s.n));
  }
  const auto images = static_cast<uint64_t>(ImagesInScratch(g));
  return Plan{{.workspace_size = g.image_offset + images * g.image_bytes, .way = g}};
}

// Best first; the last path serves everything but extended paddings.
constexpr std::array<base::PathRow<Params, Plan>, Plan::kPaths.size()> kPathRows = {{
    {"direct", PlanDirect},
    {"joined", PlanJoined},
    {"padded", PlanPadded},
    {"owned", PlanOwned},
    {"packed", PlanPacked},
    {"slab", PlanSlab},
}};

// ---- volumes ------------------------------------------------------------------------------------

using VolumeParams = ops::GridSampler3DBackwardParams;
using VolumePlan = GridSampler3DBackwardPlan;

int ThreadsOf(const ops::GridSampler3DShape& s) {
  return IsBelowGrain(s) ? 1 : runtime::NumThreads();
}

bool IsEachVolumeSmall(ops::GridSampler3DShape s) {
  s.n = 1;
  return IsBelowGrain(s);
}

// Whether "blocks" pays. One volume at a time is cut into a slab for each thread. With too few
// planes, idle threads cost more than vectors of channels gain.
bool UseBlocks(const VolumeParams& p) {
  const auto& s = p.shape;
  if (!BlocksPay(s)) return false;
  const int threads = ThreadsOf(s);
  return !p.want_input_grad || 3 * s.d >= threads || BlockSlots(s, BlockChunksOf(s), threads) > 1;
}

std::optional<VolumePlan> PlanBlocks(const VolumeParams& p, const Choice& choice) {
  const auto& s = p.shape;
  if (IsExtended(s) || !ServesBlocks(s)) return std::nullopt;
  if (!choice.ByName() && !UseBlocks(p)) return std::nullopt;
  const int threads = ThreadsOf(s);
  SummedBlocks blocks = {};
  blocks.chunks = BlockChunksOf(s);
  blocks.slots = BlockSlots(s, blocks.chunks, threads);
  const bool whole = blocks.slots > 1 || IsEachVolumeSmall(s);
  blocks.slabs = whole ? 1 : std::min({int64_t{threads}, kMostOwnedSlabs, s.d});
  const int64_t points = base::DivideUp(PointsOf(s), int64_t{kGroup}) * int64_t{kGroup};
  const int64_t totals = p.want_grid_grad ? 4 * points : 0;
  const int64_t element = s.dtype == base::DType::kDouble ? 8 : 4;
  blocks.slot_elements = BlockBytes(s, SummedBlocks::VoxelElements(p)) / element + totals;
  const int64_t bytes = blocks.slots * blocks.slot_elements * element;
  return VolumePlan{{.workspace_size = static_cast<uint64_t>(bytes), .way = blocks}};
}

// Returns no gathers if offsets in a channel of input do not fit 32 bits.
std::optional<PointGathers> GridGradOf(const VolumeParams& p) {
  const auto& s = p.shape;
  const bool reads_input = p.want_grid_grad && s.interpolation != ops::Interpolation::kNearest;
  if (reads_input && !HasShortOffsets(s, p.input_stride)) return std::nullopt;
  return PointGathers{PointChunksOf(AsImage(s)),
                      reads_input && ServesVolumePairs(s, p.input_stride), false};
}

std::optional<VolumePlan> PlanDirect(const VolumeParams& p, const Choice& /*choice*/) {
  const auto grid_grad = GridGradOf(p);
  if (p.want_input_grad || !grid_grad) return std::nullopt;
  return VolumePlan{{.way = *grid_grad}};
}

std::optional<VolumePlan> PlanOwned(const VolumeParams& p, const Choice& /*choice*/) {
  const auto grid_grad = GridGradOf(p);
  if (!p.want_input_grad || !grid_grad || !HasShortOffsets(p.shape, p.input_grad_stride)) {
    return std::nullopt;
  }
  return OwnedPlan<VolumePlan>(p.shape, CutInputGrad(p.shape, *grid_grad));
}

constexpr std::array<base::PathRow<VolumeParams, VolumePlan>, VolumePlan::kPaths.size()>
    kVolumePaths = {{
        {"blocks", PlanBlocks},
        {"direct", PlanDirect},
        {"owned", PlanOwned},
    }};

}  // namespace

std::optional<Plan> PlanGridSampler2DBackward(const Params& params, std::string_view path) {
  if (!Serves(params)) return std::nullopt;
  return base::FirstPath(kPathRows, params, path);
}

std::optional<GridSampler3DBackwardPlan> PlanGridSampler3DBackward(
    const ops::GridSampler3DBackwardParams& params, std::string_view path) {
  if (!ServesVolume(params.shape)) return std::nullopt;
  return base::FirstPath(kVolumePaths, params, path);
}

}  // namespace portacl::cpu
