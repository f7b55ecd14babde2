// Runs a call through portacl's own API.
#ifndef PORTACL_TOOLS_TESTING_CALL_NATIVE_H_
#define PORTACL_TOOLS_TESTING_CALL_NATIVE_H_

#include <string>

#include "tools/testing/call.h"

namespace portacl::golden {

// Fills the outputs. Throws BadInput ("case '...': message of the library") where it is refused.
void RunNative(Call& call);

// The kernel that portacl would run it with, "avx2:x2"; "" where it is refused.
std::string KernelOf(const Call& call);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_NATIVE_H_
