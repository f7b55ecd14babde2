// What failing cases have in common, if most cases fail.
#include "tools/testing/common_traits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing/case_list.h"

namespace portacl::golden {
namespace {

using testing::IsEmpty;

// Ten cases. The first eight fail; `special` are the fields of two of them. The last two pass.
std::vector<std::string> Common(const std::string& special, const std::string& ninth,
                                const std::string& tenth) {
  std::vector<CaseVerdict> verdicts;
  for (int i = 0; i < 10; ++i) {
    const std::string shape = i == 8 ? ninth : i == 9 ? tenth : "1x1x5";
    const std::string more = i < 2 ? special : "";
    CaseVerdict verdict;
    verdict.c = CasesOfString("upsample_nearest_exact1d self=" + shape +
                              " out=" + shape.substr(0, 4) + "9" + more)
                    .at(0);
    if (i < 8) verdict.error = "wrong";
    verdicts.push_back(verdict);
  }
  return CommonTraits(verdicts);
}

TEST(CommonTraits, OfTwoCasesAmongManyThatFailSayNothing) {
  EXPECT_THAT(Common(" dtype=float16", "1x1x5", "1x1x5"), IsEmpty());
}

TEST(CommonTraits, ThatTheRightCasesHaveSayNothing) {
  EXPECT_THAT(Common("", "1x1x5", "1x2x5"), IsEmpty());
}

TEST(CommonTraits, ThatTheRightCasesLackAreSaid) {
  EXPECT_THAT(Common("", "1x2x5", "1x2x5"),
              testing::Contains("all 8 cases have: C 1; of 8 cases with that 8 failed"));
}

}  // namespace
}  // namespace portacl::golden
