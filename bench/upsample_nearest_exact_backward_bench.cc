// Google Benchmark of nearest-exact's gradient over the shared shape list (bench/shapes.json), on
// the public API: one plan, run again and again, with results in the same memory (`fresh:0`) or in
// newly allocated memory, as PyTorch's functions return them. Filter by name:
// --benchmark_filter=x2.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
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
  std::vector<int64_t> grad_input;  // (N, C, H, W); H is 1 for the 1D operator
  std::vector<int64_t> grad_output;
  bool channels_last = false;
};

Case CaseOf(const Json& shape) {
  Case c;
  c.name = shape.at("name");
  c.dtype = portacl_bench::DTypeOf(shape.at("dtype"));
  c.grad_input = shape.at("grad_input").get<std::vector<int64_t>>();
  const auto extents = shape.at("grad_output").get<std::vector<int64_t>>();
  c.grad_output = {c.grad_input[0], c.grad_input[1]};
  if (extents.size() == 1) {
    c.grad_input.insert(c.grad_input.begin() + 2, 1);
    c.grad_output.push_back(1);
  }
  c.grad_output.insert(c.grad_output.end(), extents.begin(), extents.end());
  c.channels_last = shape.at("memory_format") == "channels_last";
  return c;
}

void RunCase(benchmark::State& state, const Case& c) {
  Tensor grad_output(c.dtype, c.grad_output, c.channels_last);
  Tensor grad_input(c.dtype, c.grad_input, c.channels_last);
  grad_output.Fill([](int64_t i) { return static_cast<double>(i % 97) / 97 - 0.5; });

  const bool fresh = state.range(0) != 0;
  portaclSetNumThreads(static_cast<int32_t>(state.range(1)));
  portaclPlan* plan = nullptr;
  if (portaclPlanUpsampleNearestExactBackward(&grad_output.view, &grad_input.view, nullptr,
                                              &plan) != PORTACL_OK) {
    state.SkipWithError(portaclGetErrorMessage());
    return;
  }
  portacl_bench::Repeat(state, [&] {
    std::unique_ptr<unsigned char[]> result;
    if (fresh) result.reset(new unsigned char[grad_input.bytes.size()]);
    void* tensors[] = {nullptr, result.get()};
    return portaclPlanRun(plan, tensors, nullptr, 0) == PORTACL_OK;
  });
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(grad_output.bytes.size() + grad_input.bytes.size()));
  state.SetLabel(portaclPlanGetKernel(plan));
  portaclPlanDestroy(plan);
  portaclSetNumThreads(0);
}

[[maybe_unused]] const bool registered = portacl_bench::RegisterShapes(
    "upsample_nearest_exact_backward",
    [](benchmark::State& state, const Json& shape) { RunCase(state, CaseOf(shape)); },
    [](auto* benchmark) {
      benchmark->ArgNames({"fresh", "threads"})->ArgsProduct({{0, 1}, {1, 2}});
    });

}  // namespace
