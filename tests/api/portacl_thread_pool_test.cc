// portaclSetThreadPool on whole calls: the same bytes on every pool a host may lend, and the
// refusals and reports of the API around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "support/api/compare.h"
#include "support/api/native.h"
#include "support/api/shape_list.h"
#include "support/api/thread_pools.h"

namespace portacl_test {
namespace {

class LentThreads : public testing::Test {
 protected:
  ~LentThreads() override {
    portaclSetThreadPool(nullptr);
    portaclSetNumThreads(0);
  }
};

// Outputs of the backward and of the forward function.
std::vector<Tensor> Compute(const GridCase& c, const GridMode& mode) {
  Tensor input_grad(c.input.element(), c.input.shape());
  Tensor grid_grad(c.input.element(), c.grid.shape());
  EXPECT_TRUE(Succeeds(NativeGridBackward(c, mode, &input_grad, &grid_grad)));
  Tensor output(c.input.element(), c.grad_output.shape());
  EXPECT_TRUE(Succeeds(NativeGrid(c.input, c.grid, mode, &output)));
  Shape wide = c.input.shape();
  for (size_t axis : {2, 3}) wide[axis] *= 2;
  Tensor resized(c.input.element(), wide);
  EXPECT_TRUE(Succeeds(portacl::upsample_nearest_exact(View(c.input), View(resized))));
  Tensor back(c.input.element(), c.input.shape());
  EXPECT_TRUE(Succeeds(portacl::upsample_nearest_exact_backward(View(resized), View(back))));
  return {input_grad, grid_grad, output, resized, back};
}

TEST_F(LentThreads, EveryPoolGivesTheBytesOfOneThread) {
  OneThreadPool one(4);
  OddOrderPool odd(5);
  CrowdedPool crowded(16);
  for (const int64_t channels : {1, 3, 32}) {
    for (const int64_t images : {1, 7}) {
      Random random(112);
      GridCase c(Element::kFloat, images, channels, 41, 37, 53, 29);
      c.Fill(GridKind::kRandom, random);
      const GridMode mode = {};
      ASSERT_EQ(portaclSetNumThreads(1), PORTACL_OK);
      const std::vector<Tensor> want = Compute(c, mode);
      ASSERT_EQ(portaclSetNumThreads(0), PORTACL_OK);
      for (LentPool* pool : {static_cast<LentPool*>(&one), static_cast<LentPool*>(&odd),
                             static_cast<LentPool*>(&crowded)}) {
        ASSERT_TRUE(Succeeds(portacl::set_thread_pool(*pool)));
        const std::vector<Tensor> got = Compute(c, mode);
        for (size_t i = 0; i < want.size(); ++i) {
          EXPECT_TRUE(BitIdentical(got[i], want[i]))
              << channels << " channels, " << images << " images, output " << i;
        }
        ASSERT_TRUE(Succeeds(portacl::reset_thread_pool()));
      }
    }
  }
  EXPECT_GT(one.loops, 0);
  EXPECT_GT(odd.loops, 0);
  EXPECT_GT(crowded.loops, 0);
}

// Its plan has scratch memory for six threads, or for two.
TEST_F(LentThreads, APlanRunsOnAnotherPoolThanItWasMadeFor) {
  Random random(113);
  GridCase c(Element::kFloat, 9, 16, 23, 37, 31, 29);
  c.Fill(GridKind::kRandom, random);
  Tensor want(c.input.element(), c.input.shape());
  ASSERT_TRUE(Succeeds(NativeGridBackward(c, {}, &want, nullptr)));
  CrowdedPool two(2);
  CrowdedPool six(6);
  for (const auto& [planned, runs] : {std::pair(&two, &six), std::pair(&six, &two)}) {
    ASSERT_TRUE(Succeeds(portacl::set_thread_pool(*planned)));
    Tensor input_grad(c.input.element(), c.input.shape());
    portacl::Plan plan;
    ASSERT_TRUE(Succeeds(plan.grid_sampler_2d_backward(
        View(c.grad_output), View(c.input), View(c.grid), View(input_grad), portacl::Tensor())));
    ASSERT_TRUE(Succeeds(portacl::set_thread_pool(*runs)));
    ASSERT_TRUE(Succeeds(plan.run()));
    EXPECT_TRUE(BitIdentical(input_grad, want));
    ASSERT_TRUE(Succeeds(portacl::reset_thread_pool()));
    ASSERT_TRUE(Succeeds(plan.run()));
    EXPECT_TRUE(BitIdentical(input_grad, want));
  }
}

TEST_F(LentThreads, InfoNamesThePool) {
  EXPECT_EQ(InfoAt("/thread_pool"), "oneTBB");
  OneThreadPool pool(3);
  ASSERT_TRUE(Succeeds(portacl::set_thread_pool(pool, "a host's")));
  EXPECT_EQ(InfoAt("/thread_pool"), "a host's");
  EXPECT_EQ(InfoAt("/threads"), "3");
  EXPECT_EQ(portaclGetNumThreads(), 3);
  const std::string endless(4000, 'x');
  ASSERT_TRUE(Succeeds(portacl::set_thread_pool(pool, endless.c_str())));
  EXPECT_EQ(InfoAt("/thread_pool"), endless.substr(0, 159));
}

// A host that asks back while it is asked, or lent: reading is allowed, changing is refused.
struct CuriousPool {
  int num_threads() { return 2; }
  template <class Task>
  void run(int count, Task task) {
    seen = portaclGetNumThreads();
    for (int i = 0; i < count; ++i) task(i);
    static_cast<void>(aclrtGetLastError(ACL_RT_THREAD_LEVEL));
    refused = portaclSetThreadPool(nullptr);
    last_error = aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL);
    message = portaclGetErrorMessage();
  }
  int seen = 0;
  int32_t refused = PORTACL_OK;
  aclError last_error = -1;  // the ACL functions' last error: the refusal is not theirs
  std::string message;
};

TEST_F(LentThreads, AHostMayReadButNotChangeWhileItRunsALoop) {
  CuriousPool pool;
  ASSERT_TRUE(Succeeds(portacl::set_thread_pool(pool)));
  Random random(114);
  GridCase c(Element::kFloat, 8, 4, 41, 37, 53, 29);
  c.Fill(GridKind::kRandom, random);
  Compute(c, {});
  EXPECT_EQ(pool.seen, 2);
  EXPECT_EQ(pool.refused, PORTACL_ERROR_INVALID);
  EXPECT_EQ(pool.last_error, ACL_SUCCESS);
  EXPECT_THAT(pool.message, testing::HasSubstr("portaclSetThreadPool: called from inside"));
}

TEST_F(LentThreads, AHostThatThrowsWhenAskedHasOneThread) {
  portaclThreadPool pool{};
  pool.numThreads = [](void*) -> int32_t { throw std::runtime_error("no number"); };
  ASSERT_EQ(portaclSetThreadPool(&pool), PORTACL_OK);
  EXPECT_EQ(portaclGetNumThreads(), 1);
  EXPECT_THAT(portaclGetErrorMessage(), testing::HasSubstr("no number"));
}

}  // namespace
}  // namespace portacl_test
