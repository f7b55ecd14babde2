// Grid sampling: a thread computes some channels of one point.
#include <limits>
#include <optional>
#include <type_traits>

#include "base/dispatch.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/grid_point.h"
#include "cuda/index.h"
#include "cuda/operators.h"

namespace portacl::cuda {
namespace {

template <class T, int kAxes, int kTaps>
struct Sample {
  using F = ComputeType<T>;
  Items items;  // item.c counts groups of channels
  int64_t group;
  Geometry g;
  const T* input;
  const T* grid;
  T* output;
  Strides from;
  Strides to;

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    at.c *= group;
    const auto point = PointAt<kTaps, kAxes>(g, grid, at);
    const T* image = input + at.n * from.n + at.c * from.c;
    T* out = output + to(at);
    const int64_t end = at.c + group < g.c ? at.c + group : g.c;
    if (point.unusable || point.outside) {
      const bool nan = point.unusable && kTaps != 1;
      for (int64_t c = at.c; c < end; ++c, out += to.c) {
        Store(nan ? std::numeric_limits<F>::quiet_NaN() : F(0), out);
      }
      return;
    }
    for (int64_t c = at.c; c < end; ++c, image += from.c, out += to.c) {
      F sum = 0;
      point.ForTaps([&](int k, int j, int i) {
        const F value = Widened(image[point.z.index[k] * from.d + point.y.index[j] * from.h +
                                      point.x.index[i] * from.w]);
        sum = Fma(point.Weight(k, j, i), value, sum);
      });
      Store(sum, out);
    }
  }
};

struct Plan : base::PathPlan<std::monostate> {};

template <class Params>
std::optional<Plan> MakePlan(const Params& p, std::string_view) {
  if (ops::IsExtended(p.shape)) return std::nullopt;
  return Plan{};
}

template <class Params>
void Run(const Params& p, const Plan&, void*) {
  const Geometry g = GeometryOf(p);
  base::DispatchFloating(p.shape.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    WithTaps(p.shape.interpolation, [&](auto taps) {
      const Strides to = StridesOf(p.output_stride);
      const int64_t group = ChannelsAThread(g.c, g.n * g.points());
      const Items items({g.n, (g.c + group - 1) / group, g.od, g.oh, g.ow},
                        ChannelsFastest(to, g.c));
      Launch(items.count(),
             Sample<T, kAxesOf<Params>, decltype(taps)::value>{
                 items, group, g, static_cast<const T*>(p.input), static_cast<const T*>(p.grid),
                 static_cast<T*>(p.output), StridesOf(p.input_stride), to});
    });
  });
}

template <class Params>
constexpr PlanFunction<Params> kPlan =
    base::KernelOf<&MakePlan<Params>, &Run<Params>>::Make("cuda", nullptr).plan;

}  // namespace

const PlanFunction<ops::GridSampler2DParams> operators::grid_sampler_2d =
    kPlan<ops::GridSampler2DParams>;
const PlanFunction<ops::GridSampler3DParams> operators::grid_sampler_3d =
    kPlan<ops::GridSampler3DParams>;

}  // namespace portacl::cuda
