// Pictures as inputs and results, and rounding of made data to the small types.
#include <acl/acl_base.h>

#include <cmath>
#include <cstring>

#include "cli/cli_runner.h"
#include "test_paths.h"

namespace portacl::cli_test {
namespace {

class PictureTest : public CliTest {
 protected:
  const std::string photo_ = PORTACL_SOURCE_DIR "/tools/data/coffee.png";

  // A gradient that equals its gradOutput, written to `file`.
  Outcome PassThrough(const std::string& grad_output, const std::string& file,
                      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"run",           "upsample_nearest_exact2d_backward",
                                          "--grad-output", grad_output,
                                          "--size",        "256,256",
                                          "--grad-input",  file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
};

TEST_F(PictureTest, PngComesBackPixelByPixel) {
  ASSERT_EQ(PassThrough(photo_, "copy.png", {"--range", "0,1"}).exit_code, 0);
  EXPECT_THAT(Run({"compare", "copy.png", photo_}).out, testing::HasSubstr("0 of 196608 differ"));
}

TEST_F(PictureTest, ValuesAreLevelsDividedBy255) {
  ASSERT_EQ(PassThrough(photo_, "values.npy").exit_code, 0);
  const std::vector<float> values = Elements<float>(Read("values.npy"));
  ASSERT_EQ(values.size(), 3u * 256 * 256);
  bool fraction = false;
  for (const float value : values) {
    ASSERT_GE(value, 0);
    ASSERT_LE(value, 1);
    ASSERT_EQ(value, std::lround(value * 255) / 255.0f);
    fraction |= value > 0.2f && value < 0.8f;
  }
  EXPECT_TRUE(fraction) << "a photograph has values in the middle";
}

TEST_F(PictureTest, JpegIsWrittenAndRead) {
  ASSERT_EQ(PassThrough(photo_, "copy.jpg", {"--range", "0,1"}).exit_code, 0);
  EXPECT_THAT(Read("copy.jpg"), testing::StartsWith("\xFF\xD8\xFF"));
  ASSERT_EQ(PassThrough("copy.jpg", "values.npy").exit_code, 0);
  ASSERT_EQ(PassThrough(photo_, "exact.npy").exit_code, 0);
  const std::vector<float> a = Elements<float>(Read("values.npy")),
                           b = Elements<float>(Read("exact.npy"));
  ASSERT_EQ(a.size(), b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  EXPECT_LT(sum / static_cast<double>(a.size()), 0.03);
  EXPECT_GT(sum, 0);
}

TEST_F(PictureTest, PicturesTakeTheWantedType) {
  const std::pair<std::string, size_t> types[] = {
      {"float16", 2}, {"bfloat16", 2}, {"float32", 4}, {"float64", 8}};
  for (const auto& [dtype, size] : types) {
    ASSERT_EQ(PassThrough(photo_, "values.bin", {"--dtype", dtype}).exit_code, 0) << dtype;
    EXPECT_EQ(Read("values.bin").size(), 3 * 256 * 256 * size);
    // The same values up to one rounding of the type.
    ASSERT_EQ(PassThrough(photo_, "exact.npy").exit_code, 0);
    EXPECT_EQ(
        Run({"compare", "values.bin", "exact.npy", "--dtype", dtype, "--shape", "1,3,256,256"})
            .exit_code,
        0)
        << dtype;
  }
}

TEST_F(PictureTest, RoundingToSmallTypesIsToNearestEven) {
  ASSERT_EQ(PassThrough(photo_, "exact.npy").exit_code, 0);
  ASSERT_EQ(PassThrough(photo_, "half.bin", {"--dtype", "fp16"}).exit_code, 0);
  ASSERT_EQ(PassThrough(photo_, "brain.bin", {"--dtype", "bf16"}).exit_code, 0);
  const std::vector<float> exact = Elements<float>(Read("exact.npy"));
  const std::vector<uint16_t> half = Elements<uint16_t>(Read("half.bin"));
  const std::vector<uint16_t> brain = Elements<uint16_t>(Read("brain.bin"));
  ASSERT_EQ(half.size(), exact.size());
  ASSERT_EQ(brain.size(), exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &exact[i], sizeof(bits));
    ASSERT_EQ(half[i], aclFloatToFloat16(exact[i])) << exact[i];
    ASSERT_EQ(brain[i], static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16))
        << exact[i];
  }
}

TEST_F(PictureTest, GridGradIsDrawnWithALegend) {
  ASSERT_EQ(Run({"run", "grid_sampler_2d_backward", "--input", photo_, "--grid", "rotate:10",
                 "--grid-grad", "flow.png"})
                .exit_code,
            0);
  ASSERT_EQ(PassThrough("flow.png", "x.npy", {"--size", "1,1"}).exit_code, 2) << "two --size";
  const auto report = RunJson(
      {"run", "upsample_nearest_exact2d_backward", "--grad-output", "flow.png", "--size", "1,1"});
  const auto shape = TensorNamed(report, "grad_output").at("shape");
  EXPECT_GT(shape[3].get<int>(), 256 + 100) << "the legend stands beside the picture";
}

TEST_F(PictureTest, GridGradThatIsNotFiniteIsSaid) {
  const float nan = std::nanf("");
  Write("grid.bin", Bytes<float>({0, 0, nan, 0}));
  const Outcome outcome =
      Run({"run", "grid_sampler_2d_backward", "--input", "random:1", "--shape", "1,1,1,2", "--grid",
           "grid.bin", "--dtype", "float32", "--grid-grad", "flow.png"});
  EXPECT_THAT(outcome.out, testing::HasSubstr("black = NaN or infinity"));
}

TEST_F(PictureTest, TheRangeOfAPictureIsSaid) {
  const auto text = [&](const std::string& source) {
    return Run({"run", "upsample_nearest_exact2d_backward", "--grad-output", source, "--shape",
                "1,1,4,4", "--size", "4,4", "--grad-input", "o.png"})
        .out;
  };
  EXPECT_THAT(text("ones"), testing::HasSubstr("black 0, white 1"));
  EXPECT_THAT(text("random:1"), testing::HasSubstr("mid-grey 0"));
}

}  // namespace
}  // namespace portacl::cli_test
