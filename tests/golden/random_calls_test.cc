// Random calls of every operator of the list: within the error bound, and the same bits by every
// kernel, number of threads, lent pool and API. tests/campaign tests what cases cannot express.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "support/api/native.h"
#include "support/api/random.h"
#include "support/api/thread_pools.h"
#include "tools/testing/call_aclnn.h"
#include "tools/testing/call_graph.h"
#include "tools/testing/call_native.h"
#include "tools/testing/generate_cases.h"
#include "tools/testing/golden_set.h"
#include "tools/testing/verdict.h"

namespace portacl::golden {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

// Of operators that the aclnn API has, and of those that only portacl's own API has.
std::vector<Case> RandomCases(uint64_t seed) {
  GenerateOptions options;
  options.seed = seed;
  options.count = portacl_test::ByRunLength(900, 150);
  std::vector<Case> cases = GenerateCases("random", options);
  for (const OperatorRow& row : Operators()) {
    if (*row.function != '\0') continue;
    options.op = row.name;
    options.count = portacl_test::ByRunLength(30, 5);
    const std::vector<Case> more = GenerateCases("random", options);
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

class RandomCalls : public portacl_test::NativeTest {
 protected:
  // What `run` makes of the case must have golden's bits.
  static AssertionResult SameBits(const GoldenCase& golden, const std::function<void(Call&)>& run) {
    Call call = MakeCall(golden.c);
    run(call);
    for (const GoldenOutput& output : golden.outputs) {
      StandardOptions standard;
      standard.standard = Standard::kBinary;
      standard.knows_unwritten = true;
      const OutputVerdict verdict =
          Judge(output, call.tensor(output.parameter.c_str()).Dense(), standard);
      if (!verdict.passed) return AssertionFailure() << output.parameter << ": " << verdict.reason;
    }
    return AssertionSuccess();
  }

  AssertionResult ByKernels(const GoldenCase& golden) const {
    for (const std::string& impl : impls_) {
      for (const int threads : {1, 3}) {
        portaclSetImpl(impl.c_str());
        portaclSetNumThreads(threads);
        Call call = MakeCall(golden.c);
        if (NativePlan(call).code() == PORTACL_ERROR_NO_KERNEL) continue;
        const AssertionResult same = SameBits(golden, [](Call& c) { RunNative(c); });
        if (!same) return AssertionFailure() << impl << ", " << threads << ": " << same.message();
      }
    }
    portaclSetImpl(nullptr);
    portaclSetNumThreads(0);
    return AssertionSuccess();
  }

  static AssertionResult ByAPool(const GoldenCase& golden) {
    portacl_test::OneThreadPool pool(5);
    const portacl::Status lent = portacl::set_thread_pool(pool);
    if (!lent.ok()) return AssertionFailure() << lent.message();
    const AssertionResult same = SameBits(golden, [](Call& call) { RunNative(call); });
    static_cast<void>(portacl::reset_thread_pool());
    return same;
  }

  AssertionResult ByTheAclnnApi(const GoldenCase& golden) {
    AclnnOutcome outcome;
    const AssertionResult same = SameBits(golden, [&](Call& call) { outcome = caller_.Run(call); });
    if (outcome.status == 0 && outcome.message.empty()) return same;
    return AssertionFailure() << outcome.call << ": " << outcome.status << " " << outcome.message;
  }

  AssertionResult ByNames(const GoldenCase& golden) {
    for (const ops::Signature* const type : ops::kGraphOperators) {
      if (!CanSay(*type, golden.c)) continue;
      ++by_name_;
      const AssertionResult same = SameBits(golden, [&](Call& call) {
        Timing once;
        RunGraph(call, *type, caller_.stream(), once);
      });
      if (!same) return AssertionFailure() << type->name << ": " << same.message();
    }
    return AssertionSuccess();
  }

  // By name there are no masks, and scales are floats. A tensor's axes are (N, C, ...).
  static bool CanSay(const ops::Signature& type, const Case& c) {
    const ops::Traits& traits = type.traits;
    const auto says_more = [](const ArgumentCase& a) {
      return a.real || a.format == "NHWC" || a.format == "NDHWC";
    };
    const auto mask = c.op->Find("outputMask");
    return type.op == c.op->op && (traits.axes == 0 || traits.axes == c.op->traits->axes) &&
           traits.antialias == c.op->traits->antialias &&
           traits.dtypes.open.Has(static_cast<int32_t>(c.dtype)) &&
           std::none_of(c.arguments.begin(), c.arguments.end(), says_more) &&
           !(mask && c.arguments[*mask].integers);
  }

  AclnnCaller caller_{[](const char* name) { return dlsym(RTLD_DEFAULT, name); }};
  const std::vector<std::string> impls_ = portacl_test::AvailableImpls();
  int64_t by_name_ = 0;
};

TEST_F(RandomCalls, AreRightAndHaveTheSameBitsWhoeverComputesThem) {
  const uint64_t seed = portacl_test::FreshSeed();
  SCOPED_TRACE(testing::Message() << "PORTACL_TEST_SEED=" << seed);
  std::set<std::string> called;
  for (const Case& c : RandomCases(seed)) {
    const std::string text = ToString(c);
    const GoldenCase golden = ComputeGolden(c);
    for (const GoldenOutput& output : golden.outputs) {
      const OutputVerdict verdict = Judge(output, output.golden, {});
      ASSERT_TRUE(verdict.passed) << text << ": " << output.parameter << ": " << verdict.reason;
    }
    if (c.dtype != cli::kUInt8) {  // portacl's own API has no bytes
      ASSERT_TRUE(ByKernels(golden)) << text;
      ASSERT_TRUE(ByAPool(golden)) << text;
    }
    if (*c.op->function != '\0') {
      ASSERT_TRUE(ByTheAclnnApi(golden)) << text;
      ASSERT_TRUE(ByNames(golden)) << text;
    }
    called.insert(c.op->name);
  }
  EXPECT_EQ(called.size(), OperatorNames().size());
  EXPECT_GT(by_name_, 0);
}

}  // namespace
}  // namespace portacl::golden
