// Calls on tiny tensors: their time is the cost of the call, not of the computing. Shared by
// overhead_bench.cc and the library that compare.py builds next to PyTorch's own C++ calls.
#ifndef PORTACL_BENCH_TINY_CALLS_H_
#define PORTACL_BENCH_TINY_CALLS_H_

#include <acl/acl.h>
#include <aclnnop/aclnn_grid_sampler2d_backward.h>
#include <aclnnop/aclnn_upsample_nearest_exact2d_backward.h>
#include <portacl/portacl.h>

#include <array>
#include <cstdint>

namespace portacl_bench {

inline constexpr int64_t kTinyImage[] = {1, 2, 4, 4};
inline constexpr int64_t kTinyUpsampled[] = {1, 2, 8, 8};
inline constexpr int64_t kTinyGrid[] = {1, 4, 4, 2};

// Device 0 and a stream, in profile `open`.
class Device {
 public:
  Device() {
    ok_ = aclrtSetDevice(0) == ACL_SUCCESS && aclrtCreateStream(&stream_) == ACL_SUCCESS &&
          portaclSetProfile("open") == PORTACL_OK;
  }
  ~Device() {
    if (stream_ != nullptr) aclrtDestroyStream(stream_);
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

// A contiguous float tensor of zeros with its own memory, as aclnn and portacl see it.
class TinyTensor {
 public:
  explicit TinyTensor(const int64_t* shape)
      : handle_(aclCreateTensor(shape, 4, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 4,
                                values_.data())),
        view_(values_.data(), portacl::DataType::kFloat32, 4, shape) {}
  ~TinyTensor() { aclDestroyTensor(handle_); }
  TinyTensor(const TinyTensor&) = delete;
  TinyTensor& operator=(const TinyTensor&) = delete;
  aclTensor* handle() const { return handle_; }
  const portacl::Tensor& view() const { return view_; }

 private:
  alignas(64) std::array<float, 128> values_{};
  aclTensor* handle_;
  portacl::Tensor view_;
};

// Scratch memory that is booked once, as programs do.
class Workspace {
 public:
  Workspace() = default;
  ~Workspace() {
    if (data_ != nullptr) aclrtFree(data_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* Reserve(uint64_t size) {
    if (size > size_) {
      if (data_ != nullptr) aclrtFree(data_);
      aclrtMalloc(&data_, size, ACL_MEM_MALLOC_HUGE_FIRST);
      size_ = size;
    }
    return size > 0 ? data_ : nullptr;
  }

 private:
  void* data_ = nullptr;
  uint64_t size_ = 0;
};

class TinyNearest {
 public:
  TinyNearest()
      : output_size_(aclCreateIntArray(kTinyUpsampled + 2, 2)),
        input_size_(aclCreateIntArray(kTinyImage, 4)) {}
  ~TinyNearest() {
    aclDestroyIntArray(input_size_);
    aclDestroyIntArray(output_size_);
  }
  TinyNearest(const TinyNearest&) = delete;
  TinyNearest& operator=(const TinyNearest&) = delete;

  // Both phases and a synchronise.
  bool TwoPhase(aclrtStream stream) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    return aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
               grad_output_.handle(), output_size_, input_size_, scale_, scale_,
               grad_input_.handle(), &size, &executor) == OK &&
           aclnnUpsampleNearestExact2dBackward(workspace_.Reserve(size), size, executor, stream) ==
               OK &&
           aclrtSynchronizeStream(stream) == ACL_SUCCESS;
  }

  // The next call equals no earlier one.
  void Change() { scale_ = scale_ == 0 ? 2 : scale_ + 1e-9; }

  portacl::Status MakePlan(portacl::Plan* plan) const {
    return plan->upsample_nearest_exact_backward(grad_output_.view(), grad_input_.view());
  }

 private:
  TinyTensor grad_output_{kTinyUpsampled};
  TinyTensor grad_input_{kTinyImage};
  Workspace workspace_;
  double scale_ = 0;
  aclIntArray* output_size_;
  aclIntArray* input_size_;
};

class TinyGrid {
 public:
  TinyGrid() : mask_(aclCreateBoolArray(kBoth, 2)) {}
  ~TinyGrid() { aclDestroyBoolArray(mask_); }
  TinyGrid(const TinyGrid&) = delete;
  TinyGrid& operator=(const TinyGrid&) = delete;

  bool TwoPhase(aclrtStream stream) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    return aclnnGridSampler2DBackwardGetWorkspaceSize(
               grad_output_.handle(), input_.handle(), grid_.handle(), 0, 0, false, mask_,
               input_grad_.handle(), grid_grad_.handle(), &size, &executor) == OK &&
           aclnnGridSampler2DBackward(workspace_.Reserve(size), size, executor, stream) == OK &&
           aclrtSynchronizeStream(stream) == ACL_SUCCESS;
  }

  portacl::Status MakePlan(portacl::Plan* plan) const {
    return plan->grid_sampler_2d_backward(grad_output_.view(), input_.view(), grid_.view(),
                                          input_grad_.view(), grid_grad_.view());
  }

 private:
  static constexpr bool kBoth[] = {true, true};
  TinyTensor grad_output_{kTinyImage};
  TinyTensor input_{kTinyImage};
  TinyTensor grid_{kTinyGrid};
  TinyTensor input_grad_{kTinyImage};
  TinyTensor grid_grad_{kTinyGrid};
  Workspace workspace_;
  aclBoolArray* mask_;
};

}  // namespace portacl_bench

#endif  // PORTACL_BENCH_TINY_CALLS_H_
