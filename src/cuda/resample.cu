// Linear, cubic and antialiased resizing and their gradients: weighted sums over tables, along the
// axes in the order of ops/resample_params.h. If a result has few taps, one thread computes it from
// all of them. Otherwise each axis is a launch, and sums between the axes are in the workspace.
#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/dispatch.h"
#include "cuda/device.h"
#include "cuda/element.h"
#include "cuda/index.h"
#include "cuda/operators.h"

namespace portacl::cuda {
namespace {

using Params = ops::ResampleParams;

constexpr size_t kAxes = 3;  // d, h, w

// A ResampleAxis in the device's memory. `source` has Plan::most entries per destination: the taps,
// then -1. If `most` is 0, it has all destinations' taps, and `start` says where each begins.
template <class F>
struct Axis {
  const int32_t* source;  // null: identity
  const F* weight;
  const int32_t* start;
};

// The values of kCount channels (or of one) at one place.
template <class F, int kCount>
struct Values {
  F v[kCount];
};

template <class F, int kCount>
PORTACL_DEVICE Values<F, kCount> AllOf(F value) {
  Values<F, kCount> values;
  PORTACL_UNROLL
  for (int i = 0; i < kCount; ++i) values.v[i] = value;
  return values;
}

template <class F, int kCount>
PORTACL_DEVICE void Add(F weight, const Values<F, kCount>& values, Values<F, kCount>* sum) {
  PORTACL_UNROLL
  for (int i = 0; i < kCount; ++i) sum->v[i] = Fma(weight, values.v[i], sum->v[i]);
}

// The taps of one destination on an axis, in registers; at most kMost.
template <class F, int kMost>
struct Taps {
  bool identity;
  int64_t destination;
  Pack<int32_t, kMost> source;
  Pack<F, kMost> weight;

  PORTACL_DEVICE Taps(const Axis<F>& axis, int64_t o)
      : identity(axis.source == nullptr), destination(o) {
    if (identity) return;
    source = reinterpret_cast<const Pack<int32_t, kMost>*>(axis.source)[o];
    weight = reinterpret_cast<const Pack<F, kMost>*>(axis.weight)[o];
  }

  // Returns the sum of weight * inner(source). If `first` is -0, the first step is a product.
  template <int kCount, class Inner>
  PORTACL_DEVICE Values<F, kCount> Sum(F first, const Inner& inner) const {
    if (identity) return inner(destination);
    if (source.values[0] < 0) return AllOf<F, kCount>(0);
    Values<F, kCount> sum = AllOf<F, kCount>(first);
    PORTACL_UNROLL
    for (int k = 0; k < kMost; ++k) {
      if (source.values[k] >= 0) {
        Add(weight.values[k], inner(static_cast<int64_t>(source.values[k])), &sum);
      }
    }
    return sum;
  }
};

// Like the template above, for any number of taps.
template <class F>
struct Taps<F, 0> {
  const Axis<F>& axis;
  int64_t destination;

  PORTACL_DEVICE Taps(const Axis<F>& of, int64_t o) : axis(of), destination(o) {}

  template <int kCount, class Inner>
  PORTACL_DEVICE Values<F, kCount> Sum(F first, const Inner& inner) const {
    if (axis.source == nullptr) return inner(destination);
    const int32_t begin = axis.start[destination];
    const int32_t end = axis.start[destination + 1];
    if (begin == end) return AllOf<F, kCount>(0);
    Values<F, kCount> sum = AllOf<F, kCount>(first);
    for (int32_t k = begin; k < end; ++k) {
      Add(axis.weight[k], inner(static_cast<int64_t>(axis.source[k])), &sum);
    }
    return sum;
  }
};

// All axes at once. A thread computes kWidth elements of a row, or kChannels channels of a pixel
// that lie side by side. One of the two numbers is 1.
template <class T, int kWidth, int kChannels, bool kBackward, int kMost>
struct AllAxes {
  using F = ComputeType<T>;
  using Sums = Values<F, kChannels>;
  using AxisTaps = Taps<F, kMost>;
  Items items;
  Axis<F> d, h, w;
  const T* from;
  T* to;
  Strides from_stride;
  Strides to_stride;

  PORTACL_DEVICE Sums Element(const T* plane, const AxisTaps& z_taps, const AxisTaps& y_taps,
                              const AxisTaps& x_taps) const {
    const F first = kBackward ? F(0) : -F(0);
    const auto read = [&](int64_t z, int64_t y, int64_t x) {
      const auto pack = *reinterpret_cast<const Pack<T, kChannels>*>(
          plane + z * from_stride.d + y * from_stride.h + x * from_stride.w);
      Sums values;
      PORTACL_UNROLL
      for (int i = 0; i < kChannels; ++i) values.v[i] = Widened(pack.values[i]);
      return values;
    };
    if constexpr (kBackward) {
      return x_taps.template Sum<kChannels>(first, [&](int64_t x) {
        return y_taps.template Sum<kChannels>(first, [&](int64_t y) {
          return z_taps.template Sum<kChannels>(first, [&](int64_t z) { return read(z, y, x); });
        });
      });
    } else {
      return z_taps.template Sum<kChannels>(first, [&](int64_t z) {
        return y_taps.template Sum<kChannels>(first, [&](int64_t y) {
          return x_taps.template Sum<kChannels>(first, [&](int64_t x) { return read(z, y, x); });
        });
      });
    }
  }

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    at.w *= kWidth;
    at.c *= kChannels;
    const T* const plane = from + at.n * from_stride.n + at.c * from_stride.c;
    const AxisTaps z_taps(d, at.d);
    const AxisTaps y_taps(h, at.h);
    Pack<T, kWidth * kChannels> pack;
    PORTACL_UNROLL
    for (int x = 0; x < kWidth; ++x) {
      const Sums sums = Element(plane, z_taps, y_taps, AxisTaps(w, at.w + x));
      PORTACL_UNROLL
      for (int c = 0; c < kChannels; ++c) Store(sums.v[c], &pack.values[x + c]);
    }
    *reinterpret_cast<Pack<T, kWidth * kChannels>*>(to + to_stride(at)) = pack;
  }
};

// One axis. A thread computes kWidth elements with the same taps: elements of a row or, along w,
// one element in each of kWidth rows.
template <class From, class To, class F, int kWidth>
struct OneAxis {
  Items items;
  int along;  // the axis: 0, 1, 2 for d, h, w
  Axis<F> axis;
  F first;
  const From* from;
  To* to;
  Strides from_stride;
  Strides to_stride;

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    (along == 2 ? at.h : at.w) *= kWidth;
    Place source = at;
    int64_t& moving = along == 0 ? source.d : along == 1 ? source.h : source.w;
    const int64_t destination = moving;
    moving = 0;
    const From* const line = from + from_stride(source);
    const int64_t step = along == 0 ? from_stride.d : along == 1 ? from_stride.h : from_stride.w;
    const int64_t aside = along == 2 ? from_stride.h : from_stride.w;
    const auto sums = Taps<F, 0>(axis, destination).template Sum<kWidth>(first, [&](int64_t k) {
      Values<F, kWidth> values;
      PORTACL_UNROLL
      for (int i = 0; i < kWidth; ++i) values.v[i] = Widened(line[k * step + i * aside]);
      return values;
    });
    To* const out = to + to_stride(at);
    const int64_t out_aside = along == 2 ? to_stride.h : to_stride.w;
    PORTACL_UNROLL
    for (int i = 0; i < kWidth; ++i) Store(sums.v[i], out + i * out_aside);
  }
};

struct AxisTable {
  Table<int32_t> start;
  Table<int32_t> source;
  Table<float> floats;
  Table<double> doubles;

  template <class F>
  Axis<F> As() const {
    if constexpr (std::is_same_v<F, double>) {
      return {source.data(), doubles.data(), start.data()};
    } else {
      return {source.data(), floats.data(), start.data()};
    }
  }
};

// Returns the axes that are not the identity, in the order of summation; 0, 1, 2 are d, h, w.
std::vector<int> OrderOf(const Params& p) {
  std::vector<int> order;
  if (!p.d.identity) order.push_back(0);
  if (!p.h.identity) order.push_back(1);
  if (!p.w.identity) order.push_back(2);
  if (!p.backward) std::reverse(order.begin(), order.end());
  return order;
}

struct Plan : base::PathPlan<std::monostate> {
  std::array<AxisTable, kAxes> tables;
  std::vector<int> order;
  bool axis_by_axis = false;
  int most = 0;  // most taps of a destination if a thread holds them: 2 or 4, else 0
  std::array<uint64_t, 2> between{};  // bytes of the first and second sums
};

template <class F>
Table<F> WeightsOf(const ops::ResampleAxis& axis, int stride) {
  const auto* const weight = static_cast<const F*>(axis.weight);
  if (stride == 0) return Table(std::vector<F>(weight, weight + axis.start[axis.to]));
  std::vector<F> weights(static_cast<size_t>(axis.to * stride));
  for (int64_t o = 0; o < axis.to; ++o) {
    std::copy(weight + axis.start[o], weight + axis.start[o + 1], weights.data() + o * stride);
  }
  return Table(weights);
}

AxisTable TableOf(const ops::ResampleAxis& axis, bool doubles, int stride) {
  AxisTable table;
  if (axis.identity) return table;
  if (stride == 0) {
    table.start = Table(std::vector<int32_t>(axis.start, axis.start + axis.to + 1));
    table.source = Table(std::vector<int32_t>(axis.source, axis.source + axis.start[axis.to]));
  } else {
    std::vector<int32_t> sources(static_cast<size_t>(axis.to * stride), -1);
    for (int64_t o = 0; o < axis.to; ++o) {
      std::copy(axis.source + axis.start[o], axis.source + axis.start[o + 1],
                sources.data() + o * stride);
    }
    table.source = Table(sources);
  }
  if (doubles) {
    table.doubles = WeightsOf<double>(axis, stride);
  } else {
    table.floats = WeightsOf<float>(axis, stride);
  }
  return table;
}

// Returns the tensor's extents after `steps` axes of the plan.
Place ExtentsAfter(const Params& p, const std::vector<int>& order, size_t steps) {
  Place extents = {p.n, p.c, p.d.from, p.h.from, p.w.from};
  for (size_t i = 0; i < steps; ++i) {
    if (order[i] == 0) extents.d = p.d.to;
    if (order[i] == 1) extents.h = p.h.to;
    if (order[i] == 2) extents.w = p.w.to;
  }
  return extents;
}

bool BytesOf(const Place& e, uint64_t element, uint64_t* bytes) {
  *bytes = element;
  for (const int64_t extent : {e.n, e.c, e.d, e.h, e.w}) {
    if (!base::CheckedMul(*bytes, static_cast<uint64_t>(extent), bytes)) return false;
  }
  *bytes = Padded(*bytes);
  return true;
}

std::optional<Plan> MakePlan(const Params& p, std::string_view) {
  const double most_taps = p.backward ? 64 : 16;  // taps that one thread adds up
  double taps = 1;
  int64_t most = 0;
  for (const auto* axis : {&p.d, &p.h, &p.w}) {
    if (axis->identity) continue;
    if (axis->start[axis->to] >= INT32_MAX || axis->from >= INT32_MAX || axis->to >= INT32_MAX) {
      return std::nullopt;
    }
    taps *= static_cast<double>(axis->most);
    most = std::max(most, axis->most);
  }
  Plan plan;
  plan.order = OrderOf(p);
  const bool direct = plan.order.size() < 2 || taps <= most_taps;
  plan.axis_by_axis = !direct;
  plan.path = direct ? "direct" : "axes";
  if (!direct) {
    const uint64_t element = p.dtype == base::DType::kDouble ? 8 : 4;
    for (size_t i = 0; i + 1 < plan.order.size(); ++i) {
      if (!BytesOf(ExtentsAfter(p, plan.order, i + 1), element, &plan.between[i]) ||
          !base::CheckedAdd(plan.workspace_size, plan.between[i], &plan.workspace_size)) {
        return std::nullopt;
      }
    }
  }
  plan.most = !direct || most > 4 ? 0 : most > 2 ? 4 : 2;
  const bool doubles = p.dtype == base::DType::kDouble;
  const auto table = [&](const auto& axis) { return TableOf(axis, doubles, plan.most); };
  plan.tables = {table(p.d), table(p.h), table(p.w)};
  return plan;
}

Strides ContiguousOf(const Place& e, bool channels_fastest) {
  if (channels_fastest) {
    return {e.c * e.w * e.h * e.d, 1, e.c * e.w * e.h, e.c * e.w, e.c};
  }
  return {e.w * e.h * e.d * e.c, e.w * e.h * e.d, e.w * e.h, e.w, 1};
}

// How many elements a thread computes side by side.
template <class T>
inline constexpr int kSide = kPack<T> < 4 ? kPack<T> : 4;

template <class T, int kWidth, int kChannels, bool kBackward, int kMost>
void RunDirect(const Params& p, const Plan& plan) {
  using F = ComputeType<T>;
  const Strides to = StridesOf(p.output_stride);
  const Items items({p.n, p.c / kChannels, p.d.to, p.h.to, p.w.to / kWidth},
                    ChannelsFastest(to, p.c));
  Launch(items.count(), AllAxes<T, kWidth, kChannels, kBackward, kMost>{
                            items, plan.tables[0].As<F>(), plan.tables[1].As<F>(),
                            plan.tables[2].As<F>(), static_cast<const T*>(p.input),
                            static_cast<T*>(p.output), StridesOf(p.input_stride), to});
}

// Returns true if kSide<T> channels of every pixel can be read or written at once.
template <class T>
bool ChannelsFit(const void* address, Strides strides, int64_t channels) {
  std::swap(strides.c, strides.w);
  return PacksFit<T, kSide<T>>(address, strides, channels);
}

template <class T, bool kBackward, int kMost>
void RunDirect(const Params& p, const Plan& plan) {
  const Strides from = StridesOf(p.input_stride);
  const Strides to = StridesOf(p.output_stride);
  if (PacksFit<T, kSide<T>>(p.output, to, p.w.to)) {
    RunDirect<T, kSide<T>, 1, kBackward, kMost>(p, plan);
  } else if (kMost != 0 && ChannelsFit<T>(p.input, from, p.c) &&
             ChannelsFit<T>(p.output, to, p.c)) {
    RunDirect<T, 1, kMost == 0 ? 1 : kSide<T>, kBackward, kMost>(p, plan);
  } else {
    RunDirect<T, 1, 1, kBackward, kMost>(p, plan);
  }
}

template <class T, bool kBackward>
void RunDirect(const Params& p, const Plan& plan) {
  switch (plan.most) {
    case 2:
      return RunDirect<T, kBackward, 2>(p, plan);
    case 4:
      return RunDirect<T, kBackward, 4>(p, plan);
    default:
      return RunDirect<T, kBackward, 0>(p, plan);
  }
}

template <class T>
void RunAxes(const Params& p, const Plan& plan, void* workspace) {
  using F = ComputeType<T>;
  const bool channels_fastest = ChannelsFastest(StridesOf(p.output_stride), p.c);
  const F first = p.backward ? F(0) : -F(0);
  const size_t steps = plan.order.size();
  const std::array<F*, 2> between = {
      static_cast<F*>(workspace),
      reinterpret_cast<F*>(static_cast<char*>(workspace) + plan.between[0])};
  Strides stride = StridesOf(p.input_stride);
  for (size_t i = 0; i < steps; ++i) {
    const Place extents = ExtentsAfter(p, plan.order, i + 1);
    const bool last = i + 1 == steps;
    const Strides to_stride =
        last ? StridesOf(p.output_stride) : ContiguousOf(extents, channels_fastest);
    const int along = plan.order[i];
    const auto launch = [&](const auto* from, auto* to, auto width) {
      using From = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
      using To = std::remove_pointer_t<decltype(to)>;
      constexpr int kWidth = decltype(width)::value;
      Place groups = extents;
      (along == 2 ? groups.h : groups.w) /= kWidth;
      const Items items(groups, channels_fastest);
      Launch(items.count(), OneAxis<From, To, F, kWidth>{
                                items, along, plan.tables[static_cast<size_t>(along)].As<F>(),
                                first, from, to, stride, to_stride});
    };
    const auto run = [&](const auto* from, auto* to) {
      if (!channels_fastest && (along == 2 ? extents.h : extents.w) % 4 == 0) {
        launch(from, to, std::integral_constant<int, 4>());
      } else {
        launch(from, to, std::integral_constant<int, 1>());
      }
    };
    const T* const input = static_cast<const T*>(p.input);
    T* const output = static_cast<T*>(p.output);
    if (i == 0 && last) {
      run(input, output);
    } else if (i == 0) {
      run(input, between[0]);
    } else if (last) {
      run(static_cast<const F*>(between[i - 1]), output);
    } else {
      run(static_cast<const F*>(between[0]), between[1]);
    }
    stride = to_stride;
  }
}

void Run(const Params& p, const Plan& plan, void* workspace) {
  base::DispatchFloating(p.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (plan.axis_by_axis) {
      RunAxes<T>(p, plan, workspace);
    } else if (p.backward) {
      RunDirect<T, true>(p, plan);
    } else {
      RunDirect<T, false>(p, plan);
    }
  });
}

}  // namespace

const PlanFunction<Params> operators::resample =
    base::KernelOf<&MakePlan, &Run>::Make("cuda", nullptr).plan;

}  // namespace portacl::cuda
