// Functions that PyTorch's kernels compute, as a C program calls them: numbers, refusals, streams,
// graphs, executors, modes. python/tests/test_aten.py tests the whole table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_convolution_backward.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_foreach_abs.h"
#include "aclnnop/aclnn_group_norm_backward.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_leaky_relu.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_max_pool.h"
#include "aclnnop/aclnn_nonzero.h"
#include "aclnnop/aclnn_permute.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_unfold_grad.h"
#include "support/api/companion_call.h"

namespace portacl_test {
namespace {

using testing::HasSubstr;

class Aten : public AclTest {
 protected:
  // exp(self) into out, both in device memory.
  aclnnStatus Exp(Tensor* self, Tensor* out) {
    const DeviceTensor from(self);
    DeviceTensor to(out);
    const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
    const aclnnStatus status = PORTACL_RUN(aclnnExp, stream_, handles[0].get(), handles[1].get());
    to.Download();
    return status;
  }
};

IntArrayHandle Ints(const std::vector<int64_t>& values) {
  return IntArrayHandle(aclCreateIntArray(values.data(), values.size()));
}

Tensor Counted(Shape shape, Layout layout = Layout::kContiguous) {
  Tensor tensor(Element::kFloat, std::move(shape), layout);
  tensor.Fill([](int64_t i) { return static_cast<double>(i % 7) / 4 - 0.5; });
  return tensor;
}

TEST_F(Aten, ExpOfEveryLayoutWithoutNegativeStrides) {
  for (const Layout layout : kOutputLayouts) {
    if (layout == Layout::kNegative) continue;
    SCOPED_TRACE(NameOf(layout));
    Tensor self = Counted({2, 3, 4, 5}, layout);
    Tensor out(Element::kFloat, {2, 3, 4, 5}, layout);
    ASSERT_EQ(Exp(&self, &out), ACLNN_SUCCESS) << TakeMessage();
    for (int64_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out.Get(i), std::exp(self.Get(i)), 1e-6);
    }
    EXPECT_TRUE(out.GuardsIntact());
  }
}

TEST_F(Aten, LargeWorkIsTheSame) {
  Tensor self = Counted({300, 400});
  Tensor out(Element::kFloat, {300, 400});
  ASSERT_EQ(Exp(&self, &out), ACLNN_SUCCESS) << TakeMessage();
  for (int64_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out.Get(i), std::exp(self.Get(i)), 1e-6);
}

TEST_F(Aten, MatmulSoftmaxAndLayerNormAreTheTextbooks) {
  Tensor a = Counted({3, 5});
  Tensor b = Counted({5, 4});
  Tensor product(Element::kFloat, {3, 4});
  const DeviceTensor left(&a);
  const DeviceTensor right(&b);
  DeviceTensor to(&product);
  const TensorHandle handles[] = {left.args().Make(), right.args().Make(), to.args().Make()};
  ASSERT_EQ(PORTACL_RUN(aclnnMatmul, stream_, handles[0].get(), handles[1].get(), handles[2].get(),
                        int8_t{0}),
            ACLNN_SUCCESS)
      << TakeMessage();
  to.Download();
  for (int64_t i = 0; i < 12; ++i) {
    double want = 0;
    for (int64_t k = 0; k < 5; ++k) want += a.Get(i / 4 * 5 + k) * b.Get(k * 4 + i % 4);
    ASSERT_NEAR(product.Get(i), want, 1e-6);
  }

  ASSERT_EQ(PORTACL_RUN(aclnnSoftmax, stream_, handles[2].get(), 1, handles[2].get()),
            ACLNN_SUCCESS);  // in place
  to.Download();
  for (int64_t row = 0; row < 3; ++row) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += product.Get(row * 4 + k);
    ASSERT_NEAR(sum, 1, 1e-6);
  }

  Tensor out(Element::kFloat, {3, 5});
  DeviceTensor normed(&out);
  const TensorHandle result = normed.args().Make();
  const IntArrayHandle shape = Ints({5});
  ASSERT_EQ(PORTACL_RUN(aclnnLayerNorm, stream_, handles[0].get(), shape.get(), nullptr, nullptr,
                        1e-5, result.get(), nullptr, nullptr),
            ACLNN_SUCCESS)
      << TakeMessage();
  normed.Download();
  for (int64_t row = 0; row < 3; ++row) {
    double mean = 0;
    for (int64_t k = 0; k < 5; ++k) mean += out.Get(row * 5 + k) / 5;
    ASSERT_NEAR(mean, 0, 1e-6);
  }
}

TEST_F(Aten, ConvolutionOfOnesCounts) {
  Tensor image(Element::kFloat, {1, 2, 4, 4});
  Tensor weight(Element::kFloat, {3, 2, 3, 3});
  Tensor out(Element::kFloat, {1, 3, 2, 2});
  image.Fill(1);
  weight.Fill(2);
  const DeviceTensor from(&image);
  const DeviceTensor by(&weight);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), by.args().Make(), to.args().Make()};
  const IntArrayHandle ones = Ints({1, 1});
  const IntArrayHandle zeros = Ints({0, 0});
  ASSERT_EQ(PORTACL_RUN(aclnnConvolution, stream_, handles[0].get(), handles[1].get(), nullptr,
                        ones.get(), zeros.get(), ones.get(), false, zeros.get(), 1,
                        handles[2].get(), int8_t{0}),
            ACLNN_SUCCESS)
      << TakeMessage();
  to.Download();
  for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out.Get(i), 36);
}

// PyTorch divides by the number of groups and by the step before it looks.
TEST_F(Aten, GradientsNeedGroupsAndSteps) {
  const DeviceMemory memory(4096);
  const auto tensor = [&](Shape shape) {
    return TensorArgs{std::move(shape), ACL_FLOAT, ACL_FORMAT_NCHW, memory.get()}.Make();
  };
  const TensorHandle grad = tensor({1, 3, 2, 2}), image = tensor({1, 2, 4, 4}),
                     weight = tensor({3, 2, 3, 3});
  const IntArrayHandle ones = Ints({1, 1}), zeros = Ints({0, 0}), bias = Ints({3});
  const bool all[] = {true, true, false};
  const BoolArrayHandle mask(aclCreateBoolArray(all, 3));
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  for (const int groups : {0, -1}) {
    EXPECT_EQ(aclnnConvolutionBackwardGetWorkspaceSize(
                  grad.get(), image.get(), weight.get(), bias.get(), ones.get(), zeros.get(),
                  ones.get(), false, zeros.get(), groups, mask.get(), 0, image.get(), weight.get(),
                  nullptr, &size, &executor),
              ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(TakeMessage(), "aclnnConvolutionBackward: groups is " + std::to_string(groups) +
                                 ", but must be at least 1");
  }
  const TensorHandle windows = tensor({2, 2}), line = tensor({4});
  const IntArrayHandle sizes = Ints({4});
  EXPECT_EQ(aclnnUnfoldGradGetWorkspaceSize(windows.get(), sizes.get(), 0, 2, 0, line.get(), &size,
                                            &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "aclnnUnfoldGrad: step is 0, but must be at least 1");
  const TensorHandle rows = tensor({1, 2, 4}), none = tensor({1, 0}), channels = tensor({2});
  EXPECT_EQ(aclnnGroupNormBackwardGetWorkspaceSize(
                rows.get(), rows.get(), none.get(), none.get(), channels.get(), 1, 2, 4, 0,
                mask.get(), rows.get(), channels.get(), nullptr, &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "aclnnGroupNormBackward: group is 0, but must be at least 1");
}

TEST_F(Aten, MaximaHavePaddingForAllSidesAnAxisOrASide) {
  Tensor image = Counted({1, 1, 4, 5});
  const DeviceTensor from(&image);
  const TensorHandle self = from.args().Make();
  const IntArrayHandle kernel = Ints({3, 3}), strides = Ints({2, 2}), ones = Ints({1, 1});
  const auto pool = [&](const std::vector<int64_t>& pads, DeviceTensor* to) {
    const IntArrayHandle given = Ints(pads);
    const TensorHandle out = to->args().Make();
    return PORTACL_RUN(aclnnMaxPool, stream_, self.get(), kernel.get(), strides.get(), 0,
                       given.get(), ones.get(), 0, out.get());
  };
  struct Case {
    std::vector<int64_t> pads;
    int64_t height, width;  // of padding on either side
  };
  for (const Case& one :
       {Case{{1}, 1, 1}, Case{{1, 1}, 1, 1}, Case{{1, 1, 1, 1}, 1, 1}, Case{{1, 0}, 1, 0},
        Case{{1, 1, 0, 0}, 1, 0}, Case{{0, 1}, 0, 1}, Case{{0, 0, 1, 1}, 0, 1}}) {
    SCOPED_TRACE(testing::PrintToString(one.pads));
    const int64_t rows = (4 + 2 * one.height - 3) / 2 + 1;
    const int64_t columns = (5 + 2 * one.width - 3) / 2 + 1;
    Tensor out(Element::kFloat, {1, 1, rows, columns});
    out.Fill(0);
    DeviceTensor to(&out);
    ASSERT_EQ(pool(one.pads, &to), ACLNN_SUCCESS) << TakeMessage();
    to.Download();
    for (int64_t at = 0; at < rows * columns; ++at) {
      const int64_t top = at / columns * 2 - one.height, left = at % columns * 2 - one.width;
      double want = -1;
      for (int64_t y = std::max<int64_t>(top, 0); y < std::min<int64_t>(top + 3, 4); ++y) {
        for (int64_t x = std::max<int64_t>(left, 0); x < std::min<int64_t>(left + 3, 5); ++x) {
          want = std::max(want, image.Get(y * 5 + x));
        }
      }
      EXPECT_EQ(out.Get(at), want) << at;
    }
  }
  Tensor out(Element::kFloat, {1, 1, 2, 3});
  DeviceTensor to(&out);
  EXPECT_EQ(pool({1, 1, 1}, &to), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("pads has 3 elements, but must have 0, 1, 2 or 4"));
}

TEST_F(Aten, OutputsMayLieInInputs) {
  Tensor square = Counted({3, 3});
  const std::vector<double> before = square.Values();
  DeviceTensor device(&square);
  const TensorHandle handle = device.args().Make();
  const IntArrayHandle dims = Ints({1, 0});
  ASSERT_EQ(PORTACL_RUN(aclnnPermute, stream_, handle.get(), dims.get(), handle.get()),
            ACLNN_SUCCESS);
  device.Download();
  for (size_t i = 0; i < 9; ++i) {
    ASSERT_EQ(square.Get(static_cast<int64_t>(i)), before[i % 3 * 3 + i / 3]);
  }
}

// A handle of FLOAT for a view of `memory` from its byte `begin` on.
TensorHandle FloatsAt(const DeviceMemory& memory, int64_t begin, const Shape& shape,
                      const Shape& strides, int64_t offset, const Shape& storage) {
  return TensorHandle(aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), offset,
                                      ACL_FORMAT_ND, storage.data(), storage.size(),
                                      static_cast<char*>(memory.get()) + begin));
}

TEST_F(Aten, ElementsMayLieAtAnyAddress) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  for (const int64_t begin : {0, 1, 2, 3}) {
    SCOPED_TRACE(begin);
    const DeviceMemory memory(64);
    char bytes[64] = {};
    std::memcpy(bytes + begin, values, sizeof values);
    ASSERT_EQ(aclrtMemcpy(memory.get(), 64, bytes, 64, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    const TensorHandle self = FloatsAt(memory, begin, {3}, {2}, 0, {6});
    const TensorHandle out = FloatsAt(memory, begin + 24, {3}, {2}, 1, {6});
    ASSERT_EQ(PORTACL_RUN(aclnnExp, stream_, self.get(), out.get()), ACLNN_SUCCESS)
        << TakeMessage();
    ASSERT_EQ(PORTACL_RUN(aclnnInplaceExp, stream_, self.get()), ACLNN_SUCCESS) << TakeMessage();
    ASSERT_EQ(aclrtMemcpy(bytes, 64, memory.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    float after[12];
    std::memcpy(after, bytes + begin, sizeof after);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(after[2 * i], std::exp(values[2 * i]), 1e-4);  // in place
      EXPECT_EQ(after[2 * i + 1], values[2 * i + 1]);
      EXPECT_EQ(after[6 + 2 * i], 0);
      EXPECT_NEAR(after[6 + 2 * i + 1], std::exp(values[2 * i]), 1e-4);
    }
  }
}

TEST_F(Aten, AStorageMayLeaveOutTheOffset) {
  const DeviceMemory memory(64);
  ASSERT_EQ(aclrtMemset(memory.get(), 64, 0, 64), ACL_SUCCESS);
  const TensorHandle self = FloatsAt(memory, 0, {4}, {1}, 4, {4});
  const TensorHandle out = FloatsAt(memory, 0, {4}, {1}, 8, {4});
  ASSERT_EQ(PORTACL_RUN(aclnnExp, stream_, self.get(), out.get()), ACLNN_SUCCESS) << TakeMessage();
  float after[16];
  ASSERT_EQ(aclrtMemcpy(after, 64, memory.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(after[i], i >= 8 && i < 12 ? 1 : 0);
}

TEST_F(Aten, NothingIsComputedOfEmptyViews) {
  const DeviceMemory memory(64);
  const TensorHandle self = FloatsAt(memory, 0, {0, 4}, {4, 1}, 0, {-4});
  ASSERT_NE(self.get(), nullptr) << TakeMessage();
  const TensorHandle out = FloatsAt(memory, 0, {0, 4}, {4, 1}, 0, {0});
  EXPECT_EQ(PORTACL_RUN(aclnnExp, stream_, self.get(), out.get()), ACLNN_SUCCESS) << TakeMessage();
}

TEST_F(Aten, ASumOfAllTakesOneElement) {
  Tensor self = Counted({2, 3});
  Tensor out(Element::kFloat, {1});
  const DeviceTensor from(&self);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
  const IntArrayHandle dims = Ints({0, 1});
  ASSERT_EQ(PORTACL_RUN(aclnnReduceSum, stream_, handles[0].get(), dims.get(), false, ACL_FLOAT,
                        handles[1].get()),
            ACLNN_SUCCESS)
      << TakeMessage();
  to.Download();
  double want = 0;
  for (int64_t i = 0; i < 6; ++i) want += self.Get(i);
  EXPECT_NEAR(out.Get(0), want, 1e-6);
}

TEST_F(Aten, ListsOfManyTensors) {
  std::vector<Tensor> from;
  std::vector<Tensor> to;
  for (int64_t i = 0; i < 9; ++i) {
    from.push_back(Counted({i + 1}));
    to.emplace_back(Element::kFloat, Shape{i + 1});
  }
  std::vector<std::unique_ptr<DeviceTensor>> devices;
  std::vector<TensorArgs> inputs;
  std::vector<TensorArgs> outputs;
  for (size_t i = 0; i < from.size(); ++i) {
    devices.push_back(std::make_unique<DeviceTensor>(&from[i]));
    inputs.push_back(devices.back()->args());
    devices.push_back(std::make_unique<DeviceTensor>(&to[i]));
    outputs.push_back(devices.back()->args());
  }
  const ListHandle x = MakeList(inputs);
  const ListHandle y = MakeList(outputs);
  ASSERT_EQ(PORTACL_RUN(aclnnForeachAbs, stream_, x.get(), y.get()), ACLNN_SUCCESS)
      << TakeMessage();
  for (size_t i = 0; i < to.size(); ++i) {
    devices[2 * i + 1]->Download();
    for (int64_t k = 0; k < to[i].size(); ++k) {
      ASSERT_EQ(to[i].Get(k), std::abs(from[i].Get(k)));
    }
  }
}

TEST_F(Aten, ARunFindsTheShapeOfSomeOutputs) {
  Tensor self(Element::kFloat, {6});
  self.Fill({0, 1, 0, 2, 3, 0});
  Tensor out(Element::kInt64, {6, 1});
  const DeviceTensor from(&self);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
  ASSERT_EQ(PORTACL_RUN(aclnnNonzero, stream_, handles[0].get(), handles[1].get()), ACLNN_SUCCESS);
  to.Download();
  int64_t* dims = nullptr;
  uint64_t rank = 0;
  ASSERT_EQ(aclGetViewShape(handles[1].get(), &dims, &rank), ACLNN_SUCCESS);
  ASSERT_EQ(rank, 2u);
  EXPECT_EQ(dims[0], 3);
  EXPECT_EQ(dims[1], 1);
  delete[] dims;
  EXPECT_EQ(out.Get(0), 1);
  EXPECT_EQ(out.Get(2), 4);
}

TEST_F(Aten, RunsThatFindAShapeMayFollowEachOther) {
  Tensor self(Element::kFloat, {4});
  Tensor out(Element::kInt64, {4, 1});
  DeviceTensor from(&self);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnNonzeroGetWorkspaceSize(handles[0].get(), handles[1].get(), &size, &executor),
            ACLNN_SUCCESS);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  for (const int64_t zeros : {3, 0, 4, 1}) {  // 4: nothing is found
    SCOPED_TRACE(zeros);
    self.Fill([&](int64_t i) { return i < zeros ? 0.0 : 1.0; });
    from.Upload();
    ASSERT_EQ(aclSetOutputTensorAddr(executor, 0, handles[1].get(), to.address()), ACLNN_SUCCESS)
        << TakeMessage();
    ASSERT_EQ(aclnnNonzero(nullptr, size, executor, stream_), ACLNN_SUCCESS) << TakeMessage();
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    int64_t* dims = nullptr;
    uint64_t rank = 0;
    ASSERT_EQ(aclGetViewShape(handles[1].get(), &dims, &rank), ACLNN_SUCCESS);
    EXPECT_EQ(dims[0], 4 - zeros);
    delete[] dims;
    to.Download();
    for (int64_t i = zeros; i < 4; ++i) EXPECT_EQ(out.Get(i - zeros), i);
  }
  const TensorHandle smaller = TensorArgs{{3, 1}, ACL_INT64, ACL_FORMAT_ND, to.address()}.Make();
  EXPECT_EQ(aclSetOutputTensorAddr(executor, 0, smaller.get(), to.address()),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("shape [3, 1], wanted [4, 1]"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(Aten, WrongCallsAreRefusedInPyTorchsWords) {
  Tensor self = Counted({2, 3});
  Tensor out(Element::kFloat, {2, 3});
  const DeviceTensor from(&self);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
  uint64_t size = 1;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnExpGetWorkspaceSize(nullptr, handles[1].get(), &size, &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(TakeMessage(), "aclnnExp: self is null");
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(aclnnExpGetWorkspaceSize(handles[0].get(), handles[1].get(), nullptr, &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnExpGetWorkspaceSize(handles[0].get(), handles[1].get(), &size, nullptr),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnMatmulGetWorkspaceSize(handles[0].get(), handles[0].get(), handles[1].get(), 0,
                                        &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("mat1 and mat2 shapes cannot be multiplied"));
  const IntArrayHandle dims = Ints({1, 0});
  EXPECT_EQ(aclnnPermuteGetWorkspaceSize(handles[0].get(), dims.get(), handles[1].get(), &size,
                                         &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "aclnnPermute: out has shape [2, 3], but the result has shape [3, 2]");
  aclTensor* const destroyed = from.args().Make().release();
  aclDestroyTensor(destroyed);
  EXPECT_EQ(aclnnExpGetWorkspaceSize(destroyed, handles[1].get(), &size, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(TakeMessage(), HasSubstr("self is not a live handle"));
  EXPECT_EQ(executor, nullptr);
}

TEST_F(Aten, CallsThatShareAPlanHaveTheirOwnResults) {
  Tensor self(Element::kFloat, {4});
  Tensor out(Element::kFloat, {4});
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const double slope = i % 3 / 4.0;
    self.Fill(-1.0 - i);
    const DeviceTensor from(&self);  // memory of its own
    DeviceTensor to(&out);
    const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
    const ScalarHandle scalar = MakeScalar(slope, Element::kFloat);
    ASSERT_EQ(
        PORTACL_RUN(aclnnLeakyRelu, stream_, handles[0].get(), scalar.get(), handles[1].get()),
        ACLNN_SUCCESS)
        << TakeMessage();
    to.Download();
    for (int64_t k = 0; k < 4; ++k) ASSERT_EQ(out.Get(k), slope * (-1.0 - i));
    ASSERT_EQ(PORTACL_RUN(aclnnSoftmax, stream_, handles[0].get(), i % 2 - 1, handles[1].get()),
              ACLNN_SUCCESS)
        << TakeMessage();
  }
}

TEST_F(Aten, AFailedRunIsTheStreamsError) {
  Tensor self = Counted({4, 2});
  Tensor index(Element::kInt64, {1});
  index.Fill(9);
  Tensor out(Element::kFloat, {1, 2});
  const DeviceTensor from(&self);
  const DeviceTensor at(&index);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), at.args().Make(), to.args().Make()};
  EXPECT_EQ(PORTACL_RUN(aclnnIndexSelect, stream_, handles[0].get(), 0, handles[1].get(),
                        handles[2].get()),
            ACL_ERROR_RT_INTERNAL_ERROR);
  EXPECT_THAT(TakeMessage(), HasSubstr("aclnnIndexSelect on stream"));
  EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
}

// PyTorch counts rows where it does not look at their numbers.
TEST_F(Aten, ScaledGradientsOfEmbeddingsNeedRows) {
  Tensor grad(Element::kFloat, {4, 2});
  grad.Fill(1);
  Tensor indices(Element::kInt64, {4});
  Tensor out(Element::kFloat, {4, 2});
  const DeviceTensor from(&grad);
  DeviceTensor at(&indices);
  DeviceTensor to(&out);
  const TensorHandle handles[] = {from.args().Make(), at.args().Make(), to.args().Make()};
  const auto gradient = [&](int64_t last) {
    indices.Fill({0, 1, 1, static_cast<double>(last)});
    at.Upload();
    return PORTACL_RUN(aclnnEmbeddingDenseBackward, stream_, handles[0].get(), handles[1].get(), 4,
                       -1, true, handles[2].get());
  };
  ASSERT_EQ(gradient(3), ACLNN_SUCCESS) << TakeMessage();
  to.Download();
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(out.Get(i), i / 2 == 2 ? 0 : 1);  // of row 1: 2 / 2
  for (const int64_t row : {int64_t{4}, int64_t{-1}, int64_t{10'000'000'000}}) {
    EXPECT_EQ(gradient(row), ACL_ERROR_RT_INTERNAL_ERROR);
    EXPECT_THAT(TakeMessage(), HasSubstr("index out of range"));
  }
}

TEST_F(Aten, WhatCompanionOperatorsLackIsComputed) {
  const float from[] = {1, 2, 3, 4};
  float to[4] = {};
  const int64_t shape[] = {2};
  const TensorHandle src(aclCreateTensor(shape, 1, ACL_COMPLEX64, nullptr, 0, ACL_FORMAT_ND, shape,
                                         1, const_cast<float*>(from)));
  const TensorHandle dst(
      aclCreateTensor(shape, 1, ACL_COMPLEX64, nullptr, 0, ACL_FORMAT_ND, shape, 1, to));
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceCopy, stream_, dst.get(), src.get()), ACLNN_SUCCESS)
      << TakeMessage();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(to[i], from[i]);
  const float filled[] = {5, 6};
  const ScalarHandle scalar(aclCreateScalar(const_cast<float*>(filled), ACL_COMPLEX64));
  ASSERT_EQ(PORTACL_RUN(aclnnInplaceFillScalar, stream_, dst.get(), scalar.get()), ACLNN_SUCCESS)
      << TakeMessage();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(to[i], filled[i % 2]);
}

TEST_F(Aten, ThreadsCallAtATime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      for (int64_t n : {16, 70000}) {
        Tensor self(Element::kFloat, {n});
        self.Fill(t);
        Tensor out(Element::kFloat, {n});
        const DeviceTensor from(&self);
        DeviceTensor to(&out);
        const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
        ASSERT_EQ(PORTACL_RUN(aclnnExp, stream, handles[0].get(), handles[1].get()), ACLNN_SUCCESS);
        to.Download();
        ASSERT_NEAR(out.Get(n - 1), std::exp(static_cast<double>(t)), 1e-5);
      }
      ASSERT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Ends with 0 where exp of one small and one large tensor is right.
void RunInMode(const char* variable) {
  setenv(variable, "1", 1);
  bool right = aclrtSetDevice(0) == ACL_SUCCESS;
  aclrtStream stream = nullptr;
  right = right && aclrtCreateStream(&stream) == ACL_SUCCESS;
  for (const int64_t n : {16, 70000}) {
    Tensor self(Element::kFloat, {n});
    self.Fill(2);
    Tensor out(Element::kFloat, {n});
    const DeviceTensor from(&self);
    DeviceTensor to(&out);
    const TensorHandle handles[] = {from.args().Make(), to.args().Make()};
    right =
        right && PORTACL_RUN(aclnnExp, stream, handles[0].get(), handles[1].get()) == ACLNN_SUCCESS;
    to.Download();
    right = right && std::abs(out.Get(n - 1) - std::exp(2.0)) < 1e-5;
  }
  std::exit(right ? 0 : 1);
}

TEST(AtenModesChild, GuardedAndLazy) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(RunInMode("PORTACL_GUARD"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(RunInMode("PORTACL_LAZY"), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace portacl_test
