// Adaptive average pooling and its gradient through their C API: numbers of a plain sum over
// windows, their refusals, calls that PyTorch's kernels may compute, and the signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "aclnnop/aclnn_adaptive_avg_pool2d.h"
#include "aclnnop/aclnn_adaptive_avg_pool2d_backward.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d.h"
#include "aclnnop/aclnn_adaptive_avg_pool3d_backward.h"
#include "support/api/abi.h"
#include "support/api/acl_fixture.h"

namespace portacl_test {
namespace {

using PoolForward = aclnnStatus(const aclTensor*, const aclIntArray*, aclTensor*, uint64_t*,
                                aclOpExecutor**);
using PoolBackward = aclnnStatus(const aclTensor*, const aclTensor*, aclTensor*, uint64_t*,
                                 aclOpExecutor**);
using PoolPhaseTwo = aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream);
using PoolNative = int32_t(const portaclTensor*, const portaclTensor*, portaclPlan**);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool2dGetWorkspaceSize, PoolForward);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool3dGetWorkspaceSize, PoolForward);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize, PoolBackward);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize, PoolBackward);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool2d, PoolPhaseTwo);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool3d, PoolPhaseTwo);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool2dBackward, PoolPhaseTwo);
PORTACL_ABI_OF(aclnnAdaptiveAvgPool3dBackward, PoolPhaseTwo);
PORTACL_ABI_OF(portaclPlanAdaptiveAvgPool, PoolNative);
PORTACL_ABI_OF(portaclPlanAdaptiveAvgPoolBackward, PoolNative);

aclFormat FormatOf(const Shape& shape) {
  return shape.size() == 5 ? ACL_FORMAT_NCDHW : shape.size() == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND;
}

class AdaptiveAvgPool : public AclTest {
 protected:
  static TensorHandle Make(std::vector<float>& values, const Shape& shape,
                           aclDataType dtype = ACL_FLOAT) {
    TensorArgs args;
    args.shape = shape;
    args.dtype = dtype;
    args.format = FormatOf(shape);
    args.data = values.data();
    return args.Make();
  }

  // Phase 1 of the function for tensors of the rank, then phase 2.
  aclnnStatus Pool(const aclTensor* self, const Shape& size, aclTensor* out) {
    const IntArrayHandle ints = MakeInts(size);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const bool volume = size.size() == 3;
    const aclnnStatus status =
        (volume ? aclnnAdaptiveAvgPool3dGetWorkspaceSize : aclnnAdaptiveAvgPool2dGetWorkspaceSize)(
            self, ints.get(), out, &bytes, &executor);
    return Finish(status, volume ? aclnnAdaptiveAvgPool3d : aclnnAdaptiveAvgPool2d, bytes,
                  executor);
  }
  aclnnStatus Gradient(const aclTensor* grad, const aclTensor* self, aclTensor* out, bool volume) {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = (volume ? aclnnAdaptiveAvgPool3dBackwardGetWorkspaceSize
                                       : aclnnAdaptiveAvgPool2dBackwardGetWorkspaceSize)(
        grad, self, out, &bytes, &executor);
    return Finish(status, volume ? aclnnAdaptiveAvgPool3dBackward : aclnnAdaptiveAvgPool2dBackward,
                  bytes, executor);
  }

 private:
  aclnnStatus Finish(aclnnStatus status, PoolPhaseTwo* run, uint64_t bytes,
                     aclOpExecutor* executor) {
    if (status != ACLNN_SUCCESS) return status;
    const DeviceMemory workspace(bytes);
    status = run(workspace.get(), bytes, executor, stream_);
    return status != ACLNN_SUCCESS ? status : aclrtSynchronizeStream(stream_);
  }
};

// Calls visit(element of the image, element of the pooled image, elements of the window).
template <class Visit>
void ForEachTerm(const Shape& image, const Shape& pooled, const Visit& visit) {
  const auto in = [&](int64_t o, size_t axis, int64_t i) {
    const int64_t extent = image[axis + 2], count = pooled[axis + 2];
    return o * extent / count <= i && i < ((o + 1) * extent + count - 1) / count;
  };
  const size_t axes = image.size() - 2;
  const auto split = [&](int64_t at, const Shape& shape) {
    std::vector<int64_t> index(axes);
    for (size_t axis = axes; axis-- > 0; at /= shape[axis + 2]) index[axis] = at % shape[axis + 2];
    return index;
  };
  int64_t from = 1, to = 1;
  for (size_t axis = 0; axis < axes; ++axis) {
    from *= image[axis + 2];
    to *= pooled[axis + 2];
  }
  for (int64_t o = 0; o < to; ++o) {
    std::vector<int64_t> window;
    for (int64_t i = 0; i < from; ++i) {
      bool inside = true;
      for (size_t axis = 0; axis < axes; ++axis) {
        inside = inside && in(split(o, pooled)[axis], axis, split(i, image)[axis]);
      }
      if (inside) window.push_back(i);
    }
    for (const int64_t i : window) visit(i, o, static_cast<double>(window.size()));
  }
}

std::vector<float> Numbers(size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 37 % 101) / 64 - 0.5f);
  return values;
}

TEST_F(AdaptiveAvgPool, AveragesWindowsAndItsGradientIsTheTranspose) {
  for (const auto& [image, pooled] : {std::pair<Shape, Shape>{{1, 1, 7, 5}, {1, 1, 3, 2}},
                                      {{1, 1, 4, 6}, {1, 1, 1, 1}},
                                      {{1, 1, 3, 2}, {1, 1, 5, 7}},
                                      {{1, 1, 3, 5, 4}, {1, 1, 2, 3, 4}}}) {
    SCOPED_TRACE(ToString(image) + ToString(pooled));
    const auto count = [](const Shape& shape) {
      size_t elements = 1;
      for (const int64_t extent : shape) elements *= static_cast<size_t>(extent);
      return elements;
    };
    std::vector<float> x = Numbers(count(image)), y(count(pooled), -9), g = Numbers(count(pooled));
    std::vector<float> dx(count(image), -9);
    std::vector<double> want(y.size()), want_gradient(x.size());
    ForEachTerm(image, pooled, [&](int64_t i, int64_t o, double elements) {
      const auto at = static_cast<size_t>(i), to = static_cast<size_t>(o);
      want[to] += x[at] / elements;
      want_gradient[at] += g[to] / elements;
    });
    const TensorHandle self = Make(x, image), out = Make(y, pooled);
    const TensorHandle grad = Make(g, pooled), to = Make(dx, image);
    ASSERT_EQ(Pool(self.get(), Shape(pooled.begin() + 2, pooled.end()), out.get()), ACLNN_SUCCESS)
        << TakeMessage();
    ASSERT_EQ(Gradient(grad.get(), self.get(), to.get(), image.size() == 5), ACLNN_SUCCESS)
        << TakeMessage();
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], want[i], 1e-6) << i;
    for (size_t i = 0; i < dx.size(); ++i) EXPECT_NEAR(dx[i], want_gradient[i], 1e-6) << i;
  }
}

TEST_F(AdaptiveAvgPool, RefusesShapesThatDoNotFit) {
  std::vector<float> values(200);
  const TensorHandle self = Make(values, {2, 3, 4, 5}), small = Make(values, {2, 3, 2, 2});
  const TensorHandle other = Make(values, {2, 1, 2, 2}), flat = Make(values, {2, 3, 0, 5});
  EXPECT_EQ(Pool(self.get(), {2, 3}, small.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(),
            "aclnnAdaptiveAvgPool2d: out has shape [2, 3, 2, 2], but self and outputSize ask for "
            "[2, 3, 2, 3] as (N, C, ...)");
  EXPECT_EQ(Pool(self.get(), {2, 0}, small.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "aclnnAdaptiveAvgPool2d: outputSize[1] is 0, but must be at least 1");
  EXPECT_EQ(Pool(flat.get(), {2, 2}, small.get()), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(),
            "aclnnAdaptiveAvgPool2d: self has shape [2, 3, 0, 5], but its spatial extents must be "
            "at least 1");
  EXPECT_EQ(Gradient(other.get(), self.get(), self.get(), false), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(),
            "aclnnAdaptiveAvgPool2dBackward: self has shape [2, 3, 4, 5], but gradOutput has "
            "[2, 1, 2, 2]: N and C must be equal");
  EXPECT_EQ(Gradient(small.get(), self.get(), small.get(), false), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(),
            "aclnnAdaptiveAvgPool2dBackward: out has shape [2, 3, 2, 2], but gradOutput and self "
            "ask for [2, 3, 4, 5] as (N, C, ...)");
}

// PyTorch's kernels compute this if libportacl_aten.so is there; if not, the call is refused.
TEST_F(AdaptiveAvgPool, TensorsWithoutABatchAreNotItsOwn) {
  std::vector<float> values(60, 2.0f), pooled(12, -9);
  const TensorHandle self = Make(values, {3, 4, 5}), out = Make(pooled, {3, 2, 2});
  const aclnnStatus status = Pool(self.get(), {2, 2}, out.get());
  if (status == ACLNN_SUCCESS) {
    EXPECT_EQ(pooled, std::vector<float>(12, 2.0f));
  } else {
    EXPECT_EQ(status, ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(TakeMessage(),
              "aclnnAdaptiveAvgPool2d: self has shape [3, 4, 5] of rank 3, but must have rank 4 "
              "(N, C, H, W)");
  }
}

TEST_F(AdaptiveAvgPool, EmptyBatchesAreNothingToDo) {
  std::vector<float> values(60);
  const TensorHandle self = Make(values, {0, 3, 4, 5}), out = Make(values, {0, 3, 2, 2});
  EXPECT_EQ(Pool(self.get(), {2, 2}, out.get()), ACLNN_SUCCESS) << TakeMessage();
  EXPECT_EQ(Gradient(out.get(), self.get(), self.get(), false), ACLNN_SUCCESS) << TakeMessage();
}

TEST(AdaptiveAvgPoolNative, BytesAreRoundedHalfUp) {
  std::vector<uint8_t> image = {0, 1, 1, 2, 254, 255}, pooled(3);
  const portacl::Tensor in(image.data(), portacl::DataType::kUInt8, {1, 1, 6});
  const portacl::Tensor out(pooled.data(), portacl::DataType::kUInt8, {1, 1, 3});
  ASSERT_TRUE(portacl::adaptive_avg_pool(in, out).ok()) << portaclGetErrorMessage();
  EXPECT_EQ(pooled, (std::vector<uint8_t>{1, 2, 255}));
  EXPECT_FALSE(portacl::adaptive_avg_pool_backward(out, in).ok());
}

}  // namespace
}  // namespace portacl_test
