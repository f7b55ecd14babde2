// Calls whose n-th allocation fails, for every n: the documented code, outputs as after any
// refusal, and the next call is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "support/api/acl_fixture.h"
#include "support/api/runtime_fixture.h"

namespace {

// Allocations of this thread until one fails; negative: none does.
thread_local int64_t allocations_left = -1;

void* Allocate(size_t size, size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  void* const memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Inlined where operator new is not, it would look like the wrong end for that memory (GCC 12).
[[gnu::noinline]] void Free(void* memory) noexcept { std::free(memory); }

constexpr size_t kDefault = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// The library takes these instead of the language runtime's, as any program's replacements.
void* operator new(size_t size) { return AllocateOrThrow(size, kDefault); }
void* operator new[](size_t size) { return AllocateOrThrow(size, kDefault); }
void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, kDefault); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, kDefault);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }

namespace portacl_test {
namespace {

// The code of `call` while its allocation number `n` fails; whether it came to that in *failed.
template <class Call>
int32_t WithFailure(int64_t n, Call&& call, bool* failed) {
  allocations_left = n;
  const int32_t code = call();
  *failed = allocations_left < 0;
  allocations_left = -1;
  return code;
}

class AllocationFailure : public AclTest {
 protected:
  AllocationFailure() { EXPECT_EQ(Execute(call_, stream_), ACLNN_SUCCESS) << "warm-up"; }

  Tensor grad_output_{Element::kFloat, {1, 2, 4, 6}};
  Tensor grad_input_{Element::kFloat, {1, 2, 2, 3}};
  const DeviceTensor from_{&grad_output_};
  const DeviceTensor to_{&grad_input_};
  const NearestCall call_ = NearestCall::For(from_.args(), to_.args());
};

// A call with a workspace.
TEST_F(AllocationFailure, InPhaseOneLeavesNoSizeAndNoExecutor) {
  const TensorArgs image{{2, 8, 32, 32}};
  const TensorArgs points{{2, 32, 32, 2}};
  std::vector<DeviceMemory> memory;
  std::vector<TensorHandle> tensors;  // gradOutput, input, grid, inputGrad, gridGrad
  for (TensorArgs args : {image, image, points, image, points}) {
    memory.emplace_back(size_t{2} * 8 * 32 * 32 * sizeof(float));
    args.data = memory.back().get();
    tensors.push_back(args.Make());
  }
  const bool both[] = {true, true};
  const BoolArrayHandle mask(aclCreateBoolArray(both, 2));
  uint64_t size = 1;
  aclOpExecutor* executor = nullptr;
  const auto plan = [&] {
    return aclnnGridSampler2DBackwardGetWorkspaceSize(
        tensors[0].get(), tensors[1].get(), tensors[2].get(), 0, 0, false, mask.get(),
        tensors[3].get(), tensors[4].get(), &size, &executor);
  };
  ASSERT_EQ(plan(), ACLNN_SUCCESS) << "warm-up: what is made once is made now";
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  bool failed = true;
  for (int64_t n = 0; failed; ++n) {
    SCOPED_TRACE(n);
    size = 1;
    const aclnnStatus status = WithFailure(n, plan, &failed);
    if (failed) {
      EXPECT_EQ(status, ACLNN_ERR_RUNTIME_ERROR);
      EXPECT_EQ(size, 0u);
      EXPECT_EQ(executor, nullptr);
    } else {
      EXPECT_GT(n, 0) << "phase 1 allocates";
      EXPECT_EQ(status, ACLNN_SUCCESS) << TakeMessage();
      EXPECT_GT(size, 0u);
      EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
    }
  }
}

TEST_F(AllocationFailure, InPhaseTwoLeavesTheExecutorToTheNextCall) {
  bool failed = true;
  for (int64_t n = 0; failed; ++n) {
    SCOPED_TRACE(n);
    const Planned planned = call_.Plan();
    ASSERT_EQ(planned.status, ACLNN_SUCCESS);
    const DeviceMemory workspace(planned.workspace_size);
    const auto run = [&] {
      return call_.Run(workspace.get(), planned.workspace_size, planned.executor, stream_);
    };
    const aclnnStatus status = WithFailure(n, run, &failed);
    if (failed) {
      EXPECT_EQ(status, ACLNN_ERR_RUNTIME_ERROR);
      EXPECT_EQ(run(), ACLNN_SUCCESS) << TakeMessage();
    } else {
      EXPECT_GT(n, 0) << "phase 2 allocates";
      EXPECT_EQ(status, ACLNN_SUCCESS);
    }
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  }
}

// On an idle stream, and behind work that has not run yet.
TEST_F(AllocationFailure, InARecordLeavesTheEventAsItWas) {
  for (const bool busy : {false, true}) {
    bool failed = true;
    for (int64_t n = 0; failed; ++n) {
      SCOPED_TRACE(n);
      aclrtEvent event = nullptr;
      ASSERT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS);
      ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
      ASSERT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
      Blocker blocker;
      if (busy) {
        ASSERT_EQ(blocker.Launch(stream_), ACL_SUCCESS);
        blocker.AwaitStart();
      }
      const aclError code = WithFailure(
          n, [&] { return aclrtRecordEvent(event, stream_); }, &failed);
      EXPECT_EQ(code, failed ? ACL_ERROR_BAD_ALLOC : ACL_SUCCESS);
      aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
      EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
      ASSERT_EQ(status, busy && !failed ? ACL_EVENT_RECORDED_STATUS_NOT_READY
                                        : ACL_EVENT_RECORDED_STATUS_COMPLETE);
      blocker.Release();
      EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    }
  }
}

}  // namespace
}  // namespace portacl_test
