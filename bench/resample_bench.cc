// Google Benchmark of linear, cubic and antialiased resizing and of their gradients, on the public
// API: one plan, run again and again on the same memory. Shapes of networks that resize: decoders,
// segmentation heads, feature pyramids, position tables, super-resolution, volumes, audio.
//
//   --benchmark_filter=unet/backward:1
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench_loops.h"
#include "bench/bench_tensor.h"
#include "portacl/portacl.h"

namespace {

using Extents = std::vector<int64_t>;  // of one to three axes

struct Case {
  const char* name;
  bool cubic;
  bool antialias;
  int32_t dtype;
  int64_t n, c;
  Extents in, out;
  bool channels_last = false;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {"unet", false, false, PORTACL_FLOAT32, 1, 64, {128, 128}, {256, 256}},
      {"unet_bf16", false, false, PORTACL_BFLOAT16, 1, 64, {128, 128}, {256, 256}},
      {"unet_f16", false, false, PORTACL_FLOAT16, 1, 64, {128, 128}, {256, 256}},
      {"unet_channels_last", false, false, PORTACL_FLOAT32, 1, 64, {128, 128}, {256, 256}, true},
      {"segmentation_x4", false, false, PORTACL_FLOAT32, 2, 21, {128, 128}, {512, 512}},
      {"segmentation_x8", false, false, PORTACL_FLOAT32, 1, 150, {32, 32}, {256, 256}},
      {"pyramid", false, false, PORTACL_FLOAT32, 4, 256, {25, 25}, {50, 50}},
      {"odd", false, false, PORTACL_FLOAT32, 2, 33, {37, 53}, {101, 149}},
      {"general", false, false, PORTACL_FLOAT32, 1, 64, {100, 134}, {223, 300}},
      {"general_down", false, false, PORTACL_FLOAT32, 1, 64, {300, 400}, {111, 150}},
      {"photo_quarter", false, false, PORTACL_FLOAT32, 4, 3, {1024, 1024}, {256, 256}},
      {"photo_channels_last", false, false, PORTACL_FLOAT32, 4, 3, {256, 256}, {512, 512}, true},
      {"positions_14_32", true, false, PORTACL_FLOAT32, 1, 768, {14, 14}, {32, 32}},
      {"positions_24_64", true, false, PORTACL_FLOAT32, 1, 1280, {24, 24}, {64, 64}},
      {"super_resolution", true, false, PORTACL_FLOAT32, 4, 3, {256, 256}, {512, 512}},
      {"unet_cubic", true, false, PORTACL_FLOAT32, 1, 64, {128, 128}, {256, 256}},
      {"general_cubic", true, false, PORTACL_FLOAT32, 1, 64, {100, 134}, {223, 300}},
      {"antialiased", false, true, PORTACL_FLOAT32, 4, 3, {1024, 1024}, {256, 256}},
      {"antialiased_cubic", true, true, PORTACL_FLOAT32, 4, 3, {1024, 1024}, {256, 256}},
      {"antialiased_general", true, true, PORTACL_FLOAT32, 4, 3, {500, 375}, {256, 192}},
      {"brain", false, false, PORTACL_FLOAT32, 1, 16, {48, 56, 48}, {96, 112, 96}},
      {"volume", false, false, PORTACL_FLOAT32, 1, 3, {80, 96, 112}, {160, 192, 224}},
      {"audio", false, false, PORTACL_FLOAT32, 8, 64, {8192}, {16384}},
      {"audio_resampled", false, false, PORTACL_FLOAT32, 1, 2, {160 * 1000}, {441000}},
  };
  return cases;
}

// A tensor of any rank with memory of its own.
struct View {
  portaclTensor tensor{};
  std::vector<unsigned char> bytes;

  View(const Case& c, const Extents& extents) {
    tensor.dtype = c.dtype;
    tensor.rank = static_cast<int32_t>(extents.size() + 2);
    tensor.shape[0] = c.n;
    tensor.shape[1] = c.c;
    std::copy(extents.begin(), extents.end(), tensor.shape + 2);
    int64_t stride = c.channels_last ? c.c : 1;
    for (int32_t axis = tensor.rank - 1; axis >= 2; --axis) {
      tensor.strides[axis] = stride;
      stride *= tensor.shape[axis];
    }
    tensor.strides[1] = c.channels_last ? 1 : stride;
    tensor.strides[0] = c.channels_last ? stride : stride * c.c;
    const size_t size = portacl_bench::SizeOf(c.dtype);
    bytes.resize(static_cast<size_t>(tensor.strides[0] * c.n) * size);
    tensor.data = bytes.data();
    for (size_t i = 0; i < bytes.size() / size; ++i) {
      portacl_bench::Store(c.dtype, static_cast<double>(i % 97) / 97 - 0.5,
                           bytes.data() + i * size);
    }
  }
};

int32_t MakePlan(const Case& c, bool backward, const View& from, const View& to,
                 portaclPlan** plan) {
  const auto make =
      c.cubic ? (backward ? portaclPlanUpsampleCubicBackward : portaclPlanUpsampleCubic)
              : (backward ? portaclPlanUpsampleLinearBackward : portaclPlanUpsampleLinear);
  return make(&from.tensor, &to.tensor, 0, c.antialias ? 1 : 0, nullptr, plan);
}

void RunCase(benchmark::State& state, const Case& c) {
  const bool backward = state.range(0) != 0;
  const View from(c, backward ? c.out : c.in);
  const View to(c, backward ? c.in : c.out);
  portaclSetNumThreads(static_cast<int32_t>(state.range(1)));
  portaclPlan* plan = nullptr;
  if (MakePlan(c, backward, from, to, &plan) != PORTACL_OK) {
    state.SkipWithError(portaclGetErrorMessage());
    return;
  }
  portacl_bench::Repeat(state,
                        [&] { return portaclPlanRun(plan, nullptr, nullptr, 0) == PORTACL_OK; });
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(from.bytes.size() + to.bytes.size()));
  state.SetLabel(portaclPlanGetKernel(plan));
  portaclPlanDestroy(plan);
  portaclSetNumThreads(0);
}

[[maybe_unused]] const bool registered = [] {
  for (const Case& c : Cases()) {
    benchmark::RegisterBenchmark(c.name, [&c](benchmark::State& state) { RunCase(state, c); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond)
        ->ArgNames({"backward", "threads"})
        ->ArgsProduct({{0, 1}, {1, 2}});
  }
  return true;
}();

}  // namespace
