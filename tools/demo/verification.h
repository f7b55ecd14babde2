// Runs a call with every kernel family, with one thread and through the aclnn API, and compares the
// bits with the reference kernels' results.
#ifndef PORTACL_TOOLS_DEMO_VERIFICATION_H_
#define PORTACL_TOOLS_DEMO_VERIFICATION_H_

#include <functional>
#include <string>
#include <vector>

#include "tools/testing/call.h"

namespace portacl::cli {

struct Verification {
  std::string kernel;                 // the library's own choice
  double seconds = 0;                 // its best time
  double gb_per_s = 0;                // its bandwidth, each tensor counted once
  std::string checksum;               // of its first result
  std::vector<std::string> compared;  // what was compared with ref, e.g. avx512, avx2, aclnn
  bool aclnn = false;                 // whether the aclnn API takes the dtype, and was compared
  std::string problem;                // the first difference; "" if all bits agree
};

Verification VerifyAgainstRef(golden::Call call);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_DEMO_VERIFICATION_H_
