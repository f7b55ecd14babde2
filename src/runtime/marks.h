// Marks and ranges of the program's own on the timeline (trace.h).
#ifndef PORTACL_RUNTIME_MARKS_H_
#define PORTACL_RUNTIME_MARKS_H_

#include <cstdint>
#include <string>

#include "base/status.h"

namespace portacl::runtime {

// A moment on the calling thread's row, or in a stream's order on its row.
void Mark(const std::string& text);
base::Status MarkStream(const std::string& text, void* stream);

// Ranges that nest per thread. PopRange is false if none is open.
void PushRange(std::string text);
bool PopRange();

// Numbered ranges, which any thread may end; a range appears on the row of the thread that ends it.
// StopRange is false for a number that is not open.
uint32_t StartRange(std::string text);
bool StopRange(uint32_t range);

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_MARKS_H_
