// Objects and memory that a program has not freed when it calls aclFinalize.
#ifndef PORTACL_RUNTIME_LEAKS_H_
#define PORTACL_RUNTIME_LEAKS_H_

#include <cstddef>
#include <string>

namespace portacl::runtime {

struct LeakCount {
  size_t count = 0;
  size_t bytes = 0;  // 0: the report shows no size
};

// Adds a kind of object to the report. `name` is a static plural ("tensors"); `live` counts the
// objects. If a name is registered again, the first function stays.
void RegisterLeakCounter(const char* name, LeakCount (*live)());

// Returns "2 device allocations (4096 bytes), 1 stream"; "" if nothing leaked.
std::string DescribeLeaks();

// For aclFinalize. In guard mode, writes the leaks and the places of the allocations to stderr;
// otherwise logs a warning.
void ReportLeaks();

// Makes this process report its leaks at its end, unless it calls aclFinalize before. Called when
// guard mode allocates memory.
void ReportLeaksAtExit();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_LEAKS_H_
