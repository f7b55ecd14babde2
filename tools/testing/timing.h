// Times of a call that is planned once and run several times.
#ifndef PORTACL_TOOLS_TESTING_TIMING_H_
#define PORTACL_TOOLS_TESTING_TIMING_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace portacl::golden {

// Wall-clock time since construction.
class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Timing {
  int repeat = 1;                               // timed runs; more than one are preceded by another
  std::function<void(int done)> on_run_done{};  // called after each timed run

  double plan_seconds = 0;      // checks and planning (phase 1)
  uint64_t workspace_size = 0;  // bytes
  std::vector<double> seconds;  // per timed run, in order

  double best() const;
  double median() const;

  // Times `run`, which must wait for the end of what it begins.
  void Run(const std::function<void()>& run);
};

}  // namespace portacl::golden

#endif  // PORTACL_TOOLS_TESTING_TIMING_H_
