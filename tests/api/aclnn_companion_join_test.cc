// The companion operators that lay the members of a list side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_stack.h"
#include "support/api/companion_call.h"
#include "support/api/compare.h"

namespace portacl_test {
namespace {

class CompanionJoin : public AclTest {};

// A list on the device, and the output with what came into it.
class Lists {
 public:
  Lists(const std::vector<Shape>& shapes, Element element, Layout layout) {
    memory_.reserve(shapes.size());
    members.reserve(shapes.size());
    double next = 1;
    for (const Shape& shape : shapes) {
      Tensor& member = members.emplace_back(element, shape, layout);
      const double first = next;
      member.Fill([first](int64_t i) { return first + static_cast<double>(i); });
      next += static_cast<double>(member.size());
      args.push_back(memory_.emplace_back(&member).args());
    }
  }
  std::vector<Tensor> members;
  std::vector<TensorArgs> args;

 private:
  std::vector<DeviceTensor> memory_;
};

int64_t ProductFrom(const Shape& shape, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < shape.size(); ++i) product *= shape[i];
  return product;
}

// Members as blocks of `inner[i]` elements, `outer` times each in turn.
std::vector<double> Interleave(const std::vector<Tensor>& members, int64_t outer, size_t axis) {
  std::vector<double> values;
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor& member : members) {
      const int64_t inner = ProductFrom(member.shape(), axis);
      for (int64_t i = 0; i < inner; ++i) values.push_back(member.Get(o * inner + i));
    }
  }
  return values;
}

TEST_F(CompanionJoin, CatLaysMembersSideBySideAlongEachAxis) {
  struct Case {
    std::vector<Shape> members;
    Shape out;
    int64_t dim;
    int64_t outer;
    size_t axis;
  };
  const std::vector<Case> cases = {{{{2, 3}, {4, 3}}, {6, 3}, 0, 1, 0},
                                   {{{2, 3}, {2, 1}, {2, 0}}, {2, 4}, -1, 2, 1},
                                   {{{2, 1, 4}, {2, 2, 4}}, {2, 3, 4}, 1, 2, 1},
                                   {{{30000}, {0}, {5}}, {30005}, 0, 1, 0}};
  for (const Case& c : cases) {
    for (const Layout from : {Layout::kContiguous, Layout::kNegative, Layout::kStep3}) {
      for (const Layout to : {Layout::kContiguous, Layout::kOddPadding}) {
        const Lists lists(c.members, Element::kInt32, from);
        Tensor out(Element::kInt32, c.out, to);
        DeviceTensor device(&out);
        const ListHandle list = MakeList(lists.args);
        const TensorHandle result = device.args().Make();
        ASSERT_EQ(PORTACL_RUN(aclnnCat, stream_, list.get(), c.dim, result.get()), 0)
            << TakeMessage();
        device.Download();
        EXPECT_EQ(out.Values(), Interleave(lists.members, c.outer, c.axis));
        EXPECT_TRUE(out.GuardsIntact());
      }
    }
  }
}

// Parts of other types and a member of shape [0], which PyTorch's cat leaves out.
TEST_F(CompanionJoin, CatConvertsToTheTypeOfTheOutput) {
  Lists whole({{2, 2}, {0}}, Element::kInt32, Layout::kContiguous);
  const Lists half({{2, 1}}, Element::kFloat16, Layout::kContiguous);
  whole.args.push_back(half.args[0]);
  Tensor out(Element::kFloat, {2, 3});
  DeviceTensor device(&out);
  const ListHandle list = MakeList(whole.args);
  const TensorHandle result = device.args().Make();
  ASSERT_EQ(PORTACL_RUN(aclnnCat, stream_, list.get(), 1, result.get()), 0) << TakeMessage();
  device.Download();
  EXPECT_EQ(out.Values(), (std::vector<double>{1, 2, 1, 3, 4, 2}));
}

TEST_F(CompanionJoin, StackMakesANewAxis) {
  const Shape member = {2, 3};
  const std::vector<Shape> outs = {{2, 2, 3}, {2, 2, 3}, {2, 3, 2}};
  for (int64_t dim = -3; dim < 3; ++dim) {
    const auto axis = static_cast<size_t>(dim < 0 ? dim + 3 : dim);
    const Lists lists({member, member}, Element::kDouble, Layout::kTransposed);
    Tensor out(Element::kDouble, outs[axis], Layout::kOffset);
    DeviceTensor device(&out);
    const ListHandle list = MakeList(lists.args);
    const TensorHandle result = device.args().Make();
    ASSERT_EQ(PORTACL_RUN(aclnnStack, stream_, list.get(), dim, result.get()), 0) << TakeMessage();
    device.Download();
    const int64_t outer = 6 / ProductFrom(member, axis);
    EXPECT_EQ(out.Values(), Interleave(lists.members, outer, axis)) << "dim " << dim;
  }
  const Lists numbers({{}, {}, {}}, Element::kFloat, Layout::kContiguous);
  Tensor out(Element::kFloat, {3});
  DeviceTensor device(&out);
  const ListHandle list = MakeList(numbers.args);
  const TensorHandle result = device.args().Make();
  ASSERT_EQ(PORTACL_RUN(aclnnStack, stream_, list.get(), 0, result.get()), 0) << TakeMessage();
  device.Download();
  EXPECT_EQ(out.Values(), (std::vector<double>{1, 2, 3}));
}

TEST_F(CompanionJoin, EmptyMembersMayBeAsLongAsSixtyFourBitsCount) {
  const int64_t half = int64_t{1} << 61;
  const DeviceMemory memory(64);
  const TensorArgs member = {{0, half, 2}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()};
  const TensorArgs whole = {{0, 2 * half, 2}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()};
  const ListHandle list = MakeList({member, member});
  const TensorHandle out = whole.Make();
  EXPECT_EQ(PORTACL_RUN(aclnnCat, stream_, list.get(), 1, out.get()), 0) << TakeMessage();
}

TEST_F(CompanionJoin, RefusalsNameWhatDoesNotFit) {
  const DeviceMemory memory(8192);
  const auto tensor = [&](const Shape& shape, size_t place, aclDataType dtype = ACL_FLOAT) {
    return TensorArgs{shape, dtype, ACL_FORMAT_ND, static_cast<char*>(memory.get()) + place};
  };
  const ListHandle list = MakeList({tensor({2, 3}, 0), tensor({2, 3}, 1024)});
  const ListHandle uneven = MakeList({tensor({2, 3}, 0), tensor({3, 2}, 1024)});
  const TensorArgs half = tensor({0, int64_t{1} << 62}, 0);
  const ListHandle huge = MakeList({half, half, half, half});  // 2^64 is 0 where it wraps
  TensorArgs far = tensor({4, 3}, 4096);
  far.offset = INT64_MAX - 2;
  far.strides = Shape{3, 1};
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const auto cat = [&](const aclTensorList* members, int64_t dim, const TensorArgs& out) {
    const TensorHandle result = out.Make();
    return aclnnCatGetWorkspaceSize(members, dim, result.get(), &size, &executor);
  };
  const TensorArgs good = tensor({2, 6}, 4096);
  EXPECT_EQ(cat(nullptr, 1, good), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("aclnnCat: tensors is null"));
  EXPECT_EQ(aclnnStackGetWorkspaceSize(list.get(), 0, nullptr, &size, &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  struct Row {
    const aclTensorList* members;
    int64_t dim;
    TensorArgs out;
    const char* part;
  };
  const Row rows[] = {
      {list.get(), 2, good, "dim is 2, but out has shape [2, 6]"},
      {list.get(), -3, good, "dim is -3"},
      {list.get(), 1, tensor({2, 7}, 4096), "the members fill 6 along axis 1"},
      {list.get(), 0, good, "a member of tensors has shape [2, 3], which is no part of out's"},
      {uneven.get(), 1, good, "a member of tensors has shape [3, 2]"},
      {list.get(), 1, tensor({2, 6}, 4096, ACL_INT32), "out has data type INT32"},
      {list.get(), 1, tensor({12}, 4096), "dim is 1"},
      {list.get(), 1, tensor({2, 6}, 1032), "overlap"},
      {huge.get(), 1, tensor({0, 2}, 4096), "fill more along axis 1 than 64 bits can count"},
      {huge.get(), 1, tensor({0, 0}, 4096), "fill more along axis 1"},
      {list.get(), 0, far, "whose extent exceeds 64 bits"},
      // The first member lies where the second one goes.
      {list.get(), 0, tensor({4, 3}, 984), "overlaps a member of tensors"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(cat(row.members, row.dim, row.out), ACLNN_ERR_PARAM_INVALID) << row.part;
    EXPECT_THAT(TakeMessage(), testing::HasSubstr(row.part));
  }
}

}  // namespace
}  // namespace portacl_test
