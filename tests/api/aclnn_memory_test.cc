// The rules on memory that every operator shares, in their order: null data, views that leave their
// storage, allocations that are too small, and every kind of overlap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "portacl/portacl.h"
#include "support/api/acl_fixture.h"
#include "support/api/compare.h"
#include "support/api/grid_case.h"
#include "support/api/nearest_oracle.h"

namespace portacl_test {
namespace {

class AclnnMemory : public AclTest {
 protected:
  // gradOutput (1, 2, 4, 6) and out (1, 2, 2, 3), in allocations that fit exactly.
  NearestCall Good() const {
    return NearestCall::For({{1, 2, 4, 6}, ACL_FLOAT, ACL_FORMAT_ND, from_.get()},
                            {{1, 2, 2, 3}, ACL_FLOAT, ACL_FORMAT_ND, to_.get()});
  }
  DeviceMemory from_{48 * 4};
  DeviceMemory to_{12 * 4};
};

using MemoryRow = CheckRow<NearestCall>;

std::vector<MemoryRow> MemoryRows() {
  return {
      {"NullGradOutputData",
       ACLNN_ERR_PARAM_NULLPTR,
       [](NearestCall* c) { c->grad_output.data = nullptr; },
       {"gradOutput", "null", "[1, 2, 4, 6]"}},
      {"NullOutData",
       ACLNN_ERR_PARAM_NULLPTR,
       [](NearestCall* c) { c->out.data = nullptr; },
       {"out", "null", "[1, 2, 2, 3]"}},
      {"GradOutputBeyondStorage",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->grad_output.storage = Shape{47}; },
       {"gradOutput", "storage [47]"}},
      {"OutBeforeStorage",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) {
         c->out.offset = -1;
         c->out.storage = Shape{12};
       },
       {"out", "offset -1", "storage [12]"}},
      {"GradOutputAllocation",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) { c->grad_output.storage = Shape{49}; },
       {"gradOutput", "allocation"}},
      {"OutAllocation",
       ACLNN_ERR_PARAM_INVALID,
       [](NearestCall* c) {
         c->out.storage = Shape{1, 13};
       },
       {"out", "allocation"}},
  };
}

TEST_F(AclnnMemory, TheGoodCallIsAccepted) {
  EXPECT_EQ(Execute(Good(), stream_), 0) << TakeMessage();
}

TEST_F(AclnnMemory, EveryRuleIsRefusedWithItsCodeAndAMessage) {
  ExpectEveryRowIsRefused(Good(), MemoryRows());
}

TEST_F(AclnnMemory, OfTwoBrokenRulesTheEarlierIsReported) {
  ExpectRowsAreCheckedInOrder(Good(), MemoryRows());
}

TEST_F(AclnnMemory, TheOperatorsOwnTableComesFirst) {
  for (const MemoryRow& row : MemoryRows()) {
    SCOPED_TRACE(row.name);
    NearestCall call = Good();
    row.spoil(&call);
    call.scales = {-1, 0};
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"scalesH"});
  }
}

TEST_F(AclnnMemory, ViewsMayUseEveryElementOfTheirStorageAndNoneBeyond) {
  struct View {
    Shape strides;
    int64_t offset;
    int64_t storage;
    bool fits;
  };
  // Of gradOutput, (1, 2, 4, 6).
  for (const View& view :
       {View{{48, 24, 6, 1}, 0, 48, true}, View{{48, 24, 6, 1}, 1, 48, false},
        View{{48, 24, 6, 1}, -1, 48, false}, View{{0, -24, -6, -1}, 47, 48, true},
        View{{0, -24, -6, -1}, 46, 48, false}, View{{0, 0, 0, 0}, 47, 48, true},
        View{{0, 0, 0, 0}, 48, 48, false},
        View{{INT64_MAX, 24, 6, 1}, 0, 48, true},  // one image: never used
        View{{0, INT64_MAX, 6, 1}, 0, 48, false}, View{{0, INT64_MIN, 6, 1}, 0, 48, false},
        View{{0, 24, 6, 1}, INT64_MAX, 48, false}, View{{0, 24, 6, 1}, INT64_MIN, 48, false}}) {
    SCOPED_TRACE(ToString(view.strides) + " + " + std::to_string(view.offset));
    NearestCall call = Good();
    call.grad_output.strides = view.strides;
    call.grad_output.offset = view.offset;
    call.grad_output.storage = Shape{view.storage};
    if (view.fits) {
      EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
    } else {
      ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gradOutput"});
    }
  }
}

TEST_F(AclnnMemory, AStorageShapeWhoseProductDoesNotFitIsRefused) {
  NearestCall call = Good();
  call.grad_output.storage = Shape{int64_t{1} << 40, int64_t{1} << 40};
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gradOutput"});
  call = Good();
  call.grad_output.storage = Shape{int64_t{1} << 62};  // fits, its bytes do not
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gradOutput"});
}

TEST_F(AclnnMemory, AnAddressInsideAnAllocationCountsFromThere) {
  const DeviceMemory both((48 + 12) * 4);
  NearestCall call = Good();
  call.grad_output.data = both.get();
  call.out.data = static_cast<float*>(both.get()) + 48;
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
  call.out.data = static_cast<float*>(both.get()) + 49;
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"out", "allocation"});
}

TEST_F(AclnnMemory, AnAddressMustBeAlignedToItsElements) {
  const DeviceMemory room(4096);
  for (const int at : {1, 2, 3}) {
    NearestCall call = Good();
    call.grad_output.data = static_cast<char*>(room.get()) + at;
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gradOutput", "not aligned", "4 bytes"});
    call = Good();
    call.out.data = static_cast<char*>(room.get()) + at;
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"out", "not aligned", "4 bytes"});
  }
}

TEST_F(AclnnMemory, OutputsThatOverlapThemselvesAreRefused) {
  struct View {
    Shape strides;
    bool disjoint;
  };
  const DeviceMemory room(4096);
  // Of out, (1, 2, 2, 3).
  for (const View& view :
       {View{{6, 3, 0, 1}, false}, View{{6, 6, 3, 0}, false}, View{{6, 6, 2, 1}, false},
        View{{0, 6, 3, 1}, true}, View{{6, 6, 3, 1}, true}, View{{9, 1, 2, 4}, true},
        View{{9, 1, 3, 4}, false}, View{{0, 7, 3, -1}, true}, View{{0, 5, 3, 1}, false},
        View{{99, 31, 13, 5}, true}}) {
    SCOPED_TRACE(ToString(view.strides));
    NearestCall call = Good();
    call.out.data = room.get();
    call.out.offset = 100;
    call.out.storage = Shape{1000};
    call.out.strides = view.strides;
    if (view.disjoint) {
      EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
    } else {
      ExpectRefused(call, ACLNN_ERR_PARAM_INVALID,
                    {"out", "overlaps itself", ToString(view.strides)});
    }
  }
}

TEST_F(AclnnMemory, AnOutputMustNotTouchItsInput) {
  const DeviceMemory room(4096);
  auto* const base = static_cast<float*>(room.get());
  NearestCall call = Good();
  call.grad_output.data = base;
  for (const int at : {0, 1, 47}) {
    call.out.data = base + at;
    ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"out", "gradOutput", "overlaps"});
  }
  call.out.data = base + 48;
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
}

TEST_F(AclnnMemory, AnOverlapIsRefusedAfterAnOverlapWithItself) {
  NearestCall call = Good();
  call.out.data = call.grad_output.data;
  call.out.storage = Shape{12};
  call.out.strides = Shape{6, 6, 3, 0};
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"overlaps itself"});
}

TEST_F(AclnnMemory, ViewsThatInterleaveAreFineAndExact) {
  // gradOutput in the even, out in the odd elements of one block.
  Random random(81);
  Tensor block(Element::kFloat, {1, 1, 1, 40});
  block.FillUniform(random, -1, 1);
  DeviceTensor device(&block);
  const Tensor dense = Tensor(Element::kFloat, {1, 1, 4, 4}).Fill([&](int64_t i) {
    return block.Get(i / 4 * 8 + i % 4 * 2);
  });
  const TensorArgs from{{1, 1, 4, 4},        ACL_FLOAT, ACL_FORMAT_ND, device.address(),
                        Shape{40, 40, 8, 2}, 0,         Shape{40}};
  TensorArgs to = from;
  to.offset = 1;
  ASSERT_EQ(Execute(NearestCall::For(from, to), stream_), 0) << TakeMessage();
  Tensor before = block;
  device.Download();
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(block.Get(i / 4 * 8 + i % 4 * 2 + 1), dense.Get(i)) << "same sizes: a copy";
    EXPECT_EQ(block.Get(i / 4 * 8 + i % 4 * 2), before.Get(i / 4 * 8 + i % 4 * 2));
  }
  to.offset = 2;
  to.storage = Shape{40};
  ExpectRefused(NearestCall::For(from, to), ACLNN_ERR_PARAM_INVALID, {"overlaps"});
}

class AclnnGridMemory : public AclTest {
 protected:
  AclnnGridMemory() : room_(1 << 16) {
    auto* const base = static_cast<float*>(room_.get());
    call_.grad_output = {{1, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, base};
    call_.input = {{1, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, base + 100};
    call_.grid = {{1, 3, 4, 2}, ACL_FLOAT, ACL_FORMAT_ND, base + 200};
    call_.input_grad = {{1, 2, 3, 4}, ACL_FLOAT, ACL_FORMAT_ND, base + 300};
    call_.grid_grad = {{1, 3, 4, 2}, ACL_FLOAT, ACL_FORMAT_ND, base + 400};
  }
  DeviceMemory room_;
  GridCall call_;
};

TEST_F(AclnnGridMemory, OutputsMustNotTouchInputsOrEachOther) {
  ASSERT_EQ(Execute(call_, stream_), 0) << TakeMessage();
  for (const bool grid_grad : {false, true}) {
    TensorArgs GridCall::*output = grid_grad ? &GridCall::grid_grad : &GridCall::input_grad;
    const char* const name = grid_grad ? "gridGrad" : "inputGrad";
    for (const auto& [other, other_name] :
         {std::pair{&GridCall::grad_output, "gradOutput"}, std::pair{&GridCall::input, "input"},
          std::pair{&GridCall::grid, "grid"}}) {
      GridCall call = call_;
      (call.*output).data = static_cast<float*>((call.*other).data) + 5;
      ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {name, other_name, "overlaps"});
    }
  }
  GridCall call = call_;
  call.grid_grad.data = static_cast<float*>(call.input_grad.data) + 23;
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gridGrad", "inputGrad", "overlaps"});
}

TEST_F(AclnnGridMemory, OutputsThatInterleaveWithEachOtherAreFine) {
  // (1, 1, 4, 2) both, inputGrad in the even and gridGrad in the odd elements.
  auto* const base = static_cast<float*>(room_.get());
  const Shape strides = {16, 16, 4, 2};
  GridCall call;
  call.grad_output = {{1, 1, 1, 4}, ACL_FLOAT, ACL_FORMAT_ND, base};
  call.input = {{1, 1, 4, 2}, ACL_FLOAT, ACL_FORMAT_ND, base + 100};
  call.grid = {{1, 1, 4, 2}, ACL_FLOAT, ACL_FORMAT_ND, base + 200};
  call.input_grad = {{1, 1, 4, 2}, ACL_FLOAT, ACL_FORMAT_ND, base + 300, strides, 0, Shape{16}};
  call.grid_grad = {{1, 1, 4, 2}, ACL_FLOAT, ACL_FORMAT_ND, base + 300, strides, 1, Shape{16}};
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
  call.grid_grad.offset = 2;
  call.grid_grad.storage = Shape{18};
  ExpectRefused(call, ACLNN_ERR_PARAM_INVALID, {"gridGrad", "inputGrad", "overlaps"});
}

TEST_F(AclnnGridMemory, OutputsThatTheMaskLeavesOutMayLieAnywhere) {
  GridCall call = call_;
  call.grid_grad.data = call.input.data;
  call.mask = {{true, false}};
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
  call.grid_grad.data = nullptr;
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
}

TEST_F(AclnnGridMemory, InputsMayOverlapEachOther) {
  GridCall call = call_;
  call.grid.data = call.input.data;
  call.grad_output.data = call.input.data;
  EXPECT_EQ(Execute(call, stream_), 0) << TakeMessage();
}

TEST_F(AclnnGridMemory, NullDataOfEachTensorIsRefused) {
  for (const auto& [tensor, name] :
       {std::pair{&GridCall::grad_output, "gradOutput"}, std::pair{&GridCall::input, "input"},
        std::pair{&GridCall::grid, "grid"}, std::pair{&GridCall::input_grad, "inputGrad"},
        std::pair{&GridCall::grid_grad, "gridGrad"}}) {
    GridCall call = call_;
    (call.*tensor).data = nullptr;
    ExpectRefused(call, ACLNN_ERR_PARAM_NULLPTR, {name, "null"});
  }
}

// In strict mode only device memory is taken where a device would need it.
TEST_F(AclnnMemory, StrictModeRefusesWhatIsNoDeviceMemory) {
  std::vector<float> plain(48);
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 48 * 4), ACL_SUCCESS);
  void* freed = nullptr;
  ASSERT_EQ(aclrtMalloc(&freed, 48 * 4, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtFree(freed), ACL_SUCCESS);
  const auto run = [&](void* data) {
    NearestCall call = Good();
    call.grad_output.data = data;
    return Execute(call, stream_);
  };
  EXPECT_EQ(run(plain.data()), ACLNN_SUCCESS) << TakeMessage();
  portaclSetStrict(1);
  for (void* const data : {static_cast<void*>(plain.data()), pinned, freed}) {
    EXPECT_NE(run(data), ACLNN_SUCCESS);
    EXPECT_THAT(TakeMessage(), testing::AllOf(testing::HasSubstr("PORTACL_STRICT: gradOutput is"),
                                              testing::HasSubstr("wanted device memory")));
  }
  EXPECT_EQ(run(from_.get()), ACLNN_SUCCESS) << TakeMessage();
  portaclSetStrict(0);
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
}

}  // namespace
}  // namespace portacl_test
