// Loops of tiny calls, portacl's and PyTorch's, without an interpreter between them. compare.py
// compiles this file against the PyTorch that it runs in (portacl_bench/tiny.py).
#include <ATen/core/Tensor.h>
#include <ATen/ops/_upsample_nearest_exact2d_backward.h>
#include <ATen/ops/grid_sampler_2d_backward.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <array>
#include <cstdint>

#include "bench/tiny_calls.h"

namespace {

at::Tensor Zeros(const int64_t (&shape)[4]) { return at::zeros(at::IntArrayRef(shape, 4)); }

struct Calls {
  portacl_bench::Device device;
  portacl_bench::TinyNearest nearest;
  portacl_bench::TinyGrid grid;
  portacl::Plan nearest_plan;
  portacl::Plan grid_plan;
  at::Tensor image = Zeros(portacl_bench::kTinyImage);
  at::Tensor upsampled = Zeros(portacl_bench::kTinyUpsampled);
  at::Tensor points = Zeros(portacl_bench::kTinyGrid);
  at::Tensor out = Zeros(portacl_bench::kTinyImage);
};

// Lives until the process ends: tearing PyTorch down in a library's destructor is not safe.
Calls& TheCalls() {
  static Calls* const calls = new Calls;
  return *calls;
}

template <class Call>
bool PlanAndRun(const Call& call) {
  portacl::Plan plan;
  return call.MakePlan(&plan).ok() && plan.run().ok();
}

// One call; the number says which (portacl_bench/tiny.py has the names).
bool CallOnce(int32_t which, Calls& calls) {
  using at::IntArrayRef;
  const IntArrayRef upsampled(portacl_bench::kTinyUpsampled + 2, 2);
  const IntArrayRef image(portacl_bench::kTinyImage, 4);
  switch (which) {
    case 0:
      return calls.nearest.TwoPhase(calls.device.stream());
    case 1:
      return PlanAndRun(calls.nearest);
    case 2:
      return calls.nearest_plan.run().ok();
    case 3:
      return at::_upsample_nearest_exact2d_backward(calls.upsampled, upsampled, image).defined();
    case 4:
      return at::_upsample_nearest_exact2d_backward_out(calls.out, calls.upsampled, upsampled,
                                                        image)
          .defined();
    case 5:
      return calls.grid.TwoPhase(calls.device.stream());
    case 6:
      return PlanAndRun(calls.grid);
    case 7:
      return calls.grid_plan.run().ok();
    case 8:
      return std::get<0>(at::grid_sampler_2d_backward(calls.image, calls.image, calls.points, 0, 0,
                                                      false, {true, true}))
          .defined();
    default:
      return false;
  }
}

}  // namespace

// Makes `count` calls; 0 on success.
extern "C" __attribute__((visibility("default"))) int32_t portacl_tiny_run(int32_t which,
                                                                           int64_t count) {
  const c10::AutoGradMode no_grad(false);
  Calls& calls = TheCalls();
  if (!calls.device.ok()) return 1;
  if (calls.nearest_plan.kernel() == nullptr || calls.nearest_plan.kernel()[0] == '\0') {
    if (!calls.nearest.MakePlan(&calls.nearest_plan).ok()) return 1;
    if (!calls.grid.MakePlan(&calls.grid_plan).ok()) return 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (!CallOnce(which, calls)) return 1;
  }
  return 0;
}
