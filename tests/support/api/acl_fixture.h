// The aclnn API in tests: handles that free themselves, tensors in device memory with guards, one
// struct per operator call, with members that a test may spoil, and a fixture that restores
// settings. Header-only, because programs without the API include tests/support too.
#ifndef PORTACL_TESTS_SUPPORT_API_ACL_FIXTURE_H_
#define PORTACL_TESTS_SUPPORT_API_ACL_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_grid_sampler2d_backward.h"
#include "aclnnop/aclnn_grid_sampler3d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact1d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact2d_backward.h"
#include "aclnnop/aclnn_upsample_nearest_exact3d_backward.h"
#include "portacl/portacl.h"
#include "support/api/grid_oracle.h"
#include "support/api/tensor.h"

namespace portacl_test {

// ---- handles -----------------------------------------------------------------------------------

struct AclDestroy {
  void operator()(aclTensor* handle) const { aclDestroyTensor(handle); }
  void operator()(aclIntArray* handle) const { aclDestroyIntArray(handle); }
  void operator()(aclBoolArray* handle) const { aclDestroyBoolArray(handle); }
};
using TensorHandle = std::unique_ptr<aclTensor, AclDestroy>;
using IntArrayHandle = std::unique_ptr<aclIntArray, AclDestroy>;
using BoolArrayHandle = std::unique_ptr<aclBoolArray, AclDestroy>;

// This thread's newest message, taken; "" where there is none.
inline std::string TakeMessage() {
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? std::string() : std::string(message);
}

inline aclDataType ToAcl(Element element) { return static_cast<aclDataType>(element); }

// Device memory.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t size) : size_(size) {
    if (size == 0) return;
    EXPECT_EQ(aclrtMalloc(&address_, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  }
  ~DeviceMemory() {
    if (address_ != nullptr) aclrtFree(address_);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  void* get() const { return address_; }
  size_t size() const { return size_; }

 private:
  void* address_ = nullptr;
  size_t size_ = 0;
};

// The arguments of aclCreateTensor.
struct TensorArgs {
  Shape shape;
  aclDataType dtype = ACL_FLOAT;
  aclFormat format = ACL_FORMAT_ND;
  void* data = nullptr;
  std::optional<Shape> strides = std::nullopt;  // none: null
  int64_t offset = 0;
  std::optional<Shape> storage = std::nullopt;  // none: like shape
  bool null = false;                            // no tensor at all

  TensorHandle Make() const {
    if (null) return nullptr;
    const Shape& stored = storage ? *storage : shape;
    // A row may have changed the rank: aclCreateTensor reads one stride per extent.
    Shape own_strides = strides.value_or(Shape());
    own_strides.resize(shape.size(), 1);
    return TensorHandle(aclCreateTensor(shape.data(), shape.size(), dtype,
                                        strides ? own_strides.data() : nullptr, offset, format,
                                        stored.data(), stored.size(), data));
  }
};

// A copy of a test tensor, with its red zones, in device memory.
class DeviceTensor {
 public:
  explicit DeviceTensor(Tensor* host) : host_(host), memory_(host->bytes().size()) { Upload(); }
  void* address() const { return static_cast<char*>(memory_.get()) + Tensor::kRedZone; }
  TensorArgs args(aclFormat format = ACL_FORMAT_ND) const {
    return {host_->shape(),  ToAcl(host_->element()), format, address(), host_->strides(),
            host_->offset(), Shape{host_->storage()}};
  }
  void Upload() {
    const size_t size = host_->bytes().size();
    EXPECT_EQ(
        aclrtMemcpy(memory_.get(), size, host_->bytes().data(), size, ACL_MEMCPY_HOST_TO_DEVICE),
        ACL_SUCCESS);
  }
  void Download() {
    const size_t size = host_->bytes().size();
    EXPECT_EQ(
        aclrtMemcpy(host_->bytes().data(), size, memory_.get(), size, ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
  }

 private:
  Tensor* host_;
  DeviceMemory memory_;
};

// ---- calls -------------------------------------------------------------------------------------

using IntList = std::optional<std::vector<int64_t>>;

inline IntArrayHandle MakeInts(const IntList& values) {
  return IntArrayHandle(values ? aclCreateIntArray(values->data(), values->size()) : nullptr);
}

// What phase 1 left.
struct Planned {
  aclnnStatus status = -1;
  uint64_t workspace_size = 12345;
  aclOpExecutor* executor = reinterpret_cast<aclOpExecutor*>(8);
};

// One call of aclnnUpsampleNearestExact1dBackward (tensors of rank 3), ...2d... or ...3dBackward.
struct NearestCall {
  size_t spatial = 2;
  TensorArgs grad_output;
  IntList output_size;
  IntList input_size;
  std::vector<double> scales;  // one per spatial axis
  TensorArgs out;
  bool null_workspace_size = false;
  bool null_executor = false;

  const char* op() const {
    constexpr const char* kNames[] = {"aclnnUpsampleNearestExact1dBackward",
                                      "aclnnUpsampleNearestExact2dBackward",
                                      "aclnnUpsampleNearestExact3dBackward"};
    return kNames[spatial - 1];
  }
  // Sizes as the documents want them for these tensors.
  static NearestCall For(const TensorArgs& grad_output, const TensorArgs& out,
                         std::vector<double> scales = {}) {
    NearestCall call;
    call.spatial = grad_output.shape.size() - 2;
    call.grad_output = grad_output;
    call.out = out;
    call.output_size = Shape(grad_output.shape.begin() + 2, grad_output.shape.end());
    call.input_size = out.shape;
    call.scales = scales.empty() ? std::vector<double>(call.spatial, 0.0) : scales;
    return call;
  }
  Planned Plan() const {
    const TensorHandle from = grad_output.Make();
    const TensorHandle to = out.Make();
    const IntArrayHandle sizes = MakeInts(output_size);
    const IntArrayHandle in_sizes = MakeInts(input_size);
    Planned planned;
    uint64_t* size = null_workspace_size ? nullptr : &planned.workspace_size;
    aclOpExecutor** executor = null_executor ? nullptr : &planned.executor;
    if (spatial == 1) {
      planned.status = aclnnUpsampleNearestExact1dBackwardGetWorkspaceSize(
          from.get(), sizes.get(), in_sizes.get(), scales[0], to.get(), size, executor);
    } else if (spatial == 2) {
      planned.status = aclnnUpsampleNearestExact2dBackwardGetWorkspaceSize(
          from.get(), sizes.get(), in_sizes.get(), scales[0], scales[1], to.get(), size, executor);
    } else {
      planned.status = aclnnUpsampleNearestExact3dBackwardGetWorkspaceSize(
          from.get(), sizes.get(), in_sizes.get(), scales[0], scales[1], scales[2], to.get(), size,
          executor);
    }
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    constexpr decltype(&aclnnUpsampleNearestExact1dBackward) kRuns[] = {
        aclnnUpsampleNearestExact1dBackward, aclnnUpsampleNearestExact2dBackward,
        aclnnUpsampleNearestExact3dBackward};
    return kRuns[spatial - 1](workspace, size, executor, stream);
  }
};

// One call of aclnnGridSampler2DBackward or ...3DBackward.
struct GridCall {
  TensorArgs grad_output;
  TensorArgs input;
  TensorArgs grid;
  int64_t interpolation = kBilinear;
  int64_t padding = kZeros;
  bool align_corners = false;
  std::optional<std::vector<bool>> mask = std::vector<bool>{true, true};
  TensorArgs input_grad;
  TensorArgs grid_grad;
  bool null_workspace_size = false;
  bool null_executor = false;

  bool volume = false;

  const char* op() const {
    return volume ? "aclnnGridSampler3DBackward" : "aclnnGridSampler2DBackward";
  }
  Planned Plan() const {
    const TensorHandle handles[] = {grad_output.Make(), input.Make(), grid.Make(),
                                    input_grad.Make(), grid_grad.Make()};
    BoolArrayHandle mask_handle;
    if (mask) {
      const std::unique_ptr<bool[]> values(new bool[mask->size() + 1]);
      std::copy(mask->begin(), mask->end(), values.get());
      mask_handle.reset(aclCreateBoolArray(values.get(), mask->size()));
    }
    Planned planned;
    const auto phase_one = volume ? aclnnGridSampler3DBackwardGetWorkspaceSize
                                  : aclnnGridSampler2DBackwardGetWorkspaceSize;
    planned.status =
        phase_one(handles[0].get(), handles[1].get(), handles[2].get(), interpolation, padding,
                  align_corners, mask_handle.get(), handles[3].get(), handles[4].get(),
                  null_workspace_size ? nullptr : &planned.workspace_size,
                  null_executor ? nullptr : &planned.executor);
    return planned;
  }
  aclnnStatus Run(void* workspace, uint64_t size, aclOpExecutor* executor,
                  aclrtStream stream) const {
    const auto phase_two = volume ? aclnnGridSampler3DBackward : aclnnGridSampler2DBackward;
    return phase_two(workspace, size, executor, stream);
  }
};

// Both phases and the synchronisation; the first status that is not 0.
template <class Call>
aclnnStatus Execute(const Call& call, aclrtStream stream) {
  const Planned planned = call.Plan();
  if (planned.status != ACLNN_SUCCESS) return planned.status;
  const DeviceMemory workspace(planned.workspace_size);
  const aclnnStatus status =
      call.Run(workspace.get(), planned.workspace_size, planned.executor, stream);
  if (status != ACLNN_SUCCESS) return status;
  return aclrtSynchronizeStream(stream);
}

// Phase 1 refuses with `code`, sets both results to nothing, and the message names the operator and
// every given part.
template <class Call>
void ExpectRefused(const Call& call, aclnnStatus code, const std::vector<std::string>& parts) {
  const Planned planned = call.Plan();
  EXPECT_EQ(planned.status, code);
  if (!call.null_workspace_size) {
    EXPECT_EQ(planned.workspace_size, 0u);
  }
  if (!call.null_executor) {
    EXPECT_EQ(planned.executor, nullptr);
  }
  const std::string message = TakeMessage();
  EXPECT_THAT(message, testing::StartsWith(std::string(call.op()) + ": "));
  for (const std::string& part : parts) EXPECT_THAT(message, testing::HasSubstr(part));
}

// A message without its numbers and shapes, for comparing what two refusals are about.
inline std::string Gist(const std::string& message) {
  static const std::regex kShape(R"(\[[^\]]*\])");
  static const std::regex kNumber(R"(-?[0-9]+)");
  return std::regex_replace(std::regex_replace(message, kShape, "[]"), kNumber, "#");
}

// A row of an operator's table of checks: breaks one rule of a good call.
template <class Call>
struct CheckRow {
  std::string name;
  aclnnStatus code;
  std::function<void(Call*)> spoil;
  std::vector<std::string> parts;  // of the message
};

// Each row alone: its code, and a message with its parts.
template <class Call>
void ExpectEveryRowIsRefused(const Call& good, const std::vector<CheckRow<Call>>& rows) {
  for (const CheckRow<Call>& row : rows) {
    SCOPED_TRACE(row.name);
    Call call = good;
    row.spoil(&call);
    ExpectRefused(call, row.code, row.parts);
  }
}

// Breaks every pair of rows: the earlier row is reported. It is broken last, so that the later one
// cannot repair it.
template <class Call>
void ExpectRowsAreCheckedInOrder(const Call& good, const std::vector<CheckRow<Call>>& rows) {
  for (size_t early = 0; early < rows.size(); ++early) {
    Call alone = good;
    rows[early].spoil(&alone);
    alone.Plan();
    const std::string want = Gist(TakeMessage());
    for (size_t late = early + 1; late < rows.size(); ++late) {
      SCOPED_TRACE(rows[early].name + " before " + rows[late].name);
      Call call = good;
      rows[late].spoil(&call);
      rows[early].spoil(&call);
      EXPECT_EQ(call.Plan().status, rows[early].code);
      EXPECT_EQ(Gist(TakeMessage()), want);
    }
  }
}

// ---- fixture -----------------------------------------------------------------------------------

// Device 0 and a stream, made before the members of derived fixtures. Process-wide settings have
// their defaults before and after each test.
template <class Base = testing::Test>
class AclTestOn : public Base {
 protected:
  AclTestOn() {
    ResetSettings();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    TakeMessage();
  }
  ~AclTestOn() override {
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    ResetSettings();
  }
  static void ResetSettings() {
    portaclSetProfile("atlas-a2");
    portaclSetStrict(0);
    portaclSetImpl(nullptr);
    portaclSetNumThreads(0);
  }

  aclrtStream stream_ = nullptr;
};
using AclTest = AclTestOn<>;

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_ACL_FIXTURE_H_
