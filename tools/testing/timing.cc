// Repetition and the two numbers that are told of it.
#include "tools/testing/timing.h"

#include <algorithm>

namespace portacl::golden {

double Timing::best() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

double Timing::median() const {
  if (seconds.empty()) return 0;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

void Timing::Run(const std::function<void()>& run) {
  for (int i = repeat > 1 ? -1 : 0; i < repeat; ++i) {
    const Stopwatch running;
    run();
    const double elapsed = running.Seconds();
    if (i < 0) continue;
    seconds.push_back(elapsed);
    if (on_run_done) on_run_done(i + 1);
  }
}

}  // namespace portacl::golden
