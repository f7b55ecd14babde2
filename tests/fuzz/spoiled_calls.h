// Operators called with arguments that are wrong in one or more ways.
#ifndef PORTACL_TESTS_FUZZ_SPOILED_CALLS_H_
#define PORTACL_TESTS_FUZZ_SPOILED_CALLS_H_

#include "acl/acl.h"
#include "fuzz/script.h"

namespace portacl_fuzz {

// One call that the script draws, through the two-phase API or by graph name. Whatever the
// arguments, it returns a code, and memory that it must not write stays unchanged.
void RunSpoiledCall(Script* script, aclrtStream stream);

}  // namespace portacl_fuzz

#endif  // PORTACL_TESTS_FUZZ_SPOILED_CALLS_H_
