// What a call costs beside the computing: tiny tensors through the two-phase aclnn API (both phases
// and a synchronise) and through portacl's own API (plan + run, and run alone).
#include <aclnnop/aclnn_grid_sampler2d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>
#include <benchmark/benchmark.h>
#include <portacl/portacl.h>

#include <array>
#include <cstdint>

#include "acl/acl.h"

namespace {

using benchmark::State;

constexpr int64_t kImage[] = {1, 2, 4, 4};
constexpr int64_t kUpsampled[] = {1, 2, 8, 8};
constexpr int64_t kGrid[] = {1, 4, 4, 2};

// A device and a stream for as long as a benchmark runs.
class Device {
 public:
  Device() {
    ok_ = aclrtSetDevice(0) == ACL_SUCCESS && aclrtCreateStream(&stream_) == ACL_SUCCESS &&
          portaclSetProfile("open") == PORTACL_OK;
  }
  ~Device() {
    aclrtDestroyStream(stream_);
    aclrtResetDevice(0);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  bool ok() const { return ok_; }
  aclrtStream stream() const { return stream_; }

 private:
  aclrtStream stream_ = nullptr;
  bool ok_ = false;
};

// A small contiguous float tensor with its own memory.
class SmallTensor {
 public:
  explicit SmallTensor(const int64_t* shape)
      : handle_(aclCreateTensor(shape, 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 4,
                                values_.data())),
        view_(values_.data(), portacl::DataType::kFloat32, 4, shape) {}
  ~SmallTensor() { aclDestroyTensor(handle_); }
  SmallTensor(const SmallTensor&) = delete;
  SmallTensor& operator=(const SmallTensor&) = delete;
  aclTensor* handle() const { return handle_; }
  const portacl::Tensor& view() const { return view_; }

 private:
  alignas(64) std::array<float, 128> values_{};
  aclTensor* handle_;
  portacl::Tensor view_;
};

struct NearestTensors {
  SmallTensor grad_output{kUpsampled};
  SmallTensor grad_input{kImage};
};

struct GridTensors {
  SmallTensor grad_output{kImage};
  SmallTensor input{kImage};
  SmallTensor grid{kGrid};
  SmallTensor input_grad{kImage};
  SmallTensor grid_grad{kGrid};
};

// Scratch memory is booked once, outside the measured loop, as programs do.
class Workspace {
 public:
  void* Reserve(uint64_t size) {
    if (size > size_) {
      aclrtFree(data_);
      aclrtMalloc(&data_, size, ACL_MEM_MALLOC_HUGE_FIRST);
      size_ = size;
    }
    return data_;
  }
  Workspace() = default;
  ~Workspace() {
    if (data_ != nullptr) aclrtFree(data_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

 private:
  void* data_ = nullptr;
  uint64_t size_ = 0;
};

void NearestTwoPhase(State& state) {
  const Device device;
  const NearestTensors tensors;
  Workspace workspace;
  aclIntArray* output_size = aclCreateIntArray(kUpsampled + 2, 2);
  aclIntArray* input_size = aclCreateIntArray(kImage, 4);
  for (auto _ : state) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    int32_t status = aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
        tensors.grad_output.handle(), output_size, input_size, 0, 0, tensors.grad_input.handle(),
        &size, &executor);
    void* scratch = size > 0 ? workspace.Reserve(size) : nullptr;
    if (status == 0) {
      status = aclnnUpsampleNearestExact2dBackward(scratch, size, executor, device.stream());
    }
    if (status == 0) status = aclrtSynchronizeStream(device.stream());
    if (!device.ok() || status != 0) {
      state.SkipWithError(portaclGetErrorMessage());
      break;
    }
  }
  aclDestroyIntArray(input_size);
  aclDestroyIntArray(output_size);
}
BENCHMARK(NearestTwoPhase);

void GridTwoPhase(State& state) {
  const Device device;
  const GridTensors tensors;
  Workspace workspace;
  const bool both[] = {true, true};
  aclBoolArray* mask = aclCreateBoolArray(both, 2);
  for (auto _ : state) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    int32_t status = aclnnGridSampler2DBackwardGetWorkspaceSize(
        tensors.grad_output.handle(), tensors.input.handle(), tensors.grid.handle(), 0, 0, false,
        mask, tensors.input_grad.handle(), tensors.grid_grad.handle(), &size, &executor);
    void* scratch = size > 0 ? workspace.Reserve(size) : nullptr;
    if (status == 0) {
      status = aclnnGridSampler2DBackward(scratch, size, executor, device.stream());
    }
    if (status == 0) status = aclrtSynchronizeStream(device.stream());
    if (!device.ok() || status != 0) {
      state.SkipWithError(portaclGetErrorMessage());
      break;
    }
  }
  aclDestroyBoolArray(mask);
}
BENCHMARK(GridTwoPhase);

portacl::Status PlanNearest(const NearestTensors& tensors, portacl::Plan* plan) {
  return plan->upsample_nearest_exact_backward(tensors.grad_output.view(),
                                               tensors.grad_input.view());
}

portacl::Status PlanGrid(const GridTensors& tensors, portacl::Plan* plan) {
  return plan->grid_sampler_2d_backward(tensors.grad_output.view(), tensors.input.view(),
                                        tensors.grid.view(), tensors.input_grad.view(),
                                        tensors.grid_grad.view());
}

template <class Tensors, portacl::Status (*kPlan)(const Tensors&, portacl::Plan*)>
void PlanAndRun(State& state) {
  const Tensors tensors;
  for (auto _ : state) {
    portacl::Plan plan;
    portacl::Status status = kPlan(tensors, &plan);
    if (status.ok()) status = plan.run();
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
  }
}
BENCHMARK(PlanAndRun<NearestTensors, PlanNearest>)->Name("NearestPlanAndRun");
BENCHMARK(PlanAndRun<GridTensors, PlanGrid>)->Name("GridPlanAndRun");

template <class Tensors, portacl::Status (*kPlan)(const Tensors&, portacl::Plan*)>
void Run(State& state) {
  const Tensors tensors;
  portacl::Plan plan;
  portacl::Status status = kPlan(tensors, &plan);
  for (auto _ : state) {
    if (status.ok()) status = plan.run();
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      break;
    }
  }
}
BENCHMARK(Run<NearestTensors, PlanNearest>)->Name("NearestRun");
BENCHMARK(Run<GridTensors, PlanGrid>)->Name("GridRun");

}  // namespace
