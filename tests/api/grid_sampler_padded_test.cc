// The grid samplers of the native API alone: numbers of circular and constant padding and of points
// outside, through C and C++, their refusals, and the record of the signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/api/abi.h"
#include "support/api/native.h"

namespace portacl_test {
namespace {

PORTACL_ABI_OF(portaclPlanGridSampler2DPadded,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*, int32_t,
                       int32_t, int32_t, double, int32_t, double, portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler2DPaddedBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, int32_t, int32_t, int32_t,
                       double, int32_t, double, portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler3DPadded,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*, int32_t,
                       int32_t, int32_t, double, int32_t, double, portaclPlan**));
PORTACL_ABI_OF(portaclPlanGridSampler3DPaddedBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*,
                       const portaclTensor*, const portaclTensor*, int32_t, int32_t, int32_t,
                       double, int32_t, double, portaclPlan**));

using portacl::GridSampling;
using portacl::Padding;
using testing::ElementsAre;
using testing::HasSubstr;

class PaddedGridSampler : public NativeTest {
 protected:
  // A row of four pixels, sampled at pixel coordinates 0, 0.5, ...; x of pixel p is (2 p + 1) / 4 -
  // 1.
  std::vector<float> image_ = {1, 2, 4, 8};
  static float X(float pixel) { return (2 * pixel + 1) / 4 - 1; }

  std::vector<float> Sample(const std::vector<float>& pixels, const GridSampling& how) {
    std::vector<float> points;
    for (const float pixel : pixels) points.insert(points.end(), {X(pixel), 0});
    const auto count = static_cast<int64_t>(pixels.size());
    std::vector<float> values(pixels.size(), -1);
    EXPECT_TRUE(Succeeds(
        portacl::grid_sampler_2d_padded(portacl::Tensor(image_.data(), {1, 1, 1, 4}),
                                        portacl::Tensor(points.data(), {1, 1, count, 2}),
                                        portacl::Tensor(values.data(), {1, 1, 1, count}), how)));
    return values;
  }
};

TEST_F(PaddedGridSampler, CircularGoesOnWithTheOtherEnd) {
  const GridSampling how = {.padding = Padding::kCircular};
  EXPECT_THAT(Sample({0, 1.5, 3, 3.5, 4, -1, -0.5, 7, -5}, how),
              ElementsAre(1, 3, 8, 4.5, 1, 8, 4.5, 8, 8));
}

TEST_F(PaddedGridSampler, ConstantHoldsTheValueOutside) {
  const GridSampling how = {.padding = Padding::kConstant, .fill_value = 16};
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(Sample({3, 3.5, 4, 100, -0.5, -infinity}, how), ElementsAre(8, 12, 16, 16, 8.5, 16));
}

TEST_F(PaddedGridSampler, PointsOutsideHaveTheirValue) {
  const GridSampling how = {.padding = Padding::kBorder, .outside_value = -7};
  EXPECT_THAT(Sample({-0.5, -0.75, 3.25, 3.5, 3.75, 2}, how), ElementsAre(1, -7, 8, 8, -7, 4));
}

TEST_F(PaddedGridSampler, GradientsComeBackThroughTheOtherEnd) {
  std::vector<float> grad = {1, 10};
  std::vector<float> points = {X(3.75), 0, X(1), 0};
  std::vector<float> input_grad(4, -1), grid_grad(4, -1);
  ASSERT_TRUE(Succeeds(portacl::grid_sampler_2d_padded_backward(
      portacl::Tensor(grad.data(), {1, 1, 1, 2}), portacl::Tensor(image_.data(), {1, 1, 1, 4}),
      portacl::Tensor(points.data(), {1, 1, 2, 2}),
      portacl::Tensor(input_grad.data(), {1, 1, 1, 4}),
      portacl::Tensor(grid_grad.data(), {1, 1, 2, 2}), {.padding = Padding::kCircular})));
  EXPECT_THAT(input_grad, ElementsAre(0.75, 10, 0, 0.25));
  EXPECT_THAT(grid_grad, ElementsAre((1 - 8) * 2, 0, 10 * 2 * 2, 0));
}

TEST_F(PaddedGridSampler, VolumesHaveTheSame) {
  std::vector<float> volume = {1, 2, 4, 8, 16, 32, 64, 128};
  std::vector<float> points = {-1, -1, -1, 3, 0, 0};
  std::vector<float> values(2, -1);
  const auto sample = [&](const GridSampling& how) {
    EXPECT_TRUE(Succeeds(
        portacl::grid_sampler_3d_padded(portacl::Tensor(volume.data(), {1, 1, 2, 2, 2}),
                                        portacl::Tensor(points.data(), {1, 1, 1, 2, 3}),
                                        portacl::Tensor(values.data(), {1, 1, 1, 1, 2}), how)));
    return values;
  };
  const float mean = 255.0F / 8;
  EXPECT_THAT(sample({.padding = Padding::kCircular}), ElementsAre(mean, mean));
  EXPECT_THAT(sample({.padding = Padding::kConstant, .fill_value = 9}),
              ElementsAre((1 + 7 * 9) / 8.0F, 9));
  EXPECT_THAT(sample({.padding = Padding::kZeros, .outside_value = 5}), ElementsAre(1 / 8.0F, 5));
}

TEST_F(PaddedGridSampler, RefusesWhatIsNoPadding) {
  float value = 1;
  float point[2] = {};
  const portacl::Tensor image(&value, {1, 1, 1, 1});
  const portacl::Tensor grid(point, {1, 1, 1, 2});
  const auto status =
      portacl::grid_sampler_2d_padded(image, grid, image, {.padding = static_cast<Padding>(5)});
  EXPECT_EQ(status.code(), PORTACL_ERROR_INVALID);
  EXPECT_THAT(status.message(), HasSubstr("padding is 5, but must be 0 (zeros), 1 (border), 2 "
                                          "(reflection), 3 (circular) or 4 (constant)"));
  // The older functions keep their three.
  EXPECT_THAT(portacl::grid_sampler_2d(image, grid, image, portacl::Interpolation::kBilinear,
                                       Padding::kCircular)
                  .message(),
              HasSubstr("padding is 3, but must be 0 (zeros), 1 (border) or 2 (reflection)"));
}

}  // namespace
}  // namespace portacl_test
