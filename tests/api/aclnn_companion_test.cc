// The companion operators against plain loops in double: types, layouts, broadcasting, reductions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_bitwise_and_scalar.h"
#include "aclnnop/aclnn_bitwise_and_tensor.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_ceil.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_foreach_add_list_v2.h"
#include "aclnnop/aclnn_foreach_mul_scalar_v2.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_isfinite.h"
#include "aclnnop/aclnn_lt_scalar.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_mse_loss.h"
#include "aclnnop/aclnn_mse_loss_backward.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_scalar.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_ones.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_zero.h"
#include "support/api/companion_call.h"
#include "support/api/compare.h"

namespace portacl_test {
namespace {

using Values = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

class Companion : public AclTest {};

// Row-major index of the element of `from` that element `index` of `to` takes when broadcast.
int64_t Source(const Shape& to, const Shape& from, int64_t index) {
  int64_t source = 0;
  int64_t step = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const int64_t extent = to[to.size() - 1 - i];
    const int64_t own = from[from.size() - 1 - i];
    if (own != 1) source += index % extent * step;
    index /= extent;
    step *= own;
  }
  return source;
}

// What an operator of two tensors must give: `f` in double, stored in the output's type.
template <class F>
Tensor Expected(Element element, const Shape& shape, const Tensor& a, const Tensor& b, F f) {
  Tensor want(element, shape);
  for (int64_t i = 0; i < want.size(); ++i) {
    want.Set(i, f(a.Get(Source(shape, a.shape(), i)), b.Get(Source(shape, b.shape(), i))));
  }
  return want;
}

using TensorOp = aclnnStatus (*)(const aclTensor*, const aclTensor*, aclTensor*, uint64_t*,
                                 aclOpExecutor**);

// Runs (self, other, out) operators on device copies; the output comes back into `out`.
aclnnStatus RunTwo(TensorOp plan, PhaseTwo run, Tensor* self, Tensor* other, Tensor* out,
                   aclrtStream stream) {
  const DeviceTensor a(self);
  const DeviceTensor b(other);
  DeviceTensor to(out);
  const TensorHandle handles[] = {a.args().Make(), b.args().Make(), to.args().Make()};
  const aclnnStatus status = RunBoth(
      [&](uint64_t* size, aclOpExecutor** executor) {
        return plan(handles[0].get(), handles[1].get(), handles[2].get(), size, executor);
      },
      run, stream);
  to.Download();
  return status;
}

// (self, other, alpha, out).
aclnnStatus RunAdd(Tensor* self, Tensor* other, double alpha, Element alpha_element, Tensor* out,
                   aclrtStream stream, bool subtract = false) {
  const DeviceTensor a(self);
  const DeviceTensor b(other);
  DeviceTensor to(out);
  const TensorHandle x = a.args().Make();
  const TensorHandle y = b.args().Make();
  const TensorHandle z = to.args().Make();
  const ScalarHandle factor = MakeScalar(alpha, alpha_element);
  const aclnnStatus status =
      subtract ? PORTACL_RUN(aclnnSub, stream, x.get(), y.get(), factor.get(), z.get())
               : PORTACL_RUN(aclnnAdd, stream, x.get(), y.get(), factor.get(), z.get());
  to.Download();
  return status;
}

// ---- types -------------------------------------------------------------------------------------

// PyTorch's table for tensors that both have axes (torch.promote_types).
Element Promoted(Element a, Element b) {
  if (a == b) return a;
  const auto rank = [](Element e) { return e == Element::kBool ? 0 : IsInteger(e) ? 1 : 2; };
  if (rank(a) != rank(b)) return rank(a) > rank(b) ? a : b;
  if (SizeOf(a) != SizeOf(b)) return SizeOf(a) > SizeOf(b) ? a : b;
  return IsInteger(a) ? Element::kInt16 : Element::kFloat;
}

TEST_F(Companion, EveryPairOfTypesIsPromotedAsPyTorchDoes) {
  for (const Element a : kAllElements) {
    for (const Element b : kAllElements) {
      SCOPED_TRACE(std::string(NameOf(a)) + " and " + NameOf(b));
      Tensor x(a, {2, 5});
      Tensor y(b, {2, 5});
      x.Fill([](int64_t i) { return static_cast<double>(i % 4); });
      y.Fill([](int64_t i) { return static_cast<double>(i % 3); });
      const Element common = Promoted(a, b);
      Tensor sum(common, {2, 5});
      ASSERT_EQ(RunAdd(&x, &y, 1, Element::kInt64, &sum, stream_), 0) << TakeMessage();
      EXPECT_TRUE(BitIdentical(
          sum, Expected(common, {2, 5}, x, y, [](double p, double q) { return p + q; })));
      Tensor product(common, {2, 5});
      ASSERT_EQ(RunTwo(aclnnMulGetWorkspaceSize, aclnnMul, &x, &y, &product, stream_), 0)
          << TakeMessage();
      EXPECT_TRUE(BitIdentical(
          product, Expected(common, {2, 5}, x, y, [](double p, double q) { return p * q; })));
      const Element real = IsInteger(common) ? Element::kFloat : common;
      Tensor quotient(real, {2, 5});
      ASSERT_EQ(RunTwo(aclnnDivGetWorkspaceSize, aclnnDiv, &x, &y, &quotient, stream_), 0);
      EXPECT_TRUE(BitIdentical(
          quotient, Expected(real, {2, 5}, x, y, [](double p, double q) { return p / q; })));
    }
  }
}

TEST_F(Companion, ResultsAreRoundedOnce) {
  Random random(7);
  for (const Element element : kElements) {
    SCOPED_TRACE(NameOf(element));
    Tensor x(element, {1000});
    Tensor y(element, {1000});
    x.FillUniform(random, -1, 1);
    y.FillUniform(random, -1, 1);
    Tensor sum(element, {1000});
    for (const double alpha : {1.0, -0.1}) {
      for (const bool subtract : {false, true}) {
        ASSERT_EQ(RunAdd(&x, &y, alpha, Element::kDouble, &sum, stream_, subtract), 0);
        const bool wide = element == Element::kDouble;
        EXPECT_TRUE(
            BitIdentical(sum, Expected(element, {1000}, x, y, [&](double p, double q) -> double {
                           const double factor = subtract ? -alpha : alpha;
                           if (wide) return std::fma(factor, q, p);
                           return std::fma(static_cast<float>(factor), static_cast<float>(q),
                                           static_cast<float>(p));
                         })));
      }
    }
  }
}

TEST_F(Companion, ScalarsChooseTheTypeOnlyByTheirCategory) {
  const auto multiply = [&](Element self, Element scalar, double value, Element out) {
    Tensor x(self, {3});
    x.Fill({1, 2, 3});
    Tensor z(out, {3});
    const DeviceTensor from(&x);
    DeviceTensor to(&z);
    const TensorHandle a = from.args().Make();
    const TensorHandle b = to.args().Make();
    const ScalarHandle factor = MakeScalar(value, scalar);
    const aclnnStatus status = PORTACL_RUN(aclnnMuls, stream_, a.get(), factor.get(), b.get());
    to.Download();
    EXPECT_EQ(status, 0) << TakeMessage();
    return z.Values();
  };
  EXPECT_EQ(multiply(Element::kFloat16, Element::kDouble, 0.5, Element::kFloat16),
            (Values{0.5, 1, 1.5}));
  EXPECT_EQ(multiply(Element::kInt32, Element::kDouble, 0.5, Element::kFloat),
            (Values{0.5, 1, 1.5}));
  EXPECT_EQ(multiply(Element::kInt8, Element::kInt64, 100, Element::kInt8),
            (Values{100, -56, 44}));  // INT8 wraps
  EXPECT_EQ(multiply(Element::kInt8, Element::kInt64, 100, Element::kInt32),
            (Values{100, -56, 44}));  // also on the way to a wider output
  EXPECT_EQ(multiply(Element::kFloat, Element::kDouble, 0.1, Element::kFloat)[0],
            static_cast<double>(0.1f));
}

TEST_F(Companion, CastsEveryTypeToEveryOther) {
  const std::vector<double> values = {0,     -0.0, 1,    -1.5, 2.75,  127,  128,  -129,  255,
                                      65504, 1e5,  -3e9, 1e20, -1e20, kNaN, kInf, -kInf, 1.0 / 3};
  for (const Element from : kAllElements) {
    for (const Element to : kAllElements) {
      SCOPED_TRACE(std::string(NameOf(from)) + " to " + NameOf(to));
      const Shape shape = {static_cast<int64_t>(values.size())};
      Tensor x(from, shape);
      x.Fill(values);
      Tensor z(to, shape);
      const DeviceTensor source(&x);
      DeviceTensor target(&z);
      const TensorHandle a = source.args().Make();
      const TensorHandle b = target.args().Make();
      ASSERT_EQ(PORTACL_RUN(aclnnCast, stream_, a.get(), ToAcl(to), b.get()), 0) << TakeMessage();
      target.Download();
      Tensor want(to, shape);
      want.Fill(x.Values());
      EXPECT_TRUE(BitIdentical(z, want));
    }
  }
}

TEST_F(Companion, CastsToSixteenBitsRoundOnce) {
  // In the middle between two neighbours but for a bit that FLOAT has no room for.
  const double above = 1 + std::ldexp(1, -11) + std::ldexp(1, -40);
  Tensor x(Element::kDouble, {2});
  x.Fill({above, -above});
  Tensor z(Element::kFloat16, {2});
  const DeviceTensor source(&x);
  DeviceTensor target(&z);
  const TensorHandle a = source.args().Make();
  const TensorHandle b = target.args().Make();
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceCopy, stream_, b.get(), a.get()), 0) << TakeMessage();
  target.Download();
  EXPECT_EQ(z.Get(0), 1 + std::ldexp(1, -10));
  EXPECT_EQ(z.Get(1), -1 - std::ldexp(1, -10));
}

// ---- layouts -----------------------------------------------------------------------------------

TEST_F(Companion, EveryLayoutAndBroadcast) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{2, 3, 4, 5}, {2, 3, 4, 5}}, {{2, 3, 4, 5}, {5}},       {{2, 3, 4, 5}, {3, 1, 1}},
      {{2, 3, 4, 5}, {}},           {{2, 1, 4, 1}, {3, 1, 5}}, {{1, 700}, {3, 1}}};
  Random random(8);
  for (const auto& [one, two] : shapes) {
    Shape joined = one;
    for (size_t i = 0; i < two.size(); ++i) {
      int64_t& extent = joined[joined.size() - 1 - i];
      extent = std::max(extent, two[two.size() - 1 - i]);
    }
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        SCOPED_TRACE(ToString(one) + ToString(two) + NameOf(from) + NameOf(to));
        Tensor x(Element::kFloat, one, from);
        Tensor y(Element::kFloat, two, from);
        x.FillUniform(random, -1, 1);
        y.FillUniform(random, -1, 1);
        Tensor z(Element::kFloat, joined, to);
        ASSERT_EQ(RunTwo(aclnnMulGetWorkspaceSize, aclnnMul, &x, &y, &z, stream_), 0)
            << TakeMessage();
        EXPECT_TRUE(BitIdentical(z, Expected(Element::kFloat, joined, x, y, [](double p, double q) {
                                   return static_cast<float>(p) * static_cast<float>(q);
                                 })));
        EXPECT_TRUE(z.GuardsIntact());
      }
    }
  }
}

TEST_F(Companion, CopiesMoveBitsInEveryLayout) {
  for (const Element element : kAllElements) {
    for (const Layout from : kInputLayouts) {
      for (const Layout to : kOutputLayouts) {
        Tensor x(element, {2, 3, 40}, from);
        x.Fill([](int64_t i) { return static_cast<double>(i % 100); });
        Tensor z(element, {2, 3, 40}, to);
        const DeviceTensor source(&x);
        DeviceTensor target(&z);
        const TensorHandle a = source.args().Make();
        const TensorHandle b = target.args().Make();
        ASSERT_EQ(PORTACL_RUN(aclnnInplaceCopy, stream_, b.get(), a.get()), 0) << TakeMessage();
        target.Download();
        EXPECT_TRUE(BitIdentical(z, x)) << NameOf(element) << NameOf(from) << NameOf(to);
        EXPECT_TRUE(z.GuardsIntact());
      }
    }
  }
}

TEST_F(Companion, ASignallingNanIsCopiedAsItIs) {
  Tensor x(Element::kFloat16, {2, 2}, Layout::kTransposed);
  const uint16_t signalling = 0x7D01;
  for (int64_t i = 0; i < 4; ++i) {
    std::memcpy(static_cast<uint16_t*>(x.data()) + i, &signalling, sizeof signalling);
  }
  Tensor z(Element::kFloat16, {2, 2});
  const DeviceTensor source(&x);
  DeviceTensor target(&z);
  const TensorHandle a = source.args().Make();
  const TensorHandle b = target.args().Make();
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceCopy, stream_, b.get(), a.get()), 0);
  target.Download();
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(static_cast<uint16_t*>(z.data())[i], signalling);
}

TEST_F(Companion, WritesThroughItsOwnInput) {
  for (const Layout layout : kOutputLayouts) {
    SCOPED_TRACE(NameOf(layout));
    Tensor x(Element::kFloat, {3, 700}, layout);
    x.Fill([](int64_t i) { return static_cast<double>(i); });
    const Tensor before = x.Dense();
    Tensor step(Element::kFloat, {700});
    step.Fill([](int64_t i) { return static_cast<double>(i % 7); });
    DeviceTensor target(&x);
    const DeviceTensor other(&step);
    const TensorHandle self = target.args().Make();
    const TensorHandle by = other.args().Make();
    const ScalarHandle rate = MakeScalar(-2);
    ASSERT_EQ(PORTACL_RUN(aclnnInplaceAdd, stream_, self.get(), by.get(), rate.get()), 0)
        << TakeMessage();
    const TensorHandle out = target.args().Make();  // self and out are one view
    ASSERT_EQ(PORTACL_RUN(aclnnNeg, stream_, self.get(), out.get()), 0) << TakeMessage();
    ASSERT_EQ(PORTACL_RUN(aclnnInplaceMul, stream_, self.get(), self.get()), 0) << TakeMessage();
    target.Download();
    EXPECT_TRUE(
        BitIdentical(x, Expected(Element::kFloat, {3, 700}, before, step,
                                 [](double p, double q) { return (p - 2 * q) * (p - 2 * q); })));
    EXPECT_TRUE(x.GuardsIntact());
  }
}

TEST_F(Companion, EmptyTensorsAndThoseWithoutAxes) {
  Tensor none(Element::kFloat, {0, 3});
  Tensor other(Element::kFloat, {1, 3});
  Tensor out(Element::kFloat, {0, 3});
  EXPECT_EQ(RunTwo(aclnnMulGetWorkspaceSize, aclnnMul, &none, &other, &out, stream_), 0)
      << TakeMessage();
  Tensor a(Element::kFloat, {});
  Tensor b(Element::kFloat, {});
  Tensor c(Element::kFloat, {});
  a.Set(0, 3);
  b.Set(0, 5);
  EXPECT_EQ(RunTwo(aclnnMulGetWorkspaceSize, aclnnMul, &a, &b, &c, stream_), 0) << TakeMessage();
  EXPECT_EQ(c.Get(0), 15);
}

TEST_F(Companion, LargeTensorsHaveTheSameBitsOnEveryNumberOfThreads) {
  constexpr int64_t kSize = 200001;
  Random random(9);
  Tensor x(Element::kFloat, {3, kSize / 3});
  Tensor y(Element::kFloat, {kSize / 3});
  x.FillUniform(random, -1, 1);
  y.FillUniform(random, -1, 1);
  Tensor one(Element::kFloat, x.shape());
  Tensor many(Element::kFloat, x.shape());
  portaclSetNumThreads(1);
  ASSERT_EQ(RunAdd(&x, &y, 0.3, Element::kDouble, &one, stream_), 0);
  portaclSetNumThreads(4);
  ASSERT_EQ(RunAdd(&x, &y, 0.3, Element::kDouble, &many, stream_), 0);
  EXPECT_TRUE(BitIdentical(many, one));
  EXPECT_TRUE(BitIdentical(one, Expected(Element::kFloat, x.shape(), x, y, [](double p, double q) {
                             return std::fma(0.3f, static_cast<float>(q), static_cast<float>(p));
                           })));
}

// ---- one by one --------------------------------------------------------------------------------

// The values that `plan(self, out, size, executor)` makes of `values`, one each.
template <class Plan>
std::vector<double> Map(Plan&& plan, PhaseTwo run, Element element,
                        const std::vector<double>& values, Element result, aclrtStream stream) {
  Tensor x(element, {static_cast<int64_t>(values.size())});
  x.Fill(values);
  Tensor z(result, x.shape());
  const DeviceTensor from(&x);
  DeviceTensor to(&z);
  const TensorHandle a = from.args().Make();
  const TensorHandle b = to.args().Make();
  EXPECT_EQ(RunBoth([&](uint64_t* s, aclOpExecutor** e) { return plan(a.get(), b.get(), s, e); },
                    run, stream),
            0)
      << TakeMessage();
  to.Download();
  return z.Values();
}

using ScalarOp = aclnnStatus (*)(const aclTensor*, const aclScalar*, aclTensor*, uint64_t*,
                                 aclOpExecutor**);

auto With(ScalarOp op, const ScalarHandle& scalar) {
  return [op, other = scalar.get()](const aclTensor* self, aclTensor* out, uint64_t* size,
                                    aclOpExecutor** executor) {
    return op(self, other, out, size, executor);
  };
}

TEST_F(Companion, FunctionsOfOneTensor) {
  const Values values = {-1.5, -0.0, 2.25, kInf, -kInf};
  for (const Element e : kElements) {
    EXPECT_EQ(Map(aclnnNegGetWorkspaceSize, aclnnNeg, e, values, e, stream_),
              (Values{1.5, 0, -2.25, -kInf, kInf}));
    EXPECT_EQ(Map(aclnnAbsGetWorkspaceSize, aclnnAbs, e, values, e, stream_),
              (Values{1.5, 0, 2.25, kInf, kInf}));
    EXPECT_EQ(Map(aclnnCeilGetWorkspaceSize, aclnnCeil, e, values, e, stream_),
              (Values{-1, 0, 3, kInf, -kInf}));
    EXPECT_EQ(Map(aclnnIsFiniteGetWorkspaceSize, aclnnIsFinite, e, {1, kInf, kNaN, -kInf, 0},
                  Element::kBool, stream_),
              (Values{1, 0, 0, 0, 1}));
  }
  EXPECT_EQ(Map(aclnnAbsGetWorkspaceSize, aclnnAbs, Element::kInt8, {-128, -5, 7}, Element::kInt8,
                stream_),
            (Values{-128, 5, 7}));
  EXPECT_EQ(
      Map(aclnnNegGetWorkspaceSize, aclnnNeg, Element::kUInt8, {1, 0}, Element::kUInt8, stream_),
      (Values{255, 0}));
  EXPECT_EQ(
      Map(aclnnCeilGetWorkspaceSize, aclnnCeil, Element::kInt64, {-3, 4}, Element::kInt64, stream_),
      (Values{-3, 4}));
  EXPECT_EQ(Map(aclnnIsFiniteGetWorkspaceSize, aclnnIsFinite, Element::kInt32, {-3, 0},
                Element::kBool, stream_),
            (Values{1, 1}));
}

TEST_F(Companion, ComparesWithScalars) {
  const ScalarHandle two = MakeScalar(2);
  const ScalarHandle half = MakeScalar(0.5);
  const Values values = {1, 2, 3, kNaN};
  for (const Element e : kElements) {
    EXPECT_EQ(Map(With(aclnnNeScalarGetWorkspaceSize, two), aclnnNeScalar, e, values,
                  Element::kBool, stream_),
              (Values{1, 0, 1, 1}));
    EXPECT_EQ(Map(With(aclnnGtScalarGetWorkspaceSize, two), aclnnGtScalar, e, values,
                  Element::kBool, stream_),
              (Values{0, 0, 1, 0}));
    EXPECT_EQ(Map(With(aclnnLtScalarGetWorkspaceSize, two), aclnnLtScalar, e, values,
                  Element::kBool, stream_),
              (Values{1, 0, 0, 0}));
  }
  EXPECT_EQ(Map(With(aclnnGtScalarGetWorkspaceSize, half), aclnnGtScalar, Element::kInt64,
                {0, 1, -1}, Element::kFloat, stream_),
            (Values{0, 1, 0}));
}

TEST_F(Companion, TheOtherFormsOfArithmetic) {
  const ScalarHandle two = MakeScalar(2);
  const ScalarHandle three = MakeScalar(3);
  const Values values = {6, -3};
  const Element f = Element::kFloat;
  const auto scaled = [&](auto op) {
    return
        [&, op](const aclTensor* self, aclTensor* out, uint64_t* size, aclOpExecutor** executor) {
          return op(self, two.get(), three.get(), out, size, executor);
        };
  };
  EXPECT_EQ(Map(scaled(aclnnAddsGetWorkspaceSize), aclnnAdds, f, values, f, stream_),
            (Values{12, 3}));
  EXPECT_EQ(Map(scaled(aclnnSubsGetWorkspaceSize), aclnnSubs, f, values, f, stream_),
            (Values{0, -9}));
  EXPECT_EQ(Map(With(aclnnDivsGetWorkspaceSize, two), aclnnDivs, f, values, f, stream_),
            (Values{3, -1.5}));
  Tensor x(f, {2});
  Tensor y(f, {2});
  x.Fill(values);
  y.Fill({2, 4});
  DeviceTensor target(&x);
  const DeviceTensor other(&y);
  const TensorHandle self = target.args().Make();
  const TensorHandle by = other.args().Make();
  const auto now = [&](aclnnStatus status) {
    EXPECT_EQ(status, 0) << TakeMessage();
    target.Download();
    return x.Values();
  };
  aclTensor* const a = self.get();
  EXPECT_EQ(now(PORTACL_RUN(aclnnInplaceAdds, stream_, a, two.get(), three.get())),
            (Values{12, 3}));
  EXPECT_EQ(now(PORTACL_RUN(aclnnInplaceSubs, stream_, a, three.get(), two.get())),
            (Values{6, -3}));
  EXPECT_EQ(now(PORTACL_RUN(aclnnInplaceSub, stream_, a, by.get(), two.get())), (Values{2, -11}));
  EXPECT_EQ(now(PORTACL_RUN(aclnnInplaceMuls, stream_, a, two.get())), (Values{4, -22}));
  EXPECT_EQ(now(PORTACL_RUN(aclnnInplaceDiv, stream_, a, by.get())), (Values{2, -5.5}));
  EXPECT_EQ(now(PORTACL_RUN(aclnnInplaceDivs, stream_, a, two.get())), (Values{1, -2.75}));
}

TEST_F(Companion, ComparesAndMasksTensors) {
  Tensor x(Element::kInt32, {4});
  Tensor y(Element::kInt32, {4});
  x.Fill({12, 10, -1, 0});
  y.Fill({10, 10, 6, 1});
  Tensor different(Element::kBool, {4});
  ASSERT_EQ(RunTwo(aclnnNeTensorGetWorkspaceSize, aclnnNeTensor, &x, &y, &different, stream_), 0);
  EXPECT_EQ(different.Values(), (Values{1, 0, 1, 1}));
  Tensor both(Element::kInt32, {4});
  ASSERT_EQ(
      RunTwo(aclnnBitwiseAndTensorGetWorkspaceSize, aclnnBitwiseAndTensor, &x, &y, &both, stream_),
      0);
  EXPECT_EQ(both.Values(), (Values{8, 10, 6, 0}));
  const ScalarHandle six = MakeScalar(6, Element::kInt64);
  EXPECT_EQ(Map(With(aclnnBitwiseAndScalarGetWorkspaceSize, six), aclnnBitwiseAndScalar,
                Element::kInt32, {12, 3, -1}, Element::kInt32, stream_),
            (Values{4, 2, 6}));
}

TEST_F(Companion, FillsWithAValue) {
  for (const Element element : kAllElements) {
    for (const Layout layout : kOutputLayouts) {
      Tensor x(element, {3, 5}, layout);
      DeviceTensor target(&x);
      const TensorHandle self = target.args().Make();
      const auto holds = [&](double value) {
        target.Download();
        return x.Values() == Values(15, RoundTo(element, value)) && x.GuardsIntact();
      };
      ASSERT_EQ(PORTACL_RUN(aclnnInplaceOne, stream_, self.get()), 0) << TakeMessage();
      EXPECT_TRUE(holds(1)) << NameOf(element) << NameOf(layout);
      ASSERT_EQ(PORTACL_RUN(aclnnInplaceZero, stream_, self.get()), 0) << TakeMessage();
      EXPECT_TRUE(holds(0)) << NameOf(element) << NameOf(layout);
      const ScalarHandle value = MakeScalar(2.6);
      ASSERT_EQ(PORTACL_RUN(aclnnInplaceFillScalar, stream_, self.get(), value.get()), 0);
      EXPECT_TRUE(holds(2.6)) << NameOf(element) << NameOf(layout);
    }
  }
}

// ---- lists, selection --------------------------------------------------------------------------

TEST_F(Companion, AddsTheMembersOfLists) {
  Random random(10);
  std::vector<Tensor> self;
  std::vector<Tensor> other;
  for (const Shape& shape : {Shape{3, 4}, Shape{}, Shape{0}, Shape{20000}}) {
    self.emplace_back(Element::kFloat, shape).FillUniform(random, -1, 1);
    other.emplace_back(Element::kFloat, shape).FillUniform(random, -1, 1);
  }
  std::vector<DeviceTensor> memory;
  memory.reserve(2 * self.size());
  std::vector<TensorArgs> to;
  std::vector<TensorArgs> from;
  for (size_t i = 0; i < self.size(); ++i) {
    to.push_back(memory.emplace_back(&self[i]).args());
    from.push_back(memory.emplace_back(&other[i]).args());
  }
  std::vector<Tensor> before;
  for (const Tensor& tensor : self) before.push_back(tensor.Dense());
  const ScalarHandle rate = MakeScalar(-0.5);
  {
    const ListHandle out = MakeList(to);
    const ListHandle x = MakeList(to);
    const ListHandle y = MakeList(from);
    ASSERT_EQ(PORTACL_RUN(aclnnForeachAddListV2, stream_, x.get(), y.get(), rate.get(), out.get()),
              0)
        << TakeMessage();
  }
  for (size_t i = 0; i < self.size(); ++i) {
    memory[2 * i].Download();
    EXPECT_TRUE(BitIdentical(self[i], Expected(Element::kFloat, self[i].shape(), before[i],
                                               other[i], [](double p, double q) {
                                                 return std::fma(-0.5f, static_cast<float>(q),
                                                                 static_cast<float>(p));
                                               })));
  }
}

TEST_F(Companion, ScalesTheMembersOfAList) {
  Tensor wide(Element::kFloat, {20000});
  Tensor half(Element::kFloat16, {3, 4});
  std::vector<Tensor*> hosts = {&wide, &half};
  Random random(12);
  std::vector<DeviceTensor> memory;
  memory.reserve(hosts.size());
  std::vector<TensorArgs> members;
  std::vector<Tensor> before;
  for (Tensor* const host : hosts) {
    host->FillUniform(random, -1, 1);
    before.push_back(host->Dense());
    members.push_back(memory.emplace_back(host).args());
  }
  const ScalarHandle momentum = MakeScalar(0.9);
  {
    const ListHandle x = MakeList(members);
    const ListHandle out = MakeList(members);
    ASSERT_EQ(PORTACL_RUN(aclnnForeachMulScalarV2, stream_, x.get(), momentum.get(), out.get()), 0)
        << TakeMessage();
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    memory[i].Download();
    EXPECT_TRUE(BitIdentical(
        *hosts[i], Expected(hosts[i]->element(), hosts[i]->shape(), before[i], before[i],
                            [](double p, double) { return 0.9f * static_cast<float>(p); })));
  }
}

TEST_F(Companion, SelectsWhereTheMaskIsTrue) {
  for (const Layout layout : kInputLayouts) {
    SCOPED_TRACE(NameOf(layout));
    Tensor x(Element::kFloat16, {4, 300}, layout);
    x.Fill([](int64_t i) { return static_cast<double>(i % 1000); });
    Tensor mask(Element::kBool, {300});
    mask.Fill([](int64_t i) { return i % 3 == 0 ? 1.0 : 0.0; });
    Tensor out(Element::kFloat16, {1200});
    const DeviceTensor from(&x);
    const DeviceTensor where(&mask);
    DeviceTensor to(&out);
    const TensorHandle a = from.args().Make();
    const TensorHandle b = where.args().Make();
    const TensorHandle c = to.args().Make();
    ASSERT_EQ(PORTACL_RUN(aclnnMaskedSelect, stream_, a.get(), b.get(), c.get()), 0)
        << TakeMessage();
    to.Download();
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    ASSERT_EQ(aclGetViewShape(c.get(), &dims, &rank), 0);
    const std::unique_ptr<int64_t[]> owned(dims);
    ASSERT_EQ(rank, 1u);
    ASSERT_EQ(dims[0], 400);
    for (int64_t i = 0; i < 400; ++i) {
      ASSERT_EQ(out.Get(i), x.Get(i / 100 * 300 + i % 100 * 3)) << i;
    }
  }
}

// ---- the loss ----------------------------------------------------------------------------------

TEST_F(Companion, TheLossAndItsGradient) {
  Random random(11);
  for (const Element element : kElements) {
    SCOPED_TRACE(NameOf(element));
    Tensor x(element, {7, 5000});
    Tensor y(element, {7, 5000});
    x.FillUniform(random, -1, 1);
    y.FillUniform(random, -1, 1);
    const DeviceTensor from(&x);
    const DeviceTensor target(&y);
    const TensorHandle a = from.args().Make();
    const TensorHandle b = target.args().Make();
    long double sum = 0;
    for (int64_t i = 0; i < x.size(); ++i) {
      const long double difference = x.Get(i) - y.Get(i);
      sum += difference * difference;
    }
    for (const int64_t reduction : {1, 2}) {
      Tensor loss(element, {});
      DeviceTensor to(&loss);
      const TensorHandle c = to.args().Make();
      ASSERT_EQ(PORTACL_RUN(aclnnMseLoss, stream_, a.get(), b.get(), reduction, c.get()), 0)
          << TakeMessage();
      to.Download();
      const auto terms = static_cast<double>(reduction == 1 ? x.size() : 1);
      const double want = RoundTo(element, static_cast<double>(sum) / terms);
      EXPECT_NEAR(loss.Get(0), want, 2 * UlpAt(element, want));
      Tensor gradient(element, x.shape());
      DeviceTensor slope(&gradient);
      Tensor seed(element, {});
      seed.Set(0, 0.5);
      const DeviceTensor first(&seed);
      const TensorHandle d = first.args().Make();
      const TensorHandle e = slope.args().Make();
      ASSERT_EQ(
          PORTACL_RUN(aclnnMseLossBackward, stream_, d.get(), a.get(), b.get(), reduction, e.get()),
          0)
          << TakeMessage();
      slope.Download();
      const double factor = reduction == 1 ? 2.0 / static_cast<double>(x.size()) : 2.0;
      for (int64_t i = 0; i < x.size(); i += 111) {
        const double exact = factor * (x.Get(i) - y.Get(i)) * 0.5;
        ASSERT_NEAR(gradient.Get(i), exact,
                    UlpAt(element, exact) + 4 * ComputeEpsilon(element) * std::fabs(exact));
      }
    }
    Tensor each(element, x.shape());
    DeviceTensor to(&each);
    const TensorHandle c = to.args().Make();
    ASSERT_EQ(PORTACL_RUN(aclnnMseLoss, stream_, a.get(), b.get(), int64_t{0}, c.get()), 0);
    to.Download();
    EXPECT_NEAR(each.Get(5), std::pow(x.Get(5) - y.Get(5), 2),
                UlpAt(element, each.Get(5)) + 4 * ComputeEpsilon(element));
  }
}

}  // namespace
}  // namespace portacl_test
