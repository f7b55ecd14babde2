// Numbers of threads for tests of results that must not depend on the number.
#ifndef PORTACL_TESTS_SUPPORT_API_THREAD_COUNTS_H_
#define PORTACL_TESTS_SUPPORT_API_THREAD_COUNTS_H_

#include <vector>

#include "support/api/random.h"

namespace portacl_test {

// `counts`; in a short run the last of them alone.
inline std::vector<int> ThreadCounts(const std::vector<int>& counts) {
  return ShortRun() ? std::vector<int>{counts.back()} : counts;
}

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SUPPORT_API_THREAD_COUNTS_H_
