// Lists of cases must find the bugs of tests/golden/mutants.txt. The bugs are planted in the
// fixture library, which is loaded here. The expected results are computed once for all bugs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "support/api/random.h"
#include "test_paths.h"
#include "tools/testing/call_aclnn.h"
#include "tools/testing/generate_cases.h"
#include "tools/testing/parallel_cases.h"
#include "tools/testing/verdict.h"

namespace portacl::golden {
namespace {

struct Mutant {
  std::string name, dtype, what;
};

// The mutants in tests/golden/mutants.txt of any of the words, and those of all operators.
std::vector<Mutant> MutantsOf(const std::vector<std::string>& words) {
  std::ifstream file(PORTACL_SOURCE_DIR "/tests/golden/mutants.txt");
  std::vector<Mutant> mutants;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string of;
    Mutant mutant;
    fields >> of >> mutant.name >> mutant.dtype;
    std::getline(fields, mutant.what);
    if (of == "every" || std::find(words.begin(), words.end(), of) != words.end()) {
      mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

class FixtureLibrary {
 public:
  FixtureLibrary() : library_(dlopen(PORTACL_FIXTURE_DIR "/libopapi.so", RTLD_NOW | RTLD_LOCAL)) {}
  ~FixtureLibrary() {
    if (library_ != nullptr) dlclose(library_);
  }
  FixtureLibrary(const FixtureLibrary&) = delete;
  FixtureLibrary& operator=(const FixtureLibrary&) = delete;

  void* Find(const char* name) const {
    return library_ != nullptr ? dlsym(library_, name) : nullptr;
  }
  void Choose(const std::string& word) const {
    reinterpret_cast<void (*)(const char*)>(Find("fixture_choose"))(word.c_str());
  }

 private:
  void* library_;
};

// Whether the library's results of a case are right.
bool Passes(AclnnCaller& caller, const GoldenCase& golden) {
  Call call = MakeCall(golden.c);
  const AclnnOutcome outcome = caller.Run(call);
  if (outcome.status != 0 || !outcome.message.empty()) return false;
  StandardOptions standard;
  standard.knows_unwritten = true;
  for (const GoldenOutput& output : golden.outputs) {
    if (!Judge(output, call.tensor(output.parameter.c_str()).Dense(), standard).passed)
      return false;
  }
  return true;
}

struct Family {
  const char* op;
  std::vector<std::string> words;
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.op; }

class BoundaryMutants : public testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(
    , BoundaryMutants,
    testing::Values(
        Family{"upsample_nearest_exact2d", {"nearest", "nearest_exact", "image"}},
        Family{"upsample_nearest_exact2d_backward",
               {"nearest", "nearest_exact", "nearest_backward", "backward", "image"}},
        Family{"upsample_nearest2d_v2", {"nearest", "nearest_rule", "image", "bytes"}},
        Family{"upsample_nearest2d_backward",
               {"nearest", "nearest_rule", "nearest_backward", "backward", "image"}},
        Family{"upsample_bilinear2d", {"resize", "linear", "neighbours", "forward", "image"}},
        Family{"upsample_bilinear2d_backward_v2",
               {"resize", "linear", "neighbours", "resize_backward", "backward", "image"}},
        Family{"upsample_bicubic2d", {"resize", "cubic", "neighbours", "forward", "image"}},
        Family{"upsample_bicubic2d_backward",
               {"resize", "cubic", "neighbours", "resize_backward", "backward", "image"}},
        Family{"upsample_bilinear2d_aa", {"resize", "window", "forward", "image"}},
        Family{"upsample_bilinear2d_aa_backward",
               {"resize", "window", "resize_backward", "backward", "image"}},
        Family{"upsample_bicubic2d_aa", {"resize", "window", "cubic_window", "forward", "image"}},
        Family{"upsample_bicubic2d_aa_backward",
               {"resize", "window", "cubic_window", "resize_backward", "backward", "image"}},
        Family{"affine_grid", {"affine_grid"}}, Family{"grid_sampler_2d", {"sampler", "image"}},
        Family{"grid_sampler_2d_backward", {"sampler", "sampler_backward", "image"}}),
    [](const auto& param) { return std::string(param.param.op); });

// A list is as good as the bugs that it finds.
TEST_P(BoundaryMutants, AreAllFound) {
  GenerateOptions options;
  options.op = GetParam().op;
  std::vector<Case> cases = GenerateCases("boundary", options);
  std::erase_if(cases, [](const Case& c) { return c.dtype == DataType::kFloat64; });  // no mutant's
  std::vector<GoldenCase> golden(cases.size());
  ForEachCase(cases.size(), 0, {}, [&](size_t i) { golden[i] = ComputeGolden(cases[i]); });

  const FixtureLibrary library;
  ASSERT_NE(library.Find("fixture_choose"), nullptr) << PORTACL_FIXTURE_DIR;
  AclnnCaller caller([&](const char* name) { return library.Find(name); });
  library.Choose("plain");
  for (const GoldenCase& g : golden) EXPECT_TRUE(Passes(caller, g)) << ToString(g.c);
  const std::vector<Mutant> mutants = MutantsOf(GetParam().words);
  EXPECT_GE(mutants.size(), 30u);
  // Neighbours in the list find the same bugs.
  constexpr size_t kStep = 13;
  std::vector<size_t> order;
  for (size_t first = 0; first < kStep; ++first) {
    for (size_t i = first; i < golden.size(); i += kStep) order.push_back(i);
  }
  const auto step = static_cast<size_t>(portacl_test::ByRunLength(1, 7));
  for (size_t m = 0; m < mutants.size(); m += step) {
    const Mutant& mutant = mutants[m];
    library.Choose(mutant.name);
    const bool found = std::any_of(order.begin(), order.end(), [&](size_t at) {
      const GoldenCase& g = golden[at];
      return cli::DataTypeName(g.c.dtype) == mutant.dtype && !Passes(caller, g);
    });
    EXPECT_TRUE(found) << mutant.name << " was not found:" << mutant.what;
  }
  library.Choose("plain");
}

}  // namespace
}  // namespace portacl::golden
