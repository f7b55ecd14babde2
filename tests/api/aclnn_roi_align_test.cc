// RoiAlign and its gradient: numbers of a plain sum over samples, rois that name nothing, refusals
// of its own, and the record of the signatures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "aclnnop/aclnn_roi_align.h"
#include "aclnnop/aclnn_roi_align_v2.h"
#include "aclnnop/aclnn_roi_align_v2_backward.h"
#include "support/api/abi.h"
#include "support/api/acl_fixture.h"
#include "support/api/op_call.h"

namespace portacl_test {
namespace {

PORTACL_ABI_OF(aclnnRoiAlignGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclTensor*, const char*, int,
                           int, int, float, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnRoiAlignV2GetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, int64_t, int64_t, float, int64_t,
                           bool, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnRoiAlignV2BackwardGetWorkspaceSize,
               aclnnStatus(const aclTensor*, const aclTensor*, const aclIntArray*, int64_t, int64_t,
                           float, int64_t, bool, aclTensor*, uint64_t*, aclOpExecutor**));
PORTACL_ABI_OF(aclnnRoiAlign, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnRoiAlignV2, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));
PORTACL_ABI_OF(aclnnRoiAlignV2Backward, aclnnStatus(void*, uint64_t, aclOpExecutor*, aclrtStream));

PORTACL_ABI_OF(portaclPlanRoiAlign,
               int32_t(const portaclTensor*, const portaclTensor*, int64_t, int64_t, double,
                       int64_t, int32_t, int32_t, const portaclTensor*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanRoiAlignBackward,
               int32_t(const portaclTensor*, const portaclTensor*, const portaclTensor*, int64_t,
                       int64_t, double, int64_t, int32_t, int32_t, const portaclTensor*,
                       portaclPlan**));
PORTACL_ABI_OF(portaclPlanRoiAlignRotated,
               int32_t(const portaclTensor*, const portaclTensor*, int64_t, int64_t, double,
                       int64_t, int32_t, int32_t, const portaclTensor*, portaclPlan**));
PORTACL_ABI_OF(portaclPlanRoiAlignRotatedBackward,
               int32_t(const portaclTensor*, const portaclTensor*, int64_t, int64_t, double,
                       int64_t, int32_t, int32_t, const portaclTensor*, portaclPlan**));

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats (or indices) one behind the other in device memory.
template <class T>
class Device {
 public:
  explicit Device(const std::vector<T>& values) : count_(values.size()), memory_(bytes()) {
    EXPECT_EQ(
        aclrtMemcpy(memory_.get(), bytes(), values.data(), bytes(), ACL_MEMCPY_HOST_TO_DEVICE),
        ACL_SUCCESS);
  }
  std::vector<T> Get() const {
    std::vector<T> values(count_);
    EXPECT_EQ(
        aclrtMemcpy(values.data(), bytes(), memory_.get(), bytes(), ACL_MEMCPY_DEVICE_TO_HOST),
        ACL_SUCCESS);
    return values;
  }
  TensorHandle Tensor(const Shape& shape) const {
    TensorArgs args;
    args.shape = shape;
    args.dtype = sizeof(T) == sizeof(float) && !std::is_integral_v<T> ? ACL_FLOAT : ACL_INT32;
    args.format = shape.size() == 4 ? ACL_FORMAT_NCHW : ACL_FORMAT_ND;
    args.data = memory_.get();
    return args.Make();
  }
  void* address() const { return memory_.get(); }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  size_t count_;
  DeviceMemory memory_;
};

// What a call is about; images are 2 x 3 x 9 x 7.
struct Problem {
  int64_t ph = 3, pw = 2, ratio = 2;
  float scale = 0.5f;
  bool aligned = false;
  std::vector<float> boxes;  // rows of 5

  int64_t rois() const { return static_cast<int64_t>(boxes.size() / 5); }
  Shape pooled() const { return {rois(), kC, ph, pw}; }
  static constexpr int64_t kN = 2, kC = 3, kH = 9, kW = 7;
};

// The samples of a bin along an axis, plainly: pairs of (element, weight).
std::vector<std::vector<std::pair<int64_t, double>>> SamplesOf(const Problem& p, float low,
                                                               float high, int64_t bins,
                                                               int64_t bin, int64_t extent) {
  const float offset = p.aligned ? 0.5f : 0;
  const float start = low * p.scale - offset;
  float size = high * p.scale - offset - start;
  if (!p.aligned) size = std::fmax(size, 1.0f);
  const float length = size / static_cast<float>(bins);
  const int64_t count = p.ratio > 0 ? p.ratio : static_cast<int64_t>(std::ceil(length));
  std::vector<std::vector<std::pair<int64_t, double>>> samples;
  for (int64_t i = 0; i < count; ++i) {
    float at = start + static_cast<float>(bin) * length;
    at += (static_cast<float>(i) + 0.5f) * length / static_cast<float>(count);
    auto& sample = samples.emplace_back();
    if (!(at >= -1 && at <= static_cast<float>(extent))) continue;
    at = std::fmin(std::fmax(at, 0.0f), static_cast<float>(extent - 1));
    const auto first = static_cast<int64_t>(at);
    const double rest = at - static_cast<float>(first);
    sample.emplace_back(first, 1 - rest);
    if (rest > 0) sample.emplace_back(first + 1, rest);
  }
  return samples;
}

// Calls visit(index in pooled, index in images, weight).
void ForEachTerm(const Problem& p,
                 const std::function<void(size_t pooled, size_t image, double weight)>& visit) {
  for (int64_t n = 0; n < p.rois(); ++n) {
    const float* const box = p.boxes.data() + 5 * n;
    if (!(box[0] >= 0 && box[0] < static_cast<float>(Problem::kN))) continue;
    for (int64_t bin = 0; bin < p.ph * p.pw; ++bin) {
      const auto ys = SamplesOf(p, box[2], box[4], p.ph, bin / p.pw, Problem::kH);
      const auto xs = SamplesOf(p, box[1], box[3], p.pw, bin % p.pw, Problem::kW);
      const double count = static_cast<double>(ys.size() * xs.size());
      for (int64_t c = 0; c < Problem::kC; ++c) {
        const int64_t plane = static_cast<int64_t>(box[0]) * Problem::kC + c;
        for (const auto& sy : ys) {
          for (const auto& sx : xs) {
            for (const auto& [y, wy] : sy) {
              for (const auto& [x, wx] : sx) {
                visit(static_cast<size_t>((n * Problem::kC + c) * p.ph * p.pw + bin),
                      static_cast<size_t>((plane * Problem::kH + y) * Problem::kW + x),
                      wy * wx / count);
              }
            }
          }
        }
      }
    }
  }
}

class RoiAlign : public AclTest {
 protected:
  static constexpr size_t kImage = Problem::kN * Problem::kC * Problem::kH * Problem::kW;
  static Shape ImageShape() { return {Problem::kN, Problem::kC, Problem::kH, Problem::kW}; }

  static std::vector<float> Numbers(size_t count) {
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(i * 37 % 101) / 101.0f - 0.45f);
    }
    return values;
  }

  template <class Phase1, class Phase2>
  aclnnStatus Execute(const Phase1& phase1, const Phase2& phase2) {
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    if (const aclnnStatus status = phase1(&size, &executor); status != ACLNN_SUCCESS) return status;
    const DeviceMemory workspace(size);
    const aclnnStatus status = phase2(workspace.get(), size, executor, stream_);
    return status != ACLNN_SUCCESS ? status : aclrtSynchronizeStream(stream_);
  }

  std::vector<float> Pool(const Problem& p, const std::vector<float>& image) {
    const Device<float> self(image), boxes(p.boxes);
    const Device<float> out(
        std::vector<float>(static_cast<size_t>(p.rois() * Problem::kC * p.ph * p.pw), kNan));
    const TensorHandle in = self.Tensor(ImageShape()), rois = boxes.Tensor({p.rois(), 5});
    const TensorHandle to = out.Tensor(p.pooled());
    const aclnnStatus status = Execute(
        [&](uint64_t* size, aclOpExecutor** executor) {
          return aclnnRoiAlignV2GetWorkspaceSize(in.get(), rois.get(), p.ph, p.pw, p.scale, p.ratio,
                                                 p.aligned, to.get(), size, executor);
        },
        aclnnRoiAlignV2);
    EXPECT_EQ(status, ACLNN_SUCCESS) << TakeMessage();
    return out.Get();
  }

  std::vector<float> Gradient(const Problem& p, const std::vector<float>& grad) {
    const Device<float> from(grad), boxes(p.boxes), image(std::vector<float>(kImage, kNan));
    const TensorHandle in = from.Tensor(p.pooled()), rois = boxes.Tensor({p.rois(), 5});
    const TensorHandle to = image.Tensor(ImageShape());
    const IntArrayHandle size = MakeInts(ImageShape());
    const aclnnStatus status = Execute(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnRoiAlignV2BackwardGetWorkspaceSize(in.get(), rois.get(), size.get(), p.ph,
                                                         p.pw, p.scale, p.ratio, p.aligned,
                                                         to.get(), bytes, executor);
        },
        aclnnRoiAlignV2Backward);
    EXPECT_EQ(status, ACLNN_SUCCESS) << TakeMessage();
    return image.Get();
  }

  // Inside, across the edges, reversed, empty.
  static std::vector<float> Boxes() {
    return {0, 1.5f, 2,   9.25f, 13,  1, -3, -2,   30, 40,  //
            1, 4,    4.5, 4,     4.5, 0, 8,  12.5, 2,  1.5f};
  }
};

TEST_F(RoiAlign, AveragesSamplesAndItsGradientIsTheTranspose) {
  for (const int64_t ratio : {1, 2, 3, 0}) {
    for (const bool aligned : {false, true}) {
      SCOPED_TRACE(testing::Message() << "ratio " << ratio << " aligned " << aligned);
      Problem p;
      p.ratio = ratio;
      p.aligned = aligned;
      p.boxes = Boxes();
      if (aligned && ratio == 0) p.boxes.resize(10);  // no samples: another test
      const std::vector<float> image = Numbers(kImage);
      const size_t pooled = static_cast<size_t>(p.rois() * Problem::kC * p.ph * p.pw);
      const std::vector<float> grad = Numbers(pooled);
      std::vector<double> want(pooled), want_gradient(kImage);
      ForEachTerm(p, [&](size_t to, size_t from, double weight) {
        want[to] += weight * image[from];
        want_gradient[from] += weight * grad[to];
      });
      const std::vector<float> got = Pool(p, image), gradient = Gradient(p, grad);
      for (size_t i = 0; i < pooled; ++i) EXPECT_NEAR(got[i], want[i], 2e-6) << i;
      for (size_t i = 0; i < kImage; ++i) EXPECT_NEAR(gradient[i], want_gradient[i], 1e-5) << i;
    }
  }
}

TEST_F(RoiAlign, RoisThatNameNothingGiveZero) {
  Problem p;
  const float inf = std::numeric_limits<float>::infinity();
  p.boxes = {-0.5f, 1, 1, 9,    9, 2, 1,   1, 9,   9, kNan, 1,     1, 9,     9,
             0,     1, 1, kNan, 9, 0, inf, 1, inf, 9, 0,    1e30f, 1, 2e30f, 9};
  const std::vector<float> image = Numbers(kImage);
  const std::vector<float> got = Pool(p, image);
  EXPECT_EQ(got, std::vector<float>(got.size(), 0.0f));
  EXPECT_EQ(Gradient(p, std::vector<float>(got.size(), 1.0f)), std::vector<float>(kImage, 0.0f));
  p.aligned = true;  // adaptive, and as long as nothing
  p.ratio = 0;
  p.boxes = {0, 8, 12.5f, 2, 1.5f};
  EXPECT_EQ(Pool(p, image), std::vector<float>(static_cast<size_t>(Problem::kC * p.ph * p.pw)));
}

TEST_F(RoiAlign, TheFirstEditionTakesImagesApartAndHasAMaximum) {
  Problem p;
  p.boxes = Boxes();
  const std::vector<float> image = Numbers(kImage);
  std::vector<float> corners;
  std::vector<int32_t> indices;
  for (size_t n = 0; n < static_cast<size_t>(p.rois()); ++n) {
    indices.push_back(static_cast<int32_t>(p.boxes[5 * n]));
    corners.insert(corners.end(), p.boxes.begin() + static_cast<std::ptrdiff_t>(5 * n + 1),
                   p.boxes.begin() + static_cast<std::ptrdiff_t>(5 * n + 5));
  }
  const std::vector<float> average = Pool(p, image);
  const Device<float> self(image), rois(corners), out(std::vector<float>(average.size(), kNan));
  const Device<int32_t> images(indices);
  const TensorHandle in = self.Tensor(ImageShape()), boxes = rois.Tensor({p.rois(), 4});
  const TensorHandle of = images.Tensor({p.rois()}), to = out.Tensor(p.pooled());
  const auto run = [&](const char* mode) {
    return Execute(
        [&](uint64_t* size, aclOpExecutor** executor) {
          return aclnnRoiAlignGetWorkspaceSize(in.get(), boxes.get(), of.get(), mode, 3, 2, 2,
                                               p.scale, to.get(), size, executor);
        },
        aclnnRoiAlign);
  };
  ASSERT_EQ(run("avg"), ACLNN_SUCCESS) << TakeMessage();
  EXPECT_EQ(out.Get(), average);
  ASSERT_EQ(run("max"), ACLNN_SUCCESS) << TakeMessage();
  const std::vector<float> most = out.Get();
  for (size_t i = 0; i < most.size(); ++i) EXPECT_GE(most[i], average[i] - 1e-6f) << i;
  EXPECT_NE(most, average);
  EXPECT_EQ(run("median"), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(TakeMessage(), "aclnnRoiAlign: mode is \"median\", but must be avg or max");
}

TEST_F(RoiAlign, RefusesWhatNoRoiCanBe) {
  Problem good;
  good.boxes = Boxes();
  const Device<float> self(Numbers(kImage)), boxes(good.boxes), out(Numbers(4 * 3 * 3 * 2));
  const TensorHandle in = self.Tensor(ImageShape()), rois = boxes.Tensor({4, 5});
  const TensorHandle to = out.Tensor({4, 3, 3, 2});
  const auto refused = [&](const std::function<void(Problem*)>& spoil) {
    Problem p = good;
    spoil(&p);
    uint64_t size = 0;
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(aclnnRoiAlignV2GetWorkspaceSize(in.get(), rois.get(), p.ph, p.pw, p.scale, p.ratio,
                                              p.aligned, to.get(), &size, &executor),
              ACLNN_ERR_PARAM_INVALID);
    return TakeMessage();
  };
  const std::string op = "aclnnRoiAlignV2: ";
  EXPECT_EQ(refused([](Problem* p) { p->pw = 0; }),
            op + "pooledWidth is 0, but must be at least 1");
  EXPECT_EQ(refused([](Problem* p) { p->scale = 0; }),
            op + "spatialScale is 0, but must be above 0 and finite");
  EXPECT_EQ(refused([](Problem* p) { p->ratio = -1; }),
            op + "samplingRatio is -1, but must be at least 0 and at most 65536");
  EXPECT_EQ(refused([](Problem* p) { p->ph = 4; }),
            op + "out has shape [4, 3, 3, 2], but must be [4, 3, 4, 2]");
}

TEST_F(RoiAlign, ABadImageWarnsAndIsAnErrorOfTheStreamWhenStrict) {
  const Device<float> self(Numbers(kImage)), rois({1, 1, 9, 9, 1, 1, 9, 9}), out(Numbers(2 * 18));
  const TensorHandle in = self.Tensor(ImageShape()), boxes = rois.Tensor({2, 4});
  const TensorHandle to = out.Tensor({2, 3, 3, 2});
  for (const int32_t bad : {-1, 2, std::numeric_limits<int32_t>::max()}) {
    const Device<int32_t> images({1, bad});
    const TensorHandle of = images.Tensor({2});
    const auto run = [&] {
      return Execute(
          [&](uint64_t* size, aclOpExecutor** executor) {
            return aclnnRoiAlignGetWorkspaceSize(in.get(), boxes.get(), of.get(), "avg", 3, 2, 2,
                                                 0.5f, to.get(), size, executor);
          },
          aclnnRoiAlign);
    };
    portaclSetStrict(1);
    EXPECT_EQ(run(), ACLNN_ERR_PARAM_INVALID) << bad;
    EXPECT_THAT(TakeMessage(), testing::HasSubstr("gives roi 1 image " + std::to_string(bad) +
                                                  ", wanted one in [0, 2)"));
    portaclSetStrict(0);
    ASSERT_EQ(run(), ACLNN_SUCCESS) << TakeMessage();
    const std::vector<float> got = out.Get();
    EXPECT_NE(std::vector<float>(got.begin(), got.begin() + 18), std::vector<float>(18, 0.0f));
    EXPECT_EQ(std::vector<float>(got.begin() + 18, got.end()), std::vector<float>(18, 0.0f));
  }
}

// A roi of 10^9 pixels has 65,536 samples a bin along each axis; most of them lie outside.
TEST_F(RoiAlign, AMaximumOfAHugeRoiEnds) {
  std::vector<float> image(kImage, 2.0f), boxes = {0, -5e8f, -5e8f, 5e8f, 5e8f}, pooled(3, kNan);
  const portacl::Tensor in(image.data(), {2, 3, 9, 7}), of(boxes.data(), {1, 5});
  const portacl::Tensor out(pooled.data(), {1, 3, 1, 1});
  const auto pool = [&] {
    return portacl::roi_align(in, of, out, {.mode = portacl::RoiMode::kMax}).ok();
  };
  ASSERT_TRUE(pool()) << portaclGetErrorMessage();
  EXPECT_EQ(pooled, std::vector<float>(3, 0.0f));  // no sample meets the image
  boxes = {0, -1e6f, -1e6f, 1e6f, 1e6f};
  ASSERT_TRUE(pool()) << portaclGetErrorMessage();
  boxes = {0, -3e4f, -3e4f, 3e4f, 3e4f};
  ASSERT_TRUE(pool()) << portaclGetErrorMessage();
  EXPECT_EQ(pooled, std::vector<float>(3, 2.0f));  // samples are a pixel apart
}

TEST_F(RoiAlign, RotatedRoisThatNameNothingGiveZero) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> image = Numbers(kImage), boxes;
  for (const std::array<float, 5>& roi :
       std::initializer_list<std::array<float, 5>>{{kNan, 4, 6, 6, 0},
                                                   {4, inf, 6, 6, 0},
                                                   {4, 4, kNan, 6, 0},
                                                   {4, 4, 6, 6, kNan},
                                                   {4, 4, 6, 6, inf},
                                                   {4, 4, 6, 6, 0x1p20f},
                                                   {1e30f, 4, 6, 6, 1}}) {
    boxes.push_back(1);
    boxes.insert(boxes.end(), roi.begin(), roi.end());
  }
  const auto rois = static_cast<int64_t>(boxes.size() / 6);
  std::vector<float> pooled(static_cast<size_t>(rois * 18), kNan), gradient(kImage, kNan);
  const portacl::Tensor in(image.data(), {2, 3, 9, 7}), of(boxes.data(), {rois, 6});
  const portacl::Tensor out(pooled.data(), {rois, 3, 3, 2}), to(gradient.data(), {2, 3, 9, 7});
  ASSERT_TRUE(portacl::roi_align_rotated(in, of, out, {.sampling_ratio = 2}).ok())
      << portaclGetErrorMessage();
  EXPECT_EQ(pooled, std::vector<float>(pooled.size(), 0.0f));
  std::fill(pooled.begin(), pooled.end(), 1.0f);
  ASSERT_TRUE(portacl::roi_align_rotated_backward(out, of, to, {.sampling_ratio = 2}).ok())
      << portaclGetErrorMessage();
  EXPECT_EQ(gradient, std::vector<float>(kImage, 0.0f));
}

// roi_end_mode of the graph API: 0, 1 (the last coordinates belong to the roi), 2 and 3 (aligned).
TEST_F(RoiAlign, TheGraphOperatorsEndModesMoveTheEndsOfRois) {
  const auto pooled = [&](int64_t mode, float more) {
    const Device<float> image(Numbers(kImage));
    const Device<float> rois({0, 1, 2, 4 + more, 6 + more, 1, 0, 1, 5 + more, 7 + more});
    Device<float> out(std::vector<float>(2 * 3 * 6, kNan));
    const auto argument = [](const Shape& shape, const Device<float>& on) {
      return Argument{.shape = shape, .data = on.address(), .bytes = on.bytes()};
    };
    const OpCall call{.type = "ROIAlign",
                      .inputs = {argument(ImageShape(), image), argument({2, 5}, rois)},
                      .outputs = {argument({2, 3, 3, 2}, out)},
                      .attributes = {{"pooled_height", int64_t{3}},
                                     {"pooled_width", int64_t{2}},
                                     {"spatial_scale", 1.0f},
                                     {"sample_num", int64_t{2}},
                                     {"roi_end_mode", mode}}};
    EXPECT_EQ(RunOp(call, Way::kExecuteV2, stream_), ACL_SUCCESS) << TakeMessage();
    return out.Get();
  };
  EXPECT_EQ(pooled(1, 0), pooled(0, 1));
  EXPECT_NE(pooled(1, 0), pooled(0, 0));
  EXPECT_EQ(pooled(3, 0), pooled(2, 0));
  EXPECT_NE(pooled(2, 0), pooled(0, 0));
}

}  // namespace
}  // namespace portacl_test
