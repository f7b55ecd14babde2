// The text by which a kernel is told which of its paths it may take.
#include <gtest/gtest.h>

#include "base/kernel.h"

namespace portacl::base {
namespace {

TEST(PathChoice, AllowsAllTheNamedOneOrAllButTheNamedOnes) {
  const PathChoice all("");
  EXPECT_FALSE(all.ByName());
  EXPECT_TRUE(all.Allows("slab"));
  EXPECT_FALSE(all.LeavesOut("slab"));

  const PathChoice one("slab");
  EXPECT_TRUE(one.ByName());
  EXPECT_TRUE(one.Allows("slab"));
  EXPECT_FALSE(one.Allows("sla"));
  EXPECT_FALSE(one.Allows("slabs"));
  EXPECT_FALSE(one.LeavesOut("planar"));  // variants of the named path stay

  const PathChoice others("-slab-gathered");
  EXPECT_FALSE(others.ByName());
  EXPECT_FALSE(others.Allows("slab"));
  EXPECT_TRUE(others.Allows("sla"));
  EXPECT_TRUE(others.Allows("slabs"));
  EXPECT_TRUE(others.LeavesOut("gathered"));
  EXPECT_FALSE(others.LeavesOut("lists"));
  EXPECT_FALSE(PathChoice("-").LeavesOut("slab"));
}

}  // namespace
}  // namespace portacl::base
