// Runs a call by the name of a graph operator, as a program that uses aclopCompileAndExecute does.
#ifndef PORTACL_TOOLS_TESTING_CALL_GRAPH_H_
#define PORTACL_TOOLS_TESTING_CALL_GRAPH_H_

#include "tools/testing/call.h"
#include "tools/testing/timing.h"

namespace portacl::golden {

// The same maths as the call's own function. Attributes that only the graph operator has are set
// for it. If the call gives no scale, none is set. Inputs are passed as dense copies. Throws as
// ThrowOnStatus() of cli_error.h. `type` is an operator of the call's maths, `stream` an
// aclrtStream.
void RunGraph(Call& call, const ops::Signature& type, void* stream, Timing& timing);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CALL_GRAPH_H_
