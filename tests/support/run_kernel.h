// Runs a kernel directly on test tensors, by one of its paths: plan, workspace with guards, run.
#ifndef PORTACL_TESTS_SUPPORT_RUN_KERNEL_H_
#define PORTACL_TESTS_SUPPORT_RUN_KERNEL_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/dtype.h"
#include "base/kernel.h"
#include "ops/grid_sampler_params.h"
#include "ops/nearest_axis.h"
#include "ops/upsample_nearest_exact_params.h"
#include "support/api/grid_oracle.h"
#include "support/api/tensor.h"
#include "support/kernel_paths.h"

namespace portacl_test {

inline portacl::base::DType ToDType(Element element) {
  return static_cast<portacl::base::DType>(element);
}

// Extents or strides of N, C, H and W of (N, C, L), (N, C, H, W) or (N, C, D, H, W), and of D;
// `missing` for an axis that the tensor lacks.
inline std::array<int64_t, 4> As4D(const Shape& values, int64_t missing) {
  const size_t last = values.size() - 1;
  return {values[0], values[1], last == 2 ? missing : values[last - 1], values[last]};
}
inline int64_t DepthOf(const Shape& values, int64_t missing) {
  return values.size() == 5 ? values[2] : missing;
}

// Memory of a call, aligned to 64 bytes, between pages that fault: in turn it begins behind such a
// page, or ends before one. The rest of its pages must stay as it is.
class GuardedWorkspace {
 public:
  explicit GuardedWorkspace(size_t size) : size_(size) {
    static bool at_end = false;
    at_end = !at_end;
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (size + page - 1) / page * page;
    map_bytes_ = inner_ + 2 * page;
    map_ = static_cast<std::byte*>(
        mmap(nullptr, map_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (map_ == MAP_FAILED) throw std::bad_alloc();
    pages_ = map_ + page;
    EXPECT_EQ(mprotect(pages_, inner_, PROT_READ | PROT_WRITE), 0);
    begin_ = pages_ + (at_end ? (inner_ - size) / 64 * 64 : 0);
    std::memset(pages_, kGuard, inner_);
  }
  ~GuardedWorkspace() { munmap(map_, map_bytes_); }
  GuardedWorkspace(const GuardedWorkspace&) = delete;
  GuardedWorkspace& operator=(const GuardedWorkspace&) = delete;
  std::byte* begin() const { return begin_; }
  bool GuardsIntact() const {
    const auto untouched = [](const std::byte* from, const std::byte* to) {
      return std::all_of(from, to, [](std::byte value) { return value == std::byte{kGuard}; });
    };
    return untouched(pages_, begin_) && untouched(begin_ + size_, pages_ + inner_);
  }

 private:
  static constexpr unsigned char kGuard = 0xA7;
  size_t size_, inner_ = 0, map_bytes_ = 0;
  std::byte* map_ = nullptr;
  std::byte* pages_ = nullptr;
  std::byte* begin_ = nullptr;
};

// Runs by the path, or by the kernel's choice if it is "". False if that does not serve the
// parameters.
template <class Params>
[[nodiscard]] bool RunKernel(const portacl::base::Kernel<Params>& kernel, const Params& params,
                             std::string_view path = "") {
  const auto plan = PlanPath(kernel, params, path);
  if (plan == nullptr) return false;
  const GuardedWorkspace workspace(static_cast<size_t>(plan->workspace_size()));
  plan->Run(params, workspace.begin());
  EXPECT_TRUE(workspace.GuardsIntact())
      << kernel.name << ":" << plan->path() << " wrote outside its workspace";
  return true;
}

// The index tables of a nearest-exact call.
class NearestAxes {
 public:
  // Scales: none, or one for each axis that there is.
  NearestAxes(const Shape& small, const Shape& large, const std::vector<double>& scales)
      : d_(DepthOf(small, 1), DepthOf(large, 1), scales.size() == 3 ? scales[0] : 0.0),
        h_(As4D(small, 1)[2], As4D(large, 1)[2],
           scales.size() > 1 ? scales[scales.size() - 2] : 0.0),
        w_(small.back(), large.back(), scales.empty() ? 0.0 : scales.back()) {}
  const portacl::ops::NearestAxis& d() const { return d_.axis(); }
  const portacl::ops::NearestAxis& h() const { return h_.axis(); }
  const portacl::ops::NearestAxis& w() const { return w_.axis(); }

 private:
  portacl::ops::NearestTable d_;
  portacl::ops::NearestTable h_;
  portacl::ops::NearestTable w_;
};

// Nearest-exact or its gradient.
template <class Params>
[[nodiscard]] bool RunNearest(const portacl::base::Kernel<Params>& kernel, const Tensor& from,
                              const std::vector<double>& scales, Tensor* to,
                              std::string_view path = "") {
  constexpr bool kForward = std::is_same_v<Params, portacl::ops::UpsampleNearestExactParams>;
  const NearestAxes axes(kForward ? from.shape() : to->shape(),
                         kForward ? to->shape() : from.shape(), scales);
  Params params;
  params.dtype = ToDType(from.element());
  params.n = from.shape()[0];
  params.c = from.shape()[1];
  params.d = axes.d();
  params.h = axes.h();
  params.w = axes.w();
  params.from = from.first();
  params.to = to->first();
  params.from_stride = As4D(from.strides(), 0);
  params.to_stride = As4D(to->strides(), 0);
  params.from_depth_stride = DepthOf(from.strides(), 0);
  params.to_depth_stride = DepthOf(to->strides(), 0);
  return RunKernel(kernel, params, path);
}

inline portacl::ops::GridSampler3DShape GridShape(const Tensor& input, const Tensor& grid,
                                                  const GridMode& mode) {
  const size_t axes = input.shape().size() - 2;
  portacl::ops::GridSampler3DShape shape;
  shape.dtype = ToDType(input.element());
  shape.n = input.shape()[0];
  shape.c = input.shape()[1];
  shape.d = input.shape()[2];
  shape.h = input.shape()[axes];
  shape.w = input.shape()[axes + 1];
  shape.od = grid.shape()[1];
  shape.oh = grid.shape()[axes - 1];
  shape.ow = grid.shape()[axes];
  shape.interpolation = static_cast<portacl::ops::Interpolation>(mode.interpolation);
  shape.padding = static_cast<portacl::ops::Padding>(mode.padding);
  shape.align_corners = mode.align_corners;
  return shape;
}

template <size_t kRank>
void SetStrides(const Tensor& tensor, std::array<int64_t, kRank>* strides) {
  std::copy_n(tensor.strides().begin(), kRank, strides->begin());
}

// For the tensors of kernels' parameters, ops/tensor_params.h.
template <class Its, class Described>
void Describe(Its* tensor, Described* to, bool has = true) {
  to->has = has;
  if (!has) return;
  to->data = tensor->first();
  std::copy(tensor->strides().begin(), tensor->strides().end(), to->stride.begin());
}

// On images or volumes, as the kernel. A null output means that the mask leaves it out. Unread
// inputs have no address and strides of 0, as in plans.
template <class Params>
[[nodiscard]] bool RunGridBackward(const portacl::base::Kernel<Params>& kernel,
                                   const Tensor& grad_output, const Tensor& input,
                                   const Tensor& grid, const GridMode& mode, Tensor* input_grad,
                                   Tensor* grid_grad, std::string_view path = "") {
  Params params;
  params.shape = GridShape(input, grid, mode);
  params.want_input_grad = input_grad != nullptr;
  params.want_grid_grad = grid_grad != nullptr;
  const bool reads_image =
      params.want_grid_grad && params.shape.interpolation != portacl::ops::Interpolation::kNearest;
  if (params.want_input_grad || reads_image) {
    params.grad_output = grad_output.first();
    params.grid = grid.first();
    SetStrides(grad_output, &params.grad_output_stride);
    SetStrides(grid, &params.grid_stride);
  }
  if (reads_image) {
    params.input = input.first();
    SetStrides(input, &params.input_stride);
  }
  if (input_grad != nullptr) {
    params.input_grad = input_grad->first();
    SetStrides(*input_grad, &params.input_grad_stride);
  }
  if (grid_grad != nullptr) {
    params.grid_grad = grid_grad->first();
    SetStrides(*grid_grad, &params.grid_grad_stride);
  }
  return RunKernel(kernel, params, path);
}

template <class Params>
[[nodiscard]] bool RunGridSampler(const portacl::base::Kernel<Params>& kernel, const Tensor& input,
                                  const Tensor& grid, const GridMode& mode, Tensor* output,
                                  std::string_view path = "") {
  Params params;
  params.shape = GridShape(input, grid, mode);
  params.input = input.first();
  params.grid = grid.first();
  params.output = output->first();
  SetStrides(input, &params.input_stride);
  SetStrides(grid, &params.grid_stride);
  SetStrides(*output, &params.output_stride);
  return RunKernel(kernel, params, path);
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_RUN_KERNEL_H_
