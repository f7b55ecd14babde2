// Help texts, the manual page and completion: all from the table of options.
#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include "cli/cli_runner.h"
#include "test_paths.h"

namespace portacl::cli_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const char* const kCommands[] = {"run",     "info",   "cases",  "golden",
                                 "compare", "verify", "report", "demo"};

class HelpTest : public CliTest {
 protected:
  // "--json", ... of a command's help text.
  std::set<std::string> OptionsOf(const std::string& command) const {
    const std::string help = Run({command, "--help"}).out;
    static const std::regex option("(^|\\s|,)(--[a-z][a-z-]*)");
    std::set<std::string> options;
    for (const std::string& line : Lines(help)) {
      if (line.rfind("  -", 0) != 0) continue;
      const std::string names = line.substr(0, 28);
      for (std::sregex_iterator at(names.begin(), names.end(), option), end; at != end; ++at) {
        options.insert((*at)[2]);
      }
    }
    return options;
  }
};

TEST_F(HelpTest, LinesFitATerminal) {
  std::vector<std::string> texts = {Run({"--help"}).out};
  for (const char* command : kCommands) texts.push_back(Run({command, "--help"}).out);
  for (const std::string& text : texts) {
    EXPECT_NE(text, "");
    for (const std::string& line : Lines(text)) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_THAT(text, Not(HasSubstr("\n\n\n")));
  }
}

TEST_F(HelpTest, EveryOptionSaysWhatItIsFor) {
  for (const char* command : kCommands) {
    const std::vector<std::string> lines = Lines(Run({command, "--help"}).out);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].rfind("  -", 0) != 0) continue;
      // Behind the names, or in the next line if they are long.
      const bool is_here = lines[i].size() > 28 && lines[i][27] == ' ';
      const bool is_next = i + 1 < lines.size() && lines[i + 1].find_first_not_of(' ') == 28;
      EXPECT_TRUE(is_here || is_next) << command << ": " << lines[i];
    }
  }
}

TEST_F(HelpTest, HelpOfRunNamesEveryPadding) {
  EXPECT_THAT(Run({"help", "run"}).out, HasSubstr("zeros|border|reflection|circular|constant"));
}

TEST_F(HelpTest, HelpOfRunHasAnExampleThatRuns) {
  EXPECT_THAT(Run({"help", "run"}).out, HasSubstr("portacl run grid_sampler_2d_backward --input"));
  std::filesystem::copy_file(PORTACL_SOURCE_DIR "/tools/data/coffee.png", folder_ / "photo.png");
  EXPECT_EQ(Run({"run", "grid_sampler_2d_backward", "--input", "photo.png", "--grid", "rotate:15",
                 "--input-grad", "weights.npy", "--grid-grad", "flow.png"})
                .exit_code,
            0);
}

TEST_F(HelpTest, TheVersionHasAShortOption) {
  EXPECT_EQ(Run({"-V"}).exit_code, 0);
  EXPECT_EQ(Run({"-V"}).out, Run({"--version"}).out);
}

TEST_F(HelpTest, TheCommandOfTheBuildIsHidden) {
  EXPECT_THAT(Run({"--help"}).out, Not(HasSubstr("manual")));
  EXPECT_THAT(Run({"nonsense"}).err, Not(HasSubstr("manual")));
  ExpectBadInput(Run({"manual", "fish"}), "fish");
  ExpectBadInput(Run({"manual", "man", "today"}), "'today' is not a date such as 2026-12-01");
}

TEST_F(HelpTest, ManualAndCompletionHaveEveryOption) {
  for (const char* kind : {"man", "bash", "zsh"}) {
    std::string text = Run({"manual", kind}).out;
    text = std::regex_replace(text, std::regex("\\\\-"), "-");
    for (const char* command : kCommands) {
      EXPECT_THAT(text, HasSubstr(command)) << kind;
      const std::set<std::string> options = OptionsOf(command);
      EXPECT_THAT(options, Contains("--help"));
      for (const std::string& option : options) EXPECT_THAT(text, HasSubstr(option)) << kind;
    }
  }
  EXPECT_THAT(OptionsOf("run"), Contains("--grid-grad"));
}

TEST_F(HelpTest, BashCompletesCommandsOptionsAndWords) {
  EXPECT_THAT(Completed("portacl ''"), testing::IsSupersetOf({"run", "info", "help", "-V"}));
  EXPECT_THAT(Completed("portacl co"), testing::ElementsAre("compare"));
  EXPECT_THAT(Completed("portacl help d"), testing::ElementsAre("demo"));
  EXPECT_THAT(Completed("portacl run upsample_nearest_exact_b"),
              testing::ElementsAre("upsample_nearest_exact_backward"));
  EXPECT_THAT(Completed("portacl run x --pad"), testing::ElementsAre("--padding"));
  EXPECT_THAT(Completed("portacl run x --padding ''"),
              testing::ElementsAre("zeros", "border", "reflection", "circular", "constant"));
  EXPECT_THAT(Completed("portacl run x --dtype = bf"), testing::ElementsAre("bfloat16"));
  EXPECT_THAT(Completed("portacl run x --threads ''"), testing::IsEmpty());
  Write("grid of mine.npy", "");
  EXPECT_THAT(Completed("portacl run x --grid ''"),
              testing::IsSupersetOf({"identity", "rotate:", "lens:", "grid of mine.npy"}));
  EXPECT_THAT(Completed("portacl compare g"), testing::ElementsAre("grid of mine.npy"));
}

TEST_F(HelpTest, CasesOffersTheOperatorsThatItTakesAndNoOther) {
  const std::vector<std::string> cases = {"cases", "generate", "smoke", "--count", "1"};
  const auto with = [&](const std::string& op) {
    std::vector<std::string> words = cases;
    words.insert(words.end(), {"--operator", op});
    return Run(words);
  };
  const std::vector<std::string> offered = Completed("portacl cases generate smoke --operator ''");
  std::set<std::string> known(offered.begin(), offered.end());
  for (const std::string& word : Completed("portacl run ''")) known.insert(word);
  const auto info = RunJson({"info"});
  for (const auto& [name, functions] : info.at("functions").items()) {
    known.insert(name);
    for (const auto& names : functions) {
      for (const auto& function : names) known.insert(function.get<std::string>());
    }
  }
  for (const std::string& word : known) {
    const bool taken = with(word).exit_code == 0;
    EXPECT_EQ(taken, std::find(offered.begin(), offered.end(), word) != offered.end()) << word;
  }
  EXPECT_THAT(offered, testing::IsSupersetOf({"grid_sampler_2d", "aclnnUpsampleNearestExact1d"}));
}

TEST_F(HelpTest, TheManualHasTheDateItIsGivenAndNoOther) {
  const std::string title = ".TH PORTACL 1 ";
  EXPECT_THAT(Run({"manual", "man"}).out, StartsWith(title + "\"\" \"portacl "));
  EXPECT_THAT(Run({"manual", "man", "2026-03-04"}).out,
              StartsWith(title + "\"2026-03-04\" \"portacl "));
}

// By the programs that read the files, where they are installed.
TEST_F(HelpTest, ShellsAndManTakeTheFilesWithoutComplaint) {
  Write("portacl.bash", Run({"manual", "bash"}).out);
  Write("portacl.zsh", Run({"manual", "zsh"}).out);
  Write("portacl.1", Run({"manual", "man", "2026-03-04"}).out);
  const auto complains = [&](const std::string& program, const std::string& arguments) {
    if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) return false;
    const std::string command = "cd '" + folder_.string() + "' && " + program + " " + arguments +
                                " >said 2>&1; s=$?; cat said; [ $s -ne 0 ] || grep -q warning said";
    return std::system(command.c_str()) == 0;
  };
  EXPECT_FALSE(complains("bash", "-n portacl.bash"));
  EXPECT_FALSE(complains("zsh", "-n portacl.zsh"));
  EXPECT_FALSE(complains("groff", "-man -Tutf8 -ww -z portacl.1"));
  EXPECT_FALSE(complains("mandoc", "-T lint -W style portacl.1"));
}

// ---- names in the environment ----

TEST_F(HelpTest, AVariableThatNobodyReadsIsNamedOnce) {
  const Outcome outcome =
      Run({"run", "upsample_nearest_exact_backward", "--shape", "1,1,2,2", "--size", "1,1"},
          "PORTACL_NUM_THREAD=3 PORTACL_THREADS=3 PORTACL_FROBNICATE=1 PORTACL_FOO=1");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(Lines(outcome.err),
              testing::UnorderedElementsAre(
                  "portacl: PORTACL_NUM_THREAD is set, but portacl reads no such variable; did you "
                  "mean PORTACL_NUM_THREADS?",
                  "portacl: PORTACL_THREADS is set, but portacl reads no such variable; did you "
                  "mean PORTACL_NUM_THREADS?",
                  "portacl: PORTACL_FOO is set, but portacl reads no such variable",
                  "portacl: PORTACL_FROBNICATE is set, but portacl reads no such variable"));
}

TEST_F(HelpTest, VariablesThatAreReadAndThoseOfScriptsAreNot) {
  EXPECT_EQ(Run({"info"},
                "PORTACL_CACHE=/tmp PORTACL_JOBS=2 PORTACL_TEST_SHORT=1 PORTACL_SKIP_PACKAGES=1 "
                "PORTACL_SOURCE_DIR=/ PORTACL_REPOSITORY_URL=x PORTACL_SITE_URL=x PORTACL_BUNDLE=0 "
                "PORTACL_POOL_MB=1 PORTACL_NUM_THREADS=1 PORTACL_LOG=off")
                .err,
            "");
}

}  // namespace
}  // namespace portacl::cli_test
