// Functions and lines of stacks, by libdw if that is installed: nothing is linked to it.
#ifndef PORTACL_RUNTIME_GUARD_LINES_H_
#define PORTACL_RUNTIME_GUARD_LINES_H_

#include <string>

#include "runtime/guard_stack.h"

namespace portacl::runtime {

// Loads libdw. Not in a signal handler, and before PrintLines() is called in one.
void FindLineReader();

// " fill at program.c:2", a line for each frame. Leaves out frames below main(), and frames inside
// this library unless there are no others. "" if no frame has a name, or without libdw.
std::string DescribeLines(const GuardStack& stack);

// The same to stderr, for signal handlers: a child of this process reads and prints. So this
// process goes on after at most two seconds, whatever code was interrupted. True if there was
// something to print.
bool PrintLines(const GuardStack& stack);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_LINES_H_
