// Objects and memory that a program has not given back when it calls aclFinalize.
#ifndef PORTACL_RUNTIME_LEAKS_H_
#define PORTACL_RUNTIME_LEAKS_H_

#include <cstddef>
#include <string>

namespace portacl::runtime {

struct LeakCount {
  size_t count = 0;
  size_t bytes = 0;  // 0: the objects have no size worth telling
};

// Adds a kind of object to the report; `name` is a static string in the plural ("tensors"), and
// `live` tells how many there are now. A name that is registered again keeps its first function.
void RegisterLeakCounter(const char* name, LeakCount (*live)());

// "2 device allocations (4096 bytes), 1 stream"; empty if nothing leaked.
std::string DescribeLeaks();

// For aclFinalize: in guard mode writes the leaks to stderr, with the places of the allocations;
// otherwise logs a warning.
void ReportLeaks();

// Makes this process report its leaks at its end, unless aclFinalize comes before. Called when
// guard mode makes memory.
void ReportLeaksAtExit();

}  // namespace portacl::runtime

#endif  // PORTACL_RUNTIME_LEAKS_H_
