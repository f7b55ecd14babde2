// Google Benchmark of the grid sampler's gradients over the shared shape list (bench/shapes.json),
// on the public API: one plan, run again and again. Filter by name: --benchmark_filter=bicubic.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "bench/bench_loops.h"
#include "bench/bench_tensor.h"
#include "portacl/portacl.h"

namespace {

using Json = nlohmann::json;
using portacl_bench::Tensor;

struct Case {
  std::string name;
  int32_t dtype = PORTACL_FLOAT32;
  std::vector<int64_t> input;
  std::vector<int64_t> points;
  int32_t interpolation = PORTACL_BILINEAR;
  int32_t padding = PORTACL_ZEROS;
  int32_t align_corners = 0;
  std::string grid;
  bool input_grad = true;
  bool grid_grad = true;
  bool channels_last = false;
};

int32_t IndexOf(const std::string& value, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == value) return static_cast<int32_t>(i);
  }
  return 0;
}

Case CaseOf(const Json& shape) {
  Case c;
  c.name = shape.at("name");
  c.dtype = portacl_bench::DTypeOf(shape.at("dtype"));
  c.input = shape.at("input").get<std::vector<int64_t>>();
  c.points = shape.at("points").get<std::vector<int64_t>>();
  c.interpolation = IndexOf(shape.at("interpolation"), {"bilinear", "nearest", "bicubic"});
  c.padding = IndexOf(shape.at("padding"), {"zeros", "border", "reflection"});
  c.align_corners = shape.at("align_corners").get<bool>() ? 1 : 0;
  c.grid = shape.at("grid");
  c.input_grad = shape.at("mask").at(0);
  c.grid_grad = shape.at("mask").at(1);
  c.channels_last = shape.at("memory_format") == "channels_last";
  return c;
}

// The grid of a case: "smooth" turns and enlarges the identity a little, "one_cell" puts all points
// between the same four pixels, "random" anywhere, some outside.
void FillGrid(const Case& c, Tensor* grid) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(-1.05, 1.05);
  const int64_t oh = c.points[0];
  const int64_t ow = c.points[1];
  grid->Fill([&](int64_t i) {
    const double x = (2.0 * static_cast<double>(i / 2 % ow) + 1) / static_cast<double>(ow) - 1;
    const double y = (2.0 * static_cast<double>(i / 2 / ow % oh) + 1) / static_cast<double>(oh) - 1;
    if (c.grid == "smooth") return i % 2 == 0 ? 1.03 * x - 0.04 * y : 0.04 * x + 0.97 * y;
    if (c.grid == "one_cell") return 0.105 + 1e-4 * uniform(engine);
    return uniform(engine);
  });
}

void RunCase(benchmark::State& state, const Case& c) {
  const std::vector<int64_t> points = {c.input[0], c.input[1], c.points[0], c.points[1]};
  const std::vector<int64_t> grid_shape = {c.input[0], c.points[0], c.points[1], 2};
  Tensor grad_output(c.dtype, points, c.channels_last);
  Tensor input(c.dtype, c.input, c.channels_last);
  Tensor grid(c.dtype, grid_shape, false);
  Tensor input_grad(c.dtype, c.input, c.channels_last);
  Tensor grid_grad(c.dtype, grid_shape, false);
  grad_output.Fill([](int64_t i) { return static_cast<double>(i % 97) / 97 - 0.5; });
  input.Fill([](int64_t i) { return static_cast<double>(i % 89) / 89 - 0.5; });
  FillGrid(c, &grid);

  portaclSetNumThreads(static_cast<int32_t>(state.range(0)));
  portaclPlan* plan = nullptr;
  if (portaclPlanGridSampler2DBackward(&grad_output.view, &input.view, &grid.view,
                                       c.input_grad ? &input_grad.view : nullptr,
                                       c.grid_grad ? &grid_grad.view : nullptr, c.interpolation,
                                       c.padding, c.align_corners, &plan) != PORTACL_OK) {
    state.SkipWithError(portaclGetErrorMessage());
    return;
  }
  portacl_bench::Repeat(state,
                        [&] { return portaclPlanRun(plan, nullptr, nullptr, 0) == PORTACL_OK; });
  const auto items = static_cast<double>(c.input[0] * c.input[1] * c.points[0] * c.points[1]);
  state.counters["ns_per_point_channel"] = benchmark::Counter(
      items * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.SetLabel(portaclPlanGetKernel(plan));
  portaclPlanDestroy(plan);
  portaclSetNumThreads(0);
}

[[maybe_unused]] const bool registered = portacl_bench::RegisterShapes(
    "grid_sampler_2d_backward",
    [](benchmark::State& state, const Json& shape) { RunCase(state, CaseOf(shape)); },
    [](auto* benchmark) { benchmark->ArgName("threads")->Arg(1)->Arg(2); });

}  // namespace
