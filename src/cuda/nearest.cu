// Nearest resizing and its gradient, as gathers. A thread computes one element of the result, or
// sixteen bytes of a row.
#include "cuda/operators.h"

#include <array>
#include <optional>
#include <vector>

#include "base/dispatch.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/index.h"

namespace portacl::cuda {
namespace {

constexpr size_t kAxes = 3;  // d, h, w

template <class Stride>
Strides StridesOf(const Stride& stride, int64_t depth_stride) {
  return {stride[0], stride[1], depth_stride, stride[2], stride[3]};
}

// For each element of the large side: its source. For each element of the small side: its first
// element on the large side, with one entry more at the end.
std::vector<int32_t> SourcesOf(const ops::NearestAxis& axis) {
  std::vector<int32_t> sources(static_cast<size_t>(axis.out));
  for (int64_t i = 0; i < axis.in; ++i) {
    for (int64_t o = axis.begin[i]; o < axis.begin[i + 1]; ++o) {
      sources[static_cast<size_t>(o)] = static_cast<int32_t>(i);
    }
  }
  return sources;
}
std::vector<int32_t> BeginsOf(const ops::NearestAxis& axis) {
  return {axis.begin, axis.begin + axis.in + 1};
}

bool FitsTables(const ops::NearestAxis& axis) {
  return axis.in < INT32_MAX && axis.out < INT32_MAX;
}

struct AxisTables {
  const int32_t* d;
  const int32_t* h;
  const int32_t* w;
};

template <class T, int kWidth>
struct Copy {
  Items items;
  AxisTables source;
  const T* from;
  T* to;
  Strides from_stride;
  Strides to_stride;

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    at.w *= kWidth;
    const T* const row = from + from_stride({at.n, at.c, source.d[at.d], source.h[at.h], 0});
    Pack<T, kWidth> pack;
    PORTACL_UNROLL
    for (int i = 0; i < kWidth; ++i) pack.values[i] = row[source.w[at.w + i] * from_stride.w];
    *reinterpret_cast<Pack<T, kWidth>*>(to + to_stride(at)) = pack;
  }
};

template <class T, int kWidth>
struct Sum {
  Items items;
  AxisTables begin;
  const T* from;
  T* to;
  Strides from_stride;
  Strides to_stride;

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    at.w *= kWidth;
    ComputeType<T> sums[kWidth] = {};
    int32_t columns[kWidth + 1];
    PORTACL_UNROLL
    for (int i = 0; i <= kWidth; ++i) columns[i] = begin.w[at.w + i];
    for (int32_t d = begin.d[at.d]; d < begin.d[at.d + 1]; ++d) {
      for (int32_t h = begin.h[at.h]; h < begin.h[at.h + 1]; ++h) {
        const T* const row = from + from_stride({at.n, at.c, d, h, 0});
        PORTACL_UNROLL
        for (int i = 0; i < kWidth; ++i) {
          for (int32_t w = columns[i]; w < columns[i + 1]; ++w) {
            sums[i] += Widened(row[w * from_stride.w]);
          }
        }
      }
    }
    Pack<T, kWidth> pack;
    PORTACL_UNROLL
    for (int i = 0; i < kWidth; ++i) Store(sums[i], &pack.values[i]);
    *reinterpret_cast<Pack<T, kWidth>*>(to + to_stride(at)) = pack;
  }
};

struct Plan : base::PathPlan<std::monostate> {
  std::array<Table<int32_t>, kAxes> tables;
};

std::optional<Plan> PlanOf(const ops::NearestParams& p,
                           std::vector<int32_t> (*table)(const ops::NearestAxis&)) {
  if (!FitsTables(p.d) || !FitsTables(p.h) || !FitsTables(p.w)) return std::nullopt;
  Plan plan;
  plan.tables = {Table(table(p.d)), Table(table(p.h)), Table(table(p.w))};
  return plan;
}

template <class T, template <class, int> class Body>
void RunAs(const Plan& plan, const ops::NearestParams& p, const Place& extents) {
  const Strides from_stride = StridesOf(p.from_stride, p.from_depth_stride);
  const Strides to_stride = StridesOf(p.to_stride, p.to_depth_stride);
  const AxisTables tables = {plan.tables[0].data(), plan.tables[1].data(), plan.tables[2].data()};
  const auto run = [&]<int kWidth>(std::integral_constant<int, kWidth> /*width*/) {
    Place items = extents;
    items.w /= kWidth;
    const Items all(items, ChannelsFastest(to_stride, extents.c));
    Launch(all.count(), Body<T, kWidth>{all, tables, static_cast<const T*>(p.from),
                                        static_cast<T*>(p.to), from_stride, to_stride});
  };
  if (PacksFit<T>(p.to, to_stride, extents.w)) {
    run(std::integral_constant<int, kPack<T>>());
  } else {
    run(std::integral_constant<int, 1>());
  }
}

std::optional<Plan> PlanForward(const ops::UpsampleNearestExactParams& p, std::string_view) {
  if (p.dtype == base::DType::kUInt8) return std::nullopt;
  return PlanOf(p, SourcesOf);
}

void RunForward(const ops::UpsampleNearestExactParams& p, const Plan& plan, void*) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    RunAs<typename decltype(tag)::type, Copy>(plan, p, {p.n, p.c, p.d.out, p.h.out, p.w.out});
  });
}

std::optional<Plan> PlanBackward(const ops::UpsampleNearestExactBackwardParams& p,
                                 std::string_view) {
  return PlanOf(p, BeginsOf);
}

void RunBackward(const ops::UpsampleNearestExactBackwardParams& p, const Plan& plan, void*) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    RunAs<typename decltype(tag)::type, Sum>(plan, p, {p.n, p.c, p.d.in, p.h.in, p.w.in});
  });
}

}  // namespace

const PlanFunction<ops::UpsampleNearestExactParams> operators::upsample_nearest_exact =
    base::KernelOf<&PlanForward, &RunForward>::Make("cuda", nullptr).plan;
const PlanFunction<ops::UpsampleNearestExactBackwardParams>
    operators::upsample_nearest_exact_backward =
        base::KernelOf<&PlanBackward, &RunBackward>::Make("cuda", nullptr).plan;

}  // namespace portacl::cuda
