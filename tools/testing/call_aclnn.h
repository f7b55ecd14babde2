// Runs a call as a program for the vendor's toolkit does, through whatever library has the
// functions: they are looked up by name, none is linked.
#ifndef PORTACL_TOOLS_TESTING_CALL_ACLNN_H_
#define PORTACL_TOOLS_TESTING_CALL_ACLNN_H_

#include <functional>
#include <string>

#include "tools/testing/call.h"
#include "tools/testing/timing.h"

namespace portacl::golden {

// The address of a function by its name, null where there is none.
using FindFunction = std::function<void*(const char*)>;

struct AclnnOutcome {
  int32_t status = 0;   // of phase 1; where that is 0, of the first call that failed
  std::string call;     // which one it was
  std::string message;  // the library's, or what it did wrong ("input ... was written")
};

// One device and stream for as long as it lives.
class AclnnCaller {
 public:
  // `find_own` finds an operator's functions and throws RuntimeFailure where it does not; without
  // it they are looked up as all others. Throws RuntimeFailure where functions of the runtime are
  // missing, which it names, or one fails.
  explicit AclnnCaller(FindFunction find, FindFunction find_own = {});
  ~AclnnCaller();
  AclnnCaller(const AclnnCaller&) = delete;
  AclnnCaller& operator=(const AclnnCaller&) = delete;

  // Phase 1, and where that succeeds phase 2 and the copies back. Looks at what must not be
  // written: inputs, outputs that the mask leaves out, elements beside an output's view, and what
  // lies before and after each of them and the workspace; outputs come back all the same. Throws
  // RuntimeFailure where the library lacks what this operator needs. With `timing` phase 2 and the
  // wait for the stream are timed, as often as that says.
  AclnnOutcome Run(Call& call, Timing* timing = nullptr);

  void* stream() const { return stream_; }

 private:
  FindFunction find_, find_own_;
  void* stream_ = nullptr;
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_ACLNN_H_
