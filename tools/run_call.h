// One call through the API that `portacl run` and the demo ask for, timed.
#ifndef PORTACL_TOOLS_RUN_CALL_H_
#define PORTACL_TOOLS_RUN_CALL_H_

#include <string>

#include "tools/testing/call.h"
#include "tools/testing/timing.h"

namespace portacl::cli {

struct CallReport {
  std::string api;     // what was called
  std::string kernel;  // the kernel that the plan chose
  golden::Timing timing;
};

// `profile` is "native" for the C++ API, or a profile of the aclnn API, which is set for the
// process. With the aclnn API, `graph` (if not null) is the operator to call by name. Throws
// BadInput if the library refuses the call, RuntimeFailure if it fails.
CallReport RunCall(golden::Call& call, const std::string& profile,
                   const ops::Signature* graph = nullptr, golden::Timing timing = {});

// Bytes of all inputs and wanted outputs, each counted once: the least that has to move.
double BytesMoved(const golden::Call& call);

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_RUN_CALL_H_
