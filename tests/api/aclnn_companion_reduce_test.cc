// Sums, means and extrema of the companion operators against plain loops, and their common
// refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_foreach_add_list_v2.h"
#include "aclnnop/aclnn_foreach_mul_scalar_v2.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_max.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_min.h"
#include "aclnnop/aclnn_mse_loss.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "support/api/companion_call.h"
#include "support/api/compare.h"

namespace portacl_test {
namespace {

class CompanionReduce : public AclTest {};

// The shape after `dims` (none: all) are reduced.
Shape Reduced(const Shape& shape, const std::vector<int64_t>& dims, bool keep) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const auto rank = static_cast<int64_t>(shape.size());
    bool gone = dims.empty();
    for (const int64_t dim : dims) gone = gone || dim == axis || dim + rank == axis;
    if (!gone || keep) result.push_back(gone ? 1 : shape[i]);
  }
  return result;
}

// Sums in long double, row-major: where element `index` of `x` goes is found by its coordinates.
std::vector<double> SumsOf(const Tensor& x, const std::vector<int64_t>& dims) {
  const Shape kept = Reduced(x.shape(), dims, true);
  std::vector<long double> sums(static_cast<size_t>(ProductOf(kept)));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t rest = i;
    int64_t to = 0;
    int64_t step = 1;
    for (size_t axis = kept.size(); axis-- > 0;) {
      if (kept[axis] != 1) to += rest % x.shape()[axis] * step;
      rest /= x.shape()[axis];
      step *= kept[axis];
    }
    sums[static_cast<size_t>(to)] += x.Get(i);
  }
  return {sums.begin(), sums.end()};
}

// `dtype`: none is out's.
aclnnStatus Reduce(bool mean, Tensor* x, const std::vector<int64_t>& dims, bool keep, Tensor* out,
                   aclrtStream stream, std::optional<Element> asked = std::nullopt) {
  const DeviceTensor from(x);
  DeviceTensor to(out);
  const TensorHandle a = from.args().Make();
  const TensorHandle b = to.args().Make();
  const IntArrayHandle axes = MakeInts(dims);
  const aclDataType dtype = ToAcl(asked.value_or(out->element()));
  const aclnnStatus status =
      mean ? PORTACL_RUN(aclnnMean, stream, a.get(), axes.get(), keep, dtype, b.get())
           : PORTACL_RUN(aclnnReduceSum, stream, a.get(), axes.get(), keep, dtype, b.get());
  to.Download();
  return status;
}

TEST_F(CompanionReduce, SumsAndMeansOverAnyAxes) {
  const std::vector<std::vector<int64_t>> all_dims = {{},     {0},    {2},         {-1},
                                                      {0, 2}, {1, 3}, {0, 1, 2, 3}};
  Random random(12);
  for (const Element element : kElements) {
    for (const Layout layout : kInputLayouts) {
      for (const auto& dims : all_dims) {
        for (const bool keep : {false, true}) {
          SCOPED_TRACE(std::string(NameOf(element)) + NameOf(layout) + ToString(dims));
          Tensor x(element, {2, 3, 4, 17}, layout);
          x.FillUniform(random, -1, 1);
          const std::vector<double> want = SumsOf(x, dims);
          for (const bool mean : {false, true}) {
            Tensor out(element, Reduced(x.shape(), dims, keep));
            ASSERT_EQ(Reduce(mean, &x, dims, keep, &out, stream_), 0) << TakeMessage();
            const double terms = mean ? static_cast<double>(x.size() / out.size()) : 1;
            for (int64_t i = 0; i < out.size(); ++i) {
              const double exact = want[static_cast<size_t>(i)] / terms;
              ASSERT_NEAR(out.Get(i), exact, UlpAt(element, exact) / 2 + 1e-13);
            }
          }
        }
      }
    }
  }
}

TEST_F(CompanionReduce, LongSumsDoNotDependOnThreads) {
  Random random(13);
  for (const Shape& shape : {Shape{100003}, Shape{3, 20000}, Shape{20000, 3}}) {
    Tensor x(Element::kFloat, shape);
    x.FillUniform(random, -1, 1);
    for (const auto& dims : {std::vector<int64_t>{}, std::vector<int64_t>{0}}) {
      Tensor one(Element::kFloat, Reduced(shape, dims, false));
      Tensor many(Element::kFloat, one.shape());
      portaclSetNumThreads(1);
      ASSERT_EQ(Reduce(false, &x, dims, false, &one, stream_), 0) << TakeMessage();
      portaclSetNumThreads(4);
      ASSERT_EQ(Reduce(false, &x, dims, false, &many, stream_), 0) << TakeMessage();
      EXPECT_TRUE(BitIdentical(many, one));
      EXPECT_NEAR(one.Get(0), SumsOf(x, dims)[0], UlpAt(Element::kFloat, one.Get(0)));
    }
  }
}

TEST_F(CompanionReduce, IntegersAreSummedAsIntegersOrAsTheTypeAskedFor) {
  Tensor x(Element::kUInt8, {300});
  x.Fill(200);
  for (const auto& [out, want] :
       {std::pair{Element::kInt64, 60000.0}, std::pair{Element::kFloat, 60000.0},
        std::pair{Element::kInt16, 60000.0 - 65536}}) {
    Tensor sum(out, {});
    ASSERT_EQ(Reduce(false, &x, {}, false, &sum, stream_), 0) << TakeMessage();
    EXPECT_EQ(sum.Get(0), want) << NameOf(out);
  }
  Tensor y(Element::kFloat, {2});
  y.Fill({1.75, 2.75});
  Tensor truncated(Element::kInt32, {});
  ASSERT_EQ(Reduce(false, &y, {}, false, &truncated, stream_), 0) << TakeMessage();
  EXPECT_EQ(truncated.Get(0), 3);
}

// The result is torch.sum(dtype=...), then converted to out's type.
TEST_F(CompanionReduce, SumsAreThoseOfTheTypeAskedForWhateverOutIs) {
  struct Row {
    Element from;
    std::vector<double> values;
    Element asked;
    double want;
  };
  const Row rows[] = {{Element::kUInt8, {200, 100}, Element::kUInt8, 44},
                      {Element::kInt64, {200, 100}, Element::kInt8, 44},
                      {Element::kFloat, {300.7, 1.9}, Element::kUInt8, 45},
                      {Element::kFloat, {-1.5, 0.9}, Element::kInt8, -1},
                      {Element::kInt32, {32767, 1}, Element::kInt16, -32768},
                      {Element::kBool, {1, 1, 1}, Element::kInt8, 3}};
  for (const Row& row : rows) {
    for (const Element to : {Element::kFloat, Element::kDouble, Element::kInt64, Element::kInt32}) {
      Tensor x(row.from, {static_cast<int64_t>(row.values.size())});
      x.Fill(row.values);
      Tensor sum(to, {});
      ASSERT_EQ(Reduce(false, &x, {}, false, &sum, stream_, row.asked), 0) << TakeMessage();
      EXPECT_EQ(sum.Get(0), row.want) << NameOf(row.from) << NameOf(row.asked) << NameOf(to);
    }
  }
  Tensor long_one(Element::kUInt8, {20001});  // several chunks
  long_one.Fill(200);
  Tensor sum(Element::kFloat, {});
  ASSERT_EQ(Reduce(false, &long_one, {}, false, &sum, stream_, Element::kUInt8), 0);
  EXPECT_EQ(sum.Get(0), 20001 * 200 % 256);
}

TEST_F(CompanionReduce, ASumOfBoolIsWhetherAnyTermIsNotZero) {
  const std::pair<Element, std::vector<double>> some[] = {
      {Element::kFloat, {0.5, 0.5}},   {Element::kFloat, {0.25, -0.25}},
      {Element::kFloat, {kNaN, 0}},    {Element::kFloat16, {0, 6e-8}},
      {Element::kInt32, {256, 256}},   {Element::kInt64, {1, -1}},
      {Element::kDouble, {5e-324, 0}}, {Element::kBool, {1, 1, 1}}};
  for (const Element to : kAllElements) {
    for (const auto& [from, values] : some) {
      Tensor x(from, {static_cast<int64_t>(values.size())});
      x.Fill(values);
      Tensor any(to, {});
      ASSERT_EQ(Reduce(false, &x, {}, false, &any, stream_, Element::kBool), 0) << TakeMessage();
      EXPECT_EQ(any.Get(0), 1) << NameOf(from) << ' ' << values[0] << NameOf(to);
    }
    Tensor zeros(Element::kFloat, {2, 20000});
    zeros.Fill(0);
    zeros.Set(39999, 0.5);
    Tensor any(to, {2});
    ASSERT_EQ(Reduce(false, &zeros, {1}, false, &any, stream_, Element::kBool), 0);
    EXPECT_EQ(any.Values(), (std::vector<double>{0, 1})) << NameOf(to);
  }
}

TEST_F(CompanionReduce, NothingSumsToZeroAndHasNoMean) {
  Tensor x(Element::kFloat, {0, 2});
  Tensor sum(Element::kFloat, {2});
  ASSERT_EQ(Reduce(false, &x, {0}, false, &sum, stream_), 0) << TakeMessage();
  EXPECT_EQ(sum.Get(1), 0);
  ASSERT_EQ(Reduce(true, &x, {0}, false, &sum, stream_), 0) << TakeMessage();
  EXPECT_TRUE(std::isnan(sum.Get(1)));
}

TEST_F(CompanionReduce, SumsOfNothingMayHaveMoreTermsThanSixtyFourBitsCount) {
  const DeviceMemory memory(64);
  const int64_t huge = int64_t{1} << 62;
  const TensorArgs none = {{0, huge, huge}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()};
  const TensorArgs result = {{0}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()};
  const TensorHandle self = none.Make();
  const TensorHandle out = result.Make();
  const IntArrayHandle axes = MakeInts(std::vector<int64_t>{1, 2});
  EXPECT_EQ(
      PORTACL_RUN(aclnnReduceSum, stream_, self.get(), axes.get(), false, ACL_FLOAT, out.get()), 0)
      << TakeMessage();
}

TEST_F(CompanionReduce, ExtremaOfAllTypes) {
  const auto extrema = [&](Element element, const std::vector<double>& values, int64_t repeat) {
    Tensor x(element, {repeat, static_cast<int64_t>(values.size())});
    x.Fill([&](int64_t i) { return values[static_cast<size_t>(i) % values.size()]; });
    Tensor largest(element, {});
    Tensor smallest(element, {});
    const DeviceTensor from(&x);
    DeviceTensor high(&largest);
    DeviceTensor low(&smallest);
    const TensorHandle a = from.args().Make();
    const TensorHandle b = high.args().Make();
    const TensorHandle c = low.args().Make();
    EXPECT_EQ(PORTACL_RUN(aclnnMax, stream_, a.get(), b.get()), 0) << TakeMessage();
    EXPECT_EQ(PORTACL_RUN(aclnnMin, stream_, a.get(), c.get()), 0) << TakeMessage();
    high.Download();
    low.Download();
    return std::pair(largest.Get(0), smallest.Get(0));
  };
  for (const Element element : kAllElements) {
    const bool two = element == Element::kBool;
    EXPECT_EQ(extrema(element, {1, 0, 1, 1}, 1), std::pair(1.0, 0.0)) << NameOf(element);
    if (two) continue;
    EXPECT_EQ(extrema(element, {3, 100, 7, 2, 50}, 1), std::pair(100.0, 2.0)) << NameOf(element);
    EXPECT_EQ(extrema(element, {3, 100, 7, 2, 50}, 4001), std::pair(100.0, 2.0)) << NameOf(element);
  }
  EXPECT_EQ(extrema(Element::kInt64, {-3, -100}, 1), std::pair(-3.0, -100.0));
  const auto [high, low] = extrema(Element::kFloat, {1, kNaN, 5}, 5000);
  EXPECT_TRUE(std::isnan(high));
  EXPECT_TRUE(std::isnan(low));
}

// ---- refusals ----------------------------------------------------------------------------------

// The status of phase 1 of aclnnAdd. The caller can read the message.
aclnnStatus PlanAdd(const TensorArgs& self, const TensorArgs& other, const ScalarHandle& alpha,
                    const TensorArgs& out) {
  const TensorHandle handles[] = {self.Make(), other.Make(), out.Make()};
  uint64_t size = 1;
  aclOpExecutor* executor = nullptr;
  const aclnnStatus status = aclnnAddGetWorkspaceSize(
      handles[0].get(), handles[1].get(), alpha.get(), handles[2].get(), &size, &executor);
  EXPECT_EQ(status == 0, executor != nullptr);
  if (executor != nullptr) aclDestroyAclOpExecutor(executor);
  return status;
}

TEST_F(CompanionReduce, RefusalsNameTheParameter) {
  const DeviceMemory memory(4096);
  auto* const bytes = static_cast<char*>(memory.get());
  const TensorArgs a = {{2, 3}, ACL_FLOAT, ACL_FORMAT_ND, bytes};
  const TensorArgs b = {{3}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 1024};
  const TensorArgs c = {{2, 3}, ACL_FLOAT, ACL_FORMAT_ND, bytes + 2048};
  const ScalarHandle one = MakeScalar(1);
  const auto expect = [&](TensorArgs x, TensorArgs y, const ScalarHandle& alpha, TensorArgs z,
                          aclnnStatus code, const char* part) {
    TakeMessage();
    EXPECT_EQ(PlanAdd(x, y, alpha, z), code) << part;
    EXPECT_THAT(TakeMessage(), testing::HasSubstr(part));
  };
  const auto with = [](TensorArgs args, auto change) {
    change(args);
    return args;
  };
  EXPECT_EQ(PlanAdd(a, b, one, c), 0) << TakeMessage();
  expect(with(a, [](auto& t) { t.null = true; }), b, one, c, ACLNN_ERR_PARAM_NULLPTR,
         "self is null");
  expect(a, b, nullptr, c, ACLNN_ERR_PARAM_NULLPTR, "alpha is null");
  expect(a, b, one, with(c, [](auto& t) { t.null = true; }), ACLNN_ERR_PARAM_NULLPTR,
         "out is null");
  expect(with(a, [](auto& t) { t.dtype = ACL_COMPLEX64; }), b, one, c, ACLNN_ERR_PARAM_INVALID,
         "self has data type COMPLEX64");
  expect(a, b, one, with(c, [](auto& t) { t.dtype = ACL_INT32; }), ACLNN_ERR_PARAM_INVALID,
         "out has data type INT32, but the result is FLOAT");
  expect(a, with(b, [](auto& t) { t.shape = {4}; }), one, c, ACLNN_ERR_PARAM_INVALID,
         "other has shape [4], which does not broadcast with shape [2, 3] of self");
  expect(a, b, one,
         with(c,
              [](auto& t) {
                t.shape = {3, 2};
              }),
         ACLNN_ERR_PARAM_INVALID, "out has shape [3, 2], but the result has shape [2, 3]");
  expect(with(a, [](auto& t) { t.format = ACL_FORMAT_NC1HWC0; }), b, one, c,
         ACLNN_ERR_PARAM_INVALID, "self has format NC1HWC0");
  expect(a, b, one, with(c, [&](auto& t) { t.data = bytes + 4; }), ACLNN_ERR_PARAM_INVALID,
         "overlaps");
  expect(a, b, one,
         with(c,
              [](auto& t) {
                t.strides = Shape{0, 1};
              }),
         ACLNN_ERR_PARAM_INVALID, "overlaps itself");
  const auto integer = [](auto& t) { t.dtype = ACL_INT32; };
  expect(with(a, integer), with(b, integer), one, with(c, integer), ACLNN_ERR_PARAM_INVALID,
         "alpha has data type DOUBLE, but the inputs compute in INT32");
}

TEST_F(CompanionReduce, RefusalsOfSingleOperators) {
  const DeviceMemory memory(4096);
  auto* const bytes = static_cast<char*>(memory.get());
  const auto make = [&](Shape shape, aclDataType dtype, int at) {
    return TensorArgs{std::move(shape), dtype, ACL_FORMAT_ND, bytes + 1024 * at}.Make();
  };
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  const auto refused = [&](aclnnStatus status, const char* part) {
    EXPECT_EQ(status, ACLNN_ERR_PARAM_INVALID) << part;
    EXPECT_EQ(executor, nullptr);
    EXPECT_THAT(TakeMessage(), testing::HasSubstr(part));
  };
  const TensorHandle real = make({2, 3}, ACL_FLOAT, 0);
  const TensorHandle truth = make({2, 3}, ACL_BOOL, 1);
  const TensorHandle zero_dim = make({}, ACL_FLOAT, 2);
  const TensorHandle out = make({2, 3}, ACL_FLOAT, 3);
  refused(aclnnNegGetWorkspaceSize(truth.get(), truth.get(), &size, &executor), "other than BOOL");
  refused(
      aclnnBitwiseAndTensorGetWorkspaceSize(real.get(), real.get(), out.get(), &size, &executor),
      "an integer type or BOOL");
  refused(aclnnMseLossGetWorkspaceSize(real.get(), real.get(), 3, zero_dim.get(), &size, &executor),
          "reduction is 3");
  refused(aclnnCastGetWorkspaceSize(real.get(), ACL_FLOAT16, out.get(), &size, &executor),
          "dtype is FLOAT16, but out has data type FLOAT");
  const IntArrayHandle twice = MakeInts(std::vector<int64_t>{1, -1});
  refused(aclnnReduceSumGetWorkspaceSize(real.get(), twice.get(), false, ACL_FLOAT, zero_dim.get(),
                                         &size, &executor),
          "axis 1 twice");
  const IntArrayHandle far = MakeInts(std::vector<int64_t>{2});
  refused(aclnnMeanGetWorkspaceSize(real.get(), far.get(), false, ACL_FLOAT, zero_dim.get(), &size,
                                    &executor),
          "names axis 2");
  const IntArrayHandle all = MakeInts(std::vector<int64_t>{});
  refused(aclnnMeanGetWorkspaceSize(real.get(), all.get(), false, ACL_INT32, zero_dim.get(), &size,
                                    &executor),
          "a mean needs a floating-point type");
  const TensorHandle none = make({0}, ACL_FLOAT, 0);
  refused(aclnnMaxGetWorkspaceSize(none.get(), zero_dim.get(), &size, &executor),
          "the extremum of nothing");
  refused(aclnnMaskedSelectGetWorkspaceSize(real.get(), truth.get(), out.get(), &size, &executor),
          "room for all 6 elements");
  const TensorHandle wide = make({4, 2, 3}, ACL_FLOAT, 1);
  refused(aclnnInplaceMulGetWorkspaceSize(out.get(), wide.get(), &size, &executor),
          "selfRef has shape [2, 3], but the result has shape [4, 2, 3]");
}

TEST_F(CompanionReduce, ListsOfDifferentLengthsAndBadMembersAreRefused) {
  const DeviceMemory memory(4096);
  const TensorArgs good = {{4}, ACL_FLOAT, ACL_FORMAT_ND, memory.get()};
  TensorArgs other = good;
  other.data = static_cast<char*>(memory.get()) + 1024;
  TensorArgs bad = other;
  bad.shape = {3};
  const ScalarHandle one = MakeScalar(1);
  const ListHandle two = MakeList({good, good});
  const ListHandle single = MakeList({other});
  const ListHandle wrong = MakeList({other, bad});
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnForeachAddListV2GetWorkspaceSize(two.get(), single.get(), one.get(), two.get(),
                                                  &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("self has 2 members, other 1 and out 2"));
  EXPECT_EQ(aclnnForeachAddListV2GetWorkspaceSize(two.get(), wrong.get(), one.get(), two.get(),
                                                  &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("member 1 of the lists: other has shape [3]"));
  EXPECT_EQ(aclnnForeachAddListV2GetWorkspaceSize(two.get(), nullptr, one.get(), two.get(), &size,
                                                  &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(
      aclnnForeachMulScalarV2GetWorkspaceSize(two.get(), nullptr, two.get(), &size, &executor),
      ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("scalar is null"));
  EXPECT_EQ(
      aclnnForeachMulScalarV2GetWorkspaceSize(two.get(), one.get(), single.get(), &size, &executor),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), testing::HasSubstr("self has 2 members and out 1"));
}

}  // namespace
}  // namespace portacl_test
