// The vendor's mixed tolerance, at its limits.
#include "tools/testing/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tools/tensor/element.h"

namespace portacl::golden {
namespace {

using testing::HasSubstr;

std::vector<std::byte> Bytes(DataType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * cli::ElementSize(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    cli::StoreElement(dtype, values[i], bytes.data() + i * cli::ElementSize(dtype));
  }
  return bytes;
}

OutputVerdict Mixed(DataType dtype, const std::vector<double>& exact,
                    const std::vector<double>& actual) {
  const GoldenOutput golden{"out",
                            dtype,
                            {static_cast<int64_t>(exact.size())},
                            Bytes(dtype, exact),
                            {exact, std::vector<double>(exact.size())}};
  StandardOptions options;
  options.standard = Standard::kMixed;
  return Judge(golden, Bytes(dtype, actual), options);
}

// 200 elements of `value`; `count` of them are off by `error`.
OutputVerdict WithErrors(DataType dtype, double value, int count, double error) {
  const std::vector<double> exact(200, value);
  std::vector<double> actual = exact;
  for (int i = 0; i < count; ++i) actual[static_cast<size_t>(i)] += error;
  return Mixed(dtype, exact, actual);
}

TEST(MixedTolerance, OneElementOfAHundredMayBeOutside) {
  EXPECT_TRUE(WithErrors(DataType::kFloat32, 1, 200, 0x1p-10).passed);
  EXPECT_TRUE(WithErrors(DataType::kFloat32, 1, 2, 0.005).passed);
  EXPECT_TRUE(WithErrors(DataType::kFloat32, 1, 2, 0.005).worst.empty());
  const OutputVerdict verdict = WithErrors(DataType::kFloat32, 1, 3, 0.005);
  EXPECT_FALSE(verdict.passed);
  EXPECT_THAT(verdict.reason, HasSubstr("3 of 200 elements outside the mixed tolerance"));
  EXPECT_EQ(verdict.worst.size(), 3u);
}

TEST(MixedTolerance, TheLargestErrorHasALimit) {
  EXPECT_TRUE(WithErrors(DataType::kFloat32, 1, 1, 0.0099).passed);
  EXPECT_THAT(WithErrors(DataType::kFloat32, 1, 1, 0.0101).reason, HasSubstr("largest error"));
  EXPECT_TRUE(WithErrors(DataType::kFloat16, 1, 2, 0.09).passed);
  EXPECT_FALSE(WithErrors(DataType::kFloat16, 1, 2, 0.11).passed);
  EXPECT_TRUE(WithErrors(DataType::kBFloat16, 4, 2, 0.9).passed);
  EXPECT_FALSE(WithErrors(DataType::kBFloat16, 4, 2, 1.1).passed);
  // 32 ULP of a large element are more than the floor: of 2^20 in float32, 4.
  EXPECT_TRUE(WithErrors(DataType::kFloat32, 0x1p20, 200, 4).passed);
  EXPECT_FALSE(WithErrors(DataType::kFloat32, 0x1p20, 200, 4.125).passed);
}

TEST(MixedTolerance, WhatIsNoNumberMustBeTheSame) {
  const double infinity = HUGE_VAL, nan = std::nan("");
  EXPECT_TRUE(
      Mixed(DataType::kFloat32, {nan, infinity, -infinity}, {nan, infinity, -infinity}).passed);
  // What the element type has no number for is an infinity of it.
  EXPECT_TRUE(Mixed(DataType::kFloat16, {1e6}, {infinity}).passed);
  for (const auto& [exact, actual] : std::vector<std::pair<double, double>>{
           {nan, 0}, {0, nan}, {infinity, -infinity}, {infinity, 1}, {1, infinity}}) {
    std::vector<double> wanted(200, 1), got(200, 1);
    wanted[7] = exact;
    got[7] = actual;
    EXPECT_FALSE(Mixed(DataType::kFloat32, wanted, got).passed) << exact << " " << actual;
  }
  EXPECT_TRUE(Mixed(DataType::kFloat32, {}, {}).passed);
}

// 200 bytes. One of them is `actual` where `wanted` is right.
OutputVerdict OneByte(double wanted, double actual, const StandardOptions& options) {
  std::vector<double> exact(200, 7), got(200, 7);
  exact[9] = wanted;
  got[9] = actual;
  const GoldenOutput golden{"out",
                            cli::kUInt8,
                            {200},
                            Bytes(cli::kUInt8, exact),
                            {exact, std::vector<double>(exact.size())}};
  return Judge(golden, Bytes(cli::kUInt8, got), options);
}

TEST(Uint8, EveryByteMustBeRightByEveryStandard) {
  for (const Standard standard : {Standard::kBound, Standard::kTolerance, Standard::kUlp,
                                  Standard::kBinary, Standard::kStat, Standard::kMixed}) {
    StandardOptions options;
    options.standard = standard;
    options.atol = options.rtol = 0;
    options.ulp = 0;
    for (const auto& [wanted, actual] : std::vector<std::pair<double, double>>{
             {0, 1}, {1, 0}, {127, 128}, {128, 127}, {255, 254}, {255, 0}, {0, 255}}) {
      SCOPED_TRACE(testing::Message() << StandardText(options) << ": " << wanted << " " << actual);
      EXPECT_TRUE(OneByte(wanted, wanted, options).passed);
      EXPECT_FALSE(OneByte(wanted, actual, options).passed);
    }
  }
}

TEST(Uint8, TheDistanceOfBytesIsTheirDifference) {
  StandardOptions options;
  options.standard = Standard::kUlp;
  options.ulp = 1;
  EXPECT_TRUE(OneByte(127, 128, options).passed);
  EXPECT_EQ(OneByte(3, 253, options).largest_ulp, 250);
}

TEST(Uint8, AByteThatNobodyWroteIsOneOnlyIfItIsWrong) {
  StandardOptions options;
  options.knows_unwritten = true;
  EXPECT_TRUE(OneByte(255, 255, options).passed);
  EXPECT_EQ(OneByte(255, 255, options).unwritten, 0);
  EXPECT_EQ(OneByte(4, 255, options).unwritten, 1);
}

}  // namespace
}  // namespace portacl::golden
