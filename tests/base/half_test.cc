// 16-bit conversions against arithmetic in double, over all patterns.
#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "support/api/element.h"
#include "support/api/random.h"

namespace portacl::base {
namespace {

using portacl_test::Element;

template <class T>
struct Small;
template <>
struct Small<Float16> {
  static constexpr Element kElement = Element::kFloat16;
  static Float16 From(float v) { return ToFloat16(v); }
};
template <>
struct Small<BFloat16> {
  static constexpr Element kElement = Element::kBFloat16;
  static BFloat16 From(float v) { return ToBFloat16(v); }
};

template <class T>
class HalfTest : public testing::Test {
 protected:
  // The pattern that rounding in double gives.
  static uint16_t Expected(float value) {
    T bits;
    portacl_test::Store(Small<T>::kElement, static_cast<double>(value), &bits.bits);
    return bits.bits;
  }
  static void ExpectConversion(float value) {
    const uint16_t got = Small<T>::From(value).bits;
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(ToFloat(T{got}))) << std::hex << std::bit_cast<uint32_t>(value);
    } else {
      EXPECT_EQ(got, Expected(value)) << std::hexfloat << value;
    }
  }
};
using Types = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(HalfTest, Types);

TYPED_TEST(HalfTest, EveryPatternWidensExactlyAndComesBack) {
  for (uint32_t pattern = 0; pattern <= 0xFFFF; ++pattern) {
    const TypeParam value{static_cast<uint16_t>(pattern)};
    const double exact = portacl_test::Load(Small<TypeParam>::kElement, &value.bits);
    const float widened = ToFloat(value);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(widened)) << std::hex << pattern;
      EXPECT_TRUE(std::isnan(ToFloat(Small<TypeParam>::From(widened)))) << std::hex << pattern;
      continue;
    }
    EXPECT_EQ(static_cast<double>(widened), exact) << std::hex << pattern;
    EXPECT_EQ(std::signbit(widened), std::signbit(exact)) << std::hex << pattern;
    EXPECT_EQ(Small<TypeParam>::From(widened).bits, value.bits);
  }
}

TYPED_TEST(HalfTest, MidpointsRoundToEvenAndTheirNeighboursToTheNearest) {
  for (uint32_t pattern = 0; pattern < 0x7FFF; ++pattern) {
    const TypeParam low{static_cast<uint16_t>(pattern)};
    const TypeParam high{static_cast<uint16_t>(pattern + 1)};
    if (!std::isfinite(ToFloat(high))) break;
    const float middle = static_cast<float>(
        (static_cast<double>(ToFloat(low)) + static_cast<double>(ToFloat(high))) / 2);
    for (const float value : {middle, std::nextafter(middle, 0.0f),
                              std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      this->ExpectConversion(value);
      this->ExpectConversion(-value);
    }
  }
}

TYPED_TEST(HalfTest, RandomFloatsOfAllExponentsRoundToTheNearest) {
  portacl_test::Random random(17);
  for (int i = 0; i < 200000; ++i) {
    this->ExpectConversion(std::bit_cast<float>(static_cast<uint32_t>(random.Bits())));
  }
}

TYPED_TEST(HalfTest, LargeValuesOverflowToInfinityAndZerosKeepTheirSign) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value :
       {infinity, std::numeric_limits<float>::max(), 65504.0f, 65519.996f, 65520.0f, 0x1.fep127f,
        0x1.ffp127f, 0.0f, std::numeric_limits<float>::denorm_min(), 0x1p-25f, 0x1.8p-25f}) {
    this->ExpectConversion(value);
    this->ExpectConversion(-value);
  }
}

TEST(HalfTest, SignallingNaNsBecomeQuiet) {
  EXPECT_TRUE(std::isnan(ToFloat(Float16{0x7C01})));
  EXPECT_EQ(std::bit_cast<uint32_t>(ToFloat(Float16{0x7C01})) & 0x00400000u, 0x00400000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(ToFloat(BFloat16{0x7F81})) & 0x00400000u, 0x00400000u);
  // The payload's upper bits alone could leave an infinity.
  EXPECT_TRUE(std::isnan(ToFloat(ToFloat16(std::bit_cast<float>(0x7F800001u)))));
  EXPECT_TRUE(std::isnan(ToFloat(ToBFloat16(std::bit_cast<float>(0xFF800001u)))));
}

}  // namespace
}  // namespace portacl::base
