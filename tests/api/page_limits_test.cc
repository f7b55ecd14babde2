// Limits of the pages for the largest tensors, without an error row: a warning, in strict mode a
// refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/api/acl_fixture.h"
#include "support/api/listed_call.h"

namespace portacl_test {
namespace {

namespace functions = portacl::ops::signatures;
using portacl::ops::Signature;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t k20Bits = int64_t{1} << 20;
constexpr int64_t k24Bits = int64_t{1} << 24;
constexpr int64_t k31Bits = int64_t{1} << 31;

struct LimitRow {
  const Signature* function;
  aclDataType dtype;
  listed::Extents within;  // others are 1
  listed::Extents beyond;
  const char* part;  // of the warning
  const char* edition = "8.x";
};

class PageLimits : public AclTest {
 protected:
  ~PageLimits() override {
    portaclSetEdition("8.x");
    portaclSetStrict(0);
  }

  // The status and message of a call on tensors of these extents. Their memory is too small:
  // without a warning, the call is refused for its memory.
  static std::pair<aclnnStatus, std::string> Plan(const LimitRow& row,
                                                  const listed::Extents& changed) {
    listed::Extents extents;
    for (const auto& [symbol, extent] : listed::kTiny) extents[symbol] = 1;
    for (const auto& [symbol, extent] : changed) extents[symbol] = extent;
    listed::Call call(*row.function);
    for (size_t i = 0; i < row.function->parameters.size(); ++i) {
      const auto& parameter = row.function->parameters[i];
      auto& argument = call.arguments()[i];
      if (*parameter.symbols == '\0') continue;
      argument.ints = listed::ExtentsOf(parameter, extents);
      if (!listed::IsTensor(parameter.kind)) continue;
      argument.tensor.shape = argument.ints;
      argument.tensor.dtype = row.dtype;
    }
    const aclnnStatus status = call.Run(nullptr);
    return {status, TakeMessage()};
  }

  static void ExpectRows(const std::vector<LimitRow>& rows) {
    for (const LimitRow& row : rows) {
      SCOPED_TRACE(testing::Message() << row.function->name << " " << row.part);
      portaclSetEdition(row.edition);
      portaclSetStrict(1);
      const auto [refused, why] = Plan(row, row.beyond);
      EXPECT_EQ(refused, ACLNN_ERR_PARAM_INVALID);
      EXPECT_THAT(why, HasSubstr(row.part));
      EXPECT_THAT(why, HasSubstr("refused because of PORTACL_STRICT"));
      EXPECT_THAT(Plan(row, row.within).second, Not(HasSubstr("STRICT")));
      portaclSetProfile("open");
      EXPECT_THAT(Plan(row, row.beyond).second, Not(HasSubstr("STRICT")));
      portaclSetProfile("atlas-a2");
      portaclSetStrict(0);
      EXPECT_THAT(Plan(row, row.beyond).second, Not(HasSubstr("STRICT")));
    }
  }
};

TEST_F(PageLimits, OfExtents) {
  const auto* const line = &functions::aclnnUpsampleNearest1d;
  const auto* const line_v2 = &functions::aclnnUpsampleNearest1dV2;
  const auto* const image_v2 = &functions::aclnnUpsampleNearest2dV2;
  const char* const part = "the page's longest is ";
  ExpectRows({
      {line, ACL_UINT8, {{"L", k24Bits - 1}}, {{"L", k24Bits}}, part},
      {line, ACL_DOUBLE, {{"OL", k24Bits - 1}, {"N", k24Bits}}, {{"OL", k24Bits}}, part},
      {line_v2, ACL_DOUBLE, {{"L", k24Bits}}, {{"L", k24Bits + 1}}, part},
      {line_v2, ACL_FLOAT, {{"L", k31Bits - 1}}, {{"L", k31Bits}}, part},
      {line_v2, ACL_UINT8, {{"C", k31Bits - 1}}, {{"C", k31Bits}}, part},
      {image_v2, ACL_UINT8, {{"OW", k24Bits - 1}}, {{"OW", k24Bits}}, part},
      {image_v2, ACL_FLOAT16, {{"OH", k31Bits - 1}}, {{"OH", k31Bits}}, part},
      {&functions::aclnnUpsampleNearest2d, ACL_FLOAT, {{"H", k20Bits}}, {{"H", k20Bits + 1}}, part},
      {&functions::aclnnUpsampleNearest3d, ACL_FLOAT, {{"D", k31Bits - 1}}, {{"D", k31Bits}}, part},
      {&functions::aclnnUpsampleBicubic2dBackward,
       ACL_FLOAT,
       {{"W", k31Bits - 1}},
       {{"W", k31Bits}},
       part},
  });
}

TEST_F(PageLimits, OfRowsAndOfBytes) {
  const auto* const line = &functions::aclnnUpsampleLinear1dBackward;
  const auto* const plane = &functions::aclnnUpsampleBicubic2d;
  const auto* const plane_back = &functions::aclnnUpsampleBilinear2dBackwardV2;
  const auto* const volume = &functions::aclnnUpsampleTrilinear3d;
  const auto* const volume_back = &functions::aclnnUpsampleNearest3dBackward;
  const auto* const nearest = &functions::aclnnUpsampleNearest2d;
  const char* const rows = "rows, but the page wants less than 2^31";
  const char* const bytes = "have 60 GiB";
  const int64_t k15 = 15 << 10;
  ExpectRows({
      {line, ACL_FLOAT, {{"N", 1 << 15}, {"C", 65535}}, {{"N", 1 << 15}, {"C", 1 << 16}}, rows},
      // (1024 + 2 * 512) elements of 2 bytes by 15 * 2^20 channels
      {line,
       ACL_FLOAT16,
       {{"N", k15 - 1}, {"C", 1024}, {"OL", 1024}, {"L", 512}},
       {{"N", k15}, {"C", 1024}, {"OL", 1024}, {"L", 512}},
       bytes},
      {plane,
       ACL_FLOAT16,
       {{"C", 1 << 11}, {"H", k20Bits - 1}},
       {{"C", 1 << 11}, {"H", k20Bits}},
       rows},
      // A gradient reads gradOutput, which has the output's rows.
      {plane_back,
       ACL_FLOAT16,
       {{"C", 1 << 11}, {"OH", k20Bits - 1}, {"H", k20Bits}},
       {{"C", 1 << 11}, {"OH", k20Bits}},
       rows},
      // 4 bytes of every type, 15 + 16 OW of them by 1024 channels
      {plane,
       ACL_FLOAT16,
       {{"C", 1024}, {"H", 15}, {"OW", (60 << 14) - 1}},
       {{"C", 1024}, {"H", 15}, {"OW", 60 << 14}},
       bytes},
      {plane_back,
       ACL_FLOAT16,
       {{"C", 1024}, {"OH", 15}, {"W", (60 << 14) - 1}},
       {{"C", 1024}, {"OH", 15}, {"W", 60 << 14}},
       bytes},
      {nearest,
       ACL_UINT8,
       {{"N", 1 << 10}, {"H", 1 << 10}, {"W", 3839}},
       {{"N", 1 << 10}, {"H", 1 << 10}, {"W", 3840}},
       bytes},
      {volume,
       ACL_FLOAT,
       {{"C", 1 << 11}, {"D", 1023}, {"OD", 1023}, {"H", 1 << 10}, {"OH", 1 << 10}},
       {{"C", 1 << 11}, {"D", 1 << 10}, {"OD", 1 << 10}, {"H", 1 << 10}, {"OH", 1 << 10}},
       rows},
      {volume_back,
       ACL_FLOAT,
       {{"C", 1 << 11}, {"OD", 1023}, {"OH", 1 << 10}},
       {{"C", 1 << 11}, {"OD", 1 << 10}, {"OH", 1 << 10}},
       rows},
      {volume,
       ACL_FLOAT,
       {{"OH", 1 << 15}, {"OW", 65535}},
       {{"OH", 1 << 15}, {"OW", 1 << 16}},
       "H * W of what is written is 2147483648"},
      // Between the axes lie D * H * OW and D * OH * OW elements: 8 + (16 + 8 + 16) OW of each D.
      {volume,
       ACL_FLOAT,
       {{"C", 1 << 10}, {"D", 1 << 10}, {"OD", 1 << 10}, {"H", 8}, {"OH", 16}, {"OW", 383}},
       {{"C", 1 << 10}, {"D", 1 << 10}, {"OD", 1 << 10}, {"H", 8}, {"OH", 16}, {"OW", 384}},
       bytes},
  });
}

TEST_F(PageLimits, OfTheNewestPages) {
  const auto* const image = &functions::aclnnGridSampler2D;
  const auto* const volume = &functions::aclnnGridSampler3D;
  const auto* const nearest_back = &functions::aclnnUpsampleNearestExact3dBackward;
  ExpectRows({
      {image,
       ACL_FLOAT,
       {{"H", (1 << 16) - 1}, {"W", 1 << 15}},
       {{"H", k31Bits - 1}},
       "H * W must be less than 2147483647",
       "9.x"},
      {volume,
       ACL_FLOAT,
       {{"D", k31Bits - 2}},
       {{"D", 1 << 11}, {"H", 1 << 10}, {"W", 1 << 10}},
       "D * H * W must be less than 2147483647",
       "9.x"},
      {&functions::aclnnUpsampleNearestExact3d,
       ACL_FLOAT,
       {{"C", k31Bits - 1}},
       {{"C", k31Bits}},
       "the page's longest is 2147483647",
       "9.x"},
      {nearest_back,
       ACL_FLOAT,
       {{"C", 1 << 11}, {"OD", 50}, {"OH", 20971}, {"D", 1}, {"H", 420}},
       {{"C", 1 << 11}, {"OD", 50}, {"OH", 20972}, {"D", 1}, {"H", 420}},
       "rows, but the page wants less than 2^31",
       "9.x"},
  });
  portaclSetEdition("8.x");
  portaclSetStrict(1);
  const LimitRow row = {image, ACL_FLOAT, {}, {{"H", k31Bits - 1}}, ""};
  EXPECT_THAT(Plan(row, row.beyond).second, Not(HasSubstr("STRICT"))) << "of the first pages";
}

}  // namespace
}  // namespace portacl_test
