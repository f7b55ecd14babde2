// Faults on request: the n-th allocation, mapping or thread of the whole process fails, once or
// from then on. The program defines malloc, mmap and pthread_create, so the library, the language
// runtime and oneTBB call these instead of the system's.
#ifndef PORTACL_TESTS_FAULTS_INJECTION_H_
#define PORTACL_TESTS_FAULTS_INJECTION_H_

#include <cstdint>

// Sanitizers bring a malloc of their own; there only operator new fails.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PORTACL_FOREIGN_MALLOC 1
#else
#define PORTACL_FOREIGN_MALLOC 0
#endif

// The thread sanitizer maps memory before it can watch a program's function: its own stay.
#if defined(__SANITIZE_THREAD__)
#define PORTACL_FOREIGN_MAPPINGS 1
#else
#define PORTACL_FOREIGN_MAPPINGS 0
#endif

namespace portacl_test {

enum class Fault { kMemory, kMapping, kThread };
enum class Repeat { kOnce, kForEver };
enum class Reach { kProcess, kThread };  // all threads, or the calling one

const char* NameOf(Fault fault);

// While an Injection lives, request number `n` (from 0) of the kind `fault` fails, and with
// kForEver every later one. One at a time for each reach.
class Injection {
 public:
  Injection(Fault fault, Repeat repeat, int64_t n, Reach reach = Reach::kProcess);
  ~Injection();
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;

  // Whether it came to that. Ends the injection.
  bool End();

 private:
  const Reach reach_;
  bool ended_ = false;
  bool fired_ = false;
};

// Blocks of memory that are allocated now; always 0 with a sanitizer, which looks for leaks itself.
int64_t LiveBlocks();

}  // namespace portacl_test

#endif  // PORTACL_TESTS_FAULTS_INJECTION_H_
