// A function that PyTorch's kernels compute, where libportacl_aten.so is not there.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "acl/acl.h"
#include "aclnnop/aclnn_exp.h"

namespace portacl_test {
namespace {

// Prints what phase 1 answers.
void CallWithout() {
  setenv("PORTACL_ATEN_LIBRARY", "/nowhere/libportacl_aten.so", 1);
  float values[4] = {};
  const int64_t shape[] = {4};
  aclTensor* const tensor =
      aclCreateTensor(shape, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 1, values);
  uint64_t size = 1;
  auto* executor = reinterpret_cast<aclOpExecutor*>(8);
  const aclnnStatus status = aclnnExpGetWorkspaceSize(tensor, tensor, &size, &executor);
  std::fprintf(stderr, "%d %d %d %s\n", status, static_cast<int>(size), executor == nullptr,
               aclGetRecentErrMsg());
  std::exit(0);
}

TEST(AtenAbsentChild, PhaseOneSaysHowToGetIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(CallWithout(), testing::ExitedWithCode(0),
              "561103 0 1 aclnnExp: /nowhere/libportacl_aten.so is not there: script/setup --aten");
}

TEST(AtenAbsentChild, NullsAreFoundWithoutIt) {
  uint64_t size = 1;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnExpGetWorkspaceSize(nullptr, nullptr, &size, &executor), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_STREQ(aclGetRecentErrMsg(), "aclnnExp: self is null");
}

}  // namespace
}  // namespace portacl_test
