// Path "direct": each lane of a vector has one point. Taps are gathered channel by channel, from
// the tensors or from framed copies of small images on the stack. No slab, no workspace. The
// file is long because three interpolations share the loops over points and channels, and the
// windows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_direct.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_point-inl.h"
#include "cpu/grid_sampler/grid_sampler_source-inl.h"
#include "cpu/grid_sampler/grid_sampler_taps-inl.h"
#include "cpu/machine/fetch.h"
#include "cpu/machine/machine.h"
#include "cpu/vector/simd-inl.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

// A copy of a small image on the stack, with a frame of cells that add nothing. After clipping, a
// bilinear point has all four taps in it, so points near edges need no masks.
//
//   . . . . . . .
//   . . . . . . .      Two cells of -0 on each side: with a weight of +0 or more, a fused
//   . . a b c . .      multiply-add leaves every sum as it is. A point behind the frame is clipped
//   . . d e f . .      to where no tap reaches the image.
//   . . . . . . .
//   . . . . . . .
template <class F>
class PaddedImage {
  using D = PointTag<F>;
  using V = hn::Vec<D>;
  static constexpr int64_t kFrame = 2;
  static constexpr int64_t kMostCells = 18432 / sizeof(F);

 public:
  // Whether all channels of the image fit and padding clips coordinates.
  static bool Serves(const ops::GridSampler2DShape& s) {
    const int64_t rows = s.h + 2 * kFrame;
    return s.padding != ops::Padding::kReflection && !ops::IsExtended(s) && rows <= kMostCells &&
           s.w + 2 * kFrame <= kMostCells / rows && s.c <= kMostCells / (rows * (s.w + 2 * kFrame));
  }

  // The rows of `image` must be dense.
  template <class T>
  PaddedImage(const ops::GridSampler2DShape& s, const T* image, int64_t channel_stride,
              int64_t row_stride)
      : pitch_(s.w + 2 * kFrame), plane_((s.h + 2 * kFrame) * pitch_) {
    for (int64_t c = 0; c < s.c; ++c) {
      const T* from = image + c * channel_stride;
      F* to = std::fill_n(cells_ + c * plane_, kFrame * pitch_ + kFrame, kNothing);
      for (int64_t y = 0; y < s.h; ++y) {
        CopyRow(from + y * row_stride, s.w, to);
        to = std::fill_n(to + s.w, 2 * kFrame, kNothing);  // of this row and the next
      }
      std::fill_n(to, kFrame * pitch_ - kFrame, kNothing);
    }
  }

  // The first cell of channel 0, in its frame; elements of a channel and of a row, with the frame.
  const F* cells() const { return cells_; }
  int64_t plane() const { return plane_; }
  int64_t pitch() const { return pitch_; }

  // Returns the offsets of the cells at whole coordinates on the image or its frame.
  HWY_INLINE hn::Vec<IndexTag<D>> OffsetsOf(V x, V y) const {
    const D d;
    const hn::Vec<IndexTag<D>> at =
        ToIndex(d, hn::MulAdd(y, hn::Set(d, static_cast<F>(pitch_)), x));
    return hn::Add(at, hn::Set(IndexTag<D>(), static_cast<int32_t>(kFrame * (pitch_ + 1))));
  }

  // Clips a coordinate (not NaN) to the image or, for zeros padding, to the frame.
  static HWY_INLINE V ClipTo(const AxisExtent<F>& axis, ops::Padding padding, V at) {
    const D d;
    const bool zeros = padding == ops::Padding::kZeros;
    const V low = hn::Set(d, zeros ? -F{kFrame} : F{0});
    return hn::Min(hn::Max(at, low), hn::Set(d, zeros ? axis.size : axis.last));
  }

 private:
  static constexpr F kNothing = F{-0.0};

  template <class T>
  static HWY_INLINE void CopyRow(const T* from, int64_t count, F* to) {
    const D d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    if (count < lanes) {
      for (int64_t x = 0; x < count; ++x) to[x] = base::Widen(from[x]);
      return;
    }
    for (int64_t x = 0; x < count - lanes; x += lanes) hn::StoreU(LoadWide(d, from + x), d, to + x);
    hn::StoreU(LoadWide(d, from + count - lanes), d, to + count - lanes);
  }

  int64_t pitch_;
  int64_t plane_;
  HWY_ALIGN F cells_[kMostCells];
};

// Samples points. Each sum starts from +0 and takes its taps in order, each by one fused
// multiply-add. Taps outside count as -0 with a weight of +0 or more, which leaves a sum as it is.
// kPairs: see TapSource. kJoined: several small images count as one, and its point p is point p %
// points of image p / points.
template <class Params, class T, Interpolation kInterpolation, bool kPairs, bool kJoined>
class DirectSampling {
  using F = base::ComputeType<T>;
  using Source = TapSource<F, Params, kPairs>;
  using D = typename Source::D;
  using DI = typename Source::DI;
  using V = typename Source::V;
  using VI = typename Source::VI;
  static constexpr int kAxes = Source::kAxes;
  static constexpr size_t kLanes = hn::MaxLanes(D());

 public:
  explicit DirectSampling(const Params& p)
      : p_(p),
        source_(p, !kJoined && WindowsPay(p)),
        output_at_(ValuePointsOf(p.shape, p.output_stride)) {
    if constexpr (kJoined) joined_.Prepare(p.shape, p.input_stride[0], p.output_stride, output_at_);
  }

  // Samples points [first, last) of image or volume n.
  void Run(int64_t n, int64_t first, int64_t last) const {
    if constexpr (kInterpolation == Interpolation::kBilinear && kAxes == 2 && kPairs && !kJoined) {
      // Such a copy costs little beside the points.
      if (2 * (last - first) >= p_.shape.h * p_.shape.w && PaddedImage<F>::Serves(p_.shape)) {
        return RunPadded(n, first, last);
      }
    }
    // A local copy: no call below can change it, so it is not read again for each vector.
    const Source source = source_;
    Trial window_trial;
    Trial inside_trial;
    ForPoints(source, n, first, last,
              [&](const Points& points, V x, V y, V z) PORTACL_INLINE_LAMBDA {
                if constexpr (kInterpolation == Interpolation::kBilinear) {
                  Linear(source, points, inside_trial, window_trial, x, y, z);
                } else if constexpr (kInterpolation == Interpolation::kNearest) {
                  Nearest(source, points, window_trial, x, y, z);
                } else {
                  Cubic(source, points, x, y, z);
                }
              });
  }

 private:
  // A vector of points of an image or volume; `count` results are written.
  struct Points {
    const T* input;
    T* output;
    int64_t channels;
    int64_t input_step;  // elements between channels
    int64_t output_step;
    int64_t first = 0;
    int64_t count = 0;
    bool dense = false;  // a whole vector of adjacent results
    // Only for joined images: offsets of each lane's image and, if not `dense`, of its result.
    const int32_t* image = nullptr;
    const int64_t* result = nullptr;

    const T* ChannelOf(int64_t c) const { return input + c * input_step; }
  };

  // Calls each(points, x, y, z) for vectors of points; x, y, z are their grid coordinates.
  template <class Each>
  HWY_INLINE void ForPoints(const Source& source, int64_t n, int64_t first, int64_t last,
                            const Each& each) const {
    const T* const grid = static_cast<const T*>(p_.grid) + n * p_.grid_stride[0];
    const bool dense = output_at_.flat && output_at_.pixel_stride == 1;
    Points points = {static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                     static_cast<T*>(p_.output) + n * p_.output_stride[0], p_.shape.c,
                     p_.input_stride[1], output_at_.channel_stride};
    ForGridVectors<kAxes>(source.grid_at, grid, first, last,
                          [&](int64_t p, int64_t count, V x, V y, V z) PORTACL_INLINE_LAMBDA {
                            points.first = p;
                            points.count = count;
                            points.dense = dense && count == Length(D());
                            if constexpr (kJoined) PlaceJoined(&points);
                            each(points, x, y, z);
                          });
  }

  // ---- joined images ----------------------------------------------------------------------------

  HWY_INLINE void PlaceJoined(Points* points) const {
    const int64_t image = points->first / joined_.points;
    const int64_t k = points->first - image * joined_.points;
    points->input = static_cast<const T*>(p_.input) + image * p_.input_stride[0];
    points->image = joined_.image + k;
    points->output = static_cast<T*>(p_.output) + image * p_.output_stride[0];
    points->first = k;
    points->result = joined_.value + k;
    points->dense = points->dense && (joined_.dense || k + Length(D()) <= joined_.points);
  }

  static HWY_INLINE VI ImagesOf(const Points& points) {
    if constexpr (kJoined) return LoadImages(DI(), points.image, points.count);
    return hn::Zero(DI());
  }

  // ---- results ----------------------------------------------------------------------------------

  // Writes sample(c) of every channel c to output.
  template <class Sample>
  HWY_INLINE void ForChannels(const Points& points, const Sample& sample) const {
    const D d;
    T* out = points.output;
    if (HWY_LIKELY(points.dense)) {
      out += points.first;
      for (int64_t c = 0; c < points.channels; ++c, out += points.output_step) {
        if (points.channels > kMostStreams) FetchElement<3, 1>(out, kFetchAhead);
        StoreNarrow(sample(c), d, out);
      }
      return;
    }
    for (int64_t c = 0; c < points.channels; ++c, out += points.output_step) {
      HWY_ALIGN F lanes[kLanes];
      hn::Store(sample(c), d, lanes);
      for (int64_t k = 0; k < points.count; ++k) {
        const int64_t at = kJoined ? points.result[k] : output_at_.OffsetOf(points.first + k);
        out[at] = base::Narrow<T>(lanes[k]);
      }
    }
  }

  // With more channels, results are prefetched a kilobyte ahead. Hardware prefetchers follow only
  // some 32 pages, and images are read as well.
  static constexpr int64_t kMostStreams = 16;
  static constexpr auto kFetchAhead = static_cast<int64_t>(1024 / sizeof(T));

  // From so many channels on, a window costs less than fast gathers. For volumes, windows pay only
  // if gathers are slow.
  static constexpr int64_t kWindowChannels = kInterpolation == Interpolation::kNearest ? 3 : 2;
  static constexpr bool kHasWindows = kHasFloatWindows && std::is_same_v<T, float>;

  static bool WindowsPay(const Params& p) {
    if (!kHasWindows || (kAxes == 2 && !kPairs)) return false;
    return GathersAreSlow() || (kAxes == 2 && p.shape.c >= kWindowChannels);
  }

  // ---- bilinear, trilinear ----------------------------------------------------------------------

  HWY_INLINE void Linear(const Source& source, const Points& points, Trial& inside_trial,
                         Trial& window_trial, V grid_x, V grid_y, V grid_z) const {
    const D d;
    V x = hn::Zero(d);
    V y = x;
    V z = x;
    const bool clips = kAxes == 2 && source.geometry.rule.clips();
    bool inside = false;
    if (!clips || inside_trial.IsDue()) {
      inside = LocateInside(d, source.geometry, Axes(grid_x, grid_y, grid_z), Axes(x, y, z));
      inside_trial.Note(inside || !clips);
    }
    if (HWY_UNLIKELY(!inside)) {
      if (kAxes == 2 && clips) return ClippedLinear(source, points, grid_x, grid_y);
      return AnyLinear(points, grid_x, grid_y, grid_z);
    }
    source.template WithTapsInside<kHasWindows>(
        Axes(x, y, z), ImagesOf(points), window_trial,
        [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          SumLinear(
              points, Axes(x, y, z),
              [&](int64_t c, auto plane, V& nw, V& ne, V& sw, V& se)
                  PORTACL_INLINE_LAMBDA { gather(points.ChannelOf(c), plane, nw, ne, sw, se); },
              [](V sum) PORTACL_INLINE_LAMBDA { return sum; });
        });
  }

  // Samples without a branch for points near edges: faster if many vectors have such points.
  HWY_INLINE void ClippedLinear(const Source& source, const Points& points, V grid_x,
                                V grid_y) const {
    const D d;
    V x, y;
    if (HWY_UNLIKELY(!Clip(source.geometry, grid_x, grid_y, x, y))) {
      return AnyLinear(points, grid_x, grid_y, grid_y);
    }
    source.WithTaps(
        Axes(x, y), ImagesOf(points), hn::Set(d, F{-0.0}),
        [&](const auto& gather) PORTACL_INLINE_LAMBDA {
          SumLinear(
              points, Axes(x, y),
              [&](int64_t c, auto plane, V& nw, V& ne, V& sw, V& se)
                  PORTACL_INLINE_LAMBDA { gather(points.ChannelOf(c), plane, nw, ne, sw, se); },
              [](V sum) PORTACL_INLINE_LAMBDA { return sum; });
        });
  }

  // Clips coordinates to the image and the frame around it. Returns false if x or y is NaN, or if
  // both are infinite with different signs.
  static HWY_INLINE bool Clip(const PointGeometry<F>& geometry, V grid_x, V grid_y, V& x, V& y) {
    const D d;
    x = Unpadded(d, grid_x, geometry.x, geometry.rule);
    y = Unpadded(d, grid_y, geometry.y, geometry.rule);
    const bool usable = hn::AllFalse(d, hn::IsNaN(hn::Add(x, y)));
    x = PaddedImage<F>::ClipTo(geometry.x, geometry.rule.padding, x);
    y = PaddedImage<F>::ClipTo(geometry.y, geometry.rule.padding, y);
    return usable;
  }

  // Points come by value: if their address escaped, every vector would be written to memory.
  HWY_NOINLINE void AnyLinear(Points points, V x, V y, V z) const {
    const D d;
    const V nan = hn::Set(d, std::numeric_limits<F>::quiet_NaN());
    V instead;
    const auto none = LocateValues(d, source_.geometry, Axes(x, y, z), nan, instead);
    const auto sum = [&](const auto& gather) PORTACL_INLINE_LAMBDA {
      SumLinear(
          points, Axes(x, y, z),
          [&](int64_t c, auto plane, V& nw, V& ne, V& sw, V& se)
              PORTACL_INLINE_LAMBDA { gather(points.ChannelOf(c), plane, nw, ne, sw, se); },
          [&](V of_taps) PORTACL_INLINE_LAMBDA { return hn::IfThenElse(none, instead, of_taps); });
    };
    source_.template WithTapsOfRule<T>(Axes(x, y, z), ImagesOf(points), source_.Nothing(F{-0.0}),
                                       sum);
  }

  HWY_NOINLINE void RunPadded(int64_t n, int64_t first, int64_t last) const {
    const D d;
    const Source source = source_;
    const PaddedImage<F> image(p_.shape, static_cast<const T*>(p_.input) + n * p_.input_stride[0],
                               p_.input_stride[1], p_.input_stride[2]);
    ForPoints(source, n, first, last,
              [&](const Points& points, V grid_x, V grid_y, V) PORTACL_INLINE_LAMBDA {
                V x, y;
                if (HWY_UNLIKELY(!Clip(source.geometry, grid_x, grid_y, x, y))) {
                  return AnyLinear(points, grid_x, grid_y, grid_y);
                }
                const VI at = image.OffsetsOf(hn::Floor(x), hn::Floor(y));
                SumLinear(
                    points, Axes(x, y),
                    [&](int64_t c, auto, V& nw, V& ne, V& sw, V& se) PORTACL_INLINE_LAMBDA {
                      const F* plane = image.cells() + c * image.plane();
                      GatherPairs(d, plane, at, nw, ne);
                      GatherPairs(d, plane + image.pitch(), at, sw, se);
                    },
                    [](V sum) PORTACL_INLINE_LAMBDA { return sum; });
              });
  }

  // Sums the taps of located points. gather(c, plane, nw, ne, sw, se) reads the taps of a plane.
  template <class Gather, class Finish>
  HWY_INLINE void SumLinear(const Points& points, const Axes<V>& at, const Gather& gather,
                            const Finish& finish) const {
    const D d;
    V tx, ux, ty, uy, tz, uz, weight_nw, weight_ne, weight_sw, weight_se;
    BilinearDistances(d, at.x, hn::Floor(at.x), tx, ux);
    BilinearDistances(d, at.y, hn::Floor(at.y), ty, uy);
    if constexpr (kAxes == 3) BilinearDistances(d, at.z, hn::Floor(at.z), tz, uz);
    BilinearWeights(d, tx, ux, ty, uy, weight_nw, weight_ne, weight_sw, weight_se);
    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
      V sum = hn::Zero(d);
      const auto add = [&](auto plane, const auto& share) PORTACL_INLINE_LAMBDA {
        V nw, ne, sw, se;
        gather(c, plane, nw, ne, sw, se);
        sum = hn::MulAdd(share(weight_nw), nw, sum);
        sum = hn::MulAdd(share(weight_ne), ne, sum);
        sum = hn::MulAdd(share(weight_sw), sw, sum);
        sum = hn::MulAdd(share(weight_se), se, sum);
      };
      if constexpr (kAxes == 2) {
        add(kAbove, [](V weight) PORTACL_INLINE_LAMBDA { return weight; });
      } else {
        add(kAbove, [&](V weight) PORTACL_INLINE_LAMBDA { return hn::Mul(weight, uz); });
        add(kBelow, [&](V weight) PORTACL_INLINE_LAMBDA { return hn::Mul(weight, tz); });
      }
      return finish(sum);
    });
  }

  // ---- nearest ----------------------------------------------------------------------------------

  // Computes the coordinates at which points sample, not yet rounded. Points without an element get
  // kNowhere, and `instead` is their value.
  HWY_INLINE void LocateNearest(const Source& source, V& x, V& y, V& z, V& instead) const {
    const D d;
    instead = hn::Zero(d);
    const PointRule& rule = source.geometry.rule;
    if (rule.padding == ops::Padding::kZeros && rule.clips()) {
      // This needs no branch for points near edges. The sum of coordinates is NaN if one is NaN; it
      // may also be NaN if two are infinite.
      const auto& geometry = source.geometry;
      x = Unpadded(d, x, geometry.x, geometry.rule);
      y = Unpadded(d, y, geometry.y, geometry.rule);
      V sum = hn::Add(x, y);
      if constexpr (kAxes == 3) {
        z = Unpadded(d, z, geometry.z, geometry.rule);
        sum = hn::Add(sum, z);
      }
      x = hn::IfThenElse(hn::IsNaN(sum), hn::Set(d, F{kNowhere}), x);
    } else {
      V at_x, at_y;
      V at_z = z;
      if (HWY_UNLIKELY(!LocateInside(d, source.geometry, Axes(x, y, z), Axes(at_x, at_y, at_z)))) {
        at_x = x;
        at_y = y;
        at_z = z;
        LocateAnywhere(at_x, at_y, at_z, instead);
      }
      x = at_x;
      y = at_y;
      z = at_z;
    }
  }

  HWY_INLINE void Nearest(const Source& source, const Points& points, Trial& window_trial, V x, V y,
                          V z) const {
    const D d;
    V instead;
    LocateNearest(source, x, y, z, instead);
    VI column = ToIndex(d, hn::Round(x));
    VI row = ToIndex(d, hn::Round(y));
    VI plane = kAxes == 3 ? ToIndex(d, hn::Round(z)) : row;
    if (HWY_UNLIKELY(source.wraps())) {
      const DI di;
      column = WrappedIndex(di, column, source.size.width);
      row = WrappedIndex(di, row, source.size.height);
      if constexpr (kAxes == 3) plane = WrappedIndex(di, plane, source.size.depth);
    }
    const auto inside = source.AreInside(column, row, plane);
    const auto value_inside = ValueMask(d, inside);
    column = hn::IfThenElseZero(inside, column);
    row = hn::IfThenElseZero(inside, row);
    plane = hn::IfThenElseZero(inside, plane);
    VI at;
    VI east;
    source.template PlaceElements<T>(column, row, plane, at, east);
    at = hn::Add(at, ImagesOf(points));
    TapWindow window;
    if constexpr (kHasWindows && kAxes == 2) {
      if (source.windows && window_trial.IsDue()) {
        window = FindWindow(source.size, 0, column, row);
        window_trial.Note(window.rows > 0);
      }
    }
    const auto write = [&](const auto& value) PORTACL_INLINE_LAMBDA {
      ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
        const V sum = hn::Add(value(points.ChannelOf(c)), hn::Zero(d));
        return hn::IfThenElse(value_inside, sum, instead);
      });
    };
    if constexpr (kHasWindows && kAxes == 2) {
      if (window.rows > 0) {
        return write([&](const T* channel) PORTACL_INLINE_LAMBDA {
          return PixelsInWindow(channel, window, source.size.row, column, row);
        });
      }
    }
    write([&](const T* channel)
              PORTACL_INLINE_LAMBDA { return source.Elements(channel, at, east); });
  }

  HWY_NOINLINE void LocateAnywhere(V& x, V& y, V& z, V& instead) const {
    const D d;
    const V fill = hn::Set(d, static_cast<F>(source_.geometry.rule.fill));
    LocateValues(d, source_.geometry, Axes(x, y, z), fill, instead);
  }

  // ---- bicubic, tricubic ------------------------------------------------------------------------

  using Group = CubicGroup<F, kAxes>;

  HWY_INLINE void Cubic(const Source& source, const Points& points, V x, V y, V z) const {
    const D d;
    V instead;
    const auto none = LocateTaps(d, source.geometry, Axes(x, y, z), instead);
    Group taps;
    if (HWY_UNLIKELY(!WeighCubic<false>(source.geometry, Axes(x, y, z), 0, &taps))) {
      return AnyCubic(points, x, y, z, none, instead, &taps);
    }
    const VI first = hn::Add(FirstTapOf(source, Axes(x, y, z)), ImagesOf(points));
    if (kAxes == 3 && points.channels == 1) {
      return SumRows(source, points, first,
                     [&](size_t tap) PORTACL_INLINE_LAMBDA { return CubicWeight(taps, tap, 0); });
    }
    HWY_ALIGN F weight[Group::kTaps][kLanes];
    for (size_t tap = 0; tap < Group::kTaps; ++tap) {
      hn::Store(CubicWeight(taps, tap, 0), d, weight[tap]);
    }
    SumRows(source, points, first,
            [&](size_t tap) PORTACL_INLINE_LAMBDA { return hn::Load(d, weight[tap]); });
  }

  // Sums points that have all taps inside.
  template <class Weight>
  HWY_INLINE void SumRows(const Source& source, const Points& points, VI first,
                          const Weight& weight) const {
    const D d;
    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
      const T* const channel = points.ChannelOf(c);
      V sum = hn::Zero(d);
      for (size_t row = 0; row < Group::kTaps / 4; ++row) {
        V v0, v1, v2, v3;
        GatherCubicRow(source, channel, first, row, v0, v1, v2, v3);
        sum = hn::MulAdd(weight(4 * row), v0, sum);
        sum = hn::MulAdd(weight(4 * row + 1), v1, sum);
        sum = hn::MulAdd(weight(4 * row + 2), v2, sum);
        sum = hn::MulAdd(weight(4 * row + 3), v3, sum);
      }
      return sum;
    });
  }

  // Sums points anywhere. Weights of taps outside may be negative, so they become 0, except with
  // constant padding. Points in the mask `none` get the value `instead`.
  HWY_NOINLINE void AnyCubic(Points points, V x, V y, V z, hn::Mask<D> none, V instead,
                             Group* taps) const {
    IndexCubic(source_.geometry, Axes(x, y, z), 0, taps);
    const V nothing = source_.Nothing(F{-0.0});
    const bool fills = source_.geometry.rule.padding == ops::Padding::kConstant;
    const auto weight = [&](size_t tap, hn::Mask<D> outside) PORTACL_INLINE_LAMBDA {
      const V of_tap = CubicWeight(*taps, tap, 0);
      return fills ? of_tap : hn::IfThenZeroElse(outside, of_tap);
    };
    WithCubicRows(source_, *taps, ImagesOf(points), nothing,
                  [&](const auto& read) PORTACL_INLINE_LAMBDA {
                    ForChannels(points, [&](int64_t c) PORTACL_INLINE_LAMBDA {
                      V sum = hn::Zero(D());
                      for (size_t row = 0; row < Group::kTaps / 4; ++row) {
                        V v0, v1, v2, v3;
                        hn::Mask<D> none0, none1, none2, none3;
                        read(points.ChannelOf(c), row, v0, v1, v2, v3, none0, none1, none2, none3);
                        sum = hn::MulAdd(weight(4 * row, none0), v0, sum);
                        sum = hn::MulAdd(weight(4 * row + 1, none1), v1, sum);
                        sum = hn::MulAdd(weight(4 * row + 2, none2), v2, sum);
                        sum = hn::MulAdd(weight(4 * row + 3, none3), v3, sum);
                      }
                      return hn::IfThenElse(none, instead, sum);
                    });
                  });
  }

  const Params& p_;
  Source source_;
  PointStrides output_at_;
  struct Nothing {};
  std::conditional_t<kJoined, JoinedImages<int64_t{kLanes}>, Nothing> joined_;
};

template <class T, bool kPairs, bool kJoined, class Params>
void SampleBy(const Params& p, const PointChunks& chunks) {
  WithInterpolation(p.shape.interpolation, [&](auto mode) {
    // Nearest reads no pairs from volumes.
    constexpr bool kReads = kPairs && (kAxesOf<Params> == 2 || mode != Interpolation::kNearest);
    RunOverChunks<DirectSampling<Params, T, mode, kReads, kJoined>>(p, chunks);
  });
}

}  // namespace

template <class T, class Params>
void RunElements(const Params& p, const PointGathers& g, void* /*workspace*/) {
  if (!g.pairs) return SampleBy<T, false, false>(p, g.chunks);
  if constexpr (kAxesOf<Params> == 2) {
    if (g.joined) return SampleBy<T, true, true>(p, g.chunks);
  }
  SampleBy<T, true, false>(p, g.chunks);
}
PORTACL_PATH_OF_ELEMENTS(ops::GridSampler2DParams, PointGathers)
PORTACL_PATH_OF_ELEMENTS(ops::GridSampler3DParams, PointGathers)

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
