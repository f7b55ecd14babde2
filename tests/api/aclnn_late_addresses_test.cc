// Companion operators with tensors that get addresses after phase 1, as in programs that plan once
// and keep a repeatable executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_foreach_mul_scalar_v2.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "support/api/child_process.h"
#include "support/api/companion_call.h"
#include "support/api/stream_in_child.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

class LateAddresses : public AclTest {};

// Tensors of 1, 2, 1, 2 ... on the device, and handles without their addresses.
class Tensors {
 public:
  void Add(Element element, const Shape& shape) {
    Tensor& host = hosts_.emplace_back(element, shape);
    host.Fill([](int64_t i) { return static_cast<double>(1 + i % 2); });
    devices_.emplace_back(&host).Upload();
    handles_.push_back(MakeHandle(hosts_.size() - 1, false));
  }
  TensorHandle MakeHandle(size_t index, bool with_address) const {
    TensorArgs args = devices_[index].args();
    if (!with_address) args.data = nullptr;
    return args.Make();
  }
  std::vector<aclTensor*> handles() const {
    std::vector<aclTensor*> handles;
    for (const TensorHandle& handle : handles_) handles.push_back(handle.get());
    return handles;
  }
  void* address(size_t index) const { return devices_[index].address(); }
  std::vector<double> Download(size_t index) {
    devices_[index].Download();
    return hosts_[index].Values();
  }

 private:
  std::deque<Tensor> hosts_;
  std::deque<DeviceTensor> devices_;
  std::vector<TensorHandle> handles_;
};

struct Operator {
  const char* name;
  std::function<aclnnStatus(const std::vector<aclTensor*>&, uint64_t*, aclOpExecutor**)> plan;
  PhaseTwo run;
  std::vector<const char*> missing;  // the names of its tensors, in the order of the signature
  std::vector<Element> elements;
  std::vector<double> result;  // of the last tensor
};

std::vector<Operator> Operators() {
  const auto add = [](const auto& t, uint64_t* size, aclOpExecutor** executor) {
    const ScalarHandle one = MakeScalar(1);
    return aclnnAddGetWorkspaceSize(t[0], t[1], one.get(), t[2], size, executor);
  };
  const auto mul = [](const auto& t, uint64_t* size, aclOpExecutor** executor) {
    const ScalarHandle three = MakeScalar(3);
    return aclnnInplaceMulsGetWorkspaceSize(t[0], three.get(), size, executor);
  };
  const auto sum = [](const auto& t, uint64_t* size, aclOpExecutor** executor) {
    const IntArrayHandle dims = MakeInts(std::vector<int64_t>{});
    return aclnnReduceSumGetWorkspaceSize(t[0], dims.get(), true, ACL_FLOAT, t[1], size, executor);
  };
  const auto select = [](const auto& t, uint64_t* size, aclOpExecutor** executor) {
    return aclnnMaskedSelectGetWorkspaceSize(t[0], t[1], t[2], size, executor);
  };
  const Element real = Element::kFloat;
  return {
      {"Add", add, aclnnAdd, {"self", "other", "out"}, {real, real, real}, {2, 4, 2, 4}},
      {"InplaceMuls", mul, aclnnInplaceMuls, {"selfRef"}, {real}, {3, 6, 3, 6}},
      {"ReduceSum", sum, aclnnReduceSum, {"self", "out"}, {real, real}, {6}},
      {"MaskedSelect",
       select,
       aclnnMaskedSelect,
       {"self", "mask", "out"},
       {real, Element::kUInt8, real},
       {1, 2, 1, 2}},
  };
}

void WaitForAddresses(const Operator& op, aclrtStream stream) {
  SCOPED_TRACE(op.name);
  Tensors tensors;
  for (size_t i = 0; i < op.elements.size(); ++i) {
    const bool last = i > 0 && i + 1 == op.elements.size();
    const auto count = static_cast<int64_t>(last ? op.result.size() : 4);
    tensors.Add(op.elements[i], {count});
  }
  const std::vector<aclTensor*> handles = tensors.handles();
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(op.plan(handles, &size, &executor), ACLNN_SUCCESS) << TakeMessage();
  const DeviceMemory workspace(size);
  for (size_t i = 0; i < handles.size(); ++i) {
    EXPECT_EQ(op.run(workspace.get(), size, executor, stream), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_THAT(TakeMessage(),
                HasSubstr(std::string(op.missing[i]) + " has the data address null"));
    ASSERT_EQ(AclSetTensorAddr(executor, i, handles[i], tensors.address(i)), ACLNN_SUCCESS)
        << TakeMessage();
  }
  // The refused runs have not used up the executor, which serves one.
  ASSERT_EQ(op.run(workspace.get(), size, executor, stream), ACLNN_SUCCESS) << TakeMessage();
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(tensors.Download(handles.size() - 1), op.result);
}

TEST_F(LateAddresses, EveryKindOfPlanWaitsForThem) {
  for (const Operator& op : Operators()) WaitForAddresses(op, stream_);
}

// Nobody waits between the two runs: in lazy mode both begin when the second one has its addresses.
void KeepTheAddressesOfEachRun(aclrtStream stream) {
  Tensors tensors;
  for (int i = 0; i < 4; ++i) tensors.Add(Element::kFloat, {4});
  const std::vector<aclTensor*> handles = tensors.handles();
  const Operator add = Operators()[0];
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(add.plan(handles, &size, &executor), ACLNN_SUCCESS) << TakeMessage();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  // The second run adds to the result of the first.
  for (const auto& [self, out] : {std::pair<size_t, size_t>{0, 2}, {2, 3}}) {
    const size_t from[] = {self, 1, out};
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(AclSetTensorAddr(executor, i, handles[i], tensors.address(from[i])), ACLNN_SUCCESS)
          << TakeMessage();
    }
    ASSERT_EQ(aclnnAdd(nullptr, size, executor, stream), ACLNN_SUCCESS) << TakeMessage();
  }
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << TakeMessage();
  EXPECT_EQ(tensors.Download(2), add.result);
  EXPECT_EQ(tensors.Download(3), (std::vector<double>{3, 6, 3, 6}));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(LateAddresses, StayWithTheirRun) { KeepTheAddressesOfEachRun(stream_); }

void WaitAndKeep(aclrtStream stream) {
  for (const Operator& op : Operators()) WaitForAddresses(op, stream);
  KeepTheAddressesOfEachRun(stream);
}

TEST(LateAddressesChild, InGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "exit"}}), WithStream(WaitAndKeep));
}

TEST(LateAddressesChild, InLazyMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_LAZY", "1"}}), WithStream(WaitAndKeep));
}

TEST(LateAddressesChild, InBothModes) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "exit"}, {"PORTACL_LAZY", "1"}}),
                   WithStream(WaitAndKeep));
}

// Each tensor in its turn gets memory that is freed before phase 2.
void GiveFreedMemory(aclrtStream stream) {
  Tensors tensors;
  for (int i = 0; i < 3; ++i) tensors.Add(Element::kFloat, {4});
  const std::vector<aclTensor*> handles = tensors.handles();
  const Operator add = Operators()[0];
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(add.plan(handles, &size, &executor), ACLNN_SUCCESS) << TakeMessage();
  const auto set = [&](size_t index, void* address) {
    EXPECT_EQ(AclSetTensorAddr(executor, index, handles[index], address), ACLNN_SUCCESS)
        << TakeMessage();
  };
  for (size_t i = 0; i < 3; ++i) set(i, tensors.address(i));
  for (size_t i = 0; i < 3; ++i) {
    void* freed = nullptr;
    ASSERT_EQ(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    set(i, freed);
    ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
    EXPECT_EQ(aclnnAdd(nullptr, size, executor, stream), ACLNN_ERR_RUNTIME_ERROR);
    EXPECT_THAT(TakeMessage(), testing::ContainsRegex(std::string("aclnnAdd: .*") + add.missing[i] +
                                                      " is .*freed memory"));
    set(i, tensors.address(i));
  }
  // The refused runs have not used up the executor.
  EXPECT_EQ(aclnnAdd(nullptr, size, executor, stream), ACLNN_SUCCESS) << TakeMessage();
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(tensors.Download(2), add.result);
}

TEST(LateAddressesChild, FreedMemoryIsRefusedInGuardMode) {
  PORTACL_IN_CHILD((Environment{{"PORTACL_GUARD", "1"}}), WithStream(GiveFreedMemory));
}

// The first run gives the handle of its output another shape than phase 1 saw.
TEST_F(LateAddresses, RunsThatFindAShapeMayFollowEachOther) {
  Tensors tensors;
  for (const Element element : {Element::kFloat, Element::kUInt8, Element::kFloat}) {
    tensors.Add(element, {4});
  }
  const std::vector<aclTensor*> handles = tensors.handles();
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnMaskedSelectGetWorkspaceSize(handles[0], handles[1], handles[2], &size, &executor),
            ACLNN_SUCCESS)
      << TakeMessage();
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  for (const std::vector<uint8_t>& mask :
       {std::vector<uint8_t>{0, 0, 0, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}, {1, 1, 0, 0}}) {
    SCOPED_TRACE(testing::PrintToString(mask));
    ASSERT_EQ(aclrtMemcpy(tensors.address(1), 4, mask.data(), 4, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
    for (size_t i = 0; i < handles.size(); ++i) {
      ASSERT_EQ(aclSetTensorAddr(executor, i, handles[i], tensors.address(i)), ACLNN_SUCCESS)
          << TakeMessage();
    }
    ASSERT_EQ(aclnnMaskedSelect(nullptr, size, executor, stream_), ACLNN_SUCCESS) << TakeMessage();
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    std::vector<double> want;
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 0) want.push_back(static_cast<double>(1 + i % 2));
    }
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    ASSERT_EQ(aclGetViewShape(handles[2], &dims, &rank), ACLNN_SUCCESS);
    EXPECT_EQ(dims[0], static_cast<int64_t>(want.size()));
    delete[] dims;
    std::vector<double> got = tensors.Download(2);
    got.resize(want.size());
    EXPECT_EQ(got, want);
  }
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(LateAddresses, OneOfSeveralMayBeMissing) {
  Tensors tensors;
  for (int i = 0; i < 3; ++i) tensors.Add(Element::kFloat, {4});
  const TensorHandle self = tensors.MakeHandle(0, true);
  const TensorHandle out = tensors.MakeHandle(2, true);
  aclTensor* const other = tensors.handles()[1];
  const Operator add = Operators()[0];
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(add.plan({self.get(), other, out.get()}, &size, &executor), ACLNN_SUCCESS);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, size, executor, stream_), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), HasSubstr("other has the data address null"));
  ASSERT_EQ(aclSetInputTensorAddr(executor, 1, other, tensors.address(1)), ACLNN_SUCCESS);
  ASSERT_EQ(aclnnAdd(nullptr, size, executor, stream_), ACLNN_SUCCESS) << TakeMessage();
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(tensors.Download(2), add.result);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(LateAddresses, OnesThatAreThereAreCheckedInPhase1) {
  const DeviceMemory small(8);
  const TensorHandle self = TensorArgs{{4}, ACL_FLOAT, ACL_FORMAT_ND, small.get()}.Make();
  const TensorHandle nowhere = TensorArgs{{4}, ACL_FLOAT, ACL_FORMAT_ND, nullptr}.Make();
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(Operators()[0].plan({self.get(), nowhere.get(), nowhere.get()}, &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("self has a storage [4] of 16 bytes, but only 8 bytes"));
}

TEST_F(LateAddresses, OverlapIsFoundInPhase2) {
  Tensors tensors;
  tensors.Add(Element::kFloat, {8});
  const auto view = [&](int64_t shape) {
    return TensorArgs{{shape}, ACL_FLOAT, ACL_FORMAT_ND, nullptr}.Make();
  };
  const TensorHandle handles[] = {view(4), view(4), view(4)};
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const Operator add = Operators()[0];
  ASSERT_EQ(add.plan({handles[0].get(), handles[1].get(), handles[2].get()}, &size, &executor),
            ACLNN_SUCCESS);
  for (size_t i = 0; i < 3; ++i) {
    auto* const at = static_cast<char*>(tensors.address(0)) + (i == 2 ? 4 : 0);
    ASSERT_EQ(aclSetTensorAddr(executor, i, handles[i].get(), at), ACLNN_SUCCESS);
  }
  EXPECT_EQ(aclnnAdd(nullptr, size, executor, stream_), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("out overlaps self"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(LateAddresses, ViewsAreCheckedInPhase1) {
  TensorArgs args{{4}, ACL_FLOAT, ACL_FORMAT_ND, nullptr};
  args.strides = Shape{0};
  const TensorHandle out = args.Make();
  const ScalarHandle one = MakeScalar(1);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnInplaceMulsGetWorkspaceSize(out.get(), one.get(), &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("overlaps itself"));
}

TEST_F(LateAddresses, ListsNeedThemInPhase1) {
  const DeviceMemory memory(4096);
  const TensorArgs there{{4}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()};
  const TensorArgs nowhere{{4}, ACL_FLOAT, ACL_FORMAT_ND, nullptr};
  const ListHandle list = MakeList({there, nowhere});
  const ListHandle none = MakeList({nowhere, nowhere});
  const ScalarHandle one = MakeScalar(1, Element::kFloat);
  const TensorHandle joined = TensorArgs{{8}, ACL_FLOAT, ACL_FORMAT_ND, nullptr}.Make();
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(
      aclnnForeachMulScalarV2GetWorkspaceSize(list.get(), one.get(), list.get(), &size, &executor),
      ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), HasSubstr("member 1 of the lists: self has the data address null"));
  EXPECT_EQ(aclnnCatGetWorkspaceSize(none.get(), 0, joined.get(), &size, &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), HasSubstr("has the data address null"));
  EXPECT_EQ(executor, nullptr);
}

TEST_F(LateAddresses, WithoutAnExecutorTheTensorAloneGetsItsAddress) {
  Tensors tensors;
  for (int i = 0; i < 3; ++i) tensors.Add(Element::kFloat, {4});
  const std::vector<aclTensor*> handles = tensors.handles();
  for (size_t i = 0; i < handles.size(); ++i) {
    EXPECT_EQ(AclSetTensorAddr(nullptr, i, handles[i], tensors.address(i)),
              ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_THAT(TakeMessage(), HasSubstr("executor is null: only the tensor has got the address"));
  }
  aclTensor* const destroyed = tensors.MakeHandle(0, true).release();
  aclDestroyTensor(destroyed);
  for (aclTensor* const none : {static_cast<aclTensor*>(nullptr), destroyed}) {
    EXPECT_EQ(aclSetTensorAddr(nullptr, 0, none, tensors.address(0)), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(TakeMessage(), "aclSetTensorAddr: executor is null, and tensor is not a live handle");
  }
  const Operator add = Operators()[0];
  ASSERT_EQ(RunBoth([&](uint64_t* size,
                        aclOpExecutor** executor) { return add.plan(handles, size, executor); },
                    add.run, stream_),
            ACLNN_SUCCESS)
      << TakeMessage();
  EXPECT_EQ(tensors.Download(2), add.result);
}

}  // namespace
}  // namespace portacl_test
