// The differential campaign: random calls through every entry, kernel, number of threads and pool.
//
//   portacl_campaign [--cases N] [--first N] [--seed S]   N cases from number --first on
//   portacl_campaign --seed S --case N                    one case, in words
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "campaign/case.h"
#include "campaign/verdict.h"
#include "support/api/random.h"

namespace {

constexpr int kMostFailures = 20;

struct Options {
  uint64_t seed = portacl_test::FreshSeed();
  uint64_t first = 0;
  uint64_t cases = 100000;
  bool one = false;
};

bool ReadNumber(const char* text, uint64_t* number) {
  char* end = nullptr;
  *number = std::strtoull(text, &end, 10);
  return *text != '\0' && *end == '\0';
}

bool ReadOptions(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    uint64_t number = 0;
    if (i + 1 == argc || !ReadNumber(argv[i + 1], &number)) return false;
    if (name == "--seed") {
      options->seed = number;
    } else if (name == "--cases") {
      options->cases = number;
    } else if (name == "--first") {
      options->first = number;
    } else if (name == "--case") {
      options->first = number;
      options->cases = 1;
      options->one = true;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!ReadOptions(argc, argv, &options)) {
    std::fprintf(stderr, "usage: %s [--cases N] [--first N] [--seed S] | --seed S --case N\n",
                 argv[0]);
    return 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  portacl_test::Judge judge;
  int failures = 0;
  uint64_t number = options.first;
  for (; number < options.first + options.cases && failures < kMostFailures; ++number) {
    const portacl_test::CampaignCase c = portacl_test::DrawCase(options.seed, number);
    if (options.one) std::printf("%s\n", c.Describe().c_str());
    const std::string wrong = judge.Try(c);
    if (wrong.empty()) continue;
    ++failures;
    std::printf("FAILED: script/campaign --seed %" PRIu64 " --case %" PRIu64 "\n  %s\n  %s\n",
                options.seed, number, c.Describe().c_str(), wrong.c_str());
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("campaign: seed %" PRIu64 ", %" PRIu64 " cases, %" PRId64
              " runs, %d failures, %.0f s",
              options.seed, number - options.first, judge.runs(), failures, time.count());
  for (const auto& [entry, count] : judge.accepted()) {
    std::printf(", %s %" PRId64, entry.c_str(), count);
  }
  std::printf("\n");
  return failures == 0 ? 0 : 1;
}
