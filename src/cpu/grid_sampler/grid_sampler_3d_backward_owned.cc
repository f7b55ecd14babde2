// inputGrad of volumes: a group of channels of a slab of planes has one owner, who looks at all
// points of the volume, located in vectors, and adds what touches the slab one after the other.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler/grid_sampler_3d_backward_owned.cc"
#include "cpu/vector/highway.h"
// Highway first.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/dispatch.h"
#include "cpu/grid_sampler/grid_sampler_3d_backward-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_cubic-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_paths-inl.h"
#include "cpu/grid_sampler/grid_sampler_3d_taps-inl.h"
#include "cpu/vector/listed_lanes-inl.h"
#include "cpu/vector/transpose-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler3DBackwardParams;

#if defined(__GNUC__) && !defined(__clang__)
#define PORTACL_OPAQUE __attribute__((noipa))
#else
#define PORTACL_OPAQUE HWY_NOINLINE
#endif

// Of a batch's points, one array per quantity; `touching` lists those with a tap in the slab.
template <class F>
struct VolumeBatch : TapBatch<F> {
  HWY_ALIGN int32_t taps[kBatch];  // bit i: tap i is in the slab
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// The same for tricubic points, group by group. Of `taps` is known whether there are any.
template <class F>
struct CubicBatch {
  CubicGroup3D<F> group[kBatch / kGroup];
  HWY_ALIGN int32_t adjacent[kBatch];  // not 0: the taps of a row are neighbours
  HWY_ALIGN int32_t taps[kBatch];
  HWY_ALIGN int32_t touching[kBatch + kGroup];
  int64_t count;
};

// Where a slab's sums are: of every channel, and in it from the volume's first element on.
template <class F>
struct SlabSums {
  F* first;
  int64_t channel_stride;
  VolumeStrides size;
};

template <class T, Interpolation kInterpolation>
class OwnedSlab {
  using F = base::ComputeType<T>;
  using D = PointTag<F>;
  using DI = IndexTag<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  using Batch =
      std::conditional_t<kInterpolation == Interpolation::kBicubic, CubicBatch<F>, VolumeBatch<F>>;
  static constexpr bool kStaged = !std::is_same_v<T, F>;

 public:
  // Slab `slab` of group `group` of volume n; `memory`: the slot's sums where T needs them.
  OwnedSlab(const Params& p, const OwnedSlabs& plan, int64_t n, int64_t group, int64_t slab,
            F* memory)
      : p_(p),
        first_channel_(group * plan.group_channels),
        channels_(std::min(plan.group_channels, p.shape.c - first_channel_)),
        first_plane_(FirstPlane(p.shape, slab, plan.slabs)),
        end_plane_(FirstPlane(p.shape, slab + 1, plan.slabs)),
        geometry_(VolumeGeometryOf<F>(p.shape)),
        grid_at_(GridPointsOf(p.shape, p.grid_stride)),
        grad_output_at_(ValuePointsOf(p.shape, p.grad_output_stride)),
        grid_(static_cast<const T*>(p.grid) + n * p.grid_stride[0]),
        grad_output_(static_cast<const T*>(p.grad_output) + n * p.grad_output_stride[0] +
                     first_channel_ * p.grad_output_stride[1]),
        out_(static_cast<T*>(p.input_grad) + n * p.input_grad_stride[0] +
             first_channel_ * p.input_grad_stride[1]) {
    if constexpr (kStaged) {
      const auto& s = p.shape;
      const std::array<int64_t, 5> dense = {0, 0, s.h * s.w, s.w, 1};
      sums_ = {memory - first_plane_ * s.h * s.w, plan.slot_elements, VolumeStridesOf(s, dense)};
    } else {
      sums_ = {out_, p.input_grad_stride[1], VolumeStridesOf(p.shape, p.input_grad_stride)};
    }
  }

  void Run() const {
    for (int64_t c = 0; c < channels_; ++c) Clear(sums_.first + c * sums_.channel_stride);
    const int64_t points = p_.shape.od * p_.shape.oh * p_.shape.ow;
    Batch batch;
    HWY_ALIGN F g[kBatch];
    for (int64_t first = 0; first < points; first += kBatch) {
      const int64_t count = std::min(kBatch, points - first);
      Prepare(first, count, &batch);
      if (batch.count == 0) continue;
      for (int64_t c = 0; c < channels_; ++c) {
        ReadGradOutput(c, first, count, g);
        F* const volume = sums_.first + c * sums_.channel_stride;
        if constexpr (kInterpolation == Interpolation::kBicubic) {
          AddCubicPoints(batch, g, volume);
        } else if (sums_.size.pixel == 1) {
          AddPoints<true>(batch, g, volume);
        } else {
          AddPoints<false>(batch, g, volume);
        }
      }
    }
    if constexpr (kStaged) {
      for (int64_t c = 0; c < channels_; ++c) {
        Round(sums_.first + c * sums_.channel_stride, out_ + c * p_.input_grad_stride[1]);
      }
    }
  }

 private:
  // Calls row(offset of its first element) for each row of the slab.
  template <class Row>
  void ForRows(const Row& row) const {
    for (int64_t z = first_plane_; z < end_plane_; ++z) {
      for (int64_t y = 0; y < p_.shape.h; ++y) row(z, y);
    }
  }

  void Clear(F* volume) const {
    const int64_t width = p_.shape.w;
    ForRows([&](int64_t z, int64_t y) {
      F* const row = volume + z * sums_.size.plane + y * sums_.size.row;
      if (sums_.size.pixel == 1) {
        std::memset(static_cast<void*>(row), 0, static_cast<size_t>(width) * sizeof(F));
      } else {
        for (int64_t x = 0; x < width; ++x) row[x * sums_.size.pixel] = 0;
      }
    });
  }

  void Round(const F* volume, T* out) const {
    const hn::ScalableTag<F> d;
    const int64_t width = p_.shape.w;
    const auto& stride = p_.input_grad_stride;
    ForRows([&](int64_t z, int64_t y) HWY_ATTR {
      const F* const from = volume + (z * p_.shape.h + y) * width;
      T* const to = out + z * stride[2] + y * stride[3];
      int64_t x = 0;
      if (stride[4] == 1) {
        for (; x + Length(d) <= width; x += Length(d))
          StoreNarrow(hn::LoadU(d, from + x), d, to + x);
      }
      for (; x < width; ++x) to[x * stride[4]] = base::Narrow<T>(from[x]);
    });
  }

  void ReadGradOutput(int64_t c, int64_t first, int64_t count, F* HWY_RESTRICT g) const {
    const D d;
    const T* from = grad_output_ + c * p_.grad_output_stride[1];
    for (int64_t i = 0; i < count; i += Length(d)) {
      hn::Store(ReadChannel(d, grad_output_at_, from, first + i, std::min(Length(d), count - i)), d,
                g + i);
    }
  }

  // Not inlined: the compiler would keep the weights in vectors and extract them lane by lane.
  HWY_NOINLINE void Prepare(int64_t first, int64_t count, Batch* HWY_RESTRICT batch) const {
    const DI di;
    size_t listed = 0;
    ForGridVectors(grid_at_, grid_, first, first + count,
                   [&](int64_t p, int64_t left, V x, V y, V z) PORTACL_INLINE_LAMBDA {
                     if (!MayTouch(z)) return;
                     const int64_t i = p - first;
                     LocateTaps(geometry_, x, y, z);
                     const VI taps = Place(x, y, z, i, batch);
                     hn::Store(taps, di, batch->taps + i);
                     const auto touching = hn::And(hn::Ne(taps, hn::Zero(di)),
                                                   hn::FirstN(di, static_cast<size_t>(left)));
                     listed += StoreListed(hn::Iota(di, static_cast<int32_t>(i)), touching, di,
                                           batch->touching + listed);
                   });
    batch->count = static_cast<int64_t>(listed);
  }

  // False where it is plain from their z that points have no tap in the slab: most of another
  // slab's, which then cost a fifth.
  HWY_INLINE bool MayTouch(V z) const {
    const D d;
    if (kInterpolation == Interpolation::kBicubic || end_plane_ - first_plane_ == p_.shape.d ||
        p_.shape.padding == ops::Padding::kReflection) {
      return true;
    }
    constexpr F kInfinity = std::numeric_limits<F>::infinity();
    const bool clips = p_.shape.padding == ops::Padding::kBorder;
    // Points clipped to plane 0 have a tap in plane 1, too: of weight 0, which infinities notice.
    const F low = clips && first_plane_ <= 1 ? -kInfinity : static_cast<F>(first_plane_ - 1);
    const F high = clips && end_plane_ == p_.shape.d ? kInfinity : static_cast<F>(end_plane_);
    const V at = Unpadded(d, z, geometry_.z, geometry_.rule);
    return !hn::AllFalse(d, hn::And(hn::Ge(at, hn::Set(d, low)), hn::Le(at, hn::Set(d, high))));
  }

  HWY_INLINE VI OwnPlane(VI plane) const {
    const DI di;
    return hn::Sub(plane, hn::Set(di, static_cast<int32_t>(first_plane_)));
  }

  // Cells and weights of points; the result is which taps are in the slab.
  HWY_INLINE VI Place(V x, V y, V z, int64_t i, Batch* HWY_RESTRICT batch) const {
    if constexpr (kInterpolation == Interpolation::kBilinear) {
      VI plane;
      const VI in_image = PlaceTaps(sums_.size, x, y, z, i, batch, plane);
      return hn::And(in_image, TapsInPlanes(DI(), plane, first_plane_, end_plane_));
    } else if constexpr (kInterpolation == Interpolation::kNearest) {
      return PlaceNearest(x, y, z, i, batch);
    } else {
      return PlaceCubicTaps(x, y, z, static_cast<size_t>(i), batch);
    }
  }

  HWY_INLINE VI PlaceCubicTaps(V x, V y, V z, size_t i, Batch* HWY_RESTRICT batch) const {
    const DI di;
    CubicGroup3D<F>& group = batch->group[i / kGroup];
    PlaceCubic(geometry_, x, y, z, i % kGroup, &group);
    hn::Store(AreAdjacent<F>(group.index[0], i % kGroup), di, batch->adjacent + i);
    return TapsInSlab<F>(group, i % kGroup, first_plane_, end_plane_);
  }

  HWY_INLINE VI PlaceNearest(V x, V y, V z, int64_t i, Batch* HWY_RESTRICT batch) const {
    const D d;
    const VI column = ToIndex(d, hn::Round(x));
    const VI row = ToIndex(d, hn::Round(y));
    const VI plane = ToIndex(d, hn::Round(z));
    hn::Store(ElementsAt(sums_.size, column, row, plane), DI(), batch->cell + i);
    return hn::And(
        hn::And(BitsBelow(DI(), column, p_.shape.w, 1), BitsBelow(DI(), row, p_.shape.h, 1)),
        BitsBelow(DI(), OwnPlane(plane), end_plane_ - first_plane_, 1));
  }

  // Points and taps in order, each sum by one fused multiply-add. Not looked into by
  // other functions' optimization: GCC 12 takes it for one without effect, and drops its calls for
  // double.
  PORTACL_OPAQUE void AddCubicPoints(const Batch& batch, const F* g, F* volume) const {
    for (int64_t j = 0; j < batch.count; ++j) {
      const auto k = static_cast<size_t>(batch.touching[j]);
      const CubicGroup3D<F>& group = batch.group[k / kGroup];
      if (sums_.size.pixel == 1 && batch.adjacent[k] != 0) {
        AddCubicRows(group, k % kGroup, g[k], volume);
        continue;
      }
      for (size_t plane = 0; plane < 4; ++plane) {
        const int64_t z = group.index[2][plane][k % kGroup];
        if (z < first_plane_ || z >= end_plane_) continue;
        AddCubicPlane(group, k % kGroup, plane, g[k], volume + z * sums_.size.plane);
      }
    }
  }

  // sums[0 ... 3] += g times the weights of a row of taps, `weight` but for the plane's share.
  static HWY_INLINE void AddCubicRow(const F* weight, F weight_z, F g, F* sums) {
    const hn::CappedTag<F, 4> d4;
    for (size_t i = 0; i < 4; i += hn::Lanes(d4)) {
      const auto share = hn::Mul(hn::LoadU(d4, weight + i), hn::Set(d4, weight_z));
      hn::StoreU(hn::MulAdd(share, hn::Set(d4, g), hn::LoadU(d4, sums + i)), d4, sums + i);
    }
  }

  // Point k of a group whose rows of taps are vectors.
  HWY_INLINE void AddCubicRows(const CubicGroup3D<F>& group, size_t k, F g, F* volume) const {
    F weight[4][4];
    for (size_t row = 0; row < 4; ++row) {
      for (size_t column = 0; column < 4; ++column) {
        weight[row][column] = group.weight[0][column][k] * group.weight[1][row][k];
      }
    }
    for (size_t plane = 0; plane < 4; ++plane) {
      const int64_t z = group.index[2][plane][k];
      if (z < first_plane_ || z >= end_plane_) continue;
      F* const sums = volume + z * sums_.size.plane + group.index[0][0][k];
      for (size_t row = 0; row < 4; ++row) {
        const int64_t y = group.index[1][row][k];
        if (y < 0) continue;
        AddCubicRow(weight[row], group.weight[2][plane][k], g, sums + y * sums_.size.row);
      }
    }
  }

  HWY_INLINE void AddCubicPlane(const CubicGroup3D<F>& group, size_t k, size_t plane, F g,
                                F* sums) const {
    const F weight_z = group.weight[2][plane][k];
    for (size_t row = 0; row < 4; ++row) {
      const int64_t y = group.index[1][row][k];
      if (y < 0) continue;
      F* const at = sums + y * sums_.size.row;
      const F weight_y = group.weight[1][row][k];
      for (size_t column = 0; column < 4; ++column) {
        const int64_t x = group.index[0][column][k];
        if (x < 0) continue;
        F* const sum = at + x * sums_.size.pixel;
        *sum = std::fma((group.weight[0][column][k] * weight_y) * weight_z, g, *sum);
      }
    }
  }

  // The same for the other modes. kDense: elements of a row side by side.
  template <bool kDense>
  HWY_NOINLINE void AddPoints(const Batch& batch, const F* HWY_RESTRICT g,
                              F* HWY_RESTRICT volume) const {
    const int64_t right = kDense ? 1 : sums_.size.pixel;
    const int64_t down = sums_.size.row;
    const int64_t below = sums_.size.plane;
    for (int64_t j = 0; j < batch.count; ++j) {
      const int32_t k = batch.touching[j];
      F* const first = volume + batch.cell[k];
      if constexpr (kInterpolation == Interpolation::kNearest) {
        *first += g[k];
        continue;
      }
      const F value = g[k];
      const auto add = [&](F* sum, size_t tap) PORTACL_INLINE_LAMBDA {
        *sum = std::fma(batch.weight[tap][k], value, *sum);
      };
      const int32_t taps = batch.taps[k];
      if (HWY_LIKELY(taps == kAllTaps)) {
        Unroll<4>([&](auto row) PORTACL_INLINE_LAMBDA {
          F* const at = first + (row % 2 == 0 ? 0 : down) + (row / 2 == 0 ? 0 : below);
          add(at, 2 * row);
          add(at + right, 2 * row + 1);
        });
        continue;
      }
      for (size_t tap = 0; tap < 8; ++tap) {
        if ((taps >> tap & 1) == 0) continue;
        const bool east = (tap & 1) != 0;
        const bool south = (tap & 2) != 0;
        const bool bottom = (tap & 4) != 0;
        add(first + (east ? right : 0) + (south ? down : 0) + (bottom ? below : 0), tap);
      }
    }
  }

  const Params& p_;
  int64_t first_channel_;
  int64_t channels_;
  int64_t first_plane_;
  int64_t end_plane_;
  VolumeGeometry<F> geometry_;
  PointStrides grid_at_;
  PointStrides grad_output_at_;
  const T* grid_;
  const T* grad_output_;
  T* out_;
  SlabSums<F> sums_;
};

template <class T, Interpolation kInterpolation>
void RunSlabs(const Params& p, const OwnedSlabs& plan, void* workspace) {
  const int64_t owners = p.shape.n * plan.groups * plan.slabs;
  runtime::ParallelForSlots(owners, plan.slots, [&](int slot, int64_t i) {
    auto* memory = static_cast<base::ComputeType<T>*>(workspace);
    if (memory != nullptr) memory += slot * plan.slot_elements;
    const int64_t volume = i / plan.slabs;
    OwnedSlab<T, kInterpolation>(p, plan, volume / plan.groups, volume % plan.groups,
                                 i % plan.slabs, memory)
        .Run();
  });
}

}  // namespace

void RunPath(const Params& p, const OwnedSlabs& plan, void* workspace) {
  if (p.want_grid_grad) RunPath(p, plan.grid_grad, workspace);
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (p.shape.interpolation) {
      case Interpolation::kBilinear:
        return RunSlabs<T, Interpolation::kBilinear>(p, plan, workspace);
      case Interpolation::kNearest:
        return RunSlabs<T, Interpolation::kNearest>(p, plan, workspace);
      default:
        return RunSlabs<T, Interpolation::kBicubic>(p, plan, workspace);
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
