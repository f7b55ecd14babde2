// What the tests of kernels share: the comparison of whole storages, random picks, and a machine
// and a number of threads that are restored afterwards.
#ifndef PORTACL_TESTS_SUPPORT_KERNEL_TEST_H_
#define PORTACL_TESTS_SUPPORT_KERNEL_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "runtime/parallel.h"
#include "support/api/compare.h"
#include "support/api/pick.h"
#include "support/api/random.h"
#include "support/api/tensor.h"
#include "support/kernel_paths.h"
#include "support/other_machine.h"

namespace portacl_test {

// Same bits, and nothing written outside the view. Equal storages prove both: comparing element by
// element takes far longer than the kernels.
inline testing::AssertionResult SameAs(const Tensor& want, const Tensor& got) {
  if (got.bytes() == want.bytes()) return testing::AssertionSuccess();
  if (!got.GuardsIntact()) return testing::AssertionFailure() << "wrote outside the view";
  return BitIdentical(got, want);
}

class KernelTest : public testing::Test {
 protected:
  KernelTest() { paths_run.clear(); }
  ~KernelTest() override { portacl::runtime::SetNumThreads(0); }

  OtherMachine machine_;  // this one, until a test changes its facts
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_KERNEL_TEST_H_
