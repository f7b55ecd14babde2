// Runs a call as a program for the vendor's toolkit does, through any library that has the
// functions. They are looked up by name; none is linked.
#ifndef PORTACL_TOOLS_TESTING_CALL_ACLNN_H_
#define PORTACL_TOOLS_TESTING_CALL_ACLNN_H_

#include <span>
#include <string>
#include <vector>

#include "tools/testing/aclnn_functions.h"
#include "tools/testing/call.h"
#include "tools/testing/hardships.h"
#include "tools/testing/timing.h"

namespace portacl::golden {

// One device and stream for as long as it lives.
class AclnnCaller {
 public:
  // The functions as AclnnFunctions takes them. Throws RuntimeFailure if functions of the
  // runtime are missing, which it names, or one fails.
  explicit AclnnCaller(FindFunction find, FindFunction find_own = {});
  ~AclnnCaller();
  AclnnCaller(const AclnnCaller&) = delete;
  AclnnCaller& operator=(const AclnnCaller&) = delete;

  // Phase 1, and if that succeeds phase 2 and the copies back. Looks for forbidden writes: to
  // inputs, masked outputs, elements beside an output's view, and memory around tensors and the
  // workspace. Outputs are copied back even then. Throws RuntimeFailure if the library lacks what
  // this operator needs. With `timing` phase 2 and the wait for the stream are timed, as often as
  // that says.
  AclnnOutcome Run(Call& call, Timing* timing = nullptr);

  // The same for two calls of one case with different inputs, one after the other, with hardships.
  // The second call follows if the first succeeds, unless kSecondCall is left out.
  std::vector<AclnnOutcome> Rehearse(Call& first, Call& second, Hardships hardships);

  void* stream() const { return stream_; }

  // "" or what the runtime lacks for a hardship, which is then left out.
  std::string Missing() const;

 private:
  AclnnFunctions functions_;
  void* stream_ = nullptr;
  bool can_be_watched_ = false;  // the device's memory
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_ACLNN_H_
