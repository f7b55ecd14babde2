// The mixed load of the soak test: what one thread does again and again, and what it found.
#ifndef PORTACL_TESTS_SOAK_LOAD_H_
#define PORTACL_TESTS_SOAK_LOAD_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "campaign/case.h"
#include "campaign/entries.h"
#include "support/api/random.h"

namespace portacl_test {

// Cases with their results, calculated before the load begins; read by all threads.
struct SoakCases {
  explicit SoakCases(uint64_t seed, size_t count);
  std::vector<CampaignCase> cases;
  std::vector<Outcome> wants;
};

// One thread's work. A step is some hundred microseconds, but for forks.
class SoakThread {
 public:
  // Thread 0 resets device 1, thread 1 forks; the others do neither.
  SoakThread(int thread, uint64_t seed, const SoakCases& cases);

  // Does one thing at random; "" or what was wrong.
  std::string Step();
  // Gives back what the thread has.
  void End();

 private:
  std::string RunCase();
  std::string RunWithFault();
  std::string AbortStream();
  std::string UseMemory();
  std::string UseEvents();
  std::string ResetDevice();
  std::string Fork();
  std::string Compare(size_t index, const Outcome& got) const;
  size_t PickCase();

  const int thread_;
  Random random_;
  const SoakCases& cases_;
  aclrtStream stream_ = nullptr;
};

}  // namespace portacl_test

#endif  // PORTACL_TESTS_SOAK_LOAD_H_
