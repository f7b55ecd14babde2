// `portacl info` and `portacl demo`, as a person and as a program see them.
#include <portacl/portacl.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "cli/cli_runner.h"
#include "support/api/random.h"

namespace portacl::cli_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class InfoTest : public CliTest {};
class DemoTest : public CliTest {};

TEST_F(InfoTest, TextNamesVersionMachineAndKernels) {
  const Outcome outcome = Run({"info"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part : {"version", PORTACL_VERSION_STRING, "CPU", "instruction sets", "threads",
                           "PORTACL_PROFILE", "atlas-a2", "upsample_nearest_exact1d_backward",
                           "aclnnGridSampler2DBackward", "UpsampleNearestExact2dGrad", "ref"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST_F(InfoTest, LinesFitATerminalAndCountNoCalls) {
  const std::string text = Run({"info"}, "LD_LIBRARY_PATH=").out;
  for (const std::string& line : Lines(text)) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, Not(HasSubstr("calls ")));
}

TEST_F(InfoTest, WhyThereIsNoGpuIsALineOfItsOwn) {
  EXPECT_THAT(Run({"info"}).out,
              testing::ContainsRegex("NVIDIA GPUs +([0-9]+ GPU|none: (built without CUDA|CUDA))"));
  EXPECT_THAT(Run({"info"}, "PORTACL_CUDA_LIBRARY=/nowhere/cuda.so").out,
              testing::ContainsRegex("NVIDIA GPUs +none: /nowhere/cuda.so: "));
  Write("cuda.so", "no library");  // in the current folder too, not only in the loader's path
  EXPECT_THAT(Run({"info"}, "PORTACL_CUDA_LIBRARY=cuda.so").out,
              HasSubstr("/cuda.so: file too short"));
}

TEST_F(InfoTest, EveryNameThatIsListedCanBeRun) {
  const auto info = RunJson({"info"});
  ASSERT_GE(info.at("names").size(), 4u);
  const std::string text = Run({"info"}).out;
  for (const auto& entry : info.at("names")) {
    EXPECT_TRUE(info.at("operators").contains(entry.at("operator"))) << entry;
    for (const char* key : {"name", "also", "any_rank"}) {
      const std::string name = entry.at(key);
      if (name.empty()) continue;  // no name of any rank
      EXPECT_THAT(text, HasSubstr(name));
      const std::string said = Run({"run", name}).err;
      EXPECT_THAT(said,
                  testing::AnyOf(HasSubstr("its shape is not known"), HasSubstr(" is needed")))
          << name;
    }
  }
}

TEST_F(InfoTest, EveryNameThatCanBeRunIsListed) {
  const auto info = RunJson({"info"});
  std::set<std::string> in_json, in_text;
  for (const auto& entry : info.at("names")) {
    for (const char* key : {"name", "also", "any_rank"}) {
      in_json.insert(entry.at(key).get<std::string>());
    }
  }
  std::string text = Run({"info"}).out;
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream words(text);
  for (std::string word; words >> word;) in_text.insert(word);
  const std::vector<std::string> taken = Completed("portacl run ''");
  EXPECT_THAT(taken, testing::IsSupersetOf({"grid_sampler_backward", "GridSampler2DGrad"}));
  for (const std::string& name : taken) {
    EXPECT_TRUE(in_json.contains(name)) << name;
    EXPECT_TRUE(in_text.contains(name)) << name;
  }
}

TEST_F(InfoTest, JsonListsRefLastForEveryOperator) {
  const auto info = RunJson({"info"});
  EXPECT_EQ(info.value("version", ""), PORTACL_VERSION_STRING);
  EXPECT_GE(info.value("threads", 0), 1);
  ASSERT_GE(info.at("operators").size(), 2u);
  for (const auto& [name, kernels] : info.at("operators").items()) {
    EXPECT_EQ(kernels.back().value("name", ""), "ref") << name;
    EXPECT_TRUE(kernels.back().value("available", false)) << name;
  }
}

// Each function once, with the word of docs/aten.md that says who computes it.
TEST_F(InfoTest, FunctionsHaveALabel) {
  const Outcome result = Run({"info", "--functions"});
  ASSERT_EQ(result.exit_code, 0);
  std::map<std::string, std::string> labels;
  for (const std::string& line : Lines(result.out)) {
    const size_t end = line.find(' ');
    EXPECT_TRUE(
        labels.emplace(line.substr(0, end), line.substr(line.find_first_not_of(' ', end))).second)
        << line;
  }
  EXPECT_EQ(labels["aclnnUpsampleBilinear2d"], "exact");
  EXPECT_EQ(labels["aclnnAdd"], "exact");  // a companion operator
  EXPECT_EQ(labels["aclnnMatmul"], "PyTorch's");
  EXPECT_EQ(labels["aclnnTransMatmulWeight"], "no device layout");
  std::map<std::string, size_t> counts;
  for (const auto& [function, label] : labels) ++counts[label];
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts["PyTorch's"] + counts["no device layout"], RunJson({"info"}).at("aten").size());
}

TEST_F(InfoTest, TheEnvironmentIsShown) {
  const Outcome outcome = Run({"info"}, "PORTACL_PROFILE=open PORTACL_NUM_THREADS=3");
  EXPECT_THAT(outcome.out, HasSubstr("open"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("PORTACL_NUM_THREADS +3 "));
}

TEST_F(InfoTest, AnEnvironmentThatOperatorsRefuseDoesNotLookUsable) {
  ExpectBadInput(Run({"info"}, "PORTACL_PROFILE=atlas-9"), "PORTACL_PROFILE is \"atlas-9\"");
  ExpectBadInput(Run({"info", "--json"}, "PORTACL_PROFILE=atlas-9"), "atlas-a2");
  EXPECT_THAT(Run({"info"}, "PORTACL_IMPL=neo").out,
              testing::ContainsRegex("IMPL +neo \\(not on this machine\\)"));
  EXPECT_THAT(Run({"info"}, "PORTACL_IMPL=ref").out, testing::ContainsRegex("IMPL +ref "));
}

TEST_F(InfoTest, HelpIsThereForEveryCommand) {
  for (const std::string command : {"run", "info", "compare", "demo"}) {
    const Outcome outcome = Run({command, "--help"});
    EXPECT_EQ(outcome.exit_code, 0) << command;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: portacl " + command));
  }
  EXPECT_THAT(Run({"--help"}).out, HasSubstr("Exit codes: 0 ok, 1"));
  EXPECT_EQ(Run({"help"}).out, Run({"--help"}).out);
  EXPECT_EQ(Run({"help", "run"}).out, Run({"run", "--help"}).out);
}

// Width and height of a PNG file.
std::pair<unsigned, unsigned> PngSize(const std::string& file) {
  if (file.size() < 24 || file.compare(1, 3, "PNG") != 0) return {0, 0};
  const auto number = [&](size_t at) {
    unsigned value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(file[at + i]);
    return value;
  };
  return {number(16), number(20)};
}

TEST_F(DemoTest, EveryCaseIsVerifiedAndThePageIsDrawn) {
  const auto report = RunJson({"demo", "new/folder"});
  EXPECT_TRUE(report.value("ok", false));
  EXPECT_EQ(report.value("failures", -1), 0);
  size_t dtypes[4] = {};
  const char* names[] = {"float16", "bfloat16", "float32", "float64"};
  for (const auto& entry : report.at("cases")) {
    EXPECT_TRUE(entry.value("ok", false)) << entry;
    EXPECT_FALSE(entry.at("compared").empty()) << entry;
    for (size_t i = 0; i < 4; ++i) dtypes[i] += entry.value("dtype", "") == names[i];
  }
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_GE(dtypes[i], 14u) << names[i];
    EXPECT_EQ(dtypes[i], dtypes[0]) << names[i];
  }
  EXPECT_GE(report.at("checks").size(), 4u);
  for (const auto& check : report.at("checks")) EXPECT_TRUE(check.value("ok", false)) << check;

  const auto [width, height] = PngSize(Read("new/folder/contact-sheet.png"));
  EXPECT_EQ(width, 1440u);
  EXPECT_GT(height, 2000u);
  for (const char* file :
       {"upsample-128-gradInput.png", "upsample-160-gradInput.png", "rotation-gridGrad.png",
        "rotation-inputGrad.png", "lens-gridGrad.png", "lens-straightened.png", "section-5.png"}) {
    EXPECT_GT(PngSize(Read(std::string("new/folder/") + file)).first, 0u) << file;
  }
}

TEST_F(DemoTest, TheTableEndsEveryRowWithItsVerdict) {
  if (portacl_test::ShortRun()) GTEST_SKIP() << "a short run makes the demo once, as a page";
  const Outcome outcome = Run({"demo", "out"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  size_t rows = 0, ok = 0, begin = 0;
  for (size_t end = outcome.out.find('\n'); end != std::string::npos;
       begin = end + 1, end = outcome.out.find('\n', begin)) {
    const std::string line = outcome.out.substr(begin, end - begin);
    if (!line.starts_with("  float") && !line.starts_with("  bfloat")) continue;
    ++rows;
    ok += line.size() > 2 && line.substr(line.size() - 2) == "ok";
  }
  EXPECT_GE(rows, 56u);
  EXPECT_EQ(ok, rows);
  EXPECT_THAT(outcome.out, HasSubstr("demo: ok"));
  EXPECT_THAT(outcome.out, HasSubstr("out/contact-sheet.png"));
}

}  // namespace
}  // namespace portacl::cli_test
