// Gradients of grid sampling, without atomic sums. inputGrad: each pixel has a list of the points
// or taps that touch it (counted, placed, then sorted). One thread adds them up in the points'
// order. Lists are in shared memory (grid_sampler_tiles.h) or, for many channels or tiles, in
// memory for all points. Linear modes list points by cell (the space between pixels), and a pixel
// merges the lists of its cells. Other modes list each tap by its pixel. gridGrad: a thread per
// point; for few points with many channels, a thread per block of 16 channels.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/checked.h"
#include "base/dispatch.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/grid_point.h"
#include "cuda/grid_sampler_tiles.h"
#include "cuda/index.h"
#include "cuda/lists.h"
#include "cuda/operators.h"
#include "cuda/tree.h"

namespace portacl::cuda {
namespace {

constexpr int Power(int base, int exponent) {
  int power = 1;
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

// ---- inputGrad ---------------------------------------------------------------------------------

// Lists of entries, one list per key.
struct Lists {
  static constexpr uint32_t kNone = UINT32_MAX;  // the key of an entry that is in no list
  uint32_t* keys;                                // per entry
  uint32_t* ranks;                               // per entry: entries of its key counted before
  uint32_t* entries;                             // of all lists, one list behind the other
  uint32_t* counts;                              // per list, and a 0 at the end
  uint32_t* starts;                              // per list: first index in `entries`; then the end
  uint32_t* longs;                               // lists of more than SortShort::kMost entries
  uint32_t* long_count;

  PORTACL_DEVICE void Count(int64_t entry, uint32_t key) const {
    keys[entry] = key;
    if (key != kNone) ranks[entry] = AddOne(&counts[key]);
  }
};

struct Clear {
  uint32_t* numbers;
  PORTACL_DEVICE void operator()(int64_t item) const { numbers[item] = 0; }
};

// Computes entry e = point * taps + tap of some images: its pixel and its weight.
template <class T, int kAxes, int kTaps>
struct ListTaps {
  using F = ComputeType<T>;
  Items items;    // the points of the images
  int64_t first;  // number of the first image
  Geometry g;
  const T* grid;
  Lists lists;
  F* weights;

  PORTACL_DEVICE void operator()(int64_t item) const {
    constexpr int kAll = Power(kTaps, kAxes);
    Place at = items.At(item);
    const auto image = static_cast<uint32_t>(at.n);
    at.n += first;
    const auto point = PointAt<kTaps, kAxes>(g, grid, at);
    const bool usable = !point.unusable && !point.outside;
    const int64_t begin = item * kAll;
    int tap = 0;
    PORTACL_UNROLL
    for (int k = 0; k < (kAxes == 3 ? kTaps : 1); ++k) {
      PORTACL_UNROLL
      for (int j = 0; j < kTaps; ++j) {
        PORTACL_UNROLL
        for (int i = 0; i < kTaps; ++i, ++tap) {
          const bool inside = usable && point.Inside(k, j, i);
          uint32_t key = Lists::kNone;
          if (inside) {
            key = image * static_cast<uint32_t>(g.d * g.h * g.w) +
                  static_cast<uint32_t>((point.z.index[k] * g.h + point.y.index[j]) * g.w +
                                        point.x.index[i]);
          }
          lists.Count(begin + tap, key);
          weights[begin + tap] = inside ? point.Weight(k, j, i) : F(0);
        }
      }
    }
  }
};

// Puts each entry into its list, in any order.
struct PlaceEntries {
  Lists lists;
  PORTACL_DEVICE void operator()(int64_t item) const {
    const uint32_t key = lists.keys[item];
    if (key == Lists::kNone) return;
    lists.entries[lists.starts[key] + lists.ranks[item]] = static_cast<uint32_t>(item);
  }
};

// Sorts short lists, one per item. Notes long lists.
struct SortShort {
  static constexpr uint32_t kMost = 32;
  Lists lists;
  PORTACL_DEVICE void operator()(int64_t item) const {
    const uint32_t begin = lists.starts[item];
    const uint32_t end = lists.starts[item + 1];
    if (end - begin > kMost) {
      lists.longs[AddOne(lists.long_count)] = static_cast<uint32_t>(item);
      return;
    }
    SortInOrder(lists.entries, begin, end);
  }
};

// The sums of kGroup channels of a pixel. Both ways to gather add an entry's gradients to them.
template <class T, int kGroup>
struct Sums {
  using F = ComputeType<T>;
  F values[kGroup] = {};

  PORTACL_DEVICE void Add(F weight, const T* gradient, int64_t step, int64_t left) {
    PORTACL_UNROLL
    for (int c = 0; c < kGroup; ++c) {
      if (c < left) values[c] = Fma(weight, Widened(gradient[c * step]), values[c]);
    }
  }
  PORTACL_DEVICE void StoreTo(T* out, int64_t step, int64_t left) const {
    PORTACL_UNROLL
    for (int c = 0; c < kGroup; ++c) {
      if (c < left) Store(values[c], out + c * step);
    }
  }
};

// gradOutput at the points of some images.
template <class T>
struct Gradients {
  Items points;          // converts a point's number to its place
  const T* grad_output;  // points to the first image
  Strides stride;
  int64_t plain;  // if not 0: distance between consecutive points of an image
  int64_t image_points;

  // Returns the address of point number `point` in image `image`, for channel `c`.
  PORTACL_DEVICE const T* At(int64_t point, int64_t image, int64_t c) const {
    const T* const channel = grad_output + image * stride.n + c * stride.c;
    if (plain != 0) return channel + (point - image * image_points) * plain;
    const Place place = points.At(point);
    return channel + place.d * stride.d + place.h * stride.h + place.w * stride.w;
  }
};

// Sums pixels of the images by lists of taps. item.c counts groups of channels.
template <class T, int kLogTaps, int kGroup>
struct GatherTaps {
  using F = ComputeType<T>;
  Items items;
  Geometry g;
  const uint32_t* starts;
  const uint32_t* entries;
  const F* weights;
  Gradients<T> gradients;
  T* input_grad;  // points to the first image
  Strides to;

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    const int64_t pixel = ((at.n * g.d + at.d) * g.h + at.h) * g.w + at.w;
    const uint32_t end = starts[pixel + 1];
    at.c *= kGroup;
    const int64_t left = g.c - at.c;
    Sums<T, kGroup> sums;
    PORTACL_UNROLL_BY_4
    for (uint32_t i = starts[pixel]; i < end; ++i) {
      const uint32_t entry = entries[i];
      sums.Add(weights[entry], gradients.At(entry >> kLogTaps, at.n, at.c), gradients.stride.c,
               left);
    }
    sums.StoreTo(input_grad + to(at), to.c, left);
  }
};

// ---- inputGrad of linear modes -----------------------------------------------------------------

// A point's weights along x, y (and z): for the pixel before the point and the pixel behind it.
template <class F, int kAxes>
struct CellWeights {
  Pack<F, 2> axis[kAxes];
};

// Returns a cell's number. Along each axis an image has one cell more than pixels: cell 0 lies
// before pixel 0.
template <int kAxes>
PORTACL_DEVICE int64_t CellOf(const Geometry& g, int64_t image, int64_t z, int64_t y, int64_t x) {
  const int64_t planes = kAxes == 3 ? g.d + 1 : 1;
  return ((image * planes + z) * (g.h + 1) + y) * (g.w + 1) + x;
}

// Lists each point under its cell. The items are the points of some images.
template <class T, int kAxes>
struct ListPoints {
  using F = ComputeType<T>;
  Items items;
  int64_t first;
  Geometry g;
  const T* grid;
  Lists lists;
  CellWeights<F, kAxes>* weights;

  // Returns the cell on an axis if one of its two pixels is inside, else -1.
  PORTACL_DEVICE static int64_t Cell(const AxisTaps<F, 2>& taps) {
    return taps.index[0] >= 0 ? taps.index[0] + 1 : taps.index[1];
  }

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    const int64_t image = at.n;
    at.n += first;
    const auto point = PointAt<2, kAxes>(g, grid, at);
    if (point.unusable || point.outside) return lists.Count(item, Lists::kNone);
    const int64_t x = Cell(point.x);
    const int64_t y = Cell(point.y);
    int64_t z = 0;
    CellWeights<F, kAxes> own;
    own.axis[0] = {point.x.weight[0], point.x.weight[1]};
    own.axis[1] = {point.y.weight[0], point.y.weight[1]};
    if constexpr (kAxes == 3) {
      z = Cell(point.z);
      own.axis[2] = {point.z.weight[0], point.z.weight[1]};
    }
    if (x < 0 || y < 0 || z < 0) return lists.Count(item, Lists::kNone);
    lists.Count(item, static_cast<uint32_t>(CellOf<kAxes>(g, image, z, y, x)));
    weights[item] = own;
  }
};

// Sums pixels of the images by lists of cells. item.c counts groups of channels.
template <class T, int kAxes, int kGroup>
struct GatherCells {
  using F = ComputeType<T>;
  static constexpr int kCells = Power(2, kAxes);
  static constexpr uint32_t kNone = UINT32_MAX;
  Items items;
  Geometry g;
  const uint32_t* starts;
  const uint32_t* entries;
  const CellWeights<F, kAxes>* weights;
  Gradients<T> gradients;
  T* input_grad;  // points to the first image
  Strides to;

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    // Bit 0, 1 or 2 of a cell's number is set if the pixel lies behind the cell along x, y or z.
    uint32_t head[kCells];  // per cell: its next point
    uint32_t next[kCells];
    uint32_t end[kCells];
    int lists = 0;
    int only = 0;
    uint32_t only_begin = 0;
    uint32_t only_end = 0;
    PORTACL_UNROLL
    for (int i = 0; i < kCells; ++i) {
      const int64_t cell = CellOf<kAxes>(g, at.n, kAxes == 3 ? at.d + 1 - (i >> 2 & 1) : 0,
                                         at.h + 1 - (i >> 1 & 1), at.w + 1 - (i & 1));
      next[i] = starts[cell];
      end[i] = starts[cell + 1];
      head[i] = next[i] < end[i] ? entries[next[i]] : kNone;
      if (next[i] < end[i]) {
        ++lists;
        only = i;
        only_begin = next[i];
        only_end = end[i];
      }
    }
    at.c *= kGroup;
    const int64_t left = g.c - at.c;
    Sums<T, kGroup> sums;
    const auto add = [&](uint32_t point, int side) {
      const CellWeights<F, kAxes> own = weights[point];
      F weight = (side & 1 ? own.axis[0].values[1] : own.axis[0].values[0]) *
                 (side & 2 ? own.axis[1].values[1] : own.axis[1].values[0]);
      if constexpr (kAxes == 3) {
        weight = weight * (side & 4 ? own.axis[2].values[1] : own.axis[2].values[0]);
      }
      sums.Add(weight, gradients.At(point, at.n, at.c), gradients.stride.c, left);
    };
    if (lists == 1) {  // many points in one cell: loads run ahead of sums
      PORTACL_UNROLL_BY_4
      for (uint32_t i = only_begin; i < only_end; ++i) add(entries[i], only);
    }
    while (lists > 1) {
      uint32_t point = head[0];
      int side = 0;
      PORTACL_UNROLL
      for (int i = 1; i < kCells; ++i) {
        if (head[i] < point) {
          point = head[i];
          side = i;
        }
      }
      if (point == kNone) break;
      PORTACL_UNROLL
      for (int i = 0; i < kCells; ++i) {
        if (i == side) head[i] = ++next[i] < end[i] ? entries[next[i]] : kNone;
      }
      add(point, side);
    }
    sums.StoreTo(input_grad + to(at), to.c, left);
  }
};

// ---- gridGrad ----------------------------------------------------------------------------------

template <class F>
struct Slope {
  F x, y, z;
};

// Returns one plane's slopes along x and y, and its value.
template <class F>
PORTACL_DEVICE Slope<F> PlaneSlope(const F (&v)[2][2], const AxisTaps<F, 2>& x,
                                   const AxisTaps<F, 2>& y) {
  const F ux = x.weight[0];
  const F tx = x.weight[1];
  const F uy = y.weight[0];
  const F ty = y.weight[1];
  return {Fma(v[1][1] - v[1][0], ty, (v[0][1] - v[0][0]) * uy),
          Fma(v[1][1] - v[0][1], tx, (v[1][0] - v[0][0]) * ux),
          Fma(Fma(v[1][1], tx, v[1][0] * ux), ty, Fma(v[0][1], tx, v[0][0] * ux) * uy)};
}

template <class F>
PORTACL_DEVICE Slope<F> PlaneSlope(const F (&v)[4][4], const AxisTaps<F, 4>& x,
                                   const AxisTaps<F, 4>& y) {
  Slope<F> slope{};
  PORTACL_UNROLL
  for (int j = 0; j < 4; ++j) {
    F row = x.weight[0] * v[j][0];
    F row_slope = x.derivative[0] * v[j][0];
    PORTACL_UNROLL
    for (int i = 1; i < 4; ++i) {
      row = Fma(x.weight[i], v[j][i], row);
      row_slope = Fma(x.derivative[i], v[j][i], row_slope);
    }
    const bool top = j == 0;
    slope.x = top ? y.weight[0] * row_slope : Fma(y.weight[j], row_slope, slope.x);
    slope.y = top ? y.derivative[0] * row : Fma(y.derivative[j], row, slope.y);
    slope.z = top ? y.weight[0] * row : Fma(y.weight[j], row, slope.z);
  }
  return slope;
}

template <class F>
PORTACL_DEVICE Slope<F> Across(const Slope<F> (&planes)[1], const AxisTaps<F, 1>&) {
  return {planes[0].x, planes[0].y, 0};
}
template <class F>
PORTACL_DEVICE Slope<F> Across(const Slope<F> (&planes)[2], const AxisTaps<F, 2>& z) {
  return {Fma(planes[1].x, z.weight[1], planes[0].x * z.weight[0]),
          Fma(planes[1].y, z.weight[1], planes[0].y * z.weight[0]), planes[1].z - planes[0].z};
}
template <class F>
PORTACL_DEVICE Slope<F> Across(const Slope<F> (&planes)[4], const AxisTaps<F, 4>& z) {
  Slope<F> slope = {z.weight[0] * planes[0].x, z.weight[0] * planes[0].y,
                    z.derivative[0] * planes[0].z};
  PORTACL_UNROLL
  for (int k = 1; k < 4; ++k) {
    slope.x = Fma(z.weight[k], planes[k].x, slope.x);
    slope.y = Fma(z.weight[k], planes[k].y, slope.y);
    slope.z = Fma(z.derivative[k], planes[k].z, slope.z);
  }
  return slope;
}

// Sums blocks of 16 channels of each point. Adds the sums to gridGrad at once, or (kApart) stores
// them for AddBlocks.
template <class T, int kAxes, int kTaps, bool kApart>
struct SumBlocks {
  using F = ComputeType<T>;
  static constexpr int kPlanes = kAxes == 3 ? kTaps : 1;
  Items items;  // points; with kApart, item.c counts blocks
  Geometry g;
  const T* grad_output;
  const T* input;
  const T* grid;
  T* grid_grad;
  F* apart;  // kAxes sums per item
  Strides output_stride;
  Strides from;
  Strides to;

  PORTACL_DEVICE Slope<F> SlopeAt(const Point<F, kAxes, kTaps>& point, const T* image) const {
    Slope<F> planes[kPlanes];
    PORTACL_UNROLL
    for (int k = 0; k < kPlanes; ++k) {
      F values[kTaps][kTaps];
      PORTACL_UNROLL
      for (int j = 0; j < kTaps; ++j) {
        PORTACL_UNROLL
        for (int i = 0; i < kTaps; ++i) {
          values[j][i] = point.Inside(k, j, i)
                             ? Widened(image[point.z.index[k] * from.d + point.y.index[j] * from.h +
                                             point.x.index[i] * from.w])
                             : F(0);
        }
      }
      planes[k] = PlaneSlope(values, point.x, point.y);
    }
    return Across(planes, point.z);
  }

  template <int kStep>
  PORTACL_DEVICE Slope<F> SumOf(const Point<F, kAxes, kTaps>& point, const Place& at,
                                int64_t block) const {
    Tree<F> x, y, z;
    const T* const image = input + at.n * from.n;
    const T* const gradient = grad_output + output_stride({at.n, 0, at.d, at.h, at.w});
    const auto add = [&](int i) {
      const int64_t c = block * Tree<F>::kLanes + Tree<F>::Lane(i);
      Slope<F> lane{};
      if (c < g.c) {
        const Slope<F> slope = SlopeAt(point, image + c * from.c);
        const F value = Widened(gradient[c * output_stride.c]);
        lane = {value * slope.x, value * slope.y, value * slope.z};
      }
      x.template Add<kStep>(i, lane.x);
      y.template Add<kStep>(i, lane.y);
      if (kAxes == 3) z.template Add<kStep>(i, lane.z);
    };
    if constexpr (kStep > 1 && kTaps == 2) {  // loads run ahead of sums
      PORTACL_UNROLL
      for (int i = 0; i < Tree<F>::kLanes; i += kStep) add(i);
    } else {
      for (int i = 0; i < Tree<F>::kLanes; i += kStep) add(i);
    }
    return {x.sum(), y.sum(), z.sum()};
  }

  PORTACL_DEVICE void Write(const Place& at, const Slope<F>& value) const {
    T* const out = grid_grad + to({at.n, 0, at.d, at.h, at.w});
    Store(value.x, out);
    Store(value.y, out + to.c);
    if (kAxes == 3) Store(value.z, out + 2 * to.c);
  }

  PORTACL_DEVICE void operator()(int64_t item) const {
    const Place at = items.At(item);
    const auto point = PointAt<kTaps, kAxes>(g, grid, at);
    if (point.unusable || point.outside) {
      if (kApart && at.c != 0) return;
      const F value = point.unusable ? std::numeric_limits<F>::quiet_NaN() : F(0);
      return Write(at, {value, value, value});
    }
    if constexpr (kApart) {
      const Slope<F> sum = SumOf<1>(point, at, at.c);
      F* const out = apart + item * kAxes;
      out[0] = sum.x;
      out[1] = sum.y;
      if (kAxes == 3) out[2] = sum.z;
    } else {
      Slope<F> sum{};
      if (g.c <= Tree<F>::kFew) {
        sum = SumOf<Tree<F>::kLanes / Tree<F>::kFew>(point, at, 0);
      } else {
        for (int64_t block = 0; block * Tree<F>::kLanes < g.c; ++block) {
          const Slope<F> one = SumOf<1>(point, at, block);
          sum.x += one.x;
          sum.y += one.y;
          sum.z += one.z;
        }
      }
      Write(at, {sum.x * point.slope[0], sum.y * point.slope[1], sum.z * point.slope[2]});
    }
  }
};

// Adds up the sums that SumBlocks stored. Unusable points have their results already.
template <class T, int kAxes, int kTaps>
struct AddBlocks {
  using F = ComputeType<T>;
  Items items;  // points
  int64_t blocks;
  Geometry g;
  const T* grid;
  const F* apart;
  T* grid_grad;
  Strides to;

  PORTACL_DEVICE void operator()(int64_t item) const {
    const Place at = items.At(item);
    const auto point = PointAt<kTaps, kAxes>(g, grid, at);
    if (point.unusable || point.outside) return;
    T* const out = grid_grad + to(at);
    for (int axis = 0; axis < kAxes; ++axis) {
      F sum = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        sum += apart[(item * blocks + block) * kAxes + axis];
      }
      Store(sum * point.slope[axis], out + axis * to.c);
    }
  }
};

template <class T>
struct Zero {
  Items items;
  T* to;
  Strides stride;
  PORTACL_DEVICE void operator()(int64_t item) const {
    Store(ComputeType<T>(0), to + stride(items.At(item)));
  }
};

// ---- the plan ----------------------------------------------------------------------------------

struct Plan : base::PathPlan<std::monostate> {
  // inputGrad: how many images are computed at a time.
  int64_t images = 0;
  // With tiles: the parts of the workspace in bytes.
  bool tiles = false;
  uint64_t positions = 0;
  uint64_t pixels = 0;
  uint64_t runs = 0;
  uint64_t stretches = 0;
  // With lists: the parts of the workspace in bytes.
  int64_t keys = 0;    // keys of an image
  uint64_t array = 0;  // of each array of keys, ranks or entries
  uint64_t weights = 0;
  uint64_t lists = 0;  // of each array of counts or starts
  uint64_t longs = 0;
  uint64_t scratch = 0;  // for the scan
  // gridGrad: how many blocks of channels a point has that are summed apart; 0: none.
  int64_t blocks = 0;
};

// The size of an image's lists: entries and keys.
struct Listing {
  int64_t entries = 0;
  int64_t keys = 0;
  uint64_t weight = 0;  // bytes per entry
};

// Returns false if a number is too large.
bool ListingOf(const Geometry& g, int axes, int64_t taps, uint64_t element, Listing* listing) {
  const bool cells = taps == 2;
  const int64_t more = cells ? 1 : 0;
  int64_t all_taps = 1;
  for (int axis = 0; axis < axes; ++axis) all_taps *= cells ? 1 : taps;
  listing->weight = element * static_cast<uint64_t>(cells ? 2 * axes : 1);
  return base::CheckedMul(axes == 3 ? g.d + more : 1, g.h + more, &listing->keys) &&
         base::CheckedMul(listing->keys, g.w + more, &listing->keys) &&
         base::CheckedMul(g.od, g.oh, &listing->entries) &&
         base::CheckedMul(listing->entries, g.ow, &listing->entries) &&
         base::CheckedMul(listing->entries, all_taps, &listing->entries);
}

constexpr int64_t kEnough = Threshold(int64_t{1} << 24, 1000);  // entries that fill a GPU

// The number of tile columns and tile rows of an image.
int64_t ColumnsOfTiles(const Geometry& g) { return (g.w + kTileWidth - 1) / kTileWidth; }
int64_t RowsOfTiles(const Geometry& g) { return (g.h + kTileHeight - 1) / kTileHeight; }

int64_t StretchesOf(const Geometry& g) {
  constexpr int64_t kPoints = kRun * kStretch;
  return (g.points() + kPoints - 1) / kPoints;
}

// Returns true if the points of an image are evenly spaced in the tensor.
bool IsPlain(const Geometry& g, const Strides& from) {
  return from.h == g.ow * from.w && (g.od == 1 || from.d == g.oh * from.h);
}

// Returns true if an image is computed tile by tile, which needs few channels and few tiles. If
// successive points lie far apart, as in a grid of one row or column, each tile looks at all
// points. Many points on few tiles would leave most of a GPU idle. Otherwise lists are used.
bool PlanTiles(const Geometry& g, int64_t taps, uint64_t element, Plan* plan) {
  constexpr int64_t kPoints = int64_t{1} << 26;
  const int64_t most = taps == 4 ? Threshold(2048, 6) : Threshold(256, 4);  // tiles per image
  if (g.c > kTileChannels || std::max(g.h, g.w) > Pixel::kMostExtent || g.oh == 1 || g.ow == 1 ||
      std::max(g.oh, g.ow) > kPoints || g.points() > kPoints) {
    return false;
  }
  const int64_t tiles = ColumnsOfTiles(g) * RowsOfTiles(g);
  if (tiles > most || (g.n * tiles < Threshold(64, 0) && g.points() > 4 * g.h * g.w)) return false;
  plan->images = std::clamp<int64_t>(kEnough / std::max<int64_t>(g.points(), 1), 1, g.n);
  plan->images = std::min(plan->images, (int64_t{1} << 30) / tiles);
  const auto images = static_cast<uint64_t>(plan->images);
  const uint64_t points = images * static_cast<uint64_t>(g.points());
  const uint64_t stretches = images * static_cast<uint64_t>(StretchesOf(g));
  plan->positions = Padded(points * 2 * element);
  plan->pixels = Padded(points * sizeof(uint32_t));
  plan->runs = Padded(stretches * kStretch * sizeof(Rectangle));
  plan->stretches = Padded(stretches * sizeof(Rectangle));
  plan->workspace_size = plan->positions + plan->pixels + plan->runs + plan->stretches;
  plan->tiles = true;
  return true;
}

bool PlanInputGrad(const Geometry& g, int axes, int64_t taps, uint64_t element, Plan* plan) {
  constexpr int64_t kMost = INT32_MAX / 2;      // entries or keys at a time
  constexpr int64_t kExact = int64_t{1} << 23;  // up to this extent a float holds places exactly
  Listing one;
  if (!ListingOf(g, axes, taps, element, &one) || one.entries > kMost || one.keys > kMost) {
    return false;
  }
  if (taps == 2 && std::max({g.d, g.h, g.w}) > kExact) return false;
  const int64_t wanted = std::min(kEnough / std::max<int64_t>(one.entries, 1), kMost / one.keys);
  plan->images = std::clamp<int64_t>(wanted, 1, g.n);
  plan->keys = one.keys;
  const auto entries = static_cast<uint64_t>(plan->images * one.entries);
  const auto keys = static_cast<uint64_t>(plan->images * one.keys);
  plan->array = Padded(entries * sizeof(uint32_t));
  plan->weights = Padded(entries * one.weight);
  plan->lists = Padded((keys + 2) * sizeof(uint32_t));
  plan->longs = Padded((entries / SortShort::kMost + 1) * sizeof(uint32_t));
  plan->scratch = Padded(ScanScratch(static_cast<int64_t>(keys) + 1));
  plan->workspace_size =
      3 * plan->array + plan->weights + 2 * plan->lists + plan->longs + plan->scratch;
  return true;
}

bool PlanGridGrad(const Geometry& g, int axes, uint64_t element, Plan* plan) {
  constexpr int64_t kFew = Threshold(int64_t{1} << 17, 100);  // points
  const int64_t blocks = (g.c + 15) / 16;
  const int64_t points = g.n * g.points();
  if (blocks < 2 || points >= kFew) return true;
  uint64_t bytes = static_cast<uint64_t>(points * axes) * element;
  if (!base::CheckedMul(bytes, static_cast<uint64_t>(blocks), &bytes)) return false;
  plan->blocks = blocks;
  plan->workspace_size = std::max(plan->workspace_size, bytes);
  return true;
}

template <class Params>
std::optional<Plan> MakePlan(const Params& p, std::string_view) {
  if (ops::IsExtended(p.shape)) return std::nullopt;
  const Geometry g = GeometryOf(p);
  const bool nearest = p.shape.interpolation == ops::Interpolation::kNearest;
  const uint64_t element = p.shape.dtype == base::DType::kDouble ? 8 : 4;
  Plan plan;
  bool fits = true;
  if (p.want_input_grad && g.n > 0 && g.c > 0) {
    int64_t taps = 1;
    WithTaps(p.shape.interpolation, [&](auto number) { taps = decltype(number)::value; });
    fits = (kAxesOf<Params> == 2 && IsPlain(g, StridesOf(p.grad_output_stride)) &&
            PlanTiles(g, taps, element, &plan)) ||
           PlanInputGrad(g, kAxesOf<Params>, taps, element, &plan);
  }
  if (fits && p.want_grid_grad && !nearest) fits = PlanGridGrad(g, kAxesOf<Params>, element, &plan);
  if (!fits) return std::nullopt;
  return plan;
}

// Divides a workspace into parts, one behind the other.
class Parts {
 public:
  explicit Parts(void* workspace) : next_(static_cast<char*>(workspace)) {}
  template <class T>
  T* Take(uint64_t bytes) {
    char* const part = next_;
    next_ += bytes;
    return reinterpret_cast<T*>(part);
  }

 private:
  char* next_;
};

// Computes inputGrad of the images from `first` on, tile by tile.
template <class T, int kTaps, class Params>
void RunTiles(const Params& p, const Geometry& g, const Plan& plan, void* workspace, int64_t first,
              int64_t images) {
  using F = ComputeType<T>;
  Parts parts(workspace);
  auto* const positions = parts.Take<Pack<F, 2>>(plan.positions);
  auto* const pixels = parts.Take<uint32_t>(plan.pixels);
  auto* const of_runs = parts.Take<Rectangle>(plan.runs);
  auto* const of_stretches = parts.Take<Rectangle>(plan.stretches);
  const auto points = static_cast<uint32_t>(g.points());
  const auto stretches = static_cast<uint32_t>(StretchesOf(g));
  LaunchStretches(images, points, stretches,
                  LocatePoints<T, kTaps>{Items({images, 1, g.od, g.oh, g.ow}, false), first, g,
                                         static_cast<const T*>(p.grid), positions, pixels},
                  of_runs, of_stretches);
  const int64_t columns = ColumnsOfTiles(g);
  const int64_t rows = RowsOfTiles(g);
  const Strides from = StridesOf(p.grad_output_stride);
  const Strides to = StridesOf(p.input_grad_stride);
  const auto gather = [&](auto channels) {
    LaunchBlocks(images * columns * rows,
                 GatherTile<T, kTaps, decltype(channels)::value>{
                     g, points, stretches, static_cast<uint32_t>(columns),
                     static_cast<uint32_t>(rows), positions, pixels, of_runs, of_stretches,
                     static_cast<const T*>(p.grad_output) + first * from.n, from,
                     static_cast<T*>(p.input_grad) + first * to.n, to});
  };
  static_assert(kTileChannels == 4, "a case each");
  switch (g.c) {
    case 1:
      return gather(std::integral_constant<int, 1>());
    case 2:
      return gather(std::integral_constant<int, 2>());
    case 3:
      return gather(std::integral_constant<int, 3>());
    default:
      return gather(std::integral_constant<int, 4>());
  }
}

// Computes inputGrad of the images from `first` on, by lists of all their points or taps.
template <class T, int kTaps, class Params>
void RunLists(const Params& p, const Geometry& g, const Plan& plan, void* workspace, int64_t first,
              int64_t images) {
  constexpr int kAxes = kAxesOf<Params>;
  constexpr bool kCells = kTaps == 2;
  constexpr int kAll = kCells ? 1 : Power(kTaps, kAxes);
  using F = ComputeType<T>;
  using Weights = std::conditional_t<kCells, CellWeights<F, kAxes>, F>;
  Parts parts(workspace);
  Lists lists{};
  lists.keys = parts.Take<uint32_t>(plan.array);
  lists.ranks = parts.Take<uint32_t>(plan.array);
  lists.entries = parts.Take<uint32_t>(plan.array);
  lists.counts = parts.Take<uint32_t>(plan.lists);
  lists.starts = parts.Take<uint32_t>(plan.lists);
  lists.longs = parts.Take<uint32_t>(plan.longs);
  auto* const weights = parts.Take<Weights>(plan.weights);
  void* const scratch = parts.Take<char>(plan.scratch);

  const Items points({images, 1, g.od, g.oh, g.ow}, false);
  const auto* const grid = static_cast<const T*>(p.grid);
  const int64_t keys = images * plan.keys;
  lists.long_count = lists.counts + keys + 1;

  Launch(keys + 2, Clear{lists.counts});
  if constexpr (kCells) {
    Launch(points.count(), ListPoints<T, kAxes>{points, first, g, grid, lists, weights});
  } else {
    Launch(points.count(), ListTaps<T, kAxes, kTaps>{points, first, g, grid, lists, weights});
  }
  Scan(lists.counts, lists.starts, keys + 1, scratch, plan.scratch);
  Launch(points.count() * kAll, PlaceEntries{lists});
  Launch(keys, SortShort{lists});
  SortListed(lists.longs, lists.long_count, lists.starts, lists.entries);

  const Strides from = StridesOf(p.grad_output_stride);
  const Strides to = StridesOf(p.input_grad_stride);
  const Gradients<T> gradients = {points, static_cast<const T*>(p.grad_output) + first * from.n,
                                  from, IsPlain(g, from) ? from.w : 0, g.points()};
  T* const out = static_cast<T*>(p.input_grad) + first * to.n;
  const auto gather = [&](auto group) {
    constexpr int kGroup = decltype(group)::value;
    const Items items({images, (g.c + kGroup - 1) / kGroup, g.d, g.h, g.w},
                      ChannelsFastest(to, g.c));
    if constexpr (kCells) {
      Launch(items.count(), GatherCells<T, kAxes, kGroup>{items, g, lists.starts, lists.entries,
                                                          weights, gradients, out, to});
    } else {
      Launch(items.count(),
             GatherTaps<T, std::bit_width(static_cast<unsigned>(kAll)) - 1, kGroup>{
                 items, g, lists.starts, lists.entries, weights, gradients, out, to});
    }
  };
  const int64_t group = ChannelsAThread(g.c, images * g.pixels());
  if (group > 4) {
    gather(std::integral_constant<int, 8>());
  } else if (group > 1) {
    gather(std::integral_constant<int, 3>());  // usual images have 3 channels
  } else {
    gather(std::integral_constant<int, 1>());
  }
}

template <class T, int kTaps, class Params>
void RunGridGrad(const Params& p, const Geometry& g, const Plan& plan, void* workspace) {
  constexpr int kAxes = kAxesOf<Params>;
  using F = ComputeType<T>;
  const Strides to = GridStridesOf(p.grid_grad_stride);
  auto* const grad = static_cast<T*>(p.grid_grad);
  if (kTaps == 1 || g.c == 0) {
    const Items all({g.n, kAxes, g.od, g.oh, g.ow}, true);
    return Launch(all.count(), Zero<T>{all, grad, to});
  }
  if constexpr (kTaps != 1) {
    const auto* const grid = static_cast<const T*>(p.grid);
    auto* const apart = static_cast<F*>(workspace);
    const auto sum = [&](auto separate, const Items& items) {
      Launch(items.count(), SumBlocks<T, kAxes, kTaps, decltype(separate)::value>{
                                items, g, static_cast<const T*>(p.grad_output),
                                static_cast<const T*>(p.input), grid, grad, apart,
                                StridesOf(p.grad_output_stride), StridesOf(p.input_stride), to});
    };
    const Items points({g.n, 1, g.od, g.oh, g.ow}, false);
    if (plan.blocks == 0) return sum(std::false_type(), points);
    sum(std::true_type(), Items({g.n, plan.blocks, g.od, g.oh, g.ow}, true));
    Launch(points.count(),
           AddBlocks<T, kAxes, kTaps>{points, plan.blocks, g, grid, apart, grad, to});
  }
}

template <class Params>
void Run(const Params& p, const Plan& plan, void* workspace) {
  const Geometry g = GeometryOf(p);
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    WithTaps(p.shape.interpolation, [&](auto taps) {
      constexpr int kTaps = decltype(taps)::value;
      if (p.want_input_grad && g.n > 0 && g.c > 0) {
        for (int64_t first = 0; first < g.n; first += plan.images) {
          const int64_t images = std::min(plan.images, g.n - first);
          if constexpr (kAxesOf<Params> == 2) {
            if (plan.tiles) {
              RunTiles<T, kTaps>(p, g, plan, workspace, first, images);
              continue;
            }
          }
          RunLists<T, kTaps>(p, g, plan, workspace, first, images);
        }
      }
      if (p.want_grid_grad) RunGridGrad<T, kTaps>(p, g, plan, workspace);
    });
  });
}

template <class Params>
constexpr PlanFunction<Params> kPlan =
    base::KernelOf<&MakePlan<Params>, &Run<Params>>::Make("cuda", nullptr).plan;

}  // namespace

const PlanFunction<ops::GridSampler2DBackwardParams> operators::grid_sampler_2d_backward =
    kPlan<ops::GridSampler2DBackwardParams>;
const PlanFunction<ops::GridSampler3DBackwardParams> operators::grid_sampler_3d_backward =
    kPlan<ops::GridSampler3DBackwardParams>;

}  // namespace portacl::cuda
