// Names functions and lines of stacks, by libdw if it is installed. Nothing is linked to libdw.
#ifndef PORTACL_RUNTIME_GUARD_LINES_H_
#define PORTACL_RUNTIME_GUARD_LINES_H_

#include <string>

#include "runtime/guard_stack.h"

namespace portacl::runtime {

// Loads libdw. Call it before PrintLines() and not in a signal handler.
void FindLineReader();

// Returns " fill at program.c:2", a line for each frame. Leaves out frames below main(), and frames
// inside this library unless there are no others. "" without names or without libdw.
std::string DescribeLines(const GuardStack& stack);

// Prints the same to stderr, in signal handlers: a child of this process reads and prints. So this
// process goes on after at most two seconds, whatever code was interrupted. Returns true if it
// printed something.
bool PrintLines(const GuardStack& stack);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_GUARD_LINES_H_
