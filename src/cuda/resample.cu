// Linear, cubic and antialiased resizing and their gradients: weighted sums over tables, along the
// axes in the order of ops/resample_params.h. Where a result has few taps, a thread makes it from
// all of them. Elsewhere each axis is a launch of its own, with the sums between the axes in the
// workspace.
#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
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

// A ResampleAxis in the device's memory.
template <class F>
struct Axis {
  const int32_t* start;  // null: the identity
  const int32_t* source;
  const F* weight;
};

// The sum for destination `o`, of inner(source). Its first step is a product where `first` is -0.
template <class F, class Inner>
PORTACL_DEVICE F Along(const Axis<F>& axis, int64_t o, F first, const Inner& inner) {
  if (axis.start == nullptr) return inner(o);
  const int32_t begin = axis.start[o];
  const int32_t end = axis.start[o + 1];
  if (begin == end) return F(0);
  F sum = first;
  for (int32_t k = begin; k < end; ++k) {
    sum = Fma(axis.weight[k], inner(static_cast<int64_t>(axis.source[k])), sum);
  }
  return sum;
}

template <class T, int kWidth, bool kBackward>
struct AllAxes {
  using F = ComputeType<T>;
  Items items;
  Axis<F> d, h, w;
  const T* from;
  T* to;
  Strides from_stride;
  Strides to_stride;

  PORTACL_DEVICE F Element(const T* plane, const Place& at) const {
    const F first = kBackward ? F(0) : -F(0);
    const auto read = [&](int64_t z, int64_t y, int64_t x) {
      return Widened(plane[z * from_stride.d + y * from_stride.h + x * from_stride.w]);
    };
    if constexpr (kBackward) {
      return Along(w, at.w, first, [&](int64_t x) {
        return Along(h, at.h, first, [&](int64_t y) {
          return Along(d, at.d, first, [&](int64_t z) { return read(z, y, x); });
        });
      });
    } else {
      return Along(d, at.d, first, [&](int64_t z) {
        return Along(h, at.h, first, [&](int64_t y) {
          return Along(w, at.w, first, [&](int64_t x) { return read(z, y, x); });
        });
      });
    }
  }

  PORTACL_DEVICE void operator()(int64_t item) const {
    Place at = items.At(item);
    at.w *= kWidth;
    const T* const plane = from + at.n * from_stride.n + at.c * from_stride.c;
    T* const out = to + to_stride(at);
    Pack<T, kWidth> pack;
    PORTACL_UNROLL
    for (int i = 0; i < kWidth; ++i) {
      Store(Element(plane, {at.n, at.c, at.d, at.h, at.w + i}), &pack.values[i]);
    }
    *reinterpret_cast<Pack<T, kWidth>*>(out) = pack;
  }
};

// One axis; its places count in `axis_stride` of `from`.
template <class From, class To, class F>
struct OneAxis {
  Items items;
  int along;  // 0, 1, 2: d, h, w
  Axis<F> axis;
  F first;
  const From* from;
  To* to;
  Strides from_stride;
  Strides to_stride;

  PORTACL_DEVICE void operator()(int64_t item) const {
    const Place at = items.At(item);
    Place source = at;
    int64_t& moving = along == 0 ? source.d : along == 1 ? source.h : source.w;
    const int64_t destination = moving;
    moving = 0;
    const From* const line = from + from_stride(source);
    const int64_t step = along == 0   ? from_stride.d
                         : along == 1 ? from_stride.h
                                      : from_stride.w;
    Store(Along(axis, destination, first, [&](int64_t k) { return Widened(line[k * step]); }),
           to + to_stride(at));
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
      return {start.data(), source.data(), doubles.data()};
    } else {
      return {start.data(), source.data(), floats.data()};
    }
  }
};

// The axes that are no identity, in the order of their sums: 0, 1, 2 are d, h, w.
std::vector<int> OrderOf(const Params& p) {
  std::vector<int> order;
  if (!p.d.identity) order.push_back(0);
  if (!p.h.identity) order.push_back(1);
  if (!p.w.identity) order.push_back(2);
  if (!p.backward) std::reverse(order.begin(), order.end());
  return order;
}

struct Plan : base::PathPlan<std::monostate> {
  static constexpr std::array kPaths = {"direct", "axes"};
  std::array<AxisTable, kAxes> tables;
  std::vector<int> order;
  std::array<uint64_t, 2> between{};  // bytes of the first sums and of the second
};

AxisTable TableOf(const ops::ResampleAxis& axis, bool doubles) {
  AxisTable table;
  if (axis.identity) return table;
  const auto taps = static_cast<size_t>(axis.start[axis.to]);
  table.start = Table(std::vector<int32_t>(axis.start, axis.start + axis.to + 1));
  table.source = Table(std::vector<int32_t>(axis.source, axis.source + taps));
  if (doubles) {
    const auto* const weight = static_cast<const double*>(axis.weight);
    table.doubles = Table(std::vector<double>(weight, weight + taps));
  } else {
    const auto* const weight = static_cast<const float*>(axis.weight);
    table.floats = Table(std::vector<float>(weight, weight + taps));
  }
  return table;
}

// Extents of what `steps` of the plan's axes have made.
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
  *bytes = (*bytes + 255) / 256 * 256;
  return true;
}

std::optional<Plan> MakePlan(const Params& p, std::string_view path) {
  constexpr double kMostTaps = 64;  // that a thread adds up by itself
  double taps = 1;
  for (const auto* axis : {&p.d, &p.h, &p.w}) {
    if (axis->identity) continue;
    if (axis->start[axis->to] >= INT32_MAX || axis->from >= INT32_MAX || axis->to >= INT32_MAX) {
      return std::nullopt;
    }
    taps *= static_cast<double>(axis->most);
  }
  Plan plan;
  plan.order = OrderOf(p);
  const bool direct = path.empty() ? plan.order.size() < 2 || taps <= kMostTaps : path == "direct";
  plan.path = direct ? "direct" : "axes";
  if (!direct) {
    if (plan.order.empty()) return std::nullopt;
    const uint64_t element = p.dtype == base::DType::kDouble ? 8 : 4;
    for (size_t i = 0; i + 1 < plan.order.size(); ++i) {
      if (!BytesOf(ExtentsAfter(p, plan.order, i + 1), element, &plan.between[i]) ||
          !base::CheckedAdd(plan.workspace_size, plan.between[i], &plan.workspace_size)) {
        return std::nullopt;
      }
    }
  }
  const bool doubles = p.dtype == base::DType::kDouble;
  plan.tables = {TableOf(p.d, doubles), TableOf(p.h, doubles), TableOf(p.w, doubles)};
  return plan;
}

Strides StridesOf(const std::array<int64_t, 5>& s) { return {s[0], s[1], s[2], s[3], s[4]}; }

Strides ContiguousOf(const Place& e, bool channels_fastest) {
  if (channels_fastest) {
    return {e.c * e.w * e.h * e.d, 1, e.c * e.w * e.h, e.c * e.w, e.c};
  }
  return {e.w * e.h * e.d * e.c, e.w * e.h * e.d, e.w * e.h, e.w, 1};
}

template <class T, int kWidth, bool kBackward>
void RunDirect(const Params& p, const Plan& plan) {
  using F = ComputeType<T>;
  const Strides to = StridesOf(p.output_stride);
  const Items items({p.n, p.c, p.d.to, p.h.to, p.w.to / kWidth}, ChannelsFastest(to, p.c));
  Launch(items.count(),
         AllAxes<T, kWidth, kBackward>{
             items, plan.tables[0].As<F>(), plan.tables[1].As<F>(), plan.tables[2].As<F>(),
             static_cast<const T*>(p.input), static_cast<T*>(p.output),
             StridesOf(p.input_stride), to});
}

template <class T, bool kBackward>
void RunDirect(const Params& p, const Plan& plan) {
  if (PacksFit<T>(p.output, StridesOf(p.output_stride), p.w.to)) {
    RunDirect<T, kPack<T>, kBackward>(p, plan);
  } else {
    RunDirect<T, 1, kBackward>(p, plan);
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
    const Items items(extents, channels_fastest);
    const auto run = [&](const auto* from, auto* to) {
      using From = std::remove_const_t<std::remove_pointer_t<decltype(from)>>;
      using To = std::remove_pointer_t<decltype(to)>;
      const int along = plan.order[i];
      Launch(items.count(),
             OneAxis<From, To, F>{items, along, plan.tables[static_cast<size_t>(along)].As<F>(),
                                  first, from, to, stride, to_stride});
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
    if (plan.path == std::string_view("axes")) {
      RunAxes<T>(p, plan, workspace);
    } else if (p.backward) {
      RunDirect<T, true>(p, plan);
    } else {
      RunDirect<T, false>(p, plan);
    }
  });
}

}  // namespace

const PlanFunction<Params> kResample = base::KernelOf<&MakePlan, &Run>::Make("cuda", nullptr).plan;

}  // namespace portacl::cuda
