// Cases on several threads, one at a time on each.
#ifndef PORTACL_TOOLS_TESTING_PARALLEL_CASES_H_
#define PORTACL_TOOLS_TESTING_PARALLEL_CASES_H_

#include <cstddef>
#include <functional>

namespace portacl::golden {

// Calls task(i) for each i in [0, count) on `jobs` threads (0: one for each CPU). Tasks begin in
// rising order. Operators run on one thread each meanwhile. on_done(how many) is called on one
// thread at a time. The first exception ends it and is thrown again here.
void ForEachCase(size_t count, int jobs, const std::function<void(int)>& on_done,
                 const std::function<void(size_t)>& task);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_PARALLEL_CASES_H_
