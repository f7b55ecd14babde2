// Bilinear gradients of float images with few channels, straight on the planes: one pass over
// the points in which vectors gather the values and scalars add to inputGrad. Needs no workspace.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/grid_sampler_2d_backward_planar.cc"
#include "cpu/highway.h"
// Highway first.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu/grid_sampler_2d_backward_strip-inl.h"
#include "runtime/parallel.h"

#if PORTACL_HWY_TARGET
HWY_BEFORE_NAMESPACE();
namespace portacl::cpu::HWY_NAMESPACE {
namespace {

using Params = ops::GridSampler2DBackwardParams;
using D = PointTag<float>;
using DI = IndexTag<D>;
using V = hn::Vec<D>;

// Points that are prepared together: enough that the latencies of the preparation, some 100 cycles
// per vector, overlap.
inline constexpr size_t kBatch = 64;

// A batch of points, one array per quantity.
struct Group {
  // Points.
  HWY_ALIGN float tx[kBatch];
  HWY_ALIGN float ux[kBatch];
  HWY_ALIGN float ty[kBatch];
  HWY_ALIGN float uy[kBatch];
  HWY_ALIGN float slope_x[kBatch];
  HWY_ALIGN float slope_y[kBatch];
  HWY_ALIGN int32_t status[kBatch];  // kUsable, ...
  // Taps nw, ne, sw, se.
  HWY_ALIGN float weight[4][kBatch];
  HWY_ALIGN int32_t value_at[4][kBatch];    // offset in a plane of input; -1 outside
  HWY_ALIGN int32_t own_sum_at[4][kBatch];  // of inputGrad, unless they are the same
  bool same_offsets;
  const int32_t (*sum_at)[kBatch];        // value_at or own_sum_at
  HWY_ALIGN int32_t any_outside[kBatch];  // negative where a tap is outside
};

enum Status : int32_t { kUsable = 0, kOutside = 1, kUnusable = 2 };

HWY_NOINLINE void PrepareGroup(const Params& p, const PointGeometry<float>& geometry,
                               const float* HWY_RESTRICT grid_x, const float* HWY_RESTRICT grid_y,
                               size_t count, Group* HWY_RESTRICT group) {
  const D d;
  const DI di;
  const V one = hn::Set(d, 1.0f);
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    auto unusable = hn::MaskFromVec(hn::Zero(d));
    auto outside = unusable;
    V slope_x = hn::Zero(d);
    V slope_y = hn::Zero(d);
    V x = Locate(d, hn::Load(d, grid_x + i), geometry.x, geometry.rule, slope_x, unusable, outside);
    V y = Locate(d, hn::Load(d, grid_y + i), geometry.y, geometry.rule, slope_y, unusable, outside);
    const auto none = hn::Or(unusable, outside);
    x = hn::IfThenElse(none, hn::Set(d, float{kNowhere}), x);
    y = hn::IfThenElse(none, hn::Set(d, float{kNowhere}), y);
    const auto status = hn::IfThenElseZero(hn::RebindMask(di, outside), hn::Set(di, kOutside));
    hn::Store(hn::IfThenElse(hn::RebindMask(di, unusable), hn::Set(di, kUnusable), status), di,
              group->status + i);
    const V x0 = hn::Floor(x);
    const V y0 = hn::Floor(y);
    const V x1 = hn::Add(x0, one);
    const V y1 = hn::Add(y0, one);
    const V tx = hn::Sub(x, x0);
    const V ty = hn::Sub(y, y0);
    const V ux = hn::Sub(x1, x);
    const V uy = hn::Sub(y1, y);
    hn::Store(tx, d, group->tx + i);
    hn::Store(ty, d, group->ty + i);
    hn::Store(ux, d, group->ux + i);
    hn::Store(uy, d, group->uy + i);
    hn::Store(slope_x, d, group->slope_x + i);
    hn::Store(slope_y, d, group->slope_y + i);
    hn::Store(hn::Mul(ux, uy), d, group->weight[0] + i);
    hn::Store(hn::Mul(tx, uy), d, group->weight[1] + i);
    hn::Store(hn::Mul(ux, ty), d, group->weight[2] + i);
    hn::Store(hn::Mul(tx, ty), d, group->weight[3] + i);
    const auto inside = [&](V at, float last) HWY_ATTR {
      return hn::And(hn::Ge(at, hn::Zero(d)), hn::Le(at, hn::Set(d, last)));
    };
    const auto in_x0 = inside(x0, geometry.x.last);
    const auto in_x1 = inside(x1, geometry.x.last);
    const auto in_y0 = inside(y0, geometry.y.last);
    const auto in_y1 = inside(y1, geometry.y.last);
    const auto column0 = ToIndex(d, hn::IfThenElseZero(in_x0, x0));
    const auto column1 = ToIndex(d, hn::IfThenElseZero(in_x1, x1));
    const auto row0 = ToIndex(d, hn::IfThenElseZero(in_y0, y0));
    const auto row1 = ToIndex(d, hn::IfThenElseZero(in_y1, y1));
    const auto in_nw = hn::RebindMask(di, hn::And(in_x0, in_y0));
    const auto in_ne = hn::RebindMask(di, hn::And(in_x1, in_y0));
    const auto in_sw = hn::RebindMask(di, hn::And(in_x0, in_y1));
    const auto in_se = hn::RebindMask(di, hn::And(in_x1, in_y1));
    const auto nowhere = hn::Set(di, -1);
    const auto store = [&](int64_t row_stride, int64_t pixel_stride,
                           int32_t(*to)[kBatch]) HWY_ATTR {
      const auto down = hn::Set(di, static_cast<int32_t>(row_stride));
      const auto right = hn::Set(di, static_cast<int32_t>(pixel_stride));
      const auto x0_at = hn::Mul(column0, right);
      const auto x1_at = hn::Mul(column1, right);
      const auto y0_at = hn::Mul(row0, down);
      const auto y1_at = hn::Mul(row1, down);
      hn::Store(hn::IfThenElse(in_nw, hn::Add(y0_at, x0_at), nowhere), di, to[0] + i);
      hn::Store(hn::IfThenElse(in_ne, hn::Add(y0_at, x1_at), nowhere), di, to[1] + i);
      hn::Store(hn::IfThenElse(in_sw, hn::Add(y1_at, x0_at), nowhere), di, to[2] + i);
      hn::Store(hn::IfThenElse(in_se, hn::Add(y1_at, x1_at), nowhere), di, to[3] + i);
    };
    const auto all = hn::And(hn::And(in_nw, in_ne), hn::And(in_sw, in_se));
    hn::Store(hn::IfThenElse(all, hn::Zero(di), nowhere), di, group->any_outside + i);
    store(p.input_stride[2], p.input_stride[3], group->value_at);
    if (!group->same_offsets) {
      store(p.input_grad_stride[2], p.input_grad_stride[3], group->own_sum_at);
    }
  }
}

// Values of tap `tap` in a plane, 0 outside.
HWY_INLINE V GatherTap(const Group& group, int tap, size_t i, const float* plane) {
  const D d;
  const DI di;
  const auto at = hn::Load(di, group.value_at[tap] + i);
  const auto outside = hn::Lt(at, hn::Zero(di));
  const V value = hn::GatherIndex(d, plane, hn::IfThenZeroElse(outside, at));
  return hn::IfThenZeroElse(hn::RebindMask(d, outside), value);
}

template <int C, bool kInputGrad, bool kGridGrad>
class PlanarImage {
 public:
  PlanarImage(const Params& p, int64_t n)
      : p_(p),
        geometry_(PointGeometryOf<float>(p.shape)),
        grid_at_(PointStridesOf(p.shape, p.grid_stride[1], p.grid_stride[2], p.grid_stride[3])),
        grid_grad_at_(PointStridesOf(p.shape, p.grid_grad_stride[1], p.grid_grad_stride[2],
                                     p.grid_grad_stride[3])),
        grad_output_at_(PointStridesOf(p.shape, p.grad_output_stride[2], p.grad_output_stride[3],
                                       p.grad_output_stride[1])),
        grad_output_(static_cast<const float*>(p.grad_output) + n * p.grad_output_stride[0]),
        input_(static_cast<const float*>(p.input) + n * p.input_stride[0]),
        grid_(static_cast<const float*>(p.grid) + n * p.grid_stride[0]),
        input_grad_(kInputGrad ? static_cast<float*>(p.input_grad) + n * p.input_grad_stride[0]
                               : nullptr),
        grid_grad_(kGridGrad ? static_cast<float*>(p.grid_grad) + n * p.grid_grad_stride[0]
                             : nullptr) {}

  void Run() const {
    if constexpr (kInputGrad) ClearInputGrad();
    const int64_t points = p_.shape.oh * p_.shape.ow;
    HWY_ALIGN float grid_x[kBatch] = {};
    HWY_ALIGN float grid_y[kBatch] = {};
    HWY_ALIGN float g[C][kBatch];
    Group group;
    group.same_offsets = p_.input_stride[2] == p_.input_grad_stride[2] &&
                         p_.input_stride[3] == p_.input_grad_stride[3];
    group.sum_at = group.same_offsets ? group.value_at : group.own_sum_at;
    for (int64_t first = 0; first < points; first += int64_t{kBatch}) {
      const int64_t count = std::min<int64_t>(int64_t{kBatch}, points - first);
      ReadPoints(first, count, grid_x, grid_y);
      PrepareGroup(p_, geometry_, grid_x, grid_y, static_cast<size_t>(count), &group);
      for (int c = 0; c < C; ++c) ReadGradOutput(c, first, count, g[c]);
      if constexpr (kGridGrad) StoreGridGrad(group, g, first, count);
      if constexpr (kInputGrad) {
        for (int c = 0; c < C; ++c) {
          Scatter(group, g[c], count, input_grad_ + c * p_.input_grad_stride[1]);
        }
      }
    }
  }

 private:
  void ClearInputGrad() const {
    const auto& stride = p_.input_grad_stride;
    for (int64_t c = 0; c < C; ++c) {
      float* plane = input_grad_ + c * stride[1];
      if (stride[3] == 1 && stride[2] == p_.shape.w) {
        std::memset(plane, 0, static_cast<size_t>(p_.shape.h * p_.shape.w) * sizeof(float));
        continue;
      }
      for (int64_t y = 0; y < p_.shape.h; ++y) {
        for (int64_t x = 0; x < p_.shape.w; ++x) plane[y * stride[2] + x * stride[3]] = 0.0f;
      }
    }
  }

  // Whole groups; the rest of the batch stays as it is, and counts for nothing.
  void ReadPoints(int64_t first, int64_t count, float* HWY_RESTRICT grid_x,
                  float* HWY_RESTRICT grid_y) const {
    for (int64_t k = 0; k < count; k += int64_t{kGroup}) {
      ReadGrid<float>(grid_at_, grid_, first + k, std::min<int64_t>(int64_t{kGroup}, count - k),
                      grid_x + k, grid_y + k);
    }
  }

  void ReadGradOutput(int c, int64_t first, int64_t count, float* HWY_RESTRICT g) const {
    const PointStrides& at = grad_output_at_;
    const float* from = grad_output_ + c * at.channel_stride;
    if (at.flat && at.pixel_stride == 1 && count == int64_t{kBatch}) {
      const D d;  // by whole vectors, or the next load waits for the stores
      for (size_t i = 0; i < kBatch; i += hn::Lanes(d)) {
        hn::Store(hn::LoadU(d, from + first + static_cast<int64_t>(i)), d, g + i);
      }
      return;
    }
    for (int64_t k = 0; k < count; ++k) g[k] = from[at.OffsetOf(first + k)];
    std::fill(g + count, g + kBatch, 0.0f);
  }

  // Taps in order, each sum by one fused multiply-add. The four sums of a cell stay in registers
  // while points stay in it or move on to the next pixel: through memory each point would wait for
  // the stores of the one before.
  HWY_INLINE void Scatter(const Group& group, const float* HWY_RESTRICT g, int64_t count,
                          float* plane) const {
    const int64_t right = p_.input_grad_stride[3];
    const int64_t down = p_.input_grad_stride[2];
    float nw = 0;
    float ne = 0;
    float sw = 0;
    float se = 0;
    float* cell = nullptr;  // of the sums in registers
    const auto flush = [&]() HWY_ATTR {
      if (cell == nullptr) return;
      cell[0] = nw;
      cell[right] = ne;
      cell[down] = sw;
      cell[down + right] = se;
    };
    for (int64_t k = 0; k < count; ++k) {
      if (HWY_UNLIKELY(group.any_outside[k] < 0)) {
        flush();
        cell = nullptr;
        for (int tap = 0; tap < 4; ++tap) {
          if (group.sum_at[tap][k] >= 0) AddTap(group, tap, k, g[k], plane);
        }
        continue;
      }
      float* const next = plane + group.sum_at[0][k];
      if (next != cell) {
        if (cell != nullptr && next == cell + right) {
          cell[0] = nw;
          cell[down] = sw;
          nw = ne;
          sw = se;
        } else {
          flush();
          nw = next[0];
          sw = next[down];
        }
        ne = next[right];
        se = next[down + right];
        cell = next;
      }
      nw = std::fma(group.weight[0][k], g[k], nw);
      ne = std::fma(group.weight[1][k], g[k], ne);
      sw = std::fma(group.weight[2][k], g[k], sw);
      se = std::fma(group.weight[3][k], g[k], se);
    }
    flush();
  }

  static HWY_INLINE void AddTap(const Group& group, int tap, int64_t k, float g, float* plane) {
    float& sum = plane[group.sum_at[tap][k]];
    sum = std::fma(group.weight[tap][k], g, sum);
  }

  void StoreGridGrad(const Group& group, const float (*g)[kBatch], int64_t first,
                     int64_t count) const {
    const D d;
    const DI di;
    HWY_ALIGN float pairs[2 * kBatch];
    for (size_t i = 0; i < static_cast<size_t>(count); i += hn::Lanes(d)) {
      V x;
      V y;
      SumChannels(group, g, i, x, y);
      const auto status = hn::Load(di, group.status + i);
      const auto is = [&](int32_t value) HWY_ATTR {
        return hn::RebindMask(d, hn::Eq(status, hn::Set(di, value)));
      };
      const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
      const auto finish = [&](V sum, const float* slope) HWY_ATTR {
        const V product = hn::Mul(hn::Add(hn::Zero(d), sum), hn::Load(d, slope + i));
        return hn::IfThenElse(is(kUnusable), nan, hn::IfThenZeroElse(is(kOutside), product));
      };
      hn::StoreInterleaved2(finish(x, group.slope_x), finish(y, group.slope_y), d, pairs + 2 * i);
    }
    const PointStrides& at = grid_grad_at_;
    if (at.flat && at.pixel_stride == 2 && at.channel_stride == 1 && count == int64_t{kBatch}) {
      for (size_t i = 0; i < 2 * kBatch; i += hn::Lanes(d)) {
        hn::StoreU(hn::Load(d, pairs + i), d, grid_grad_ + 2 * first + static_cast<int64_t>(i));
      }
      return;
    }
    for (int64_t k = 0; k < count; ++k) {
      float* to = grid_grad_ + at.OffsetOf(first + k);
      to[0] = pairs[2 * k];
      to[at.channel_stride] = pairs[2 * k + 1];
    }
  }

  // The contract's tree over the lanes of a block: (0 + 2) + (1 + 3).
  HWY_INLINE void SumChannels(const Group& group, const float (*g)[kBatch], size_t i, V& x,
                              V& y) const {
    const D d;
    Channel(group, g, 0, i, x, y);
    if constexpr (C > 2) AddChannel(group, g, 2, i, x, y);
    if constexpr (C > 1) {
      V x1;
      V y1;
      Channel(group, g, 1, i, x1, y1);
      if constexpr (C > 3) AddChannel(group, g, 3, i, x1, y1);
      x = hn::Add(x, x1);
      y = hn::Add(y, y1);
    }
    static_cast<void>(d);
  }

  HWY_INLINE void AddChannel(const Group& group, const float (*g)[kBatch], int c, size_t i, V& x,
                             V& y) const {
    V x2;
    V y2;
    Channel(group, g, c, i, x2, y2);
    x = hn::Add(x, x2);
    y = hn::Add(y, y2);
  }

  HWY_INLINE void Channel(const Group& group, const float (*g)[kBatch], int c, size_t i, V& x,
                          V& y) const {
    const D d;
    const float* plane = input_ + c * p_.input_stride[1];
    const V nw = GatherTap(group, 0, i, plane);
    const V ne = GatherTap(group, 1, i, plane);
    const V sw = GatherTap(group, 2, i, plane);
    const V se = GatherTap(group, 3, i, plane);
    const V grad = hn::Load(d, g[c] + i);
    x = hn::Mul(grad, hn::MulAdd(hn::Sub(se, sw), hn::Load(d, group.ty + i),
                                 hn::Mul(hn::Sub(ne, nw), hn::Load(d, group.uy + i))));
    y = hn::Mul(grad, hn::MulAdd(hn::Sub(se, ne), hn::Load(d, group.tx + i),
                                 hn::Mul(hn::Sub(sw, nw), hn::Load(d, group.ux + i))));
  }

  const Params& p_;
  PointGeometry<float> geometry_;
  PointStrides grid_at_;
  PointStrides grid_grad_at_;
  PointStrides grad_output_at_;
  const float* grad_output_;
  const float* input_;
  const float* grid_;
  float* input_grad_;
  float* grid_grad_;
};

template <int C>
void RunChannels(const Params& p, int64_t n) {
  if (!p.want_grid_grad) {
    PlanarImage<C, true, false>(p, n).Run();
  } else if (p.want_input_grad) {
    PlanarImage<C, true, true>(p, n).Run();
  } else {
    PlanarImage<C, false, true>(p, n).Run();
  }
}

}  // namespace

void RunPlanar(const Params& p) {
  runtime::ParallelFor(p.shape.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      switch (p.shape.c) {
        case 1:
          RunChannels<1>(p, n);
          break;
        case 2:
          RunChannels<2>(p, n);
          break;
        case 3:
          RunChannels<3>(p, n);
          break;
        default:
          RunChannels<4>(p, n);
          break;
      }
    }
  });
}

}  // namespace portacl::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // PORTACL_HWY_TARGET
