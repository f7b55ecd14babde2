// The functions of the aclnn API by name and type. None is linked: phase 1 is called by an address,
// with arguments that are made at run time.
#ifndef PORTACL_TOOLS_TESTING_ACLNN_SIGNATURES_H_
#define PORTACL_TOOLS_TESTING_ACLNN_SIGNATURES_H_

#include <acl/acl.h>
#include <aclnn/acl_meta.h>

#include <cstdint>
#include <string>
#include <vector>

namespace portacl::golden {

// One argument of a call as the library gets it: a handle or a number.
struct Handle {
  aclTensor* tensor = nullptr;
  aclIntArray* ints = nullptr;
  aclBoolArray* bools = nullptr;
  double real = 0;
  int64_t integer = 0;
  std::string word;
};

struct Phase1Results {
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
};

struct Operation {
  const char* function;  // of phase 2
  aclnnStatus (*phase1)(void* address, const std::vector<Handle>& handles, Phase1Results& out);
};

// Null if the aclnn API has no such function.
const Operation* FindOperation(const char* function);

using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_ACLNN_SIGNATURES_H_
