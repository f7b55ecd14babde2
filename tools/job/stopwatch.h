// Wall-clock time since construction.
#ifndef PORTACL_TOOLS_JOB_STOPWATCH_H_
#define PORTACL_TOOLS_JOB_STOPWATCH_H_

#include <chrono>

namespace portacl::cli {

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace portacl::cli

#endif  // PORTACL_TOOLS_JOB_STOPWATCH_H_
