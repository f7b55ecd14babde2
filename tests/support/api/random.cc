// What the environment decides about a test run.
#include "support/api/random.h"

#include <chrono>
#include <cstdlib>
#include <string_view>

namespace portacl_test {

uint64_t FreshSeed() {
  static const uint64_t seed = [] {
    if (const char* given = std::getenv("PORTACL_TEST_SEED")) {
      return static_cast<uint64_t>(std::strtoull(given, nullptr, 0));
    }
    return static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }();
  return seed;
}

bool ShortRun() {
  static const bool value = [] {
    const char* given = std::getenv("PORTACL_TEST_SHORT");
    return given != nullptr && std::string_view(given) == "1";
  }();
  return value;
}

}  // namespace portacl_test
