// What a call costs beside the computing: tiny tensors through the two-phase aclnn API (both phases
// and a synchronise) and through portacl's own API (plan + run, and run alone).
#include <benchmark/benchmark.h>
#include <portacl/portacl.h>

#include "bench/tiny_calls.h"

namespace {

using benchmark::State;

template <class Call>
void TwoPhase(State& state) {
  const portacl_bench::Device device;
  Call call;
  for (auto _ : state) {
    if (!device.ok() || !call.TwoPhase(device.stream())) {
      state.SkipWithError(portaclGetErrorMessage());
      break;
    }
  }
}
BENCHMARK(TwoPhase<portacl_bench::TinyNearest>)->Name("Nearest/TwoPhase");
BENCHMARK(TwoPhase<portacl_bench::TinyGrid>)->Name("Grid/TwoPhase");

template <class Call>
void PlanAndRun(State& state) {
  const Call call;
  for (auto _ : state) {
    portacl::Plan plan;
    portacl::Status status = call.MakePlan(&plan);
    if (status.ok()) status = plan.run();
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
  }
}
BENCHMARK(PlanAndRun<portacl_bench::TinyNearest>)->Name("Nearest/PlanAndRun");
BENCHMARK(PlanAndRun<portacl_bench::TinyGrid>)->Name("Grid/PlanAndRun");

template <class Call>
void Run(State& state) {
  const Call call;
  portacl::Plan plan;
  portacl::Status status = call.MakePlan(&plan);
  for (auto _ : state) {
    if (status.ok()) status = plan.run();
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
  }
}
BENCHMARK(Run<portacl_bench::TinyNearest>)->Name("Nearest/Run");
BENCHMARK(Run<portacl_bench::TinyGrid>)->Name("Grid/Run");

}  // namespace
