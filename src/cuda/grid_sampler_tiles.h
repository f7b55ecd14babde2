// inputGrad of images with few channels, tile by tile, without a list of all points. A run is some
// consecutive points, a stretch some consecutive runs; both have a rectangle around their points. A
// block of threads owns a tile of pixels. It takes the points of runs that may touch the tile, and
// lists their taps by pixel in shared memory. It sorts each list and adds it up. If there are too
// many points, it does this several times, in the order of the points.
#ifndef PORTACL_CUDA_GRID_SAMPLER_TILES_H_
#define PORTACL_CUDA_GRID_SAMPLER_TILES_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cuda/block.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/grid_point.h"
#include "cuda/index.h"
#include "cuda/lists.h"

namespace portacl::cuda {

// The smallest rectangle around the pixels in which some points lie, edges included.
struct Rectangle {
  int32_t left = std::numeric_limits<int32_t>::max();
  int32_t top = std::numeric_limits<int32_t>::max();
  int32_t right = std::numeric_limits<int32_t>::min();
  int32_t bottom = std::numeric_limits<int32_t>::min();

  PORTACL_DEVICE void Add(const Rectangle& other) {
    left = other.left < left ? other.left : left;
    top = other.top < top ? other.top : top;
    right = other.right > right ? other.right : right;
    bottom = other.bottom > bottom ? other.bottom : bottom;
  }
};

inline constexpr uint32_t kRun = static_cast<uint32_t>(Threshold(32, 4));      // points per run
inline constexpr uint32_t kStretch = static_cast<uint32_t>(Threshold(32, 3));  // runs per stretch
inline constexpr int32_t kTileHeight = 8;
inline constexpr int32_t kTileWidth = static_cast<int32_t>(Block::kThreads) / kTileHeight;
inline constexpr int64_t kTileChannels = 4;  // largest number of channels

// ---- runs --------------------------------------------------------------------------------------

#if defined(__CUDACC__)

// A thread per point: body(number) returns its rectangle. A warp makes a run, a block a stretch.
template <class Body>
__global__ void __launch_bounds__(kRun* kStretch)
    RunStretches(const Body body, uint32_t points, uint32_t stretches, Rectangle* of_runs,
                 Rectangle* of_stretches) {
#if defined(__CUDA_ARCH__)
  static_assert(kRun == 32 && kStretch == 32, "lanes of a warp");
  const auto together = [](Rectangle r) -> Rectangle {
    r.left = __reduce_min_sync(UINT32_MAX, r.left);
    r.top = __reduce_min_sync(UINT32_MAX, r.top);
    r.right = __reduce_max_sync(UINT32_MAX, r.right);
    r.bottom = __reduce_max_sync(UINT32_MAX, r.bottom);
    return r;
  };
  __shared__ Rectangle runs[kStretch];
  const uint32_t image = blockIdx.x / stretches;
  const uint32_t point = blockIdx.x % stretches * (kRun * kStretch) + threadIdx.x;
  const uint32_t lane = threadIdx.x % kRun;
  const uint32_t run = threadIdx.x / kRun;
  Rectangle own;
  if (point < points) own = body(static_cast<int64_t>(image) * points + point);
  own = together(own);
  if (lane == 0) {
    runs[run] = own;
    of_runs[blockIdx.x * kStretch + run] = own;
  }
  __syncthreads();
  if (run != 0) return;
  own = together(lane < blockDim.x / kRun ? runs[lane] : Rectangle());
  if (lane == 0) of_stretches[blockIdx.x] = own;
#endif
}

template <class Body>
void LaunchStretches(int64_t images, uint32_t points, uint32_t stretches, const Body& body,
                     Rectangle* of_runs, Rectangle* of_stretches) {
  if (points == 0) return;
  const uint32_t threads = std::min((points + kRun - 1) / kRun, kStretch) * kRun;
  RunStretches<<<static_cast<unsigned>(images * stretches), threads, 0, CurrentStream()>>>(
      body, points, stretches, of_runs, of_stretches);
  Note(cudaGetLastError());
}

#else

template <class Body>
void LaunchStretches(int64_t images, uint32_t points, uint32_t stretches, const Body& body,
                     Rectangle* of_runs, Rectangle* of_stretches) {
  for (int64_t image = 0; image < images; ++image) {
    for (uint32_t point = 0; point < points; ++point) {
      const int64_t run = image * stretches * kStretch + point / kRun;
      const Rectangle own = body(image * points + point);
      if (point % kRun == 0) of_runs[run] = Rectangle();
      if (point % (kRun * kStretch) == 0) of_stretches[run / kStretch] = Rectangle();
      of_runs[run].Add(own);
      of_stretches[run / kStretch].Add(own);
    }
  }
}

#endif

// A point that touches a tile lies at most this many pixels before the tile's first pixel or behind
// its last pixel. A bicubic tap is up to two pixels from its point, even after reflection. The
// third pixel before covers coordinates that reflection rounds to just below a pixel.
template <int kTaps>
inline constexpr int32_t kBefore = kTaps == 4 ? 3 : 1;
template <int kTaps>
inline constexpr int32_t kBehind = kTaps == 4 ? 2 : 0;

// Returns the last pixel at or before a point on an axis; a number far outside if it touches none.
template <int kTaps, class F>
PORTACL_DEVICE int32_t PixelOf(F at, const AxisRule& rule) {
  constexpr int32_t kFar = 8;
  if (IsNaN(at)) return -kFar;
  if (kTaps == 4 && rule.padding == Padding::kBorder) {
    at = ref::Clip(at, rule.extent);
  }
  F sign = 0;
  if (kTaps == 4 && rule.padding == Padding::kReflection) at = ref::Reflect(at, rule, &sign);
  const auto last = static_cast<F>(rule.extent + kFar);
  if (at <= -kFar) return -kFar;
  return static_cast<int32_t>(at < last ? Floor(at) : last);
}

// A pixel, perhaps a little outside the image, packed into a word.
struct Pixel {
  static constexpr int32_t kShift = 8;
  static constexpr int64_t kMostExtent = 60000;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kAnywhere = UINT32_MAX - 1;
  PORTACL_DEVICE static uint32_t Pack(int32_t x, int32_t y) {
    return static_cast<uint32_t>(y + kShift) << 16 | static_cast<uint32_t>(x + kShift);
  }
  PORTACL_DEVICE static int32_t X(uint32_t pixel) {
    return static_cast<int32_t>(pixel & 0xffff) - kShift;
  }
  PORTACL_DEVICE static int32_t Y(uint32_t pixel) {
    return static_cast<int32_t>(pixel >> 16) - kShift;
  }
};

// Locates points and stores their positions in pixels, padded for linear and nearest.
template <class T, int kTaps>
struct LocatePoints {
  using F = ComputeType<T>;
  Items items;    // the points of some images
  int64_t first;  // number of the first image
  Geometry g;
  const T* grid;
  Pack<F, 2>* positions;
  uint32_t* pixels;

  PORTACL_DEVICE Rectangle operator()(int64_t item) const {
    Place at = items.At(item);
    at.n += first;
    const T* const from =
        grid + at.n * g.grid_stride.n + at.h * g.grid_stride.h + at.w * g.grid_stride.w;
    const AxisPosition<F> x = ref::Locate(Widened(from[0]), g.x, kTaps == 4);
    const AxisPosition<F> y = ref::Locate(Widened(from[g.grid_stride.c]), g.y, kTaps == 4);
    positions[item] = {x.at, y.at};
    pixels[item] = Pixel::kNone;
    if (x.unusable || y.unusable || x.outside || y.outside) return {};
    if (kTaps == 4 && g.x.padding == Padding::kReflection) {
      // So far out, rounding moves taps by pixels before they are reflected.
      constexpr F kFar = 1 << 20;
      if (Abs(x.at) > kFar || Abs(y.at) > kFar) {
        pixels[item] = Pixel::kAnywhere;
        return {0, 0, static_cast<int32_t>(g.w), static_cast<int32_t>(g.h)};
      }
    }
    const int32_t column = PixelOf<kTaps>(x.at, g.x);
    const int32_t row = PixelOf<kTaps>(y.at, g.y);
    if (column < -kBefore<kTaps> || column >= g.w + kBehind<kTaps> || row < -kBefore<kTaps> ||
        row >= g.h + kBehind<kTaps>) {
      return {};
    }
    pixels[item] = Pixel::Pack(column, row);
    return {column, row, column, row};
  }
};

// ---- tiles -------------------------------------------------------------------------------------

// Each thread owns a pixel with all of its kChannels channels.
template <class T, int kTaps, int kChannels>
struct GatherTile {
  using F = ComputeType<T>;
  static constexpr int32_t kHeight = kTileHeight;
  static constexpr int32_t kWidth = kTileWidth;
  static constexpr uint32_t kLog = kTaps == 1 ? 0 : (kTaps == 2 ? 2 : 4);  // log2 of a point's taps
  // How many points are listed at a time, and how many wait for it.
  static constexpr uint32_t kMost = static_cast<uint32_t>(Threshold(512, 5));
  static constexpr uint32_t kWaiting = kMost + Block::kMost;
  static constexpr uint32_t kMostSorted = static_cast<uint32_t>(Threshold(256, 12));  // per list
  // The threads list points in parts, one part after the other. Only points that one part lists at
  // a time may come in any order.
  static constexpr uint32_t kParts = 8;
  static constexpr uint32_t kLanes = Block::kThreads / kParts;

  struct Shared {
    Block::Scratch scratch;
    uint32_t stretches[Block::kMost];
    uint32_t runs[Block::kMost];
    uint32_t points[kWaiting];
    Pack<F, 2> positions[kMost];
    uint32_t begins[Block::kThreads];        // where each pixel's list begins
    uint32_t ends[kParts][Block::kThreads];  // where each part's entries of the list end
    uint16_t entries[kMost << kLog];         // the point's index and the tap's number
  };

  Geometry g;
  uint32_t points;  // points per image
  uint32_t stretches;
  uint32_t columns;  // tiles per row
  uint32_t rows;
  const Pack<F, 2>* positions;
  const uint32_t* pixels;
  const Rectangle* of_runs;
  const Rectangle* of_stretches;
  const T* grad_output;  // points to the first image
  Strides from;          // consecutive points are from.w apart
  T* input_grad;         // points to the first image
  Strides to;

  struct Sums {
    F values[kChannels] = {};
  };
  using Own = Block::Own<Sums>;

  // The tile of a block, and the data that the block reads for it.
  struct Tile {
    int64_t image;
    int32_t left;
    int32_t top;
    const Pack<F, 2>* positions;
    const uint32_t* pixels;
    const Rectangle* of_runs;
    const Rectangle* of_stretches;
    const T* grad_output;

    PORTACL_DEVICE bool Touches(const Rectangle& r) const {
      return r.right >= left - kBefore<kTaps> && r.left < left + kWidth + kBehind<kTaps> &&
             r.bottom >= top - kBefore<kTaps> && r.top < top + kHeight + kBehind<kTaps>;
    }
  };

  PORTACL_DEVICE static uint32_t Least(uint32_t a, uint32_t b) { return a < b ? a : b; }

  // Returns the pixel of tap i on an axis.
  PORTACL_DEVICE static int32_t PixelOfTap(F at, int i, const AxisRule& rule) {
    if (kTaps == 1) return static_cast<int32_t>(RoundToEven(at));
    if (kTaps == 2) return static_cast<int32_t>(Floor(at)) + i;
    return static_cast<int32_t>(ref::CubicTap(Floor(at), i, rule));
  }

  // Calls visit(pixel of the tile, tap's number) for each tap in the tile, the last tap first. So
  // if neighbouring points touch a pixel, it mostly sees the first point first.
  template <class Visit>
  PORTACL_DEVICE void ForTaps(const Tile& tile, const Pack<F, 2>& position,
                              const Visit& visit) const {
    int32_t x[kTaps];
    PORTACL_UNROLL
    for (int i = 0; i < kTaps; ++i) x[i] = PixelOfTap(position.values[0], i, g.x) - tile.left;
    PORTACL_UNROLL
    for (int j = kTaps - 1; j >= 0; --j) {
      const int32_t y = PixelOfTap(position.values[1], j, g.y) - tile.top;
      if (y < 0 || y >= kHeight) continue;
      PORTACL_UNROLL
      for (int i = kTaps - 1; i >= 0; --i) {
        if (x[i] < 0 || x[i] >= kWidth) continue;
        visit(static_cast<uint32_t>(y * kWidth + x[i]), static_cast<uint32_t>(j * kTaps + i));
      }
    }
  }

  // Calls visit(part, i) for the thread's share of `count` points.
  template <class Visit>
  PORTACL_DEVICE static void ForPoints(uint32_t thread, uint32_t count, const Visit& visit) {
    const uint32_t part = thread / kLanes;
    const uint32_t each = (count + Block::kThreads - 1) / Block::kThreads * kLanes;
    const uint32_t end = Least(count, (part + 1) * each);
    for (uint32_t i = part * each + thread % kLanes; i < end; i += kLanes) visit(part, i);
  }

  PORTACL_DEVICE void AddTap(const Tile& tile, uint32_t point, const Pack<F, 2>& position, int tap,
                             Sums* sums) const {
    const F weight = WeightOf<kTaps>(position.values[0], tap % kTaps) *
                     WeightOf<kTaps>(position.values[1], tap / kTaps);
    const T* const gradient = tile.grad_output + point * from.w;
    PORTACL_UNROLL
    for (int c = 0; c < kChannels; ++c) {
      sums->values[c] = Fma(weight, Widened(gradient[c * from.c]), sums->values[c]);
    }
  }

  PORTACL_DEVICE void AddList(const Tile& tile, const uint32_t* some, const Shared& shared,
                              uint32_t begin, uint32_t end, Sums* sums) const {
    PORTACL_UNROLL_BY_4
    for (uint32_t i = begin; i < end; ++i) {
      const uint32_t entry = shared.entries[i];
      AddTap(tile, some[entry >> kLog], shared.positions[entry >> kLog],
             static_cast<int>(entry & ((1u << kLog) - 1)), sums);
    }
  }

  // Adds up a pixel with many taps of each point, such as a corner. Sorting its list would take
  // longer than looking at all points in order.
  PORTACL_DEVICE void AddInOrder(const Tile& tile, const uint32_t* some, uint32_t count,
                                 const Shared& shared, int32_t pixel, Sums* sums) const {
    const int32_t x = tile.left + pixel % kWidth;
    const int32_t y = tile.top + pixel / kWidth;
    for (uint32_t i = 0; i < count; ++i) {
      const Pack<F, 2> position = shared.positions[i];
      for (int tap = 0; tap < kTaps * kTaps; ++tap) {
        if (PixelOfTap(position.values[0], tap % kTaps, g.x) == x &&
            PixelOfTap(position.values[1], tap / kTaps, g.y) == y) {
          AddTap(tile, some[i], position, tap, sums);
        }
      }
    }
  }

  // Adds up the taps of `count` points.
  PORTACL_DEVICE void AddPoints(const Block& block, const Tile& tile, const uint32_t* some,
                                uint32_t count, Own* own, Shared* shared) const {
    block.Each([&](uint32_t thread) {
      PORTACL_UNROLL
      for (uint32_t part = 0; part < kParts; ++part) shared->ends[part][thread] = 0;
    });
    block.Each([&](uint32_t thread) {
      ForPoints(thread, count, [&](uint32_t part, uint32_t i) {
        const Pack<F, 2> position = tile.positions[some[i]];
        shared->positions[i] = position;
        ForTaps(tile, position,
                [&](uint32_t pixel, uint32_t) { AddOne(&shared->ends[part][pixel]); });
      });
    });
    block.Each([&](uint32_t thread) {
      uint32_t sum = 0;
      PORTACL_UNROLL
      for (uint32_t part = 0; part < kParts; ++part) sum += shared->ends[part][thread];
      shared->begins[thread] = sum;
    });
    block.Scan(shared->begins, &shared->scratch);
    block.Each([&](uint32_t thread) {
      uint32_t begin = shared->begins[thread];
      PORTACL_UNROLL
      for (uint32_t part = 0; part < kParts; ++part) {
        const uint32_t listed = shared->ends[part][thread];
        shared->ends[part][thread] = begin;
        begin += listed;
      }
    });
    block.Each([&](uint32_t thread) {
      ForPoints(thread, count, [&](uint32_t part, uint32_t i) {
        ForTaps(tile, shared->positions[i], [&](uint32_t pixel, uint32_t tap) {
          const uint32_t at = AddOne(&shared->ends[part][pixel]);
          shared->entries[at] = static_cast<uint16_t>(i << kLog | tap);
        });
      });
    });
    block.Each([&](uint32_t thread) {
      const uint32_t begin = shared->begins[thread];
      const uint32_t end = shared->ends[kParts - 1][thread];
      if (kTaps == 4 && end - begin > kMostSorted) {
        return AddInOrder(tile, some, count, *shared, static_cast<int32_t>(thread),
                          &(*own)[thread]);
      }
      SortInOrder(shared->entries, begin, end);
      AddList(tile, some, *shared, begin, end, &(*own)[thread]);
    });
  }

  PORTACL_DEVICE void AddWaiting(const Block& block, const Tile& tile, uint32_t* waiting, Own* own,
                                 Shared* shared) const {
    for (uint32_t i = 0; i < *waiting; i += kMost) {
      AddPoints(block, tile, shared->points + i, Least(*waiting - i, kMost), own, shared);
    }
    *waiting = 0;
  }

  // Adds up the points of `count` stretches of an image, in order.
  PORTACL_DEVICE void AddStretches(const Block& block, const Tile& tile, const uint32_t* some,
                                   uint32_t count, uint32_t* waiting, Own* own,
                                   Shared* shared) const {
    constexpr uint32_t kRuns = Block::kMost / kRun;
    const auto is_run = [&](uint32_t i, uint32_t* run) {
      *run = some[i / kStretch] * kStretch + i % kStretch;
      return *run * kRun < points && tile.Touches(tile.of_runs[*run]);
    };
    const uint32_t runs = block.Select(count * kStretch, shared->runs, &shared->scratch, is_run);
    for (uint32_t at = 0; at < runs; at += kRuns) {
      const auto is_point = [&](uint32_t i, uint32_t* point) {
        *point = shared->runs[at + i / kRun] * kRun + i % kRun;
        if (*point >= points) return false;
        const uint32_t pixel = tile.pixels[*point];
        if (kTaps == 4 && pixel == Pixel::kAnywhere) return true;
        const int32_t x = Pixel::X(pixel) - (tile.left - kBefore<kTaps>);
        const int32_t y = Pixel::Y(pixel) - (tile.top - kBefore<kTaps>);
        return x >= 0 && x < kWidth + kBefore<kTaps> + kBehind<kTaps> && y >= 0 &&
               y < kHeight + kBefore<kTaps> + kBehind<kTaps>;
      };
      const uint32_t now = Least(runs - at, kRuns) * kRun;
      *waiting += block.Select(now, shared->points + *waiting, &shared->scratch, is_point);
      if (*waiting > kMost) AddWaiting(block, tile, waiting, own, shared);
    }
  }

  PORTACL_DEVICE Tile TileOf(uint32_t number) const {
    Tile tile{};
    tile.left = static_cast<int32_t>(number % columns) * kWidth;
    number /= columns;
    tile.top = static_cast<int32_t>(number % rows) * kHeight;
    tile.image = number / rows;
    tile.positions = positions + tile.image * points;
    tile.pixels = pixels + tile.image * points;
    tile.of_stretches = of_stretches + tile.image * stretches;
    tile.of_runs = of_runs + tile.image * stretches * kStretch;
    tile.grad_output = grad_output + tile.image * from.n;
    return tile;
  }

  PORTACL_DEVICE void operator()(const Block& block, int64_t number, Shared& shared) const {
    constexpr uint32_t kAtOnce = Block::kMost / kStretch;
    const Tile tile = TileOf(static_cast<uint32_t>(number));
    Own own;
    uint32_t waiting = 0;
    for (uint32_t at = 0; at < stretches; at += Block::kMost) {
      const auto is_stretch = [&](uint32_t i, uint32_t* stretch) {
        *stretch = at + i;
        return tile.Touches(tile.of_stretches[*stretch]);
      };
      const uint32_t found = block.Select(Least(stretches - at, Block::kMost), shared.stretches,
                                          &shared.scratch, is_stretch);
      for (uint32_t i = 0; i < found; i += kAtOnce) {
        AddStretches(block, tile, shared.stretches + i, Least(found - i, kAtOnce), &waiting, &own,
                     &shared);
      }
    }
    if (waiting > 0) AddWaiting(block, tile, &waiting, &own, &shared);
    block.Each([&](uint32_t thread) {
      const int64_t x = tile.left + static_cast<int32_t>(thread % kWidth);
      const int64_t y = tile.top + static_cast<int32_t>(thread / kWidth);
      if (x >= g.w || y >= g.h) return;
      T* const out = input_grad + to({tile.image, 0, 0, y, x});
      PORTACL_UNROLL
      for (int c = 0; c < kChannels; ++c) Store(own[thread].values[c], out + c * to.c);
    });
  }
};

}  // namespace portacl::cuda

#endif  // PORTACL_CUDA_GRID_SAMPLER_TILES_H_
