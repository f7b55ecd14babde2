// inputGrad by owners. A part is some rows of an image or planes of a volume, in some channels; it
// has one owner. The owner looks at all points or at their codes, and adds the points that touch
// its part, one by one. gridGrad needs no owner and is computed separately. The file is long
// because images, volumes and all modes share the class Owner.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_backward_owned.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_backward_owned-inl.h"
#include "cpu/grid_sampler/grid_sampler_paths-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

template <class Params, class T, Interpolation kInterpolation>
class Owner {
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  static constexpr int kAxes = kAxesOf<Params>;
  static constexpr bool kCubic = kInterpolation == Interpolation::kBicubic;
  static constexpr bool kNearest = kInterpolation == Interpolation::kNearest;
  using Batch =
      std::conditional_t<kCubic, CubicBatch<F, kAxes>,
                         std::conditional_t<kNearest, NearestBatch, LinearBatch<F, kAxes>>>;
  static constexpr bool kStaged = !std::is_same_v<T, F>;

 public:
  // Offsets of joined images and of their gradOutput.
  using Joined = JoinedImages<kJoinedBatch>;

  // `memory`: float sums of one channel of the part, if T is a 16-bit type. For joined images it
  // has the sums of StagedImages() images at a time.
  Owner(const Params& p, const OwnedPart& part, F* memory, const Joined* joined = nullptr)
      : p_(p),
        part_(part),
        joined_(joined),
        geometry_(PointGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        grid_(static_cast<const T*>(p.grid) + part.n * p.grid_stride[0]),
        grad_output_(static_cast<const T*>(p.grad_output) + part.n * p.grad_output_stride[0] +
                     part.first_channel * p.grad_output_stride[1]),
        out_(static_cast<T*>(p.input_grad) + part.n * p.input_grad_stride[0] +
             part.first_channel * p.input_grad_stride[1]) {
    if constexpr (kStaged) {
      const int64_t line = kAxes == 2 ? p.shape.w : p.shape.h * p.shape.w;
      sums_ = {memory - part.first * line, 0, DenseVolume(p.shape)};
      image_sums_ = p.shape.h * p.shape.w;
    } else {
      sums_ = {out_, p.input_grad_stride[1], VolumeStridesOf(p.shape, p.input_grad_stride)};
      image_sums_ = p.input_grad_stride[0];
    }
  }

  // Adds all points of the image or volume.
  void Run() const {
    Clear(sums_.first);
    const int64_t points = PointsOf(p_.shape);
    for (int64_t first = 0; first < points; first += kBatch) {
      Add({first, std::min(kBatch, points - first)});
    }
    if constexpr (kStaged) Round(sums_.first, out_);
  }

  // Adds all points of all joined images. Clears images just before their first batch. With sums in
  // `memory`, a batch has whole images.
  void RunJoined() const {
    static_assert(kBatch == kJoinedBatch);
    const int64_t points = joined_->points * part_.images;
    const int64_t most = kStaged ? StagedImages(p_.shape) * joined_->points : kBatch;
    int64_t cleared = 0;
    for (int64_t first = 0; first < points; first += most) {
      const int64_t count = std::min(most, points - first);
      for (; !kStaged && cleared * joined_->points < first + count; ++cleared) {
        Clear(sums_.first + cleared * image_sums_);
      }
      Add({first, count});
    }
  }

  // Adds the points with codes that name the slab, a batch at a time.
  void RunListed(const uint8_t* codes, int64_t slab) const {
    Clear(sums_.first);
    HWY_ALIGN int32_t list[kBatch + kCodeBlock];
    const auto least = static_cast<uint8_t>(2 * slab + 1);
    const int64_t points = PointsOf(p_.shape);
    int64_t listed = 0;
    for (int64_t first = 0; first < points; first += kCodeBlock) {
      listed += ListBlock(codes + first, least, first, list + listed);
      if (listed < kBatch) continue;
      Add({0, kBatch, list});
      listed -= kBatch;
      std::memmove(list, list + kBatch, static_cast<size_t>(listed) * sizeof(int32_t));
    }
    if (listed > 0) Add({0, listed, list});
  }

 private:
  // Calls rows(z, first, end) for the rows of the part in each plane z.
  template <class Rows>
  void ForPlanes(const Rows& rows) const {
    if constexpr (kAxes == 2) {
      rows(int64_t{0}, part_.first, part_.end);
    } else {
      for (int64_t z = part_.first; z < part_.end; ++z) rows(z, int64_t{0}, p_.shape.h);
    }
  }

  // Sets the part to 0 in the image or volume at `sums`.
  void Clear(F* sums) const {
    const VolumeStrides& size = sums_.size;
    for (int64_t c = 0; c < part_.channels; ++c) {
      ForPlanes([&](int64_t z, int64_t first, int64_t end) {
        F* const plane = sums + c * sums_.channel_stride + z * size.plane;
        if (size.pixel != 1) {
          for (int64_t y = first; y < end; ++y) {
            for (int64_t x = 0; x < size.width; ++x) plane[y * size.row + x * size.pixel] = 0;
          }
        } else if (size.row == size.width) {
          HWY_NAMESPACE::Clear(plane + first * size.row, (end - first) * size.row);
        } else {
          for (int64_t y = first; y < end; ++y) {
            HWY_NAMESPACE::Clear(plane + y * size.row, size.width);
          }
        }
      });
    }
  }

  // Writes one channel's sums of a 16-bit type to inputGrad, rounded.
  void Round(const F* sums, T* out) const {
    const VolumeStrides to = VolumeStridesOf(p_.shape, p_.input_grad_stride);
    const int64_t width = to.width;
    ForPlanes([&](int64_t z, int64_t first, int64_t end) {
      const F* const plane = sums + z * p_.shape.h * width;
      T* const out_plane = out + z * to.plane;
      if (to.row == width && to.pixel == 1) {
        return WriteRun(plane + first * width, (end - first) * width, out_plane + first * width, 1);
      }
      for (int64_t y = first; y < end; ++y) {
        WriteRun(plane + y * width, width, out_plane + y * to.row, to.pixel);
      }
    });
  }

  // ---- points -----------------------------------------------------------------------------------

  void Add(const SomePoints& points) const {
    const int64_t image = joined_ == nullptr ? 0 : points.first / joined_->points;
    const int64_t before = joined_ == nullptr ? 0 : image * joined_->points;
    Batch batch;
    const int32_t* const images =
        joined_ == nullptr ? nullptr : joined_->image + points.first - before;
    Locate(points, images, &batch);
    const bool rounds = kStaged && joined_ != nullptr;
    if (batch.count == 0 && !rounds) return;
    HWY_ALIGN F copy[kBatch];
    for (int64_t c = 0; c < part_.channels; ++c) {
      const F* const g = GradOutput(c, image, points, copy);
      F* const channel =
          sums_.first + (kStaged ? 0 : image * image_sums_) + c * sums_.channel_stride;
      const int64_t whole = rounds ? points.count / joined_->points : 0;
      if (rounds) HWY_NAMESPACE::Clear(channel, whole * image_sums_);
      if constexpr (kCubic) {
        CubicSums<F, kAxes>{part_, sums_.size}.AddPoints(batch, g, images, channel);
      } else if constexpr (kNearest) {
        AddNearest(batch, batch.count == points.count, g, channel);
      } else if (kAxes == 2 && joined_ != nullptr) {
        AddJoined(batch, g, channel);
      } else if (sums_.size.pixel == 1) {
        AddLinear<true>(batch, g, channel);
      } else {
        AddLinear<false>(batch, g, channel);
      }
      if constexpr (kStaged) {
        T* const out = out_ + image * p_.input_grad_stride[0] + c * p_.input_grad_stride[1];
        for (int64_t k = 0; k < whole; ++k) {
          Round(channel + k * image_sums_, out + k * p_.input_grad_stride[0]);
        }
      }
    }
  }

  // Returns gradOutput of points: in the tensor or copied. Joined points begin in image `image`.
  const F* GradOutput(int64_t c, int64_t image, const SomePoints& points,
                      F* HWY_RESTRICT copy) const {
    const PointStrides& at = grad_output_at_;
    const T* const from = grad_output_ + image * p_.grad_output_stride[0] + c * at.channel_stride;
    const bool joined = joined_ != nullptr;
    const int64_t first = points[0] - (joined ? image * joined_->points : 0);
    const bool dense =
        joined ? joined_->dense
               : at.flat && at.pixel_stride == 1 && points.AreSideBySide(0, points.count);
    if (!dense) {
      for (int64_t i = 0; i < points.count; ++i) {
        copy[i] = base::Widen(from[joined ? joined_->value[first + i] : at.OffsetOf(points[i])]);
      }
      return copy;
    }
    if constexpr (!kStaged) {
      return from + first;
    } else {
      const D d;
      for (int64_t i = 0; i < points.count; i += Length(d)) {
        const int64_t count = std::min(Length(d), points.count - i);
        hn::Store(ReadChannel(d, at, from, first + i, count), d, copy + i);
      }
      return copy;
    }
  }

  HWY_INLINE void Read(const SomePoints& points, int64_t i, int64_t count,
                       const Axes<V>& to) const {
    const D d;
    if (HWY_LIKELY(kAxes == 3 || points.AreSideBySide(i, count))) {
      return ReadPoints<kAxes>(d, grid_at_, grid_, points[i], count, to);
    }
    HWY_ALIGN F at_x[kGroup];
    HWY_ALIGN F at_y[kGroup];
    for (int64_t k = 0; k < Length(d); ++k) {
      const T* const from = grid_ + grid_at_.OffsetOf(points[i + std::min(k, count - 1)]);
      at_x[k] = base::Widen(from[0]);
      at_y[k] = base::Widen(from[grid_at_.channel_stride]);
    }
    to.x = hn::Load(d, at_x);
    to.y = hn::Load(d, at_y);
  }

  // Fills the batch. `image`: offset of each point's image, if images are joined. Not inlined: the
  // compiler would keep the weights in vectors and extract them lane by lane.
  HWY_NOINLINE void Locate(const SomePoints& points, const int32_t* image,
                           Batch* HWY_RESTRICT batch) const {
    const D d;
    const DI di;
    size_t listed = 0;
    V x = hn::Zero(d);
    V y = x;
    V z = x;
    for (int64_t i = 0; i < points.count; i += Length(d)) {
      const int64_t count = std::min(Length(d), points.count - i);
      Read(points, i, count, Axes(x, y, z));
      if (!MayTouch(z)) continue;
      LocateTaps(d, geometry_, Axes(x, y, z));
      const auto exist = hn::FirstN(di, static_cast<size_t>(count));
      const VI number = hn::Iota(di, static_cast<int32_t>(i));
      if constexpr (kNearest) {
        VI cell;
        const auto touching = hn::And(PlaceNearest(Axes(x, y, z), cell), exist);
        if (image != nullptr) cell = hn::Add(cell, hn::LoadU(di, image + i));
        StoreListed(number, touching, di, batch->touching + listed);
        listed += StoreListed(cell, touching, di, batch->cell + listed);
      } else {
        const VI taps = Place(Axes(x, y, z), i, batch);
        if constexpr (!kCubic) {
          if (image != nullptr) {
            const VI cell = hn::Load(di, batch->cell + i);
            hn::Store(hn::Add(cell, hn::LoadU(di, image + i)), di, batch->cell + i);
          }
        }
        const auto touching = hn::And(hn::Ne(taps, hn::Zero(di)), exist);
        listed += StoreListed(number, touching, di, batch->touching + listed);
      }
    }
    batch->count = static_cast<int64_t>(listed);
  }

  // Returns false if z alone shows that no point has a tap in the part's planes. Most points of
  // other owners then cost a fifth. (Owners of rows may read codes for this.)
  HWY_INLINE bool MayTouch(V z) const {
    if constexpr (kAxes == 2 || kCubic) {
      return true;
    } else {
      const D d;
      constexpr F kInfinity = std::numeric_limits<F>::infinity();
      const auto padding = p_.shape.padding;
      const bool moves = padding == ops::Padding::kReflection || padding == ops::Padding::kCircular;
      if (moves || part_.end - part_.first == p_.shape.d) return true;
      const bool clips = padding == ops::Padding::kBorder;
      // Points clipped to plane 0 touch plane 1 with weight 0: NaN if gradOutput is infinite.
      const F low = clips && part_.first <= 1 ? -kInfinity : static_cast<F>(part_.first - 1);
      const F high = clips && part_.end == p_.shape.d ? kInfinity : static_cast<F>(part_.end);
      const V at = Unpadded(d, z, geometry_.z, geometry_.rule);
      return !hn::AllFalse(d, hn::And(hn::Ge(at, hn::Set(d, low)), hn::Le(at, hn::Set(d, high))));
    }
  }

  // Calls use(column, row, plane) with whole coordinates as indices. A coordinate far away gets the
  // least or greatest index, which is outside as well.
  template <class Use>
  static HWY_INLINE auto WithIndices(V x, V y, V z, const Use& use) {
    const D d;
    VI column = ToIndex(d, x);
    VI row = ToIndex(d, y);
    VI plane = kAxes == 3 ? ToIndex(d, z) : row;
    return use(column, row, plane);
  }

  // Computes the cells of nearest points. Returns the points in the part.
  HWY_INLINE hn::Mask<DI> PlaceNearest(const Axes<V>& at, VI& cell) const {
    const DI di;
    const auto below = [&](VI index, int64_t first, int64_t end) HWY_ATTR {
      const VI own = hn::Sub(index, hn::Set(di, static_cast<int32_t>(first)));
      return IsBelow(di, own, hn::Set(di, static_cast<int32_t>(end - first)));
    };
    return WithIndices(hn::Round(at.x), hn::Round(at.y), hn::Round(at.z),
                       [&](VI column, VI row, VI plane) PORTACL_INLINE_LAMBDA {
                         if (HWY_UNLIKELY(wraps())) WrapIndices(column, row, plane);
                         cell = ElementsAt<kAxes>(sums_.size, column, row, plane);
                         const auto inside = below(column, 0, p_.shape.w);
                         if constexpr (kAxes == 2)
                           return hn::And(inside, below(row, part_.first, part_.end));
                         return hn::And(hn::And(inside, below(row, 0, p_.shape.h)),
                                        below(plane, part_.first, part_.end));
                       });
  }

  // Stores cells and weights of linear points. Returns bits of the taps in the part.
  HWY_INLINE VI Place(const Axes<V>& at, int64_t i,
                      LinearBatch<F, kAxes>* HWY_RESTRICT batch) const {
    return WithIndices(hn::Floor(at.x), hn::Floor(at.y), hn::Floor(at.z),
                       [&](VI column, VI row, VI plane) PORTACL_INLINE_LAMBDA {
                         const Axes first(column, row, plane);
                         return HWY_UNLIKELY(wraps()) ? PlaceLinear<true>(at, first, i, batch)
                                                      : PlaceLinear<false>(at, first, i, batch);
                       });
  }

  // Does the work of Place(). kWraps: the axes are circular.
  template <bool kWraps>
  HWY_INLINE VI PlaceLinear(const Axes<V>& at, const Axes<VI>& first, int64_t i,
                            LinearBatch<F, kAxes>* HWY_RESTRICT batch) const {
    const DI di;
    const auto& s = p_.shape;
    if constexpr (kWraps) WrapIndices(first.x, first.y, first.z);
    VI taps = TapsAlong<kAxes, 0, kWraps>(di, first.x, 0, s.w, s.w);
    VI wrapping = hn::Zero(di);
    if constexpr (kWraps)
      wrapping = hn::Or(WrapsAlong<0>(di, first.x, s.w), WrapsAlong<1>(di, first.y, s.h));
    if constexpr (kAxes == 2) {
      taps = hn::And(taps, TapsAlong<2, 1, kWraps>(di, first.y, part_.first, part_.end, s.h));
    } else {
      taps = hn::And(taps, TapsAlong<3, 1, kWraps>(di, first.y, 0, s.h, s.h));
      taps = hn::And(taps, TapsAlong<3, 2, kWraps>(di, first.z, part_.first, part_.end, s.d));
      if constexpr (kWraps) wrapping = hn::Or(wrapping, WrapsAlong<2>(di, first.z, s.d));
    }
    if (hn::AllTrue(di, hn::Eq(taps, hn::Zero(di)))) return taps;
    hn::Store(hn::Or(taps, wrapping), di, batch->taps + i);
    PlaceTaps<kAxes, F>(sums_.size, at, first, i, batch);
    return taps;
  }

  bool wraps() const { return p_.shape.padding == ops::Padding::kCircular; }

  HWY_INLINE void WrapIndices(VI& column, VI& row, VI& plane) const {
    const DI di;
    column = WrappedIndex(di, column, p_.shape.w);
    row = WrappedIndex(di, row, p_.shape.h);
    if constexpr (kAxes == 3) plane = WrappedIndex(di, plane, p_.shape.d);
  }

  HWY_INLINE VI Place(const Axes<V>& at, int64_t point,
                      CubicBatch<F, kAxes>* HWY_RESTRICT batch) const {
    const auto i = static_cast<size_t>(point);
    CubicGroup<F, kAxes>& group = batch->group[i / kGroup];
    PlaceCubic<false>(geometry_, at, i % kGroup, &group);
    hn::Store(AreAdjacent<F>(group.index[0], i % kGroup), DI(), batch->adjacent + i);
    return TapsInSlab(group, i % kGroup, part_.first, part_.end);
  }

  // ---- sums -------------------------------------------------------------------------------------

  // Adds points in order. `all`: every point of the batch is in the part.
  static HWY_NOINLINE void AddNearest(const NearestBatch& batch, bool all, const F* HWY_RESTRICT g,
                                      F* HWY_RESTRICT channel) {
    if (HWY_LIKELY(all)) {
      for (int64_t j = 0; j < batch.count; ++j) channel[batch.cell[j]] += g[j];
      return;
    }
    for (int64_t j = 0; j < batch.count; ++j) channel[batch.cell[j]] += g[batch.touching[j]];
  }

  // Adds points and taps in order; each sum takes one fused multiply-add. kDense: elements of a row
  // are adjacent.
  template <bool kDense>
  HWY_NOINLINE void AddLinear(const LinearBatch<F, kAxes>& batch, const F* HWY_RESTRICT g,
                              F* HWY_RESTRICT channel) const {
    const int64_t right = kDense ? 1 : sums_.size.pixel;
    const int64_t down = sums_.size.row;
    const int64_t below = sums_.size.plane;
    for (int64_t j = 0; j < batch.count; ++j) {
      const int32_t k = batch.touching[j];
      F* const first = channel + batch.cell[k];
      const F value = g[k];
      const int32_t taps = batch.taps[k];
      const auto add = [&](F* sum, size_t tap) PORTACL_INLINE_LAMBDA {
        *sum = std::fma(batch.weight[tap][k], value, *sum);
      };
      if (HWY_LIKELY(taps == kAllTaps<kAxes>)) {
        Unroll<size_t{1} << (kAxes - 1)>([&](auto row) PORTACL_INLINE_LAMBDA {
          F* const at = first + (row % 2 == 0 ? 0 : down) + (row / 2 == 0 ? 0 : below);
          add(at, 2 * row);
          add(at + right, 2 * row + 1);
        });
        continue;
      }
      const bool wraps = taps >> kWrapBit != 0;
      for (size_t tap = 0; tap < size_t{1} << kAxes; ++tap) {
        if ((taps >> tap & 1) == 0) continue;
        F* const at = first + ((tap & 1) != 0 ? right : 0) + ((tap & 2) != 0 ? down : 0) +
                      ((tap & 4) != 0 ? below : 0);
        add(HWY_UNLIKELY(wraps) ? at + WrapOf<kAxes>(sums_.size, taps, tap) : at, tap);
      }
    }
  }

  // Adds a batch without branches, for joined images: many points are near edges, in no order that
  // a CPU could predict. Taps outside are added to an unused number.
  HWY_NOINLINE void AddJoined(const LinearBatch<F, kAxes>& batch, const F* HWY_RESTRICT g,
                              F* HWY_RESTRICT channel) const {
    const int64_t down = sums_.size.row;
    F outside[4] = {};
    for (int64_t j = 0; j < batch.count; ++j) {
      const int32_t k = batch.touching[j];
      F* const first = channel + batch.cell[k];
      const F value = g[k];
      const int32_t taps = batch.taps[k];
      Unroll<4>([&](auto tap) PORTACL_INLINE_LAMBDA {
        F* const inside = first + tap % 2 + (tap / 2 == 0 ? 0 : down);
        F* const sum = (taps >> tap & 1) != 0 ? inside : outside + tap;
        *sum = std::fma(batch.weight[tap][k], value, *sum);
      });
    }
  }

  const Params& p_;
  OwnedPart part_;
  const Joined* joined_;  // null if images are not joined
  decltype(PointGeometryOf<F>(Params().shape)) geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  const T* grid_;
  const T* grad_output_;
  T* out_;
  PartSums<F> sums_;
  int64_t image_sums_ = 0;  // elements between two joined images
};

// ---- parts --------------------------------------------------------------------------------------

// Whether there may be so many slabs that owners read codes.
template <class Params, class T, Interpolation kInterpolation>
inline constexpr bool kReadsCodes =
    kAxesOf<Params> == 2 &&
    kInterpolation != Interpolation::kBicubic&& std::is_same_v<T, base::ComputeType<T>>;

// Computes part number `at` of image or volume n. `memory`: see Owner.
template <class T, Interpolation kInterpolation, class Params>
void RunPart(const Params& p, const OwnedParts& parts, int64_t n, int64_t at,
             base::ComputeType<T>* memory, [[maybe_unused]] const uint8_t* codes) {
  const int64_t slab = at % parts.slabs;
  const int64_t lines = LinesOf(p.shape);
  const int64_t first_channel = at / parts.slabs * parts.group_channels;
  const OwnedPart part = {
      .n = n,
      .first_channel = first_channel,
      .channels = std::min(parts.group_channels, p.shape.c - first_channel),
      .first = parts.FirstLineOf(slab, lines),
      .end = parts.FirstLineOf(slab + 1, lines),
  };
  const Owner<Params, T, kInterpolation> owner(p, part, memory);
  if constexpr (kReadsCodes<Params, T, kInterpolation>) {
    if (parts.image_codes > 0) return owner.RunListed(codes + n * parts.image_codes, slab);
  }
  owner.Run();
}

template <class T, Interpolation kInterpolation, class Params>
void RunParts(const Params& p, const OwnedParts& parts, void* workspace) {
  constexpr bool kNearest = kInterpolation == Interpolation::kNearest;
  auto* const codes = static_cast<uint8_t*>(workspace);
  auto* const sums = static_cast<base::ComputeType<T>*>(workspace);
  if constexpr (kReadsCodes<Params, T, kInterpolation>) CodeImages<T, kNearest>(p, parts, codes);
  const int64_t of_image = parts.groups * parts.slabs;
  const auto run = [&](int slot, int64_t i) {
    const int64_t n = i / of_image;
    const int64_t at = i % of_image;
    if (kNearest && p.want_grid_grad) {
      const int64_t points = PointsOf(p.shape);
      NoGridGrad<Params, T>(p).Run(n, points * at / of_image, points * (at + 1) / of_image);
    }
    RunPart<T, kInterpolation>(p, parts, n, at, sums + slot * parts.slot_elements, codes);
  };
  const int64_t owners = p.shape.n * of_image;
  if (parts.slot_elements > 0) return runtime::ParallelForSlots(owners, parts.slots, run);
  runtime::ParallelFor(owners, parts.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(0, i);
  });
}

// Calls run(type tag, interpolation) with a call's element type and interpolation as constants.
template <class Params, class Run>
void DispatchModes(const Params& p, const Run& run) {
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    WithInterpolation(p.shape.interpolation, [&](auto interpolation) { run(tag, interpolation); });
  });
}

template <class Params>
void RunOwned(const Params& p, const OwnedParts& parts, void* workspace) {
  const bool nearest = p.shape.interpolation == Interpolation::kNearest;
  if (p.want_grid_grad && !nearest) RunPath(p, parts.grid_grad, workspace);
  DispatchModes(p, [&](auto tag, auto interpolation) {
    RunParts<typename decltype(tag)::type, interpolation>(p, parts, workspace);
  });
}

// ---- joined images ------------------------------------------------------------------------------

using ImageParams = ops::GridSampler2DBackwardParams;

// Runs one owner for several whole images.
template <class T, Interpolation kInterpolation>
void RunJoinedImages(const ImageParams& p, int64_t grain) {
  using ImageOwner = Owner<ImageParams, T, kInterpolation>;
  typename ImageOwner::Joined joined;
  using F = base::ComputeType<T>;
  constexpr bool kStaged = !std::is_same_v<T, F>;
  using Sums = std::array<F, kStaged ? size_t{kStagedElements} : 1>;
  joined.Prepare(p.shape, kStaged ? p.shape.h * p.shape.w : p.input_grad_stride[0],
                 p.grad_output_stride, ValuePointsOf(p.shape, p.grad_output_stride));
  runtime::ParallelFor(p.shape.n, grain, [&](int64_t begin, int64_t end) {
    HWY_ALIGN Sums memory;
    const OwnedPart part = {.n = begin,
                            .first_channel = 0,
                            .channels = p.shape.c,
                            .first = 0,
                            .end = p.shape.h,
                            .images = end - begin};
    ImageOwner(p, part, memory.data(), &joined).RunJoined();
  });
}

}  // namespace

void RunPath(const ops::GridSampler3DBackwardParams& p, const OwnedParts& parts, void* workspace) {
  RunOwned(p, parts, workspace);
}

void RunPath(const ImageParams& p, const OwnedParts& parts, void* workspace) {
  RunOwned(p, parts, workspace);
}

void RunPath(const ImageParams& p, const JoinedGeometry& g, void* workspace) {
  if (p.want_grid_grad) RunPath(p, g.grid_grad, workspace);
  DispatchModes(p, [&](auto tag, auto interpolation) {
    RunJoinedImages<typename decltype(tag)::type, interpolation>(p, g.grain);
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
