// Sums an output by levels, then by the points of a level, then by a point's taps. Sums a key's
// gradient by levels, queries, points and taps. The gradients of a point come from four dot
// products, one per tap: 16 lanes (lane = c mod 16) joined by a fixed tree.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/checked.h"
#include "base/dispatch.h"
#include "base/kernel.h"
#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "ref/bilinear_taps.h"
#include "ref/for_each_index.h"
#include "ref/lane_tree.h"

namespace portacl::ref {
namespace {

using Params = ops::MsDeformAttnParams;

// One sampling point: (batch, query, head, level, point).
struct PointIndex {
  int64_t b, q, h, l, p;

  template <class T, class Tensor>
  auto* In(const Tensor& tensor) const {
    return tensor.template At<T>(b, q, h, l, p);
  }
};

// T is the type of value and output; Tp is the type of the locations and weights.
template <class T, class Tp>
class MsDeformAttn {
  using F = base::ComputeType<T>;

 public:
  explicit MsDeformAttn(const Params& p) : p_(p) {}

  void Run(void* workspace) const {
    if (!p_.backward) return Forward();
    if (p_.value_grad.has) ValueGrad(static_cast<F*>(workspace));
    if (p_.wants_point_grads()) PointGrads();
  }

 private:
  // The taps and the weight of a point. `pixel` holds keys: indices into the pixels of all levels.
  struct WeighedTaps : BilinearTaps<F> {
    F weight_of_point = 0;
  };

  // Returns no taps if the level does not fit the keys.
  WeighedTaps TapsOf(const PointIndex& at) const {
    const ops::MsDeformAttnLevel level = p_.Level(at.l);
    if (level.height == 0) return {};
    const Tp* const location = at.In<Tp>(p_.location);
    const F x = base::Widen(location[0]) * static_cast<F>(level.width) - F{0.5};
    const F y =
        base::Widen(location[p_.location.stride[5]]) * static_cast<F>(level.height) - F{0.5};
    WeighedTaps taps{TapsAt(x, y, level.height, level.width)};
    taps.weight_of_point = base::Widen(*at.In<Tp>(p_.weight));
    for (int64_t& pixel : taps.pixel) pixel = pixel < 0 ? -1 : level.start + pixel;
    return taps;
  }
  F Value(int64_t b, int64_t key, int64_t h, int64_t c) const {
    return base::Widen(*p_.value.At<T>(b, key, h, c));
  }
  F GradOutput(int64_t b, int64_t q, int64_t h, int64_t c) const {
    return base::Widen(*p_.output.At<T>(b, q, h, c));
  }

  // ---- the function -----------------------------------------------------------------------------

  void Forward() const {
    ForEachIndex(p_.batch * p_.queries * p_.heads, 16, [&](int64_t i) {
      const int64_t h = i % p_.heads;
      const int64_t q = i / p_.heads % p_.queries;
      const int64_t b = i / p_.heads / p_.queries;
      for (int64_t c = 0; c < p_.channels; ++c) {
        *p_.output.At<T>(b, q, h, c) = base::Narrow<T>(OutputAt(b, q, h, c));
      }
    });
  }

  F OutputAt(int64_t b, int64_t q, int64_t h, int64_t c) const {
    F sum = 0;
    for (int64_t l = 0; l < p_.levels; ++l) {
      for (int64_t point = 0; point < p_.points; ++point) {
        const auto taps = TapsOf({b, q, h, l, point});
        if (taps.is_nan) sum = std::numeric_limits<F>::quiet_NaN();
        for (size_t tap = 0; tap < 4; ++tap) {
          if (taps.pixel[tap] < 0) continue;
          sum = std::fma(taps.weight_of_point * taps.weight[tap], Value(b, taps.pixel[tap], h, c),
                         sum);
        }
      }
    }
    return sum;
  }

  // ---- gradient of the values -------------------------------------------------------------------

  void ValueGrad(F* workspace) const {
    const int64_t size = p_.keys * p_.channels;
    ForEachIndex(p_.batch * p_.heads, 1, [&](int64_t i) {
      const int64_t b = i / p_.heads, h = i % p_.heads;
      F* const sums = workspace + i * size;
      std::fill_n(sums, size, F{0});
      AddToKeys(b, h, sums);
      for (int64_t at = 0; at < size; ++at) {
        *p_.value_grad.At<T>(b, at / p_.channels, h, at % p_.channels) = base::Narrow<T>(sums[at]);
      }
    });
  }

  // Adds gradOutput, weighed by all taps of head h, to `sums`: one row of channels per key.
  void AddToKeys(int64_t b, int64_t h, F* sums) const {
    for (int64_t l = 0; l < p_.levels; ++l) {
      for (int64_t i = 0; i < p_.queries * p_.points; ++i) {
        const int64_t q = i / p_.points;
        const auto taps = TapsOf({b, q, h, l, i % p_.points});
        for (size_t tap = 0; tap < 4; ++tap) {
          if (taps.pixel[tap] < 0) continue;
          const F weight = taps.weight_of_point * taps.weight[tap];
          F* const sum = sums + taps.pixel[tap] * p_.channels;
          for (int64_t c = 0; c < p_.channels; ++c) {
            sum[c] = std::fma(weight, GradOutput(b, q, h, c), sum[c]);
          }
        }
      }
    }
  }

  // ---- gradients of a point ---------------------------------------------------------------------

  void PointGrads() const {
    const int64_t of_head = p_.levels * p_.points;
    const int64_t count = p_.batch * p_.queries * p_.heads * of_head;
    ForEachIndex(count, 64, [&](int64_t i) {
      const int64_t row = i / of_head;
      const PointIndex at{row / p_.heads / p_.queries, row / p_.heads % p_.queries, row % p_.heads,
                          i % of_head / p_.points, i % p_.points};
      const PointGrad<F> grad = PointGradAt(at);
      if (p_.weight_grad.has) *at.In<Tp>(p_.weight_grad) = base::Narrow<Tp>(grad.weight);
      if (!p_.location_grad.has) return;
      Tp* const location = at.In<Tp>(p_.location_grad);
      location[0] = base::Narrow<Tp>(grad.x);
      location[p_.location_grad.stride[5]] = base::Narrow<Tp>(grad.y);
    });
  }

  PointGrad<F> PointGradAt(const PointIndex& at) const {
    const ops::MsDeformAttnLevel level = p_.Level(at.l);
    const auto taps = TapsOf(at);
    const auto dot = [&](int64_t key) {
      Lanes<F> lanes{};
      for (int64_t c = 0; c < p_.channels; ++c) {
        F& lane = lanes[static_cast<size_t>(c % 16)];
        lane = std::fma(GradOutput(at.b, at.q, at.h, c), Value(at.b, key, at.h, c), lane);
      }
      return SumLanes(lanes);
    };
    return PointGradOf<F>(taps, taps.weight_of_point * static_cast<F>(level.width),
                          taps.weight_of_point * static_cast<F>(level.height), dot);
  }

  const Params& p_;
};

int64_t Bytes(const Params& p) {
  if (!p.value_grad.has) return 0;
  const int64_t size = p.dtype == base::DType::kDouble ? 8 : 4;
  return base::SaturatedProduct({size, p.batch, p.heads, p.keys, p.channels});
}

void Run(const Params& p, void* workspace) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (p.point_dtype == p.dtype) return MsDeformAttn<T, T>(p).Run(workspace);
    MsDeformAttn<T, base::ComputeType<T>>(p).Run(workspace);
  });
}

}  // namespace

const base::Kernel<Params> kMsDeformAttn = base::ReferenceIn<Params, Run, Bytes>::Make();

}  // namespace portacl::ref
