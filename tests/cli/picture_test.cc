// Pictures as inputs and results, and rounding of generated data to the small types.
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

// Kinds of PNG: the numbers of the format's header.
enum PngColour { kGrey = 0, kRgb = 2, kPalette = 3, kGreyAlpha = 4, kRgbAlpha = 6 };

struct PngSpec {
  uint32_t width, height;
  unsigned char depth;
  PngColour colour;
  std::string rows;     // each with its filter byte, here 0
  std::string palette;  // RGB triples
  bool interlaced = false;
  std::string exif = {};
};

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xFF),
          static_cast<char>(value >> 8 & 0xFF), static_cast<char>(value & 0xFF)};
}

std::string PngChunk(const std::string& type, const std::string& data) {
  uint32_t crc = ~0u;
  for (const char c : type + data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return BigEndian(static_cast<uint32_t>(data.size())) + type + data + BigEndian(~crc);
}

// Data of at most 65535 bytes as a zlib stream that is not compressed.
std::string ZlibStored(const std::string& data) {
  uint32_t a = 1, b = 0;
  for (const char c : data) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  const auto little = [](size_t value) {
    return std::string{static_cast<char>(value & 0xFF), static_cast<char>(value >> 8 & 0xFF)};
  };
  return "\x78\x01\x01" + little(data.size()) + little(~data.size()) + data +
         BigEndian(b << 16 | a);
}

std::string PngFile(const PngSpec& spec) {
  const std::string header =
      BigEndian(spec.width) + BigEndian(spec.height) +
      std::string{static_cast<char>(spec.depth), static_cast<char>(spec.colour), 0, 0,
                  static_cast<char>(spec.interlaced ? 1 : 0)};
  return "\x89PNG\r\n\x1A\n" + PngChunk("IHDR", header) +
         (spec.palette.empty() ? "" : PngChunk("PLTE", spec.palette)) +
         (spec.exif.empty() ? "" : PngChunk("eXIf", spec.exif)) +
         PngChunk("IDAT", ZlibStored(spec.rows)) + PngChunk("IEND", "");
}

TEST_F(PictureTest, EveryKindOfPngIsRead) {
  const auto zero = std::string(1, '\0');
  const auto values = [&](const PngSpec& spec) {
    Write("in.png", PngFile(spec));
    const std::string size = std::to_string(spec.height) + "," + std::to_string(spec.width);
    const Outcome outcome = Run({"run", "upsample_nearest_exact_backward", "--grad-output",
                                 "in.png", "--size", size, "--grad-input", "out.npy"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Elements<float>(Read("out.npy"));
  };
  using testing::ElementsAre;
  EXPECT_THAT(values({3, 1, 1, kGrey, zero + "\xA0", ""}), ElementsAre(1, 0, 1));
  EXPECT_THAT(values({2, 1, 8, kGrey, zero + zero + "\x33", ""}), ElementsAre(0, 0.2f));
  EXPECT_THAT(values({1, 1, 16, kGrey, zero + "\x33\x33", ""}), ElementsAre(0.2f));
  EXPECT_THAT(values({1, 1, 8, kRgb, zero + "\xFF\x33" + zero, ""}), ElementsAre(1, 0.2f, 0));
  EXPECT_THAT(values({2, 1, 8, kPalette, zero + "\x01" + zero,
                      "\xFF\x33\x66"
                      "\x33\x33\x33"}),
              ElementsAre(0.2f, 1, 0.2f, 0.2f, 0.2f, 0.4f));
  EXPECT_THAT(values({1, 1, 8, kGreyAlpha, zero + "\x33\x01", ""}), ElementsAre(0.2f));
  EXPECT_THAT(values({1, 1, 16, kRgbAlpha, zero + "\xFF\xFF\x33\x33\x66\x66" + zero + zero, ""}),
              ElementsAre(1, 0.2f, 0.4f));
  // Two pixels in two passes, each a row of its own.
  EXPECT_THAT(values({2, 1, 8, kGrey, zero + "\x33" + zero + "\xFF", "", true}),
              ElementsAre(0.2f, 1));
}

// Exif data with one entry, in either byte order.
std::string Exif(char orientation, bool little) {
  using namespace std::string_literals;
  return little
             ? "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"s + orientation + "\0\0\0\0\0\0\0"s
             : "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"s + orientation + "\0\0\0\0\0\0"s;
}

// Telephones store what the sensor saw and note how they were held.
TEST_F(PictureTest, APhotographIsTurnedAsItsExifDataSay) {
  // Stored: 1 2 3
  //         4 5 6
  const std::string rows = std::string("\0\1\2\3\0\4\5\6", 8);
  const std::pair<const char*, std::vector<int>> seen[] = {
      {"2,3", {1, 2, 3, 4, 5, 6}}, {"2,3", {3, 2, 1, 6, 5, 4}}, {"2,3", {6, 5, 4, 3, 2, 1}},
      {"2,3", {4, 5, 6, 1, 2, 3}}, {"3,2", {1, 4, 2, 5, 3, 6}}, {"3,2", {4, 1, 5, 2, 6, 3}},
      {"3,2", {6, 3, 5, 2, 4, 1}}, {"3,2", {3, 6, 2, 5, 1, 4}}};
  for (size_t i = 0; i < std::size(seen); ++i) {
    for (const bool little : {true, false}) {
      PngSpec spec{3, 2, 8, kGrey, rows, ""};
      spec.exif = Exif(static_cast<char>(i + 1), little);
      Write("in.png", PngFile(spec));
      ASSERT_EQ(Run({"run", "upsample_nearest_exact_backward", "--grad-output", "in.png", "--size",
                     seen[i].first, "--grad-input", "out.npy"})
                    .exit_code,
                0)
          << i;
      std::vector<int> levels;
      for (const float value : Elements<float>(Read("out.npy"))) {
        levels.push_back(static_cast<int>(std::lround(value * 255)));
      }
      EXPECT_EQ(levels, seen[i].second) << "orientation " << i + 1;
    }
  }
  ASSERT_EQ(PassThrough(photo_, "plain.jpg").exit_code, 0);
  ASSERT_EQ(PassThrough("plain.jpg", "plain.npy").exit_code, 0);
  const std::string body = std::string("Exif\0\0", 6) + Exif(3, false), jpeg = Read("plain.jpg");
  Write("turned.jpg", jpeg.substr(0, 2) + "\xFF\xE1" + std::string(1, '\0') +
                          static_cast<char>(body.size() + 2) + body + jpeg.substr(2));
  ASSERT_EQ(PassThrough("turned.jpg", "turned.npy").exit_code, 0);
  const std::vector<float> plain = Elements<float>(Read("plain.npy")),
                           turned = Elements<float>(Read("turned.npy"));
  ASSERT_EQ(plain.size(), turned.size());
  const size_t plane = plain.size() / 3;
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(turned[i], plain[i / plane * plane + plane - 1 - i % plane]) << i;
  }
}

TEST_F(PictureTest, DamagedExifDataTurnNothing) {
  const std::string rows = std::string("\0\1\2", 3), good = Exif(3, true);
  for (size_t size = 4; size < good.size(); ++size) {
    PngSpec spec{2, 1, 8, kGrey, rows, ""};
    spec.exif = size + 1 == good.size() ? Exif(9, true) : good.substr(0, size);
    Write("in.png", PngFile(spec));
    EXPECT_EQ(Run({"run", "upsample_nearest_exact_backward", "--grad-output", "in.png", "--size",
                   "1,2", "--grad-input", "out.npy"})
                  .exit_code,
              0)
        << size;
  }
}

TEST_F(PictureTest, AClaimOfManyPixelsIsRefusedBeforeMemoryIsTaken) {
  const auto refused = [&](uint32_t width, uint32_t height, const std::string& message) {
    Write("in.png", PngFile({width, height, 8, kRgb, std::string(100, '\0'), ""}));
    ExpectBadInput(Run({"compare", "in.png", "in.png"}), message);
  };
  refused(16384, 8192, "in.png: 16384 x 8192 pixels, but at most 67108864");
  refused(30000, 30000, "30000 x 30000 pixels");
  refused(2000000, 1, "2000000 x 1 pixels");
  refused(0x7FFFFFFF, 0x7FFFFFFF, "2147483647 x 2147483647 pixels");
}

TEST_F(PictureTest, DamagedPicturesAreRefused) {
  const std::string png = PngFile({8, 8, 8, kGrey, std::string(72, '\0'), ""});
  ASSERT_EQ(PassThrough(photo_, "good.jpg").exit_code, 0);
  const std::string jpeg = Read("good.jpg");
  const auto refused = [&](const std::string& name, const std::string& bytes) {
    Write(name, bytes);
    ExpectBadInput(Run({"compare", name, name}), "damaged picture (");
  };
  for (size_t size : {size_t{9}, size_t{30}, png.size() / 2, png.size() - 1}) {
    refused("cut.png", png.substr(0, size));
  }
  std::string bad_checksum = png;
  bad_checksum[50] ^= 1;
  refused("changed.png", bad_checksum);
  for (size_t size : {size_t{3}, size_t{100}, jpeg.size() / 2}) {
    refused("cut.jpg", jpeg.substr(0, size));
  }
}

TEST_F(PictureTest, KindsOfJpeg) {
  const std::string folder = PORTACL_SOURCE_DIR "/tests/data/pictures/";
  const auto one = [&](const std::string& name, const std::string& size) {
    const Outcome outcome = Run({"run", "upsample_nearest_exact_backward", "--grad-output",
                                 folder + name, "--size", size, "--grad-input", "out.npy"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Elements<float>(Read("out.npy"));
  };
  const std::vector<float> grey = one("grey.jpg", "8,8");
  ASSERT_EQ(grey.size(), 64u);
  EXPECT_NEAR(grey[0], 120 / 255.0, 0.01);
  const std::vector<float> colours = one("progressive.jpg", "16,16");
  ASSERT_EQ(colours.size(), 3u * 256);
  EXPECT_NEAR(colours[0], 200 / 255.0, 0.02);
  EXPECT_NEAR(colours[256], 100 / 255.0, 0.02);
  EXPECT_NEAR(colours[512], 50 / 255.0, 0.02);
  ExpectBadInput(Run({"compare", folder + "cmyk.jpg", folder + "cmyk.jpg"}), "CMYK");
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
  EXPECT_THAT(outcome.out, testing::HasSubstr("black: NaN, infinity"));
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

// Cubic interpolation makes values below 0 and above 1.
TEST_F(PictureTest, AResizedPictureKeepsItsBrightness) {
  for (const char* const op : {"upsample_cubic", "upsample_linear"}) {
    const Outcome outcome =
        Run({"run", op, "--input", photo_, "--scale", "1.5", "--output", "large.png"});
    EXPECT_THAT(outcome.out, testing::HasSubstr("black 0, white 1)")) << op;
  }
  EXPECT_THAT(Run({"run", "upsample_linear", "--input", photo_, "--scale", "2", "--range", "0,2",
                   "--output", "dark.png"})
                  .out,
              testing::HasSubstr("black 0, white 2)"));
  EXPECT_THAT(Run({"run", "upsample_cubic", "--input", "random:1", "--shape", "1,1,4,4", "--scale",
                   "2", "--output", "noise.png"})
                  .out,
              testing::HasSubstr("mid-grey 0"));
}

}  // namespace
}  // namespace portacl::cli_test
