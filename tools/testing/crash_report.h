// The report of a process that crashes: the address, the tensor beside it, the stack.
#ifndef PORTACL_TOOLS_TESTING_CRASH_REPORT_H_
#define PORTACL_TOOLS_TESTING_CRASH_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace portacl::golden {

// Begins a report where the number of runs stands in an answer (tools/call/main.cc).
inline constexpr uint32_t kCrashed = 0xFFFFFFFF;

// From now on a crash is reported to the file: kCrashed, and a text (uint32 length, bytes). Then
// the signal ends the process as it would have.
void ReportCrashes(int file);

// Tensors that an address is compared with. `name` must live until ForgetTensors().
void NoteTensor(const char* name, const void* data, size_t size);
void ForgetTensors();

// The text of a report with the names of functions as C++ has them, and lines of the source if
// addr2line(1) finds them. Not for handlers.
std::string ReadableCrash(const std::string& report);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_CRASH_REPORT_H_
