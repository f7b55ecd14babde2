// Lists of cases are judged by the bugs that they find: those of tests/golden/mutants.txt.
#include <fstream>
#include <map>
#include <sstream>

#include "cli/cli_runner.h"
#include "support/api/random.h"
#include "test_paths.h"

namespace portacl::cli_test {
namespace {

struct Mutant {
  std::string name, dtype, what;
};

// Of tests/golden/mutants.txt: those of a family, and those of every one.
std::vector<Mutant> MutantsOf(const std::string& family) {
  std::ifstream file(PORTACL_SOURCE_DIR "/tests/golden/mutants.txt");
  std::vector<Mutant> mutants;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string of;
    Mutant mutant;
    words >> of >> mutant.name >> mutant.dtype;
    std::getline(words, mutant.what);
    if (of == family || of == "every") mutants.push_back(std::move(mutant));
  }
  return mutants;
}

std::string EveryFifth(const std::string& list, size_t first) {
  std::istringstream lines(list);
  std::string line, some;
  for (size_t i = 0; std::getline(lines, line); ++i) {
    if (i % 5 == first) some += line + "\n";
  }
  return some;
}

struct MutantFamily {
  const char* name;
  const char* op;
};
class BoundaryMutants : public CliTest, public testing::WithParamInterface<MutantFamily> {};
INSTANTIATE_TEST_SUITE_P(
    , BoundaryMutants,
    testing::Values(MutantFamily{"nearest", "upsample_nearest_exact2d"},
                    MutantFamily{"nearest_backward", "upsample_nearest_exact2d_backward"},
                    MutantFamily{"sampler", "grid_sampler_2d"},
                    MutantFamily{"sampler_backward", "grid_sampler_2d_backward"}),
    [](const auto& param) { return std::string(param.param.name); });

// A list is as good as the bugs that it finds.
TEST_P(BoundaryMutants, AreAllFound) {
  ASSERT_EQ(Run({"cases", "generate", "boundary", "--operator", GetParam().op, "-o", "all.txt"})
                .exit_code,
            0);
  std::map<std::string, std::string> lists;  // by element type
  std::istringstream all(Read("all.txt"));
  for (std::string line; std::getline(all, line);) {
    const size_t at = line.find("dtype=");
    ASSERT_NE(at, std::string::npos);
    lists[line.substr(at + 6, line.find(' ', at) - at - 6)] += line + "\n";
  }
  const std::vector<Mutant> mutants = MutantsOf(GetParam().name);
  EXPECT_GE(mutants.size(), 30u);
  const auto verify = [&](const std::string& list, const std::string& mutant) {
    Write("cases.txt", list);
    return Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR}, "FIXTURE=" + mutant);
  };
  EXPECT_EQ(verify(Read("all.txt"), "plain").exit_code, 0) << "the kernel without a bug";
  const auto step = static_cast<size_t>(portacl_test::ByRunLength(1, 7));
  for (size_t i = 0; i < mutants.size(); i += step) {
    const Mutant& mutant = mutants[i];
    // A fifth of the list finds most of them; the whole list is asked about the others.
    const std::string& list = lists.at(mutant.dtype);
    if (verify(EveryFifth(list, i % 5), mutant.name).exit_code == 1) continue;
    const Outcome outcome = verify(list, mutant.name);
    EXPECT_EQ(outcome.exit_code, 1) << mutant.name << " was not found:" << mutant.what << "\n"
                                    << outcome.out << outcome.err;
  }
}

}  // namespace
}  // namespace portacl::cli_test
