// `portacl verify`: portacl itself and other correct kernels pass, planted faults are caught at the
// right cases and elements, and a library that crashes or hangs costs one case.
#include <functional>
#include <regex>
#include <sstream>

#include "cli/cli_runner.h"
#include "support/api/random.h"
#include "test_paths.h"

namespace portacl::cli_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class VerifyTest : public CliTest {
 protected:
  // Small cases of everything, and every seventh of the boundaries.
  void MakeCases() {
    ASSERT_EQ(Run({"cases", "generate", "smoke", "--count", "480", "-o", "smoke.txt"}).exit_code,
              0);
    ASSERT_EQ(Run({"cases", "generate", "boundary", "-o", "boundary.txt"}).exit_code, 0);
    std::istringstream boundary(Read("boundary.txt"));
    std::string text = Read("smoke.txt"), line;
    for (int i = 0; std::getline(boundary, line); ++i) {
      if (i % 7 == 0) text += line + "\n";
    }
    Write("cases.txt", text);
  }

  Outcome Verify(const std::string& fixture, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments, "FIXTURE=" + fixture);
  }
};

TEST_F(VerifyTest, PortaclPassesEverything) {
  MakeCases();
  ASSERT_EQ(Run({"cases", "generate", "refusals", "-o", "refusals.txt"}).exit_code, 0);
  Write("cases.txt", Read("cases.txt") + Read("refusals.txt"));
  // The library of the build has no other names; it is enough.
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR, "--junit", "j.xml"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(Read("j.xml"), HasSubstr("failures=\"0\" errors=\"0\""));
  EXPECT_EQ(Run({"verify", "cases.txt", "--lib-dir", PORTACL_LIBRARY_DIR, "--binary"}).exit_code,
            0);
}

TEST_F(VerifyTest, CorrectKernelsPassWhateverTheirOrderAndArithmetic) {
  MakeCases();
  for (const char* const style : {"plain", "reverse", "float64", "fused"}) {
    const Outcome outcome = Verify(style);
    EXPECT_EQ(outcome.exit_code, 0) << style << ": " << outcome.out << outcome.err;
  }
  // They are others than portacl's: the bits differ.
  EXPECT_EQ(Verify("reverse", {"--binary"}).exit_code, 1);
}

using Index = std::vector<int64_t>;

struct Fault {
  const char* name;
  const char* cases;  // what every case that fails must match
  // Whether the worst element of an output may be there.
  std::function<bool(const std::string& parameter, const Index& index, const Index& shape)> element;
};

bool Anywhere(const std::string&, const Index&, const Index&) { return true; }
bool AtTheEnd(const std::string&, const Index& index, const Index& shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (index[axis] != shape[axis] - 1) return false;
  }
  return true;
}
bool InY(const std::string& parameter, const Index& index, const Index&) {
  return parameter == "gridGrad" && index.back() == 1;
}
bool InGridGrad(const std::string& parameter, const Index&, const Index&) {
  return parameter == "gridGrad";
}
bool InTheLastChannel(const std::string& parameter, const Index& index, const Index& shape) {
  return parameter == "gridGrad" || index[1] == shape[1] - 1;
}
const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = {
      {"axes_swapped", "^grid", Anywhere},
      {"no_clip", "paddingMode=border", Anywhere},
      {"clip_keeps_slope", "backward.*paddingMode=border", InGridGrad},
      {"fold_at_centres", "paddingMode=reflection", Anywhere},
      {"source_plus_one", "^upsample", Anywhere},
      {"nearest_not_exact", "^upsample", Anywhere},
      {"scale_ignored", "^upsample.*scales", Anywhere},
      {"scales_swapped", "[23]d.*scales", Anywhere},
      {"half_up", "interpolationMode=nearest", Anywhere},
      {"shifted_half", "^grid", Anywhere},
      {"align_ignored", "alignCorners=1", Anywhere},
      {"weights_swapped", "^grid", Anywhere},
      {"last_tap_missing", "^grid", Anywhere},
      {"cubic_half", "interpolationMode=bicubic", Anywhere},
      {"no_extent_factor", "backward", InGridGrad},
      {"negative_gy", "backward", InY},
      {"last_channel_missing", "backward", InTheLastChannel},
      {"first_image_only", "^grid", Anywhere},
      {"last_one_wins", "backward", Anywhere},
      {"narrow_sum", "backward.*dtype=b?float16", Anywhere},
      {"truncate", "dtype=b?float16", Anywhere},
      {"nan_is_zero", "values=nonfinite", Anywhere},
      {"stale_last", "", AtTheEnd},
      {"dense_strides", "(layout|strides)=", Anywhere},
      {"write_outside", "layout=(offset|flipped)", Anywhere},
      {"mask_ignored", "outputMask=", Anywhere}};
  return faults;
}

TEST_F(VerifyTest, EveryPlantedFaultIsFoundAtTheRightElements) {
  MakeCases();
  const auto step = static_cast<size_t>(portacl_test::ByRunLength(1, 5));
  for (size_t i = 0; i < Faults().size(); i += step) {
    const Fault& fault = Faults()[i];
    const Outcome outcome = Verify(fault.name, {"--json"});
    EXPECT_EQ(outcome.exit_code, 1) << fault.name << " was not found: " << outcome.err;
    const json report = json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(report.is_object()) << fault.name;
    for (const json& entry : report.at("cases")) {
      if (entry.at("passed")) continue;
      const std::string text = entry.at("case");
      EXPECT_TRUE(std::regex_search(text, std::regex(fault.cases))) << fault.name << ": " << text;
      for (const json& output : entry.at("outputs")) {
        if (output.at("passed")) continue;
        EXPECT_TRUE(fault.element(output.at("parameter"), output.at("worst")[0].at("index"),
                                  output.at("shape")))
            << fault.name << ": " << output.dump();
      }
    }
  }
}

const char* const kSevens =
    "upsample_nearest_exact2d name=six self=1x1x5x6 out=1x1x5x6\n"
    "upsample_nearest_exact2d name=seven self=1x1x5x7 out=1x1x5x7\n"
    "upsample_nearest_exact2d name=eight self=1x1x5x8 out=1x1x5x8\n";

TEST_F(VerifyTest, ACrashAnExitAndAHangCostOneCase) {
  Write("cases.txt", kSevens);
  struct Failure {
    const char* fault;
    const char* timeout;  // a busy machine takes its time for the good cases, too
    const char* message;
  };
  const Failure failures[] = {{"crash", "600", "the library crashed: signal 6 (Aborted)"},
                              {"exit", "600", "the library ended the process with exit status 5"},
                              {"hang", "10", "no answer within 10 s; the process was ended"}};
  for (const auto& [fault, timeout, message] : failures) {
    const Outcome outcome =
        Verify(fault, {"--timeout", timeout, "--junit", "j.xml", "--report", "r.html"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.out, HasSubstr(std::string("seven\n  ") + message));
    EXPECT_THAT(outcome.out, HasSubstr("2 of 3 cases"));
    EXPECT_THAT(Read("j.xml"), HasSubstr("tests=\"3\" failures=\"0\" errors=\"1\""));
    EXPECT_THAT(Read("r.html"), HasSubstr(message));
  }
}

TEST_F(VerifyTest, AWrongStatusFails) {
  Write("cases.txt",
        "upsample_nearest_exact1d name=null self=1x1x2 out=1x1x4 null=self expect=161001\n");
  EXPECT_EQ(Verify("plain").exit_code, 0);
  const Outcome outcome = Verify("null_accepted");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("accepted, but status 161001 is wanted"));
  Write("cases.txt",
        "upsample_nearest_exact1d self=1x1x2 out=1x1x4 self.format=NCL scales=-1 expect=161002\n");
  EXPECT_THAT(Verify("plain").out, HasSubstr("accepted, but status 161002 is wanted"));
}

TEST_F(VerifyTest, FilesThatADeviceWroteAreJudged) {
  Write("cases.txt", kSevens);
  ASSERT_EQ(Run({"golden", "cases.txt", "-o", "device"}).exit_code, 0);
  EXPECT_EQ(Run({"verify", "cases.txt", "--outputs", "device"}).exit_code, 0);
  std::filesystem::remove_all(Path("device/eight"));
  const Outcome outcome = Run({"verify", "cases.txt", "--outputs", "device"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("device/eight/out.npy: no such file"));
}

TEST_F(VerifyTest, FoldersWithoutALibraryAreNamed) {
  Write("cases.txt", kSevens);
  std::filesystem::create_directories(Path("empty"));
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "empty"}),
                 "empty: no aclnn library in it (looked for libascendcl.so");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "nowhere"}), "nowhere: no such folder");
  ExpectBadInput(Run({"verify", "cases.txt"}), "wanted either --lib-dir");
  Write("empty/libopapi.so", "no library");
  ExpectBadInput(Run({"verify", "cases.txt", "--lib-dir", "empty"}),
                 "portacl: empty/libopapi.so: file too short");
}

TEST_F(VerifyTest, ALibraryWithoutARuntimeIsRefusedByNamesAtOnce) {
  Write("cases.txt", kSevens);
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR "/without_runtime"});
  ExpectBadInput(outcome, "the library has no aclrtDestroyStream, aclrtMemcpy");
  EXPECT_THAT(outcome.err, Not(HasSubstr("terminate")));
}

TEST_F(VerifyTest, AMissingOperatorCostsItsCasesOnly) {
  Write("cases.txt", std::string(kSevens) +
                         "grid_sampler_2d name=sampler input=1x1x5x7 grid=1x2x2x2\n"
                         "grid_sampler_2d_backward name=mask input=1x1x5x7 grid=1x2x2x2\n");
  const Outcome outcome =
      Run({"verify", "cases.txt", "--lib-dir", PORTACL_FIXTURE_DIR "/without_operators"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("3 of 5 cases (2 not judged), 3 of 3 outputs"));
  EXPECT_THAT(outcome.out,
              HasSubstr("sampler\n  the library has no aclnnGridSampler2DGetWorkspaceSize\n"));
  EXPECT_THAT(outcome.out, HasSubstr("mask\n  the library has no aclDestroyBoolArray\n"));
}

}  // namespace
}  // namespace portacl::cli_test
