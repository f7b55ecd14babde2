// What the Google Benchmark programs share: a benchmark for every shape of an operator in
// bench/shapes.json, and the loop that measures a call.
#ifndef PORTACL_BENCH_BENCH_LOOPS_H_
#define PORTACL_BENCH_BENCH_LOOPS_H_

#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bench/shapes_json.h"
#include "portacl/portacl.h"

namespace portacl_bench {

// Makes the call again and again until it returns false.
template <class Call>
void Repeat(benchmark::State& state, const Call& call) {
  for (auto _ : state) {
    if (!call()) {
      state.SkipWithError(portaclGetErrorMessage());
      break;
    }
  }
}

// One benchmark, run(state, shape), for every row of the list with that operator; setup(benchmark)
// adds its arguments.
template <class Run, class Setup>
bool RegisterShapes(const char* op, const Run& run, const Setup& setup) {
  const nlohmann::json list = nlohmann::json::parse(kShapesJson);
  for (const nlohmann::json& shape : list.at("shapes")) {
    if (shape.at("operator") != op) continue;
    const std::string name = shape.at("name");
    setup(benchmark::RegisterBenchmark(name.c_str(),
                                       [shape, run](benchmark::State& state) { run(state, shape); })
              ->UseRealTime()
              ->Unit(benchmark::kMillisecond));
  }
  return true;
}

}  // namespace portacl_bench

#endif  // PORTACL_BENCH_BENCH_LOOPS_H_
