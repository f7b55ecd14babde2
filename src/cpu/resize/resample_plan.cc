// Layout, path, cut and scratch of resampling.
#include "cpu/resize/resample_plan.h"

#include <limits>
#include <utility>

#include "cpu/machine/caches.h"
#include "cpu/machine/pages.h"
#include "runtime/parallel.h"

namespace portacl::cpu {
namespace {

using Params = ops::ResampleParams;
using Path = ResamplePath;

// A call that moves fewer bytes runs on the calling thread.
constexpr double kGrainBytes = 256 << 10;
// Rows of a tile of pixels, so that those in flight stay in L1.
constexpr int64_t kPixelRowBytes = 16 << 10;
// Strips of a volume's slices in flight stay in L2.
constexpr int64_t kSliceBytes = 300 << 10;
constexpr int64_t kMostSpan = int64_t{1} << 24;
constexpr int64_t kLineBytes = 64;

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t PowerOfTwo(int64_t least) {
  int64_t power = 1;
  while (power < least) power *= 2;
  return power;
}

template <class F>
ResampleRing RingOf(const ResampleTaps<F>& taps) {
  ResampleRing ring;
  const auto count = static_cast<size_t>(taps.start[taps.to]);
  std::vector<int64_t> at(static_cast<size_t>(taps.from), -1);
  for (size_t k = 0; k < count; ++k) at[static_cast<size_t>(taps.source[k])] = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0) continue;
    at[i] = static_cast<int64_t>(ring.used.size());
    ring.used.push_back(static_cast<int64_t>(i));
  }
  ring.place.resize(count);
  for (size_t k = 0; k < count; ++k) ring.place[k] = at[static_cast<size_t>(taps.source[k])];
  for (int64_t o = 0; o < taps.to; ++o) {
    const bool any = taps.Count(o) > 0;
    ring.first.push_back(any ? ring.place[static_cast<size_t>(taps.start[o])] : 0);
    ring.last.push_back(any ? ring.place[static_cast<size_t>(taps.start[o + 1] - 1)] : -1);
    ring.flight = std::max(ring.flight, ring.last.back() - ring.first.back() + 1);
  }
  return ring;
}

// ---- layout -------------------------------------------------------------------------------------

// Numbers planes through `axis` too; inner axes first. Axes that follow each other in memory are
// one.
void AddOuter(ResampleOuter axis, std::vector<ResampleOuter>* outer) {
  if (axis.extent == 1) return;
  if (!outer->empty()) {
    ResampleOuter& inner = outer->back();
    if (axis.input == inner.input * inner.extent && axis.output == inner.output * inner.extent) {
      inner.extent *= axis.extent;
      return;
    }
  }
  outer->push_back(axis);
}

template <class F>
void SetLayout(const Params& p, ResampleKernelPlan<F>* plan) {
  const auto& from = p.input_stride;
  const auto& to = p.output_stride;
  const bool pixels = p.c > 1 && from[1] == 1 && to[1] == 1 && (p.w.from == 1 || from[4] == p.c) &&
                      (p.w.to == 1 || to[4] == p.c);
  plan->inner = pixels ? p.c : 1;
  plan->input_d = from[2], plan->input_h = from[3],
  plan->input_w = p.w.from == 1 ? plan->inner : from[4];
  plan->output_d = to[2], plan->output_h = to[3],
  plan->output_w = p.w.to == 1 ? plan->inner : to[4];
  plan->pack_input = plan->input_w != plan->inner;
  plan->pack_output = plan->output_w != plan->inner;
  if (p.d.identity) {
    if (p.h.identity) AddOuter({p.h.to, from[3], to[3]}, &plan->outer);
    AddOuter({p.d.to, from[2], to[2]}, &plan->outer);
  }
  if (!pixels) AddOuter({p.c, from[1], to[1]}, &plan->outer);
  AddOuter({p.n, from[0], to[0]}, &plan->outer);
  for (const ResampleOuter& axis : plan->outer) plan->planes *= axis.extent;
  if (p.d.identity) plan->d = ResampleTaps<F>();
  if (p.d.identity && p.h.identity) plan->h = ResampleTaps<F>();
}

// ---- paths of W ---------------------------------------------------------------------------------

template <class F>
bool MakeColumns(const ResampleTarget& target, ResampleKernelPlan<F>* plan) {
  const ResampleTaps<F>& w = plan->w;
  int64_t span = 0;
  for (int64_t o = 0; o < w.to; o += target.block) {
    const auto [first, end] = plan->Sources(w, o, std::min(o + target.block, w.to));
    plan->columns_end.push_back(end);
    span = std::max(span, end - first);
  }
  if (span > kMostSpan) return false;
  plan->columns = PowerOfTwo(std::max(4 * target.block, span + 2 * target.block));
  const auto count = static_cast<size_t>(w.start[w.to]);
  for (size_t k = 0; k < count; ++k) {
    const int64_t at = (w.source[k] & (plan->columns - 1)) * target.block;
    plan->columns_at.push_back(static_cast<int32_t>(at));
  }
  plan->path = Path::kColumns;
  plan->batch = target.block;
  return true;
}

const char* NameOf(Path path) {
  switch (path) {
    case Path::kCopy:
      return "rows";
    case Path::kPixels:
      return "channels_last";
    case Path::kColumns:
      return "columns";
  }
  return "";
}

// ---- boxes --------------------------------------------------------------------------------------

template <class F>
void CutBoxes(double bytes, ResampleKernelPlan<F>* plan) {
  plan->slots = bytes < kGrainBytes ? 1 : runtime::NumThreads();
  const int64_t wanted = plan->slots == 1 ? 1 : 4 * plan->slots;  // boxes
  plan->tile_columns = plan->w.to;
  plan->strip_rows = plan->h.to;
  constexpr auto kSize = static_cast<int64_t>(sizeof(F));
  if (plan->inner > 1) {
    plan->tile_columns =
        std::min(plan->w.to, std::max<int64_t>(4, kPixelRowBytes / (plan->inner * kSize)));
  }
  if (plan->RowsOnly()) {
    plan->strip_rows = std::max(plan->batch, DivideUp(plan->planes, 4 * wanted));
    plan->strip_rows = DivideUp(plan->strip_rows, plan->batch) * plan->batch;
    const int64_t tiles = DivideUp(wanted, DivideUp(plan->planes, plan->strip_rows));
    if (plan->inner == 1 && tiles > 1 && !plan->pack_input) {
      constexpr int64_t kStep = 1024;
      plan->tile_columns = std::min(plan->w.to, DivideUp(plan->w.to, tiles * kStep) * kStep);
    }
    return;
  }
  const ResampleTaps<F>& h = plan->h;
  const double from_rows = static_cast<double>(h.from) / static_cast<double>(h.to);
  if (!plan->d.identity) {
    const int64_t columns = std::max(plan->tile_columns, plan->backward ? plan->w.from : 1);
    const double row = static_cast<double>(columns * plan->inner * kSize * plan->Deep()) *
                       (plan->backward ? from_rows : 1.0);
    plan->strip_rows =
        std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(kSliceBytes) / row),
                            std::min<int64_t>(8, h.to), h.to);
  }
  const int64_t boxes = plan->Boxes();
  if (boxes >= wanted) return;
  // What strips do twice, rows at their borders, must be little.
  const double again = static_cast<double>(plan->h_ring.flight) / std::max(from_rows, 1e-9);
  const int64_t least = std::max<int64_t>(8, static_cast<int64_t>(std::min(4 * again, 1e9)));
  const int64_t strips = DivideUp(wanted, std::max<int64_t>(boxes / plan->Strips(), 1));
  plan->strip_rows = std::min(plan->strip_rows, std::max(least, DivideUp(h.to, strips)));
}

// Elements between rows of scratch: whole lines, an odd number of them, since rows a power of two
// apart would share a set of the cache.
template <class F>
int64_t RowStride(int64_t elements) {
  constexpr auto kLine = static_cast<int64_t>(kLineBytes / sizeof(F));
  return (DivideUp(elements, kLine) | 1) * kLine;
}

template <class F>
void BookScratch(const ResampleTarget& target, ResampleKernelPlan<F>* plan) {
  int64_t columns = plan->tile_columns;
  for (int64_t w0 = 0; w0 < plan->w.to; w0 += plan->tile_columns) {
    const auto [first, end] = plan->TileSources(w0, std::min(plan->w.to, w0 + plan->tile_columns));
    columns = std::max(columns, end - first);
  }
  plan->row = RowStride<F>(columns * plan->inner + 2 * target.lanes);
  const auto book = [plan](int64_t elements) {
    const int64_t at = plan->size;
    plan->size += RowStride<F>(elements);
    return at;
  };
  if (plan->path == Path::kColumns) plan->transposed = book(plan->columns * target.block);
  plan->converted = book(plan->batch * plan->row);
  if (plan->pack_output) plan->results = book(plan->batch * plan->row);
  if (!plan->backward && !plan->h.identity) {
    plan->h_slots = PowerOfTwo(plan->h_ring.flight + plan->batch);
    plan->ring = book(plan->h_slots * plan->row);
  }
  if (!plan->d.identity) {
    int64_t rows = plan->strip_rows;
    if (plan->backward) {
      for (int64_t h0 = 0; h0 < plan->h.to; h0 += plan->strip_rows) {
        const auto [first, end] =
            plan->Sources(plan->h, h0, std::min(plan->h.to, h0 + plan->strip_rows));
        rows = std::max(rows, end - first);
      }
    }
    plan->slice = RowStride<F>(rows * columns * plan->inner + 2 * target.lanes);
    plan->slices = book(plan->Deep() * plan->slice);
  }
  plan->pointers = book((plan->d.most + plan->h.most + plan->w.most) *
                        static_cast<int64_t>(sizeof(void*) / sizeof(float)));
}

}  // namespace

template <class F>
std::array<int64_t, 2> ResampleKernelPlan<F>::Sources(const ResampleTaps<F>& taps, int64_t o0,
                                                      int64_t o1) {
  if (taps.identity) return {o0, o1};
  int64_t first = taps.from, end = 0;
  for (int64_t o = o0; o < o1; ++o) {
    if (taps.Count(o) == 0) continue;
    first = std::min(first, taps.source[taps.start[o]]);
    end = std::max(end, taps.source[taps.start[o + 1] - 1] + 1);
  }
  return {std::min(first, end), end};
}

template <class F>
ResampleBox ResampleKernelPlan<F>::Box(int64_t index) const {
  const int64_t tiles = Tiles();
  const int64_t w0 = index % tiles * tile_columns;
  index /= tiles;
  const int64_t rows = RowsOnly() ? planes : h.to;
  const int64_t strips = DivideUp(rows, strip_rows);
  const int64_t h0 = index % strips * strip_rows;
  return {.plane = index / strips,
          .h0 = h0,
          .h1 = std::min(rows, h0 + strip_rows),
          .w0 = w0,
          .w1 = std::min(w.to, w0 + tile_columns)};
}

template <class F>
std::optional<ResamplePlan> PlanResample(const Params& p, int64_t element_size,
                                         const ResampleTarget& target, std::string_view path) {
  ResamplePlan plan;
  auto* const mine = &plan.way.emplace<ResampleKernelPlan<F>>();
  mine->backward = p.backward;
  mine->init = p.backward ? F{0} : -F{0};
  mine->d = ResampleTaps<F>(p.d);
  mine->h = ResampleTaps<F>(p.h);
  mine->w = ResampleTaps<F>(p.w);
  SetLayout(p, mine);
  if (!mine->h.identity) mine->h_ring = RingOf(mine->h);
  if (!mine->d.identity) mine->d_ring = RingOf(mine->d);
  if (mine->w.identity) {
    mine->path = Path::kCopy;
    mine->batch = 4;
  } else if (mine->inner > 1) {
    mine->path = Path::kPixels;
  } else if (!MakeColumns(target, mine)) {
    return std::nullopt;
  }
  plan.path = NameOf(mine->path);
  if (!path.empty() && path != plan.path) return std::nullopt;
  const auto elements = [&p](int64_t d, int64_t h, int64_t w) {
    return static_cast<double>(p.n) * static_cast<double>(p.c) * static_cast<double>(d) *
           static_cast<double>(h) * static_cast<double>(w);
  };
  const double read = elements(p.d.from, p.h.from, p.w.from) * static_cast<double>(element_size);
  const double written = elements(p.d.to, p.h.to, p.w.to) * static_cast<double>(element_size);
  CutBoxes(read + written, mine);
  BookScratch(target, mine);
  int64_t workspace = 0;
  if (__builtin_mul_overflow(mine->size, mine->slots * static_cast<int64_t>(sizeof(F)),
                             &workspace)) {
    return std::nullopt;
  }
  plan.workspace_size = static_cast<uint64_t>(workspace);
  return plan;
}

template struct ResampleKernelPlan<float>;
template struct ResampleKernelPlan<double>;
template std::optional<ResamplePlan> PlanResample<float>(const Params&, int64_t,
                                                         const ResampleTarget&, std::string_view);
template std::optional<ResamplePlan> PlanResample<double>(const Params&, int64_t,
                                                          const ResampleTarget&, std::string_view);

}  // namespace portacl::cpu
