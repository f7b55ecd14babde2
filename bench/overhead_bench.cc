// What a call costs beside the computing: tiny tensors through the two-phase aclnn API (both phases
// and a synchronise) and through portacl's own API (plan + run, and run alone).
#include <benchmark/benchmark.h>
#include <portacl/portacl.h>

#include "bench/bench_loops.h"
#include "bench/tiny_calls.h"

namespace {

using benchmark::State;

template <class Call>
void TwoPhase(State& state) {
  const portacl_bench::Device device;
  Call call;
  portacl_bench::Repeat(state, [&] { return device.ok() && call.TwoPhase(device.stream()); });
}
BENCHMARK(TwoPhase<portacl_bench::TinyNearest>)->Name("Nearest/TwoPhase");
BENCHMARK(TwoPhase<portacl_bench::TinyGrid>)->Name("Grid/TwoPhase");

template <class Call>
void PlanAndRun(State& state) {
  const Call call;
  portacl_bench::Repeat(state, [&] {
    portacl::Plan plan;
    return call.MakePlan(&plan).ok() && plan.run().ok();
  });
}
BENCHMARK(PlanAndRun<portacl_bench::TinyNearest>)->Name("Nearest/PlanAndRun");
BENCHMARK(PlanAndRun<portacl_bench::TinyGrid>)->Name("Grid/PlanAndRun");

template <class Call>
void Run(State& state) {
  const Call call;
  portacl::Plan plan;
  const bool planned = call.MakePlan(&plan).ok();
  portacl_bench::Repeat(state, [&] { return planned && plan.run().ok(); });
}
BENCHMARK(Run<portacl_bench::TinyNearest>)->Name("Nearest/Run");
BENCHMARK(Run<portacl_bench::TinyGrid>)->Name("Grid/Run");

}  // namespace
