// Shared by the kernel tests of grid sampling on images and on volumes: every kernel of this
// machine against the reference, bit for bit, by each path that a test names and with each number
// of threads.
#ifndef PORTACL_TESTS_SUPPORT_GRID_KERNELS_H_
#define PORTACL_TESTS_SUPPORT_GRID_KERNELS_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/kernel.h"
#include "runtime/parallel.h"
#include "support/api/grid_case.h"
#include "support/api/grid_oracle.h"
#include "support/api/thread_counts.h"
#include "support/kernel_test.h"
#include "support/run_kernel.h"

namespace portacl_test {

// Calls run(c, mode) for bicubic points in columns from 2^24 to 2^25. Floats there are two apart,
// so reflected taps are columns apart.
template <class Run>
void ForTapsApart(const Run& run) {
  Random random(41);
  constexpr int64_t kWidth = 9;
  for (const Element element : {Element::kFloat, Element::kBFloat16}) {
    for (const int64_t points : {9, 16}) {
      GridCase c(element, 40, 2, 5, kWidth, 1, points);
      c.Fill(GridKind::kRandom, random);
      c.grid.Fill([&](int64_t i) {
        if (i % 2 == 1) return random.Uniform(-1, 1);
        return 2 * std::ldexp(random.Uniform(1, 2), 24) / static_cast<double>(kWidth);
      });
      GridMode mode{.interpolation = 2, .padding = kReflection};
      for (const bool align_corners : {false, true}) {
        mode.align_corners = align_corners;
        run(c, mode);
      }
    }
  }
}

// The gradients that a call wants.
struct Mask {
  bool input_grad;
  bool grid_grad;
};
inline constexpr Mask kBoth = {true, true};

// Calls check(kernel, path) for every kernel of this machine, each number of threads (a short run:
// the last one) and the paths that the test names, and traces these; check() is false if the path
// does not serve.
template <class Params, class Check>
void ForKernels(std::span<const portacl::base::Kernel<Params>> kernels, const GridCase& c,
                const GridMode& mode, Layout layout, const std::vector<int>& threads,
                const Paths& paths, const Check& check) {
  for (const auto& kernel : kernels) {
    if (!kernel.available()) continue;
    for (const int count : ThreadCounts(threads)) {
      SCOPED_TRACE(std::string(kernel.name) + ", threads " + std::to_string(count) + ", " +
                   NameOf(mode) + ", " + NameOf(c.input.element()) + ", " + NameOf(layout) +
                   ", input " + ToString(c.input.shape()) + ", grid " + ToString(c.grid.shape()));
      portacl::runtime::SetNumThreads(count);
      ForPaths(kernel, paths, check);
    }
  }
}

// The function; outputs have the given layout.
template <class Params>
void ExpectSameSamples(std::span<const portacl::base::Kernel<Params>> kernels,
                       const portacl::base::Kernel<Params>& reference, const GridCase& c,
                       const GridMode& mode, Layout layout, const std::vector<int>& threads,
                       const Paths& paths) {
  const Element element = c.input.element();
  Tensor want(element, c.grad_output.shape(), layout);
  ASSERT_TRUE(RunGridSampler(reference, c.input, c.grid, mode, &want));
  ASSERT_TRUE(want.GuardsIntact());
  ForKernels(kernels, c, mode, layout, threads, paths, [&](const auto& kernel, auto path) {
    Tensor got(element, c.grad_output.shape(), layout);
    if (!RunGridSampler(kernel, c.input, c.grid, mode, &got, path)) return false;
    EXPECT_TRUE(SameAs(want, got)) << path;
    return true;
  });
}

// Its gradients.
template <class Params>
void ExpectSameGradients(std::span<const portacl::base::Kernel<Params>> kernels,
                         const portacl::base::Kernel<Params>& reference, const GridCase& c,
                         const GridMode& mode, Mask mask, Layout layout,
                         const std::vector<int>& threads, const Paths& paths) {
  const Element element = c.input.element();
  const auto run = [&](const auto& kernel, std::string_view path, Tensor* input_grad,
                       Tensor* grid_grad) {
    return RunGridBackward(kernel, c.grad_output, c.input, c.grid, mode,
                           mask.input_grad ? input_grad : nullptr,
                           mask.grid_grad ? grid_grad : nullptr, path);
  };
  Tensor want_input(element, c.input.shape(), layout);
  Tensor want_grid(element, c.grid.shape(), layout);
  ASSERT_TRUE(run(reference, "", &want_input, &want_grid));
  ASSERT_TRUE(want_input.GuardsIntact() && want_grid.GuardsIntact());
  ForKernels(kernels, c, mode, layout, threads, paths, [&](const auto& kernel, auto path) {
    Tensor input_grad(element, c.input.shape(), layout);
    Tensor grid_grad(element, c.grid.shape(), layout);
    if (!run(kernel, path, &input_grad, &grid_grad)) return false;
    EXPECT_TRUE(SameAs(want_input, input_grad)) << path;
    EXPECT_TRUE(SameAs(want_grid, grid_grad)) << path;
    return true;
  });
}

// The function of an input that lies elsewhere than the case's, of the same extents.
template <class Params, class Strides>
void ExpectSameSamplesOf(std::span<const portacl::base::Kernel<Params>> kernels,
                         const portacl::base::Kernel<Params>& reference, const GridCase& c,
                         const GridMode& mode, const void* input, const Strides& input_stride,
                         const Paths& paths) {
  const auto run = [&](const auto& kernel, std::string_view path, Tensor* output) {
    Params params;
    params.shape = GridShape(c.input, c.grid, mode);
    params.input = input;
    params.input_stride = input_stride;
    params.grid = c.grid.first();
    params.output = output->first();
    SetStrides(c.grid, &params.grid_stride);
    SetStrides(*output, &params.output_stride);
    return RunKernel(kernel, params, path);
  };
  Tensor want(c.input.element(), c.grad_output.shape());
  ASSERT_TRUE(run(reference, "", &want));
  ForKernels(kernels, c, mode, Layout::kContiguous, {1}, paths, [&](const auto& kernel, auto path) {
    Tensor got(c.input.element(), c.grad_output.shape());
    if (!run(kernel, path, &got)) return false;
    EXPECT_TRUE(SameAs(want, got)) << path;
    return true;
  });
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_GRID_KERNELS_H_
