// Gradients of grid sampling without atomics. inputGrad: every tap of every point is listed under
// the pixel that it touches; a stable sort by pixel brings each pixel's taps together in the order
// of the points, and one thread adds them up. gridGrad: a thread a point, or, of few points with
// many channels, a thread a block of 16 channels.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/checked.h"
#include "base/dispatch.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/grid_sampler_point.h"
#include "cuda/index.h"
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

// Entry e = point * taps + tap of some images: the pixel and the weight.
template <class T, int kAxes, int kTaps>
struct List {
  using F = ComputeType<T>;
  Items items;    // points of the images
  int64_t first;  // of these images
  Geometry g;
  const T* grid;
  uint32_t none;  // the key of a tap outside
  uint32_t* keys;
  uint32_t* entries;
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
          uint32_t key = none;
          if (inside) {
            key = image * static_cast<uint32_t>(g.d * g.h * g.w) +
                  static_cast<uint32_t>((point.z.index[k] * g.h + point.y.index[j]) * g.w +
                                        point.x.index[i]);
          }
          keys[begin + tap] = key;
          entries[begin + tap] = static_cast<uint32_t>(begin + tap);
          weights[begin + tap] = inside ? point.Weight(k, j, i) : F(0);
        }
      }
    }
  }
};

// Where the entries of each pixel begin in the sorted list.
struct FindStarts {
  const uint32_t* keys;
  uint32_t count;
  uint32_t* starts;

  PORTACL_DEVICE void operator()(int64_t item) const {
    const auto key = static_cast<uint32_t>(item);
    uint32_t low = 0;
    uint32_t high = count;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[item] = low;
  }
};

template <class T, int kLogTaps, int kGroup>
struct Gather {
  using F = ComputeType<T>;
  Items items;     // pixels of the images; c counts groups of channels
  Items point_of;  // from a point's number to its place
  int64_t first;
  Geometry g;
  const uint32_t* starts;
  const uint32_t* entries;
  const F* weights;
  const T* grad_output;
  T* input_grad;
  Strides from;
  Strides to;
  int64_t plain;  // not 0: the points of an image lie this far apart, one behind the other

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    const int64_t pixel = ((at.n * g.d + at.d) * g.h + at.h) * g.w + at.w;
    const uint32_t begin = starts[pixel];
    const uint32_t end = starts[pixel + 1];
    const int64_t image_points = g.od * g.oh * g.ow;
    const int64_t base = at.n * image_points;
    at.n += first;
    at.c *= kGroup;
    const T* const gradient = grad_output + at.n * from.n + at.c * from.c;
    const int64_t left = g.c - at.c;
    F sums[kGroup] = {};
    for (uint32_t e = begin; e < end; ++e) {
      const uint32_t entry = entries[e];
      const F weight = weights[entry];
      const int64_t point = static_cast<int64_t>(entry >> kLogTaps);
      int64_t offset = 0;
      if (plain != 0) {
        offset = (point - base) * plain;
      } else {
        const Place place = point_of.At(point);
        offset = place.d * from.d + place.h * from.h + place.w * from.w;
      }
      PORTACL_UNROLL
      for (int c = 0; c < kGroup; ++c) {
        if (c < left) sums[c] = Fma(weight, Widened(gradient[offset + c * from.c]), sums[c]);
      }
    }
    T* const out = input_grad + to(at);
    PORTACL_UNROLL
    for (int c = 0; c < kGroup; ++c) {
      if (c < left) Store(sums[c], out + c * to.c);
    }
  }
};

// ---- gridGrad ----------------------------------------------------------------------------------

template <class F>
struct Slope {
  F x, y, z;
};

// In one plane: the slopes along x and y, and the value.
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

// Blocks of 16 channels of each point: their sums are added to gridGrad at once, or kept apart for
// AddBlocks.
template <class T, int kAxes, int kTaps, bool kApart>
struct SumBlocks {
  using F = ComputeType<T>;
  static constexpr int kPlanes = kAxes == 3 ? kTaps : 1;
  Items items;  // points; apart: c counts the blocks
  Geometry g;
  const T* grad_output;
  const T* input;
  const T* grid;
  T* grid_grad;
  F* apart;  // kAxes sums an item
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
          values[j][i] =
              point.Inside(k, j, i)
                  ? Widened(image[point.z.index[k] * from.d + point.y.index[j] * from.h +
                                point.x.index[i] * from.w])
                  : F(0);
        }
      }
      planes[k] = PlaneSlope(values, point.x, point.y);
    }
    return Across(planes, point.z);
  }

  PORTACL_DEVICE Slope<F> SumOf(const Point<F, kAxes, kTaps>& point, const Place& at,
                                int64_t block) const {
    Tree<F> x, y, z;
    const T* const image = input + at.n * from.n;
    const T* const gradient = grad_output + output_stride({at.n, 0, at.d, at.h, at.w});
    for (int i = 0; i < Tree<F>::kLanes; ++i) {
      const int64_t c = block * Tree<F>::kLanes + Tree<F>::Lane(i);
      Slope<F> lane{};
      if (c < g.c) {
        const Slope<F> slope = SlopeAt(point, image + c * from.c);
        const F value = Widened(gradient[c * output_stride.c]);
        lane = {value * slope.x, value * slope.y, value * slope.z};
      }
      x.Add(i, lane.x);
      y.Add(i, lane.y);
      if (kAxes == 3) z.Add(i, lane.z);
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
      const Slope<F> sum = SumOf(point, at, at.c);
      F* const out = apart + item * kAxes;
      out[0] = sum.x;
      out[1] = sum.y;
      if (kAxes == 3) out[2] = sum.z;
    } else {
      Slope<F> sum{};
      for (int64_t block = 0; block * Tree<F>::kLanes < g.c; ++block) {
        const Slope<F> one = SumOf(point, at, block);
        sum.x += one.x;
        sum.y += one.y;
        sum.z += one.z;
      }
      Write(at, {sum.x * point.slope[0], sum.y * point.slope[1], sum.z * point.slope[2]});
    }
  }
};

// Adds up what SumBlocks kept apart; points that cannot be used have their result already.
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
  // inputGrad: images that are listed at a time, and the parts of the workspace in bytes.
  int64_t images = 0;
  int bits = 0;
  uint64_t array = 0;    // of keys or entries: one of four
  uint64_t weights = 0;
  uint64_t starts = 0;
  uint64_t scratch = 0;  // of the sort
  // gridGrad: 0, or how many blocks of channels a point has that are summed apart.
  int64_t blocks = 0;
};

constexpr uint64_t Padded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// False where the numbers of one image do not fit.
bool PlanInputGrad(const Geometry& g, int64_t taps, uint64_t element, Plan* plan) {
  constexpr int64_t kMost = INT32_MAX / 2;       // entries, or pixels, that are listed at a time
  constexpr int64_t kEnough = int64_t{1} << 24;  // entries that keep the whole machine busy
  int64_t pixels = 0;
  int64_t entries = 0;
  if (!base::CheckedMul(g.d, g.h, &pixels) || !base::CheckedMul(pixels, g.w, &pixels) ||
      !base::CheckedMul(g.od, g.oh, &entries) || !base::CheckedMul(entries, g.ow, &entries) ||
      !base::CheckedMul(entries, taps, &entries) || pixels > kMost || entries > kMost) {
    return false;
  }
  const int64_t wanted = std::min(kEnough / std::max<int64_t>(entries, 1), kMost / pixels);
  plan->images = std::clamp<int64_t>(wanted, 1, g.n);
  const int64_t all = plan->images * entries;
  plan->bits = std::bit_width(static_cast<uint64_t>(plan->images * pixels));
  plan->array = Padded(static_cast<uint64_t>(all) * sizeof(uint32_t));
  plan->weights = Padded(static_cast<uint64_t>(all) * element);
  plan->starts = Padded(static_cast<uint64_t>(plan->images * pixels + 1) * sizeof(uint32_t));
  plan->scratch = all == 0 ? 0 : Padded(SortScratch(all, plan->bits));
  plan->workspace_size = 4 * plan->array + plan->weights + plan->starts + plan->scratch;
  return true;
}

bool PlanGridGrad(const Geometry& g, int axes, uint64_t element, Plan* plan) {
  constexpr int64_t kFew = int64_t{1} << 17;  // points
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
  const Geometry g = GeometryOf(p);
  const bool nearest = p.shape.interpolation == ops::Interpolation::kNearest;
  const uint64_t element = p.shape.dtype == base::DType::kDouble ? 8 : 4;
  Plan plan;
  bool fits = true;
  if (p.want_input_grad && g.n > 0 && g.c > 0) {
    int64_t taps = 1;
    WithTaps(p.shape.interpolation,
             [&](auto number) { taps = Power(decltype(number)::value, kAxesOf<Params>); });
    fits = PlanInputGrad(g, taps, element, &plan);
  }
  if (fits && p.want_grid_grad && !nearest) fits = PlanGridGrad(g, kAxesOf<Params>, element, &plan);
  if (!fits) return std::nullopt;
  return plan;
}

// Takes parts of the workspace one behind the other.
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

template <class T, int kTaps, class Params>
void RunInputGrad(const Params& p, const Geometry& g, const Plan& plan, void* workspace) {
  constexpr int kAxes = kAxesOf<Params>;
  constexpr int kAll = Power(kTaps, kAxes);
  constexpr int kLogTaps = std::bit_width(static_cast<unsigned>(kAll)) - 1;
  using F = ComputeType<T>;
  Parts parts(workspace);
  SortArrays arrays{};
  arrays.keys = parts.Take<uint32_t>(plan.array);
  arrays.values = parts.Take<uint32_t>(plan.array);
  arrays.spare_keys = parts.Take<uint32_t>(plan.array);
  arrays.spare_values = parts.Take<uint32_t>(plan.array);
  F* const weights = parts.Take<F>(plan.weights);
  auto* const starts = parts.Take<uint32_t>(plan.starts);
  void* const scratch = parts.Take<char>(plan.scratch);
  const Strides from = StridesOf(p.grad_output_stride);
  const Strides to = StridesOf(p.input_grad_stride);
  const bool plain = from.h == g.ow * from.w && (kAxes == 2 || from.d == g.oh * from.h);
  for (int64_t first = 0; first < g.n; first += plan.images) {
    const int64_t images = std::min(plan.images, g.n - first);
    const int64_t pixels = images * g.pixels();
    const Items points({images, 1, g.od, g.oh, g.ow}, false);
    arrays.count = points.count() * kAll;
    arrays.bits = plan.bits;
    Launch(points.count(),
           List<T, kAxes, kTaps>{points, first, g, static_cast<const T*>(p.grid),
                                 static_cast<uint32_t>(pixels), arrays.keys, arrays.values,
                                 weights});
    const bool swapped = arrays.count > 0 && Sort(arrays, scratch, plan.scratch);
    Launch(pixels + 1, FindStarts{swapped ? arrays.spare_keys : arrays.keys,
                                  static_cast<uint32_t>(arrays.count), starts});
    const auto gather = [&](auto group) {
      constexpr int kGroup = decltype(group)::value;
      const Items items({images, (g.c + kGroup - 1) / kGroup, g.d, g.h, g.w},
                        ChannelsFastest(to, g.c));
      Launch(items.count(),
             Gather<T, kLogTaps, kGroup>{
                 items, points, first, g, starts, swapped ? arrays.spare_values : arrays.values,
                 weights, static_cast<const T*>(p.grad_output), static_cast<T*>(p.input_grad), from,
                 to, plain ? from.w : 0});
    };
    if (ChannelsAThread(g.c, pixels) > 4) {
      gather(std::integral_constant<int, 8>());
    } else {
      gather(std::integral_constant<int, 2>());
    }
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
      Launch(items.count(),
             SumBlocks<T, kAxes, kTaps, decltype(separate)::value>{
                 items, g, static_cast<const T*>(p.grad_output), static_cast<const T*>(p.input),
                 grid, grad, apart, StridesOf(p.grad_output_stride), StridesOf(p.input_stride),
                 to});
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
        RunInputGrad<T, kTaps>(p, g, plan, workspace);
      }
      if (p.want_grid_grad) RunGridGrad<T, kTaps>(p, g, plan, workspace);
    });
  });
}

template <class Params>
constexpr PlanFunction<Params> kPlan =
    base::KernelOf<&MakePlan<Params>, &Run<Params>>::Make("cuda", nullptr).plan;

}  // namespace

const PlanFunction<ops::GridSampler2DBackwardParams> kGridSampler2DBackward =
    kPlan<ops::GridSampler2DBackwardParams>;
const PlanFunction<ops::GridSampler3DBackwardParams> kGridSampler3DBackward =
    kPlan<ops::GridSampler3DBackwardParams>;

}  // namespace portacl::cuda
