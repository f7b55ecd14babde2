// Test bodies that need a process of their own: the library reads its environment once, and some
// tests end the process. Their suites are named ...Child or ...DeathTest, so that script/check
// arm64 can leave them out: its emulator cannot start a program.
#ifndef PORTACL_TESTS_SUPPORT_API_CHILD_PROCESS_H_
#define PORTACL_TESTS_SUPPORT_API_CHILD_PROCESS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace portacl_test {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Called in the child, before it touches the library.
inline void SetEnvironment(const Environment& environment) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
}

// A temporary file of this process and the children that run its test again, and of no other run.
inline std::string PathForChildren(const std::string& name) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";  // what the next line asks about
  const pid_t owner = testing::internal::InDeathTestChild() ? getppid() : getpid();
  return testing::TempDir() + "portacl_" + std::to_string(owner) + "_" + name;
}

// Ends the child: 0 where no expectation failed.
[[noreturn]] inline void ExitWithResult() { std::exit(testing::Test::HasFailure() ? 1 : 0); }

}  // namespace portacl_test

// Runs `body`, a call, in a new process with an environment; fails if an expectation in it fails.
// The process runs this test from its start, so code before this macro must not touch the library.
#define PORTACL_IN_CHILD(environment, body)               \
  do {                                                    \
    testing::FLAGS_gtest_death_test_style = "threadsafe"; \
    EXPECT_EXIT(                                          \
        {                                                 \
          portacl_test::SetEnvironment(environment);      \
          body;                                           \
          portacl_test::ExitWithResult();                 \
        },                                                \
        testing::ExitedWithCode(0), "");                  \
  } while (false)

#endif  // PORTACL_TESTS_SUPPORT_API_CHILD_PROCESS_H_
