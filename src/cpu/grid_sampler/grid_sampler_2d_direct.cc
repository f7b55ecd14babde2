// Grid sampling with a point in each lane of a vector, its taps gathered channel by channel from
// the planes, or from framed copies of small images on the stack: no slab, no workspace. Longer
// than other files: its three interpolations share the loops over points and channels, and the
// windows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_2d_direct.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_2d_gather-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_padded-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_taps-inl.h"
#include "cpu/grid_sampler/grid_sampler_2d_window-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/transpose-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DParams;
using ops::Interpolation;

// Each sum starts from +0 and takes its taps in order, one fused multiply-add each. Taps outside
// the image count as -0 with a weight of +0 or more, which leaves every sum as it is.
template <class T, Interpolation kInterpolation>
class DirectSampling {
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  static constexpr size_t kLanes = hn::MaxLanes(D());

 public:
  explicit DirectSampling(const Params& p)
      : p_(p), source_(p), output_at_(ValuePointsOf(p.shape, p.output_stride)) {}

  // Points [first, last) of image n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    if constexpr (kInterpolation == Interpolation::kBilinear) {
      // The copy is a small part of the points' work.
      if (2 * (last - first) >= p_.shape.h * p_.shape.w && PaddedImage<F>::Serves(p_.shape)) {
        return RunPadded(n, first, last);
      }
    }
    // A copy that no call below can change: it need not be read anew for each vector.
    const PairSource<F> source = source_;
    ForPoints(source, n, first, last, [&](const Points& points, V x, V y) PORTACL_INLINE_LAMBDA {
      if constexpr (kInterpolation == Interpolation::kBilinear) {
        Bilinear(source, points, x, y);
      } else if constexpr (kInterpolation == Interpolation::kNearest) {
        Nearest(source, points, x, y);
      } else {
        Bicubic(source, points, x, y);
      }
    });
  }

 private:
  // A vector of points of an image: of `count` the results are written.
  struct Points {
    const T* input;
    T* output;
    int64_t channels;
    int64_t input_step;  // from channel to channel
    int64_t output_step;
    int64_t first = 0;
    int64_t count = 0;
    bool dense = false;    // a whole vector, whose results follow each other
    bool windows = false;  // taps are looked up in whole vectors where they lie together

    const T* PlaneOf(int64_t c) const { return input + c * input_step; }
  };

  // Calls each(points, x, y) for vectors of points and their place in the grid.
  template <class Each>
  HWY_INLINE void ForPoints(const PairSource<F>& source, int64_t n, int64_t first, int64_t last,
                            const Each& each) const {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const T* grid = static_cast<const T*>(p_.grid) + n * p_.grid_stride[0];
    const bool dense = output_at_.flat && output_at_.pixel_stride == 1;
    Points points = {static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                     static_cast<T*>(p_.output) + n * p_.output_stride[0], p_.shape.c,
                     p_.input_stride[1], output_at_.channel_stride};
    points.windows = kHasWindows && p_.shape.c >= (GathersAreSlow() ? 1 : kWindowChannels);
    V x = hn::Zero(d);
    V y = x;
    for (int64_t p = first; p < last; p += lanes) {
      points.first = p;
      points.count = std::min(lanes, last - p);
      points.dense = dense && points.count == lanes;
      ReadPoints(d, source.grid_at, grid, p, points.count, x, y);
      each(points, x, y);
    }
  }

  // Writes sample(c) for every channel.
  template <class Sample>
  HWY_INLINE void ForChannels(const Points& points, const Sample& sample) const {
    const D d;
    for (int64_t c = 0; c < points.channels; ++c) {
      const V v = sample(c);
      T* const out = points.output + c * points.output_step;
      if (HWY_LIKELY(points.dense)) {
        if (points.channels > kMostStreams) FetchElement<3, 1>(out, points.first + kFetchAhead);
        StoreNarrow(v, d, out + points.first);
      } else {
        HWY_ALIGN F lanes[kLanes];
        hn::Store(v, d, lanes);
        for (int64_t k = 0; k < points.count; ++k) {
          out[output_at_.OffsetOf(points.first + k)] = base::Narrow<T>(lanes[k]);
        }
      }
    }
  }

  // Prefetchers follow the writing of some 32 pages at a time, and images are read as well. Results
  // of more channels are fetched, a kilobyte ahead.
  static constexpr int64_t kMostStreams = 16;
  static constexpr auto kFetchAhead = static_cast<int64_t>(1024 / sizeof(T));

  // Channels from which on a window of taps takes less than fast gathers, with the search for it.
  static constexpr int64_t kWindowChannels = kInterpolation == Interpolation::kNearest ? 3 : 2;
  static constexpr bool kHasWindows = kHasFloatWindows && std::is_same_v<T, float>;

  static HWY_INLINE TapWindow WindowOf(const PairPlane& plane, const Points& points, int32_t reach,
                                       VI& column, VI& row) {
    if constexpr (kHasWindows) {
      if (points.windows) return FindWindow(plane, reach, column, row);
    }
    return {};
  }

  // ---- bilinear ---------------------------------------------------------------------------------

  HWY_INLINE void Bilinear(const PairSource<F>& source, const Points& points, V grid_x,
                           V grid_y) const {
    const D d;
    V x, y;
    if (HWY_UNLIKELY(!source.LocateInside(grid_x, grid_y, x, y))) {
      return AnyBilinear(points, grid_x, grid_y);
    }
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const VI at = source.OffsetsOf(x0, y0);
    VI column = ToIndex(d, x0);
    VI row = ToIndex(d, y0);
    const TapWindow window = WindowOf(source.plane, points, 1, column, row);
    SumBilinear(
        points, x, y, x0, y0,
        [&](int64_t c, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
          const T* plane = points.PlaneOf(c);
          if constexpr (kHasWindows) {
            if (HWY_LIKELY(window.rows > 0)) {
              return PairsInWindow(plane, window, source.plane.row_stride, column, row, nw, ne, sw,
                                   se);
            }
          }
          GatherPairs(d, plane, at, nw, ne);
          GatherPairs(d, plane + source.plane.row_stride, at, sw, se);
        },
        [](V sum) PORTACL_INLINE_LAMBDA { return sum; });
  }

  // By value: points that others know the address of are written to memory for each vector.
  HWY_NOINLINE void AnyBilinear(Points points, V grid_x, V grid_y) const {
    const D d;
    V x, y;
    hn::Mask<D> unusable;
    LocateAny(d, source_.geometry, grid_x, grid_y, x, y, unusable);
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    VI column = hn::Zero(DI());
    VI row = column;
    VI upper = column;
    VI lower = column;
    PlacePairs(d, x0, y0, source_.plane, column, row, upper, lower);
    const V nothing = hn::Set(d, F{-0.0});
    const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
    SumBilinear(
        points, x, y, x0, y0,
        [&](int64_t c, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
          const T* plane = points.PlaneOf(c);
          GatherPairs(d, plane, upper, nw, ne);
          GatherPairs(d, plane, lower, sw, se);
          KeepInside(d, source_.plane, column, row, nothing, nw, ne, sw, se);
        },
        [&](V sum) PORTACL_INLINE_LAMBDA { return hn::IfThenElse(unusable, nan, sum); });
  }

  HWY_NOINLINE void RunPadded(int64_t n, int64_t first, int64_t last) const {
    const D d;
    const PairSource<F> source = source_;
    const PaddedImage<F> image(p_.shape, static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                               p_.input_stride[1], p_.input_stride[2]);
    const PointGeometry<F>& geometry = source.geometry;
    const auto padding = geometry.rule.padding;
    ForPoints(source, n, first, last,
              [&](const Points& points, V grid_x, V grid_y) PORTACL_INLINE_LAMBDA {
                V x = Unpadded(d, grid_x, geometry.x, geometry.rule);
                V y = Unpadded(d, grid_y, geometry.y, geometry.rule);
                // x or y is NaN, or both are infinite.
                if (HWY_UNLIKELY(!hn::AllFalse(d, hn::IsNaN(hn::Add(x, y))))) {
                  return AnyBilinear(points, grid_x, grid_y);
                }
                x = PaddedImage<F>::ClipTo(geometry.x, padding, x);
                y = PaddedImage<F>::ClipTo(geometry.y, padding, y);
                const V x0 = hn::Floor(x);
                const V y0 = hn::Floor(y);
                const VI at = image.OffsetsOf(x0, y0);
                SumBilinear(
                    points, x, y, x0, y0,
                    [&](int64_t c, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
                      const F* plane = image.cells() + c * image.plane();
                      GatherPairs(d, plane, at, nw, ne);
                      GatherPairs(d, plane + image.pitch(), at, sw, se);
                    },
                    [](V sum) PORTACL_INLINE_LAMBDA { return sum; });
              });
  }

  template <class Gather, class Finish>
  HWY_INLINE void SumBilinear(const Points& points, V x, V y, V x0, V y0, const Gather& gather,
                              const Finish& finish) const {
    const D d;
    V tx, ux, ty, uy, weight_nw, weight_ne, weight_sw, weight_se;
    BilinearDistances(d, x, x0, tx, ux);
    BilinearDistances(d, y, y0, ty, uy);
    BilinearWeights(d, tx, ux, ty, uy, weight_nw, weight_ne, weight_sw, weight_se);
    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
      V nw, ne, sw, se;
      gather(c, nw, ne, sw, se);
      V sum = hn::MulAdd(weight_nw, nw, hn::Zero(d));
      sum = hn::MulAdd(weight_ne, ne, sum);
      sum = hn::MulAdd(weight_sw, sw, sum);
      return finish(hn::MulAdd(weight_se, se, sum));
    });
  }

  // ---- nearest ----------------------------------------------------------------------------------

  HWY_INLINE void Nearest(const PairSource<F>& source, const Points& points, V grid_x,
                          V grid_y) const {
    const D d;
    V x, y;
    if (source.geometry.rule.padding == ops::Padding::kZeros) {
      // No branch for points near the edges. A sum that is NaN: one of both is, or both are
      // infinite.
      x = Unpadded(d, grid_x, source.geometry.x, source.geometry.rule);
      y = Unpadded(d, grid_y, source.geometry.y, source.geometry.rule);
      x = hn::IfThenElse(hn::IsNaN(hn::Add(x, y)), hn::Set(d, F{kNowhere}), x);
    } else if (HWY_UNLIKELY(!source.LocateInside(grid_x, grid_y, x, y))) {
      LocateAnywhere(grid_x, grid_y, x, y);
    }
    const DI di;
    VI column = ToIndex(d, hn::Round(x));
    VI row = ToIndex(d, hn::Round(y));
    const auto inside = hn::And(IsBelow(di, column, hn::Set(di, source.plane.width)),
                                IsBelow(di, row, hn::Set(di, source.plane.height)));
    const auto value_inside = ValueMask(d, inside);
    column = hn::IfThenElseZero(inside, column);
    row = hn::IfThenElseZero(inside, row);
    VI at;
    VI east;
    LocatePixels<T>(source.plane, column, row, at, east);
    const TapWindow window = WindowOf(source.plane, points, 0, column, row);
    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
      const T* plane = points.PlaneOf(c);
      const V value = [&]() PORTACL_INLINE_LAMBDA {
        if constexpr (kHasWindows) {
          if (HWY_LIKELY(window.rows > 0)) {
            return PixelsInWindow(plane, window, source.plane.row_stride, column, row);
          }
        }
        return GatherPixels(d, plane, at, east);
      }();
      return hn::IfThenElseZero(value_inside, hn::Add(value, hn::Zero(d)));
    });
  }

  HWY_NOINLINE void LocateAnywhere(V grid_x, V grid_y, V& x, V& y) const {
    hn::Mask<D> unusable;
    LocateAny(D(), source_.geometry, grid_x, grid_y, x, y, unusable);
  }

  // ---- bicubic ----------------------------------------------------------------------------------

  // Of the 16 taps of a vector of points, [4 row + column].
  struct CubicTaps {
    HWY_ALIGN F weight[16][kLanes];
    HWY_ALIGN int32_t column[4][kLanes];  // of points near the edges; -1: outside the image
    HWY_ALIGN int32_t row[4][kLanes];
  };

  HWY_INLINE void Bicubic(const PairSource<F>& source, const Points& points, V grid_x,
                          V grid_y) const {
    const D d;
    V x, y;
    hn::Mask<D> unusable;
    LocateAny(d, source.geometry, grid_x, grid_y, x, y, unusable);
    CubicTaps taps;
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    WeighTaps(x, x0, y, y0, &taps);
    // Taps far beyond may be rounded when they are reflected.
    constexpr F kExact = F{1 << 22};
    const auto has_all = [&](V first, F last) HWY_ATTR {
      return hn::And(hn::Ge(first, hn::Set(d, F{1})),
                     hn::Le(first, hn::Set(d, std::min(last - F{2}, kExact))));
    };
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::And(has_all(x0, source.geometry.x.last),
                                             has_all(y0, source.geometry.y.last))))) {
      return AnyBicubic(points, x0, y0, unusable, &taps);
    }
    const DI di;
    const VI down = hn::Set(di, source.plane.row_stride);
    const VI at = hn::Add(hn::Mul(hn::Sub(ToIndex(d, y0), hn::Set(di, 1)), down),
                          hn::Sub(ToIndex(d, x0), hn::Set(di, 1)));
    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
      const T* plane = points.PlaneOf(c);
      V sum = hn::Zero(d);
      for (size_t tap = 0; tap < 16; tap += 2) {
        V west, east;
        const auto step = static_cast<int64_t>(tap / 4) * source.plane.row_stride;
        GatherPairs(d, plane + step + tap % 4, at, west, east);
        sum = hn::MulAdd(hn::Load(d, taps.weight[tap]), west, sum);
        sum = hn::MulAdd(hn::Load(d, taps.weight[tap + 1]), east, sum);
      }
      return sum;
    });
  }

  HWY_INLINE void WeighTaps(V x, V x0, V y, V y0, CubicTaps* taps) const {
    const D d;
    HWY_ALIGN F axis[2][4][kLanes];
    F(*const no_slope)[kLanes] = nullptr;
    StoreWeights(d, x, x0, 0, axis[0], no_slope);
    StoreWeights(d, y, y0, 0, axis[1], no_slope);
    for (size_t tap = 0; tap < 16; ++tap) {
      hn::Store(hn::Mul(hn::Load(d, axis[0][tap % 4]), hn::Load(d, axis[1][tap / 4])), d,
                taps->weight[tap]);
    }
  }

  HWY_NOINLINE void AnyBicubic(Points points, V x0, V y0, hn::Mask<D> unusable,
                               CubicTaps* taps) const {
    const D d;
    const DI di;
    const V zero = hn::Zero(d);
    for (size_t tap = 0; tap < 4; ++tap) {
      const V step = Constant(d, static_cast<double>(tap) - 1);
      const V x = CubicTap(d, hn::Add(x0, step), source_.geometry.x, source_.geometry.rule);
      const V y = CubicTap(d, hn::Add(y0, step), source_.geometry.y, source_.geometry.rule);
      hn::Store(ToIndex(d, x), di, taps->column[tap]);
      hn::Store(ToIndex(d, y), di, taps->row[tap]);
    }
    const V nothing = hn::Set(d, F{-0.0});
    const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
      const T* plane = points.PlaneOf(c);
      V sum = zero;
      for (size_t tap = 0; tap < 16; ++tap) {
        const VI column = hn::Load(di, taps->column[tap % 4]);
        const VI row = hn::Load(di, taps->row[tap / 4]);
        const auto none = hn::Lt(hn::Or(column, row), hn::Zero(di));
        VI at;
        VI east;
        LocatePixels<T>(source_.plane, hn::IfThenZeroElse(none, column),
                        hn::IfThenZeroElse(none, row), at, east);
        const V value = GatherPixels(d, plane, at, east);
        const auto outside = ValueMask(d, none);  // whose weights may be negative
        const V weight = hn::IfThenZeroElse(outside, hn::Load(d, taps->weight[tap]));
        sum = hn::MulAdd(weight, hn::IfThenElse(outside, nothing, value), sum);
      }
      return hn::IfThenElse(unusable, nan, sum);
    });
  }

  const Params& p_;
  PairSource<F> source_;
  PointStrides output_at_;
};

}  // namespace

void RunPath(const Params& p, const PointChunks& chunks, void* workspace) {
  static_cast<void>(workspace);
// Compiled before this target, but where it is the baseline (-march=znver3).
#if HWY_TARGET == HWY_AVX3 && (HWY_TARGETS & HWY_AVX2) && HWY_STATIC_TARGET != HWY_AVX2
  const ops::GridSampler2DShape& s = p.shape;
  if (IsOverBeforeWideVectorsAreFast(s.n * s.c * s.oh * s.ow)) {
    return N_AVX2::RunPath(p, chunks, workspace);
  }
#endif
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (p.shape.interpolation) {
      case Interpolation::kBilinear:
        return RunOverChunks<DirectSampling<T, Interpolation::kBilinear>>(p, chunks);
      case Interpolation::kNearest:
        return RunOverChunks<DirectSampling<T, Interpolation::kNearest>>(p, chunks);
      default:
        return RunOverChunks<DirectSampling<T, Interpolation::kBicubic>>(p, chunks);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
