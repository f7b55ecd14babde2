// Addresses of functions that PyTorch's kernels compute: with phase 1, after it, between runs and
// in graphs, in guard mode and in lazy mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_softmax.h"
#include "support/api/child_process.h"
#include "support/api/companion_call.h"
#include "support/api/stream_in_child.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

// A small call is computed at once, a large one by the library's thread.
constexpr int64_t kCounts[] = {4, 120'000};

// A vector of one value in device memory.
class Vector {
 public:
  Vector(int64_t count, double value) : host_(Element::kFloat, {count}), device_(Filled(value)) {}
  void* address() const { return device_.address(); }
  TensorHandle Handle(bool with_address) const {
    TensorArgs args = device_.args();
    if (!with_address) args.data = nullptr;
    return args.Make();
  }
  double Last() {
    device_.Download();
    return host_.Get(host_.size() - 1);
  }

 private:
  Tensor* Filled(double value) {
    host_.Fill(value);
    return &host_;
  }

  Tensor host_;
  DeviceTensor device_;
};

class AtenAddresses : public AclTest {};

// Of exp(self) into out.
aclOpExecutor* PlanRepeatableExp(const TensorHandle& self, const TensorHandle& out) {
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnExpGetWorkspaceSize(self.get(), out.get(), &size, &executor), ACLNN_SUCCESS)
      << TakeMessage();
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  return executor;
}

void ExpectNull(const char* name, aclOpExecutor* executor, aclrtStream stream) {
  EXPECT_EQ(aclnnExp(nullptr, 0, executor, stream), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), HasSubstr(std::string(name) + " has the data address null"));
}

void RunExp(aclOpExecutor* executor, aclrtStream stream) {
  EXPECT_EQ(aclnnExp(nullptr, 0, executor, stream), ACLNN_SUCCESS) << TakeMessage();
}

// The third call of the same shapes could take the plan of an earlier one.
TEST_F(AtenAddresses, MayComeAfterPhase1) {
  for (const int64_t count : kCounts) {
    Vector self(count, 3), out(count, 0);
    for (int call = 0; call < 3; ++call) {
      SCOPED_TRACE(std::to_string(count) + " elements, call " + std::to_string(call));
      const TensorHandle handles[] = {self.Handle(false), out.Handle(false)};
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      ASSERT_EQ(
          aclnnSoftmaxGetWorkspaceSize(handles[0].get(), 0, handles[1].get(), &size, &executor),
          ACLNN_SUCCESS)
          << TakeMessage();
      EXPECT_EQ(aclnnSoftmax(nullptr, 0, executor, stream_), ACLNN_ERR_PARAM_NULLPTR);
      EXPECT_THAT(TakeMessage(), HasSubstr("aclnnSoftmax: self has the data address null"));
      ASSERT_EQ(AclSetTensorAddr(executor, 0, handles[0].get(), self.address()), ACLNN_SUCCESS);
      EXPECT_EQ(aclnnSoftmax(nullptr, 0, executor, stream_), ACLNN_ERR_PARAM_NULLPTR);
      EXPECT_THAT(TakeMessage(), HasSubstr("aclnnSoftmax: out has the data address null"));
      ASSERT_EQ(AclSetTensorAddr(executor, 1, handles[1].get(), out.address()), ACLNN_SUCCESS);
      ASSERT_EQ(aclnnSoftmax(nullptr, 0, executor, stream_), ACLNN_SUCCESS) << TakeMessage();
      ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
      EXPECT_NEAR(out.Last() * static_cast<double>(count), 1, 1e-3);
      // With addresses from the beginning.
      const TensorHandle given[] = {self.Handle(true), out.Handle(true)};
      EXPECT_EQ(PORTACL_RUN(aclnnSoftmax, stream_, given[0].get(), 0, given[1].get()),
                ACLNN_SUCCESS);
    }
  }
}

// Nobody waits between the two runs: in lazy mode both begin when the second one has its addresses.
void KeepTheAddressesOfEachRun(aclrtStream stream) {
  for (const int64_t count : kCounts) {
    SCOPED_TRACE(count);
    Vector self(count, 1), other(count, 2), out(count, 0), result(count, 0);
    const TensorHandle handles[] = {self.Handle(false), out.Handle(false)};
    aclOpExecutor* const executor = PlanRepeatableExp(handles[0], handles[1]);
    const auto set = [&](size_t index, const Vector& vector) {
      EXPECT_EQ(AclSetTensorAddr(executor, index, handles[index].get(), vector.address()),
                ACLNN_SUCCESS)
          << TakeMessage();
    };
    ExpectNull("self", executor, stream);
    set(0, self);
    ExpectNull("out", executor, stream);
    set(1, out);
    RunExp(executor, stream);
    set(0, other);
    set(1, result);
    RunExp(executor, stream);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << TakeMessage();
    EXPECT_NEAR(out.Last(), std::exp(1.0), 1e-5);
    EXPECT_NEAR(result.Last(), std::exp(2.0), 1e-5);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  }
}

TEST_F(AtenAddresses, StayWithTheirRun) { KeepTheAddressesOfEachRun(stream_); }

// With an address from phase 1, and with one that comes while the stream is captured.
void KeepTheAddressesOfAGraph(aclrtStream stream) {
  for (const bool late : {false, true}) {
    SCOPED_TRACE(late);
    Vector self(8, 1), other(8, 2), out(8, 0);
    const TensorHandle handles[] = {self.Handle(!late), out.Handle(true)};
    aclOpExecutor* const executor = PlanRepeatableExp(handles[0], handles[1]);
    const auto set = [&](const Vector& vector) {
      EXPECT_EQ(aclSetInputTensorAddr(executor, 0, handles[0].get(), vector.address()),
                ACLNN_SUCCESS)
          << TakeMessage();
    };
    aclmdlRI graph = nullptr;
    EXPECT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
    if (late) {
      ExpectNull("self", executor, stream);
      set(self);
    }
    RunExp(executor, stream);
    EXPECT_EQ(aclmdlRICaptureEnd(stream, &graph), ACL_SUCCESS);
    set(other);
    RunExp(executor, stream);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << TakeMessage();
    EXPECT_NEAR(out.Last(), std::exp(2.0), 1e-5);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
    for (int run = 0; run < 3; ++run) {
      EXPECT_EQ(aclmdlRIExecuteAsync(graph, stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << TakeMessage();
      EXPECT_NEAR(out.Last(), std::exp(1.0), 1e-5);
    }
    EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
  }
}

TEST_F(AtenAddresses, OfAGraphStay) { KeepTheAddressesOfAGraph(stream_); }

void KeepAddresses(aclrtStream stream) {
  KeepTheAddressesOfEachRun(stream);
  KeepTheAddressesOfAGraph(stream);
}

TEST(AtenAddressesChild, StayInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "exit"}}), WithStream(KeepAddresses));
}

TEST(AtenAddressesChild, StayInLazyMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_LAZY", "1"}}), WithStream(KeepAddresses));
}

TEST(AtenAddressesChild, StayInBothModes) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "exit"}, {"PORTACL_LAZY", "1"}}),
                   WithStream(KeepAddresses));
}

// Freed before phase 2: refused, and the executor takes another address.
void GiveFreedMemory(aclrtStream stream) {
  Vector self(4, 1), out(4, 0);
  const TensorHandle handles[] = {self.Handle(false), out.Handle(true)};
  aclOpExecutor* const executor = PlanRepeatableExp(handles[0], handles[1]);
  void* freed = nullptr;
  ASSERT_EQ(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, handles[0].get(), freed), ACLNN_SUCCESS);
  ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
  EXPECT_EQ(aclnnExp(nullptr, 0, executor, stream), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_THAT(TakeMessage(), testing::ContainsRegex("aclnnExp: .*self is .*freed memory"));
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, handles[0].get(), self.address()), ACLNN_SUCCESS);
  RunExp(executor, stream);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_NEAR(out.Last(), std::exp(1.0), 1e-5);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST(AtenAddressesChild, OfFreedMemoryAreRefusedInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), WithStream(GiveFreedMemory));
}

// Freed after phase 2, which in lazy mode has not begun.
void FreeBeforeTheRun(int64_t count, aclrtStream stream) {
  Vector self(count, 1), out(count, 0);
  const TensorHandle handles[] = {self.Handle(true), out.Handle(false)};
  aclOpExecutor* const executor = PlanRepeatableExp(handles[0], handles[1]);
  void* memory = nullptr;
  ASSERT_EQ(aclrtMalloc(&memory, static_cast<size_t>(count) * 4, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_SUCCESS);
  ASSERT_EQ(aclSetOutputTensorAddr(executor, 0, handles[1].get(), memory), ACLNN_SUCCESS);
  RunExp(executor, stream);
  ASSERT_EQ(aclrtFree(memory), ACL_SUCCESS);
  aclrtSynchronizeStream(stream);
}

TEST(AtenAddressesDeathTest, OfMemoryThatIsFreedTooEarlyAreNamed) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int64_t count : kCounts) {
    EXPECT_DEATH(
        {
          SetEnvironment({{"PORTACL_GUARD", "1"}, {"PORTACL_LAZY", "1"}});
          WithStream([&](aclrtStream stream) { FreeBeforeTheRun(count, stream); });
        },
        "aclnnExp on stream [0-9]+ writes out: (write|access) of device memory.*of a freed "
        "allocation");
  }
}

TEST_F(AtenAddresses, OfPackedElementsMayComeLater) {
  const DeviceMemory memory(16);
  const unsigned char packed[] = {0x21, 0xf0};  // 1, 2, 0, -1
  ASSERT_EQ(aclrtMemcpy(memory.get(), 16, packed, 2, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  Tensor out(Element::kFloat, {4});
  DeviceTensor to(&out);
  const TensorHandle handles[] = {TensorArgs{{4}, ACL_INT4, ACL_FORMAT_ND, nullptr}.Make(),
                                  to.args().Make()};
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnExpGetWorkspaceSize(handles[0].get(), handles[1].get(), &size, &executor),
            ACLNN_SUCCESS)
      << TakeMessage();
  ASSERT_EQ(aclSetInputTensorAddr(executor, 0, handles[0].get(), memory.get()), ACLNN_SUCCESS)
      << TakeMessage();
  ASSERT_EQ(aclnnExp(nullptr, 0, executor, stream_), ACLNN_SUCCESS) << TakeMessage();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  to.Download();
  const double want[] = {1, 2, 0, -1};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(out.Get(i), std::exp(want[i]), 1e-5);
}

// A handle of INT4 for a view of a storage of so many elements.
TensorHandle Packed(const Shape& shape, const Shape& strides, int64_t offset, int64_t storage,
                    void* address) {
  return TensorHandle(aclCreateTensor(shape.data(), shape.size(), ACL_INT4, strides.data(), offset,
                                      ACL_FORMAT_ND, &storage, 1, address));
}

TEST_F(AtenAddresses, PackedElementsLieInTheirStorage) {
  const DeviceMemory memory(64);
  const TensorHandle out = TensorArgs{{3}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()}.Make();
  struct Case {
    int64_t stride, offset;
    const char* words;
  };
  constexpr int64_t kMost = INT64_MAX;
  for (const Case& one :
       {Case{int64_t{1} << 62, 0,
             "self has shape [3] and strides [4611686018427387904], whose "
             "extent exceeds 64 bits"},
        Case{kMost / 2, 3, "whose extent exceeds 64 bits"}, Case{kMost / 2, 1, "its storage"},
        Case{1, kMost, "whose extent exceeds 64 bits"}, Case{1, -1, "its storage"},
        Case{1, -3, "its storage"}}) {
    for (void* const address : {memory.get(), static_cast<void*>(nullptr)}) {
      SCOPED_TRACE(testing::Message() << one.stride << ' ' << one.offset << ' ' << address);
      const TensorHandle self = Packed({3}, {one.stride}, one.offset, 8, address);
      ASSERT_NE(self.get(), nullptr) << TakeMessage();
      uint64_t size = 0;
      aclOpExecutor* executor = nullptr;
      EXPECT_EQ(aclnnExpGetWorkspaceSize(self.get(), out.get(), &size, &executor),
                ACLNN_ERR_PARAM_INVALID);
      EXPECT_THAT(TakeMessage(), HasSubstr(one.words));
    }
  }
}

TEST_F(AtenAddresses, PackedElementsHaveTheLayoutOfPhase1) {
  const DeviceMemory memory(64);
  const TensorHandle out = TensorArgs{{2, 2}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()}.Make();
  void* const at = memory.get();
  const TensorHandle self = Packed({2, 2}, {2, 1}, 0, 8, at);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnExpGetWorkspaceSize(self.get(), out.get(), &size, &executor), ACLNN_SUCCESS)
      << TakeMessage();
  const TensorHandle same = Packed({2, 2}, {2, 1}, 0, 8, at);
  EXPECT_EQ(aclSetInputTensorAddr(executor, 0, same.get(), at), ACLNN_SUCCESS) << TakeMessage();
  struct Case {
    TensorHandle handle;
    const char* words;
  };
  const Case cases[] = {
      {Packed({2, 2}, {1, 2}, 0, 8, at), "strides [1, 2], wanted [2, 1]"},
      {Packed({2, 2}, {2, 1}, 1, 8, at), "offset 1, wanted 0"},
      {Packed({4}, {1}, 0, 8, at), "shape [4], wanted [2, 2]"},
      {Packed({2, 2}, {INT64_MAX, INT64_MAX}, 1, 8, at), "strides"},
      {TensorArgs{{2}, ACL_UINT8, ACL_FORMAT_ND, at}.Make(), "data type UINT8, wanted INT4"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(aclSetInputTensorAddr(executor, 0, one.handle.get(), at), ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(TakeMessage(), HasSubstr(one.words));
  }
  EXPECT_EQ(aclnnExp(nullptr, size, executor, stream_), ACLNN_SUCCESS) << TakeMessage();
}

TEST_F(AtenAddresses, AnEmptyTensorNeedsNoAddress) {
  const TensorHandle self = TensorArgs{{0, 4}, ACL_FLOAT, ACL_FORMAT_ND, nullptr}.Make();
  EXPECT_EQ(PORTACL_RUN(aclnnExp, stream_, self.get(), self.get()), ACLNN_SUCCESS) << TakeMessage();
}

}  // namespace
}  // namespace portacl_test
