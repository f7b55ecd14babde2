// Cases on several threads, one at a time on each.
#ifndef PORTACL_TOOLS_TESTING_PARALLEL_CASES_H_
#define PORTACL_TOOLS_TESTING_PARALLEL_CASES_H_

#include <cstddef>
#include <functional>

namespace portacl::golden {

// Calls task(i) for each i in [0, count) on `jobs` threads (0: one for each CPU). Tasks begin in
// ascending order. Meanwhile each operator runs on one thread. on_done(number of finished tasks) is
// called on one thread at a time. The first exception ends the loop and is thrown again here.
void ForEachCase(size_t count, int jobs, const std::function<void(int)>& on_done,
                 const std::function<void(size_t)>& task);

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_PARALLEL_CASES_H_
