// The program's own marks and ranges on the timeline (trace.h).
#ifndef PORTACL_RUNTIME_MARKS_H_
#define PORTACL_RUNTIME_MARKS_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace portacl::runtime {

// Marks a moment on the calling thread's row, or on a stream's row in the stream's order.
void Mark(const std::string& text);
base::Status MarkStream(const std::string& text, void* stream);

// Ranges that nest on each thread. PopRange() returns false if no range is open.
void PushRange(std::string text);
bool PopRange();

// Numbered ranges. Any thread may end a range; the range is on the row of the thread that ends it.
// StopRange() returns false if the range is not open.
uint32_t StartRange(std::string text);
bool StopRange(uint32_t range);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_MARKS_H_
