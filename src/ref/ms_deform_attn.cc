// An output is summed by levels, inside a level by points, inside a point by taps. A key's gradient
// is summed by levels, queries, points and taps in this order. A point's own gradients come from
// four dot products, one for each tap: 16 lanes (lane = c mod 16) joined by a fixed tree.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <variant>

#include "base/checked.h"
#include "base/dispatch.h"
#include "base/kernel.h"
#include "ops/listed_kernels.h"
#include "ops/ms_deform_attn_params.h"
#include "ref/bilinear_taps.h"
#include "ref/lane_tree.h"
#include "runtime/parallel.h"

namespace portacl::ref {
namespace {

using Params = ops::MsDeformAttnParams;

// For value, the output and their gradients: (batch, key or query, head, channel).
template <class T, class Pointer>
T* VectorAt(Pointer* first, const std::array<int64_t, 4>& s, int64_t b, int64_t i, int64_t h) {
  return static_cast<T*>(first) + b * s[0] + i * s[1] + h * s[2];
}

// One sampling point: (batch, query, head, level, point).
struct PointIndex {
  int64_t b, q, h, l, p;

  template <size_t kRank>
  int64_t In(const std::array<int64_t, kRank>& s) const {
    return b * s[0] + q * s[1] + h * s[2] + l * s[3] + p * s[4];
  }
};

// Its pixels are keys.
template <class F>
struct WeighedTaps : BilinearTaps<F> {
  F weight_of_point = 0;
};

// T: of the locations and weights.
template <class T, class F>
WeighedTaps<F> TapsOf(const Params& s, const PointIndex& at) {
  const ops::MsDeformAttnLevel& level = s.level[at.l];
  const T* const location = static_cast<const T*>(s.location) + at.In(s.location_stride);
  const F x = base::Widen(location[0]) * static_cast<F>(level.width) - F{0.5};
  const F y = base::Widen(location[s.location_stride[5]]) * static_cast<F>(level.height) - F{0.5};
  WeighedTaps<F> taps{TapsAt(x, y, level.height, level.width)};
  taps.weight_of_point = base::Widen(static_cast<const T*>(s.weight)[at.In(s.weight_stride)]);
  for (int64_t& pixel : taps.pixel) pixel = pixel < 0 ? -1 : level.start + pixel;
  return taps;
}

// ---- the function ------------------------------------------------------------------------------

template <class F, class Tv, class Tp>
F OutputAt(const Params& p, int64_t b, int64_t q, int64_t h, int64_t c) {
  F sum = 0;
  for (int64_t l = 0; l < p.levels; ++l) {
    if (p.level[l].height == 0) continue;
    for (int64_t point = 0; point < p.points; ++point) {
      const auto taps = TapsOf<Tp, F>(p, {b, q, h, l, point});
      if (taps.is_nan) sum = std::numeric_limits<F>::quiet_NaN();
      for (size_t tap = 0; tap < 4; ++tap) {
        if (taps.pixel[tap] < 0) continue;
        const Tv* const value = VectorAt<const Tv>(p.value, p.value_stride, b, taps.pixel[tap], h);
        sum = std::fma(taps.weight_of_point * taps.weight[tap],
                       base::Widen(value[c * p.value_stride[3]]), sum);
      }
    }
  }
  return sum;
}

template <class F, class Tv, class Tp>
void Forward(const Params& p) {
  runtime::ParallelFor(p.batch * p.queries * p.heads, 16, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t h = i % p.heads;
      const int64_t q = i / p.heads % p.queries;
      const int64_t b = i / p.heads / p.queries;
      Tv* const output = VectorAt<Tv>(p.output, p.output_stride, b, q, h);
      for (int64_t c = 0; c < p.channels; ++c) {
        output[c * p.output_stride[3]] = base::Narrow<Tv>(OutputAt<F, Tv, Tp>(p, b, q, h, c));
      }
    }
  });
}

// ---- gradient of the values --------------------------------------------------------------------

// Adds all that a head's points give to the sums of its keys, (keys, channels).
template <class F, class Tv, class Tp>
void AddToKeys(const Params& p, int64_t b, int64_t h, F* sums) {
  for (int64_t l = 0; l < p.levels; ++l) {
    if (p.level[l].height == 0) continue;
    for (int64_t i = 0; i < p.queries * p.points; ++i) {
      const int64_t q = i / p.points;
      const Tv* const grad = VectorAt<const Tv>(p.output, p.output_stride, b, q, h);
      const auto taps = TapsOf<Tp, F>(p, {b, q, h, l, i % p.points});
      for (size_t tap = 0; tap < 4; ++tap) {
        if (taps.pixel[tap] < 0) continue;
        const F weight = taps.weight_of_point * taps.weight[tap];
        F* const sum = sums + taps.pixel[tap] * p.channels;
        for (int64_t c = 0; c < p.channels; ++c) {
          sum[c] = std::fma(weight, base::Widen(grad[c * p.output_stride[3]]), sum[c]);
        }
      }
    }
  }
}

template <class F, class Tv, class Tp>
void ValueGrad(const Params& p, F* workspace) {
  const int64_t size = p.keys * p.channels;
  runtime::ParallelFor(p.batch * p.heads, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      F* const sums = workspace + i * size;
      std::fill_n(sums, size, F{0});
      AddToKeys<F, Tv, Tp>(p, i / p.heads, i % p.heads, sums);
      for (int64_t at = 0; at < size; ++at) {
        Tv* const grad = VectorAt<Tv>(p.value_grad, p.value_grad_stride, i / p.heads,
                                      at / p.channels, i % p.heads);
        grad[at % p.channels * p.value_grad_stride[3]] = base::Narrow<Tv>(sums[at]);
      }
    }
  });
}

// ---- gradients of a point ----------------------------------------------------------------------

// The dot product of gradOutput and the values of a key.
template <class F, class Tv>
F Dot(const Params& p, const PointIndex& at, int64_t key) {
  const Tv* const grad = VectorAt<const Tv>(p.output, p.output_stride, at.b, at.q, at.h);
  const Tv* const value = VectorAt<const Tv>(p.value, p.value_stride, at.b, key, at.h);
  Lanes<F> lanes{};
  for (int64_t c = 0; c < p.channels; ++c) {
    F& lane = lanes[static_cast<size_t>(c % 16)];
    lane = std::fma(base::Widen(grad[c * p.output_stride[3]]),
                    base::Widen(value[c * p.value_stride[3]]), lane);
  }
  return SumLanes(lanes);
}

template <class F, class Tv, class Tp>
PointGrad<F> PointGradAt(const Params& p, const PointIndex& at) {
  const ops::MsDeformAttnLevel& level = p.level[at.l];
  if (level.height == 0) return {};
  const auto taps = TapsOf<Tp, F>(p, at);
  return PointGradOf<F>(taps, taps.weight_of_point * static_cast<F>(level.width),
                        taps.weight_of_point * static_cast<F>(level.height),
                        [&](int64_t key) { return Dot<F, Tv>(p, at, key); });
}

template <class F, class Tv, class Tp>
void PointGrads(const Params& p) {
  const int64_t per_head = p.levels * p.points;
  const int64_t count = p.batch * p.queries * p.heads * per_head;
  runtime::ParallelFor(count, 64, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t row = i / per_head;
      const PointIndex at{row / p.heads / p.queries, row / p.heads % p.queries, row % p.heads,
                          i % per_head / p.points, i % p.points};
      const PointGrad<F> grad = PointGradAt<F, Tv, Tp>(p, at);
      if (p.weight_grad != nullptr) {
        static_cast<Tp*>(p.weight_grad)[at.In(p.weight_grad_stride)] =
            base::Narrow<Tp>(grad.weight);
      }
      if (p.location_grad == nullptr) continue;
      Tp* const location = static_cast<Tp*>(p.location_grad) + at.In(p.location_grad_stride);
      location[0] = base::Narrow<Tp>(grad.x);
      location[p.location_grad_stride[5]] = base::Narrow<Tp>(grad.y);
    }
  });
}

// Tp: of the locations and weights.
template <class Tv, class Tp, class F = base::ComputeType<Tv>>
void RunWith(const Params& p, void* workspace) {
  if (!p.backward) return Forward<F, Tv, Tp>(p);
  if (p.value_grad != nullptr) ValueGrad<F, Tv, Tp>(p, static_cast<F*>(workspace));
  if (p.weight_grad != nullptr || p.location_grad != nullptr) PointGrads<F, Tv, Tp>(p);
}

using RefPlan = base::PathPlan<std::monostate>;

std::optional<RefPlan> MakePlan(const Params& p, std::string_view /*path*/) {
  if (!p.want_value_grad) return RefPlan{};
  const int64_t size = p.dtype == base::DType::kDouble ? 8 : 4;
  const int64_t bytes = base::SaturatedProduct({size, p.batch, p.heads, p.keys, p.channels});
  if (bytes == INT64_MAX) return std::nullopt;
  RefPlan plan;
  plan.workspace_size = static_cast<uint64_t>(bytes);
  return plan;
}

void RunPlan(const Params& p, const RefPlan& /*plan*/, void* workspace) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    using Tv = typename decltype(tag)::type;
    if (p.point_dtype == p.dtype) return RunWith<Tv, Tv>(p, workspace);
    RunWith<Tv, base::ComputeType<Tv>>(p, workspace);
  });
}

}  // namespace

const base::Kernel<Params> kMsDeformAttn =
    base::KernelOf<&MakePlan, &RunPlan>::Make("ref", base::OnEveryCpu);

}  // namespace portacl::ref
