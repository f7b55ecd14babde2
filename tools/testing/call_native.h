// Runs a call through portacl's own API.
#ifndef PORTACL_TOOLS_TESTING_CALL_NATIVE_H_
#define PORTACL_TOOLS_TESTING_CALL_NATIVE_H_

#include <portacl/portacl.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tools/testing/call.h"
#include "tools/testing/timing.h"

namespace portacl::golden {

// A dense copy of a tensor with levels and points, needed if strides do not let this API take both
// as one axis.
struct PackedTensor {
  size_t argument;
  std::vector<std::byte> elements;
};

// A planned call: the library's answer to it, and its runs.
class NativePlan {
 public:
  // code() is not 0 if the library refuses the call.
  explicit NativePlan(const Call& call);

  int32_t code() const { return code_; }
  std::string kernel() const;  // "avx2:x2"; "" if it is refused
  uint64_t workspace_size() const;
  // Fills the outputs of the call, which must still be there, except packed ones; a code.
  int32_t Run() const;
  // Fills the packed ones behind the last run.
  void Unpack(Call& call) const;

 private:
  struct Destroy {
    void operator()(portaclPlan* plan) const { portaclPlanDestroy(plan); }
  };

  int32_t code_ = 0;
  std::deque<PackedTensor> packed_;
  std::unique_ptr<portaclPlan, Destroy> plan_;
};

// Fills the outputs. Throws BadInput ("case '...': message of the library") if it is refused.
void RunNative(Call& call);
// The same, timed, and without the case in the message.
void RunNative(Call& call, Timing& timing);

// The kernel that portacl would run the call with, "avx2:x2"; "" if it is refused. This API lacks
// bytes: for them, the kernel that copies them, even if the call is refused.
std::string KernelOf(const Call& call);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_NATIVE_H_
