// The addresses of in-place operators' tensors: selfRef is the first input and the output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ones.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_zero.h"
#include "support/api/companion_call.h"

namespace portacl_test {
namespace {

class CompanionInPlace : public AclTest {};

using Values = std::vector<double>;
using PhaseOne = std::function<aclnnStatus(aclTensor*, const aclTensor*, const aclScalar*,
                                           uint64_t*, aclOpExecutor**)>;

struct InPlaceOperator {
  const char* name;
  PhaseOne plan;  // of selfRef, other and the scalar 2
  PhaseTwo run;
  bool has_other;
  double (*result)(double self, double other);
};

// The arguments that each kind of signature has.
template <class Plan>
PhaseOne OfOther(Plan plan) {
  return [plan](aclTensor* self, const aclTensor* other, const aclScalar*, uint64_t* size,
                aclOpExecutor** executor) { return plan(self, other, size, executor); };
}
template <class Plan>
PhaseOne OfScalar(Plan plan) {
  return [plan](aclTensor* self, const aclTensor*, const aclScalar* two, uint64_t* size,
                aclOpExecutor** executor) { return plan(self, two, size, executor); };
}
template <class Plan>
PhaseOne OfOtherAndAlpha(Plan plan) {
  return [plan](aclTensor* self, const aclTensor* other, const aclScalar* two, uint64_t* size,
                aclOpExecutor** executor) { return plan(self, other, two, size, executor); };
}
template <class Plan>
PhaseOne OfScalarAndAlpha(Plan plan) {
  return [plan](aclTensor* self, const aclTensor*, const aclScalar* two, uint64_t* size,
                aclOpExecutor** executor) { return plan(self, two, two, size, executor); };
}
template <class Plan>
PhaseOne OfNothing(Plan plan) {
  return [plan](aclTensor* self, const aclTensor*, const aclScalar*, uint64_t* size,
                aclOpExecutor** executor) { return plan(self, size, executor); };
}

#define PORTACL_ROW(Name, Arguments, has_other, result)        \
  {                                                            \
#Name, Arguments(Name##GetWorkspaceSize), Name, has_other, \
        [](double x, double y) { return result; }              \
  }

// Every in-place operator that there is.
std::vector<InPlaceOperator> InPlaceOperators() {
  return {
      PORTACL_ROW(aclnnInplaceAdd, OfOtherAndAlpha, true, x + 2 * y),
      PORTACL_ROW(aclnnInplaceSub, OfOtherAndAlpha, true, x - 2 * y),
      PORTACL_ROW(aclnnInplaceMul, OfOther, true, x * y),
      PORTACL_ROW(aclnnInplaceDiv, OfOther, true, x / y),
      PORTACL_ROW(aclnnInplaceCopy, OfOther, true, 0 * x + y),
      PORTACL_ROW(aclnnInplaceAdds, OfScalarAndAlpha, false, x + 4 + 0 * y),
      PORTACL_ROW(aclnnInplaceSubs, OfScalarAndAlpha, false, x - 4 + 0 * y),
      PORTACL_ROW(aclnnInplaceMuls, OfScalar, false, 2 * x + 0 * y),
      PORTACL_ROW(aclnnInplaceDivs, OfScalar, false, x / 2 + 0 * y),
      PORTACL_ROW(aclnnInplaceFillScalar, OfScalar, false, 2 + 0 * x * y),
      PORTACL_ROW(aclnnInplaceOne, OfNothing, false, 1 + 0 * x * y),
      PORTACL_ROW(aclnnInplaceZero, OfNothing, false, 0 * x * y),
  };
}

// A tensor of four values and its copy on the device.
struct Vector {
  explicit Vector(double first) {
    host.Fill([first](int64_t i) { return first * static_cast<double>(1 + i); });
    device.Upload();
  }
  Values Now() {
    device.Download();
    return host.Values();
  }
  Tensor host{Element::kFloat, {4}};
  DeviceTensor device{&host};
  TensorHandle handle = device.args().Make();
};

// A repeatable executor of a call on `self` and `other`, which moves to others.
class Moved {
 public:
  Moved(const InPlaceOperator& op, aclrtStream stream) : op_(op), stream_(stream) {
    const ScalarHandle two = MakeScalar(2);
    EXPECT_EQ(op.plan(self.handle.get(), other.handle.get(), two.get(), &size_, &executor), 0);
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  }
  ~Moved() { EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0); }
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;

  void* NewSelf() const { return new_self.device.address(); }
  void* NewOther() const { return new_other.device.address(); }
  void Run() const {
    ASSERT_EQ(op_.run(nullptr, size_, executor, stream_), 0) << TakeMessage();
    ASSERT_EQ(aclrtSynchronizeStream(stream_), 0);
  }
  Values Want(double self_first, double other_first) const {
    Values want;
    for (int i = 1; i <= 4; ++i) want.push_back(op_.result(self_first * i, other_first * i));
    return want;
  }

  Vector self{1};
  Vector other{8};
  Vector new_self{3};
  Vector new_other{32};
  aclOpExecutor* executor = nullptr;

 private:
  const InPlaceOperator& op_;
  const aclrtStream stream_;
  uint64_t size_ = 0;
};

TEST_F(CompanionInPlace, SelfRefIsInputZeroAndOutputZero) {
  using Set = aclnnStatus (*)(aclOpExecutor*, size_t, aclTensor*, void*);
  for (const InPlaceOperator& op : InPlaceOperators()) {
    const size_t behind = op.has_other ? 2 : 1;  // of aclSetTensorAddr: inputs, then outputs
    const std::vector<std::tuple<const char*, Set, size_t>> ways = {
        {"input", &aclSetInputTensorAddr, 0},
        {"output", &aclSetOutputTensorAddr, 0},
        {"first of all", &aclSetTensorAddr, 0},
        {"last of all", &AclSetTensorAddr, behind}};
    for (const auto& [name, set, index] : ways) {
      SCOPED_TRACE(std::string(op.name) + " " + name);
      Moved call(op, stream_);
      ASSERT_EQ(set(call.executor, index, call.self.handle.get(), call.NewSelf()), 0)
          << TakeMessage();
      call.Run();
      EXPECT_EQ(call.new_self.Now(), call.Want(3, 8));
      EXPECT_EQ(call.self.Now(), (Values{1, 2, 3, 4})) << "not to be written any more";
      EXPECT_EQ(call.other.Now(), (Values{8, 16, 24, 32}));
    }
  }
}

TEST_F(CompanionInPlace, OtherIsInputOne) {
  for (const InPlaceOperator& op : InPlaceOperators()) {
    if (!op.has_other) continue;
    SCOPED_TRACE(op.name);
    Moved call(op, stream_);
    ASSERT_EQ(aclSetInputTensorAddr(call.executor, 1, call.other.handle.get(), call.NewOther()), 0)
        << TakeMessage();
    call.Run();
    EXPECT_EQ(call.self.Now(), call.Want(1, 32));
    ASSERT_EQ(
        aclSetTensorAddr(call.executor, 1, call.other.handle.get(), call.self.device.address()), 0);
    ASSERT_EQ(
        aclSetTensorAddr(call.executor, 0, call.self.handle.get(), call.self.device.address()), 0);
    call.Run();  // selfRef and other are one view
    EXPECT_EQ(call.new_other.Now(), (Values{32, 64, 96, 128})) << "is read only";
  }
}

TEST_F(CompanionInPlace, IndicesBehindTheLastTensorAreRefused) {
  for (const InPlaceOperator& op : InPlaceOperators()) {
    SCOPED_TRACE(op.name);
    Moved call(op, stream_);
    aclTensor* const handle = call.self.handle.get();
    const size_t inputs = op.has_other ? 2 : 1;
    EXPECT_EQ(aclSetInputTensorAddr(call.executor, inputs, handle, call.NewSelf()),
              ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(TakeMessage(),
                testing::HasSubstr("has " + std::to_string(inputs) + " tensor input"));
    EXPECT_EQ(aclSetOutputTensorAddr(call.executor, 1, handle, call.NewSelf()),
              ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("has 1 tensor output"));
    EXPECT_EQ(aclSetTensorAddr(call.executor, inputs + 1, handle, call.NewSelf()),
              ACLNN_ERR_PARAM_INVALID);
    call.Run();
    EXPECT_EQ(call.self.Now(), call.Want(1, 8)) << "none of them changed the executor";
  }
}

}  // namespace
}  // namespace portacl_test
