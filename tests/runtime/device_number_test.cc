// How many devices a list leaves visible.
#include "runtime/device_number.h"

#include <gtest/gtest.h>

namespace portacl::runtime {
namespace {

TEST(VisibleDevices, AreThoseThatTheListNames) {
  EXPECT_EQ(VisibleDevices("0", 8), 1);
  EXPECT_EQ(VisibleDevices("6,7", 8), 2);
  EXPECT_EQ(VisibleDevices("3, 1 ,0", 8), 3);
}

TEST(VisibleDevices, EndAtTheFirstThatIsNone) {
  EXPECT_EQ(VisibleDevices("-1", 8), 0);
  EXPECT_EQ(VisibleDevices("0,1,8,2", 8), 2) << "the machine has 8";
  EXPECT_EQ(VisibleDevices("0,-1,2", 8), 1);
  EXPECT_EQ(VisibleDevices("0,x,2", 8), 1);
  EXPECT_EQ(VisibleDevices("0,1,0,2", 8), 2) << "named twice";
  EXPECT_EQ(VisibleDevices("0,,2", 8), 1);
  EXPECT_EQ(VisibleDevices("0,", 8), 1);
  EXPECT_EQ(VisibleDevices("99999999999999999999", 8), 0);
}

TEST(VisibleDevices, OfAMachineOfUnknownSizeAreAllThatTheListNames) {
  EXPECT_EQ(VisibleDevices("7", 0), 1);
  EXPECT_EQ(VisibleDevices("4,5,6,7", 0), 4);
  EXPECT_EQ(VisibleDevices("63", 0), 1);
  EXPECT_EQ(VisibleDevices("64", 0), 0);
}

}  // namespace
}  // namespace portacl::runtime
